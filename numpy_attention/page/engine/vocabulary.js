// Ids of tokens: 0 <pad>, 1 <s>, 2 </s>, 3 <unk>, then the words of the vocabulary.

"use strict";

const PAD = 0;
const BOS = 1;
const EOS = 2;
const UNK = 3;
const SPECIAL_TOKENS = ["<pad>", "<s>", "</s>", "<unk>"];

class Vocabulary {
  constructor(tokens) {
    this.tokens = tokens;
    this.ids = new Map(tokens.map((token, k) => [token, SPECIAL_TOKENS.length + k]));
  }

  // Ids of words; unknown words become <unk>.
  encode(words) {
    return words.map((word) => this.ids.get(word) ?? UNK);
  }

  token(id) {
    const special = SPECIAL_TOKENS.length;
    return id < special ? SPECIAL_TOKENS[id] : this.tokens[id - special];
  }

  // The index of the word that each id belongs to.
  places(words) {
    return [...words.keys()];
  }

  // The text to display for each id.
  shown(words) {
    return words;
  }

  // Ids up to the first </s>, without <pad> and <s> → { words, places }
  read(ids) {
    const words = written(ids).map((id) => this.token(id));
    return { words, places: this.places(words) };
  }
}

function written(ids) {
  const end = ids.indexOf(EOS);
  return (end < 0 ? ids : ids.slice(0, end)).filter((id) => id !== PAD && id !== BOS);
}

// saved: a list of words, or { pieces } for subwords
function vocabularyOf(saved) {
  return Array.isArray(saved) ? new Vocabulary(saved) : new Subwords(saved);
}
