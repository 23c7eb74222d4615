// All texts of the page, in two languages. {0}, {1} … are placeholders.

"use strict";

const TEXTS = {
  language: ["Español", "English"],               // the button for the other language
  link: ["Copy a link to this", "Copiar un enlace a esto"],
  linked: ["Copied", "Copiado"],
  notLinked: ["The link is in the address bar", "El enlace está en la barra de direcciones"],
  translatorTitle: ["inside a small translator", "un pequeño traductor por dentro"],
  writerTitle: ["inside a small language model", "un pequeño modelo de lenguaje por dentro"],
  translatorIntro: ["This neural network reads a sentence and writes its translation word by word. "
                    + "The table shows its attention: how much it looks at each source word "
                    + "(columns) when it writes a word (rows).",
                    "Esta red neuronal lee una oración y escribe su traducción palabra por "
                    + "palabra. La tabla muestra su atención: cuánto mira cada palabra leída "
                    + "(columnas) cuando escribe una palabra (filas)."],
  writerIntro: ["This neural network reads the beginning of a text and continues it word by word.",
                "Esta red neuronal lee el comienzo de un texto y lo continúa palabra por palabra."],
  writerTable: ["The table shows its attention: how much it looks back at each word (columns) when "
                + "it predicts a word (rows).",
                "La tabla muestra su atención: cuánto mira atrás a cada palabra (columnas) cuando "
                + "predice una palabra (filas)."],
  runsHere: ["It runs on this page: change anything and see what happens.",
             "Funciona en esta página: cambia lo que quieras y mira qué hace."],
  pickOne: ["Pick an example and look at its weights.", "Elige un ejemplo y mira sus pesos."],
  recorded: ["This model has user-defined Python code ({0}), which a page cannot run. You can see its "
             + "words and weights for the examples, but you cannot change them.",
             "Este modelo tiene código propio en Python ({0}), que una página no puede ejecutar. "
             + "Sus palabras y pesos se grabaron para los ejemplos: se ven, pero no se mueven."],
  otherWeights: ["The script of this page and Python compute different weights.",
                 "El guion de esta página no calcula los pesos que calculó Python."],
  notRecorded: ["This sentence was not recorded. Pick an example from the corpus.",
                "Esto no se grabó: elige un ejemplo del corpus."],
  example: ["Pick an example", "Elige un ejemplo"],
  learned: ["Trained on", "Entrenado con"],
  learnedBy: ["{0} was trained on", "{0} se entrenó con"],
  sentences: ["{0} sentences", "{0} oraciones"],
  longestWords: ["at most {0} words each", "la más larga de {0} palabras"],
  longestCharacters: ["at most {0} characters each", "la más larga de {0} caracteres"],
  opening: ["The first example is a favourable one: it has no unknown words, and the attention "
            + "agrees best with its gold links. Other sentences may do worse.",
            "La primera oración está elegida: no tiene palabras desconocidas, y la atención cumple "
            + "sus enlaces de oro mejor que los de otras. La tuya puede salir peor."],
  twoThings: ["Two things to try", "Dos cosas que probar"],
  threeThings: ["Three things to try", "Tres cosas que probar"],
  trySentence: ["Write your own sentence", "Escribe una oración tuya"],
  tryText: ["Write your own beginning", "Escribe un comienzo tuyo"],
  tryMoving: ["Make it look at a different word", "Haz que mire a otra parte en una palabra"],
  tryBeam: ["See what else it considered", "Mira qué más consideró"],
  tryAgain: ["Sample another continuation", "Saca otra continuación"],
  unknownWords: ["Not in the model's vocabulary, so it reads <unk> instead: {2} ({0} of {1} words). "
                 + "Do not trust its output.",
                 "Fuera del vocabulario del modelo, que lee <unk> en su lugar: {2} ({0} de {1} "
                 + "palabras). No te fíes de lo que escribe."],
  tooLong: ["This sentence has {0} words, but the model was trained on at most {1}.",
            "Esta oración tiene {0} palabras; ninguna de su entrenamiento tiene más de {1}."],
  source: ["Write a sentence", "Escribe una oración"],
  empty: ["Write a sentence. It is translated while you type.",
          "Escribe una oración: se traduce mientras escribes."],
  examples: ["or pick one from the corpus", "o elige una del corpus"],
  choose: ["choose …", "elegir …"],
  beam: ["Beam width", "Ancho del haz"],
  shown: ["Show", "Mostrar"],
  best: ["beam search", "búsqueda en haz"],
  corpus: ["reference", "referencia"],
  drawn: ["random sample", "muestra al azar"],
  temperature: ["Temperature", "Temperatura"],
  again: ["Resample", "Otra muestra"],
  after: ["also show attention after the word is known, p(s | y)",
          "mostrar también la atención cuando ya se sabe la palabra, p(s | y)"],
  head: ["Heads", "Cabezas"],
  mean: ["their mean", "su media"],
  every: ["side by side", "una junto a otra"],
  headNumber: ["head {0}", "cabeza {0}"],
  checkpoint: ["Checkpoint", "Punto del entrenamiento"],
  lastCheckpoint: ["the end", "el final"],
  parameters: ["{0} parameters", "{0} parámetros"],
  without: ["Without your change", "Sin tu cambio"],
  withoutSearch: ["The same, with the most probable word at each step from there on",
                  "Lo mismo, con la palabra más probable en cada paso desde allí"],
  searchedWithout: ["The search does not know your change.", "La búsqueda no conoce tu cambio."],
  reference: ["Reference", "Referencia"],
  showGold: ["Show its gold links", "Mostrar sus enlaces de oro"],
  noCorpus: ["This sentence has no reference translation, so beam search is shown.",
             "Esta oración no tiene traducción de referencia: se muestra la búsqueda en haz."],
  pointing: ["For the reference, {2} of {1} linked words point at their gold link, and {3} at the "
             + "word next to it. Alignment error rate: {0}",
             "En la referencia: {2} de {1} palabras enlazadas apuntan a su enlace de oro y {3} a "
             + "su vecina; error de alineación {0}"],
  before: ["Attention α, before the word is known", "Atención α, antes de saber la palabra"],
  posterior: ["p(s | y), after the word is known", "p(s | y), después de saber la palabra"],
  goldLink: ["gold link", "enlace de oro"],
  possibleLink: ["possible link", "enlace posible"],
  pinned: ["pinned", "fijada"],
  byHand: ["set by hand", "puesta a mano"],
  replaced: ["This row was set by hand. Its α replaces the result of the softmax.",
             "Esta fila se puso a mano: su α sustituye al resultado del softmax."],
  unknown: ["not in the vocabulary, read as <unk>", "fuera del vocabulario: se lee como <unk>"],
  cut: ["only the first {0} words are read", "solo se leen las primeras {0} palabras"],
  weightOf: ["Weight of “{0}” for “{1}”", "Peso de «{0}» para «{1}»"],
  scoreIs: ["score {0}", "puntuación {0}"],
  pin: ["Pin this row", "Fijar esta fila"],
  unpin: ["Unpin this row", "Soltar esta fila"],
  reset: ["Undo all changes", "Deshacer los cambios"],
  keys: ["Arrow keys select a cell, + and − change its weight, 0 and 1 set it, and P pins the row. "
         + "You can also drag a cell up or down.",
         "Las flechas mueven; + y − cambian el peso, 0 y 1 lo ponen; P fija la fila. O arrastra "
         + "una celda arriba o abajo."],
  touch: ["Tap a cell, then set its weight with the slider.",
          "Toca una celda y pon su peso con el control deslizante."],
  fromThere: ["From there on, the model writes the most probable word at each step.",
              "Desde esa palabra se escribe cada vez la más probable."],
  fromThereDrawn: ["From there on, the model samples again with the same random numbers.",
                   "Desde esa palabra, el modelo vuelve a sacar palabras con los mismos números."],
  rows: ["Each row is a predicted word, and each column is a word that was read.",
         "Una fila es una palabra predicha; una columna, una palabra leída."],
  steps: ["Word by word", "Palabra por palabra"],
  back: ["Back", "Atrás"],
  next: ["Next", "Siguiente"],
  wordOf: ["Word {0} of {1}", "Palabra {0} de {1}"],
  afterWord: ["after “{0}”", "después de «{0}»"],
  probable: ["What comes next", "Lo que sigue"],
  numbers: ["{0} numbers from {1} to {2}", "{0} números de {1} a {2}"],
  beamTree: ["The beam", "El haz"],
  hypotheses: ["Finished hypotheses", "Hipótesis terminadas"],
  tried: ["Search tree", "Árbol de búsqueda"],
  soFar: ["log p so far", "log p hasta aquí"],
  kept: ["kept", "conservada"],
  dropped: ["dropped", "descartada"],
  ended: ["ended", "terminada"],
  isScored: ["log p {0}, score {1}", "log p {0}, puntuación {1}"],
  keep: ["Save as", "Guardar como"],
  text: ["Write the beginning of a text", "Escribe el comienzo de un texto"],
  length: ["Words to add", "Palabras que añadir"],
  hint: ["Pick a word. Colours show how much the model looked at the other words to predict it.",
         "Elige una palabra: las demás se tiñen según cuánto las miró el modelo para ella."],
  hintPlain: ["Pick a word to see its probability, and what else could have come next.",
              "Elige una palabra para ver su probabilidad y qué otra podía seguir."],
  probability: ["Probability of “{0}”: ", "Probabilidad de «{0}»: "],
  written: ["The model continues", "El modelo continúa"],
  history: ["Weights over the history", "Pesos sobre la historia"],
  span: ["Average distance of attention: {0} words back",
         "Distancia media de la atención: {0} palabras atrás"],
  noAttention: ["This model has no attention, only predictions of the next word.",
                "Este modelo no tiene atención, solo predicciones de la palabra siguiente."],
  failed: ["The model cannot process this: {0}", "El modelo no puede con esto: {0}"],
};

let language = 0;       // the index in each entry: 0 English, 1 Spanish
const LANGUAGES = ["en", "es"];

function say(name, ...parts) {
  return TEXTS[name][language].replace(/\{(\d)\}/g, (_, place) => parts[place]);
}

// Like `say`, but the placeholders become elements: a list of texts and elements.
function sayWith(name, ...elements) {
  return TEXTS[name][language].split(/\{(\d)\}/).map((part, n) => (
    n % 2 === 0 ? part : elements[Number(part)]));
}
