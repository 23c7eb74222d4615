// Words cut into frequent pieces by byte-pair encoding (Sennrich et al. 2016), as sentencepiece
// does it.

"use strict";

// begins the first piece of a word
const START = "\u2581";

// pieces: in the order in which they were learnt; their ids follow the special tokens'
class Subwords {
  constructor({ pieces }) {
    this.pieces = pieces;
    this.ids = new Map(pieces.map((piece, k) => [piece, SPECIAL_TOKENS.length + k]));
    this.known = new Map();         // {word: its ids}
  }

  // A word is its characters to begin with, ▁ before them and in place of spaces. Of all neighbours
  // that together are a piece those join that were learnt first, the leftmost of equals, until none
  // are left.
  cut(word) {
    const text = START + word.split(" ").filter((part) => part !== "").join(START);
    const parts = Array.from(text.replace(/\u2581+$/u, ""));
    for (;;) {
      const together = parts.slice(1).map((part, k) => this.ids.get(parts[k] + part) ?? Infinity);
      const first = Math.min(...together);
      if (first === Infinity) return parts;
      const k = together.indexOf(first);
      parts.splice(k, 2, parts[k] + parts[k + 1]);
    }
  }

  // characters without an id, one after the other, get one <unk> together; so does nothing
  idsOf(word) {
    if (!this.known.has(word)) {
      const ids = this.cut(word).map((piece) => this.ids.get(piece) ?? UNK);
      const kept = ids.filter((id, k) => id !== UNK || ids[k - 1] !== UNK);
      this.known.set(word, kept.length > 0 ? kept : [UNK]);
    }
    return this.known.get(word);
  }

  encode(words) {
    return words.flatMap((word) => this.idsOf(word));
  }

  // which of the words each id belongs to
  places(words) {
    return words.flatMap((word, n) => this.idsOf(word).map(() => n));
  }

  token(id) {
    const special = SPECIAL_TOKENS.length;
    return id < special ? SPECIAL_TOKENS[id] : this.pieces[id - special];
  }

  // words as a reader sees what is read of them, one for each id
  shown(words) {
    return this.encode(words).map((id) => this.token(id));
  }

  // ids up to the first </s>, without <pad> and <s> → { words, places }
  read(ids) {
    const words = [];
    const places = [];
    for (const id of written(ids)) {
      const piece = this.token(id);
      const begins = piece.startsWith(START);
      if (begins || words.length === 0) words.push("");
      words[words.length - 1] += begins ? piece.slice(START.length) : piece;
      places.push(words.length - 1);
    }
    return withoutEmpty(words, places);
  }
}

// A lone ▁ is no word: its id goes to a word nearby.
function withoutEmpty(words, places) {
  const kept = [...words.keys()].filter((n) => words[n] !== "");
  const last = kept.length - 1;
  const place = new Map(kept.map((n, k) => [n, k]));
  return { words: kept.map((n) => words[n]),
           places: places.map((n) => place.get(n) ?? Math.max(0, Math.min(n, last))) };
}
