// Subwords by byte-pair encoding (Sennrich et al. 2016), as in sentencepiece.

"use strict";

// the start of the first piece of a word
const START = "\u2581";

// pieces: in the order in which they were learned; their ids follow those of the special tokens
class Subwords {
  constructor({ pieces }) {
    this.pieces = pieces;
    this.ids = new Map(pieces.map((piece, k) => [piece, SPECIAL_TOKENS.length + k]));
    this.known = new Map();         // {word: its ids}
  }

  // Split a word into pieces. Start from single characters, with ▁ before them and instead of
  // spaces. Merge the neighbours whose merged piece was learned first, leftmost in a tie, until no
  // neighbours form a piece.
  cut(word) {
    const text = START + word.split(" ").filter((part) => part !== "").join(START);
    const parts = Array.from(text.replace(/\u2581+$/u, ""));
    for (;;) {
      const ranks = parts.slice(1).map((part, k) => this.ids.get(parts[k] + part) ?? Infinity);
      const first = Math.min(...ranks);
      if (first === Infinity) return parts;
      const k = ranks.indexOf(first);
      parts.splice(k, 2, parts[k] + parts[k + 1]);
    }
  }

  // Consecutive characters without ids become a single <unk>, and so does an empty word.
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

  // The index of the word that each id belongs to.
  places(words) {
    return words.flatMap((word, n) => this.idsOf(word).map(() => n));
  }

  token(id) {
    const special = SPECIAL_TOKENS.length;
    return id < special ? SPECIAL_TOKENS[id] : this.pieces[id - special];
  }

  // The text to display for each id.
  shown(words) {
    return this.encode(words).map((id) => this.token(id));
  }

  // Ids up to the first </s>, without <pad> and <s> → { words, places }
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

// A lone ▁ is not a word: its id goes to a word nearby.
function withoutEmpty(words, places) {
  const kept = [...words.keys()].filter((n) => words[n] !== "");
  const last = kept.length - 1;
  const place = new Map(kept.map((n, k) => [n, k]));
  return { words: kept.map((n) => words[n]),
           places: places.map((n) => place.get(n) ?? Math.max(0, Math.min(n, last))) };
}
