// Tokenize raw text as the model's training text was: data/text_form.py in JavaScript.

"use strict";

const LETTER = "[\\p{L}\\p{N}_]";
const NUMBER = `\\p{Nd}+(?:[.,\\u066b\\u066c]\\p{Nd}+)+(?!${LETTER})`;
// combining marks and joiners belong inside a word
const WORD = `${LETTER}[\\p{L}\\p{N}\\p{M}_\\u200c\\u200d]*`;
const HEBREW = "\\p{Script=Hebrew}";
const INSIDE = `(?:['\\-\\u00b7\\u2027\\u058a\\u05f3\\u05f4]|(?<=${HEBREW})"(?=${HEBREW}))`;
// one visible character: a flag, or a symbol with its marks, modifiers and joined symbols
const SEEN = "\\p{RI}{2}|[^\\p{L}\\p{N}_\\s]" +
  "(?:[\\p{M}\\p{EMod}\\u{e0020}-\\u{e007f}]|\\u200d\\p{Extended_Pictographic})*";
const TOKEN = new RegExp(`${NUMBER}|${WORD}(?:${INSIDE}${WORD})*|${SEEN}`, "gu");

// invisible characters separate words or are removed
const SEPARATORS =
  /[\u200b\u0000-\u0008\u000e-\u001f\u007f-\u009f\u2028\u2029\u115f\u1160\u2800\u3164\uffa0]/gu;
const REMOVED = new RegExp(
  "[\\u00ad\\u034f\\u061c\\u180e\\u200e\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb]" +
  "|(?<![^\\s])[\\p{Variation_Selector}\\u200c\\u200d\\u{e0020}-\\u{e007f}]+", "gu");

// Words with inner apostrophes and hyphens, numbers with decimal points, single punctuation marks.
function wordTokens(text) {
  const plain = text.replaceAll("\u2019", "'").replace(/[\u2010\u2011]/gu, "-");
  return plain.replace(SEPARATORS, " ").replace(REMOVED, "").match(TOKEN) ?? [];
}

const TOKENIZERS = {
  words: wordTokens,
  spaces: (text) => text.split(/\s+/u).filter((token) => token !== ""),
  characters: (text) => Array.from(text),
};

// form: { cut: "words", "spaces" or "characters", lowercase }
function tokensOf(text, { cut, lowercase }) {
  const inCase = lowercase ? text.replaceAll("\u0130", "i").toLowerCase() : text;
  return TOKENIZERS[cut](inCase.normalize("NFC"));
}
