// All that the page says, in two languages. {0}, {1} … stand for what is said with it.

"use strict";

const TEXTS = {
  language: ["Español", "English"],               // the button: the other one
  link: ["Copy a link to this", "Copiar un enlace a esto"],
  linked: ["Copied", "Copiado"],
  notLinked: ["The link is in the address bar", "El enlace está en la barra de direcciones"],
  source: ["Write a sentence", "Escribe una oración"],
  empty: ["Write a sentence: it is translated while you type.",
          "Escribe una oración: se traduce mientras escribes."],
  examples: ["or choose one of the corpus", "o elige una del corpus"],
  choose: ["choose …", "elegir …"],
  beam: ["Beam", "Haz"],
  shown: ["The words are", "Las palabras son"],
  best: ["the model's best", "las mejores del modelo"],
  corpus: ["the corpus's own", "las del corpus"],
  drawn: ["drawn at random", "sacadas al azar"],
  temperature: ["Temperature", "Temperatura"],
  again: ["Draw anew", "Sacar otra vez"],
  after: ["beside it, p(s | y): after the word is known",
          "al lado, p(s | y): sabida ya la palabra"],
  head: ["Heads", "Cabezas"],
  mean: ["their mean", "su media"],
  every: ["side by side", "una junto a otra"],
  headNumber: ["head {0}", "cabeza {0}"],
  checkpoint: ["Checkpoint", "Punto del entrenamiento"],
  lastCheckpoint: ["the end", "el final"],
  parameters: ["{0} parameters", "{0} parámetros"],
  without: ["Without your change", "Sin tu cambio"],
  reference: ["The corpus", "El corpus"],
  showGold: ["Show its gold links", "Mostrar sus enlaces de oro"],
  noCorpus: ["this sentence is not of the corpus: the model's own words are shown",
             "esta oración no es del corpus: se muestran las palabras del modelo"],
  pointing: ["On the corpus's words: alignment error {0}; of {1} linked words {2} point at their "
             + "gold link, {3} one beside it",
             "Con las palabras del corpus: error de alineación {0}; de {1} palabras enlazadas, {2} "
             + "apuntan a su enlace de oro y {3} a la de al lado"],
  before: ["α: before the word is known", "α: antes de saber la palabra"],
  posterior: ["p(s | y): after it is known", "p(s | y): después de saberla"],
  goldLink: ["gold link", "enlace de oro"],
  possibleLink: ["possible link", "enlace posible"],
  pinned: ["pinned", "fijada"],
  unknown: ["not in the vocabulary: read as <unk>", "fuera del vocabulario: se lee como <unk>"],
  cut: ["only the first {0} words are read", "solo se leen las primeras {0} palabras"],
  weightOf: ["Weight of “{0}” for “{1}”", "Peso de «{0}» para «{1}»"],
  scoreIs: ["score {0}", "puntuación {0}"],
  pin: ["Pin this row", "Fijar esta fila"],
  unpin: ["Let this row go", "Soltar esta fila"],
  reset: ["Undo all changes", "Deshacer los cambios"],
  keys: ["Arrow keys move; + and − change the weight, 0 and 1 set it; P pins the row. Or drag a "
         + "cell up or down.",
         "Las flechas mueven; + y − cambian el peso, 0 y 1 lo ponen; P fija la fila. O arrastra "
         + "una celda arriba o abajo."],
  fromThere: ["From that word on, the most probable one is written at each step.",
              "Desde esa palabra se escribe cada vez la más probable."],
  fromThereDrawn: ["From that word on, words are drawn by the same random numbers.",
                   "Desde esa palabra, las palabras se sacan con los mismos números al azar."],
  rows: ["A row is a word that is predicted, a column a word that was read.",
         "Una fila es una palabra predicha; una columna, una palabra leída."],
  steps: ["Word by word", "Palabra por palabra"],
  back: ["Back", "Atrás"],
  next: ["Next", "Siguiente"],
  wordOf: ["Word {0} of {1}", "Palabra {0} de {1}"],
  afterWord: ["after “{0}”", "después de «{0}»"],
  probable: ["What comes next", "Lo que sigue"],
  numbers: ["{0} numbers from {1} to {2}", "{0} números de {1} a {2}"],
  beamTree: ["The beam", "El haz"],
  hypotheses: ["What it ended with, best first", "Con qué terminó, lo mejor primero"],
  tried: ["All that was tried", "Todo lo que se probó"],
  kept: ["kept", "conservada"],
  dropped: ["dropped", "descartada"],
  ended: ["ended", "terminada"],
  isScored: ["log p {0}, score {1}", "log p {0}, puntuación {1}"],
  keep: ["Save as", "Guardar como"],
  text: ["Write the beginning of a text", "Escribe el comienzo de un texto"],
  length: ["Words to write", "Palabras por escribir"],
  told: ["Choose a word: the others are tinted by what the model looked at for it.",
         "Elige una palabra: las demás se tiñen según lo que el modelo miró para ella."],
  written: ["What the model writes on", "Lo que el modelo sigue escribiendo"],
  history: ["Weights over the history", "Pesos sobre la historia"],
  span: ["On average it looks {0} words back", "Por término medio mira {0} palabras atrás"],
  noAttention: ["This model has no attention: there is nothing to look at but what it expects.",
                "Este modelo no tiene atención: solo se puede ver lo que espera."],
  failed: ["This model does not run here: {0}", "Este modelo no funciona aquí: {0}"],
};

let language = 0;       // the place in each entry: 0 English, 1 Spanish
const LANGUAGES = ["en", "es"];

function say(name, ...parts) {
  return TEXTS[name][language].replace(/\{(\d)\}/g, (_, place) => parts[place]);
}

// The same with elements in their places: a list of texts and elements.
function sayWith(name, ...elements) {
  return TEXTS[name][language].split(/\{(\d)\}/).map((part, n) => (
    n % 2 === 0 ? part : elements[Number(part)]));
}
