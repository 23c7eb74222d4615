// Raw text as tokens, cut as the model's training text was.

"use strict";

const LETTER = "[\\p{L}\\p{N}_]";
// combining marks and joiners belong inside a word
const WORD = `${LETTER}+(?:[\\p{M}\\u200c\\u200d]+${LETTER}*)*`;
const TOKEN = new RegExp(
  `\\p{Nd}+(?:[.,]\\p{Nd}+)+(?!${LETTER})|${WORD}(?:['\\-]${WORD})*|[^\\p{L}\\p{N}_\\s]`, "gu");

// Words, with apostrophes and hyphens inside, and single punctuation marks; numbers keep their
// points.
function wordTokens(text) {
  return text.normalize("NFC").replaceAll("\u2019", "'").match(TOKEN) ?? [];
}

const CUTS = {
  words: wordTokens,
  spaces: (text) => text.split(/\s+/u).filter((token) => token !== ""),
  characters: (text) => Array.from(text),
};

// form: { cut: "words", "spaces" or "characters", lowercase }
function tokensOf(text, { cut, lowercase }) {
  return CUTS[cut](lowercase ? text.toLowerCase() : text);
}
