"""Tokenize raw text in the way that a corpus was tokenized, and join tokens into text."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import regex

from numpy_attention.data.pairs import Pair
from numpy_attention.data.reading import Tokens, read_pairs
from numpy_attention.validation.arguments import check_flags, check_kind, check_name, check_tokens

# A number; a word, which may contain an apostrophe, a hyphen or a middle dot (paral·lel); or a
# punctuation mark.
NUMBER = r"\d+(?:[.,\u066b\u066c]\d+)+(?!\w)"
TOKEN = re.compile(NUMBER + r"|\w+(?:['\-\u00b7\u2027\u058a]\w+)*|[^\w\s\x00-\x1f\x7f]")

# Text with marks, joiners, emoji or invisible characters needs another pattern. A word includes its
# marks, and in Hebrew a geresh or a gershayim (צה״ל). Every other visible character is a token,
# even if it has several code points.
CONTROLS = r"\x00-\x08\x0e-\x1f\x7f-\x9f\u2028\u2029"
FILLERS = r"\u115f\u1160\u2800\u3164\uffa0"
HIDDEN = rf"\p{{Cf}}\p{{Variation_Selector}}\u034f{CONTROLS}{FILLERS}"
MARKED = regex.compile(rf"[\p{{M}}\p{{RI}}\p{{EMod}}\p{{Hebrew}}{HIDDEN}]")
WORD = r"[\p{L}\p{N}_][\p{L}\p{N}\p{M}_\u200c\u200d]*+"
INSIDE = r"(?:['\-\u00b7\u2027\u058a\u05f3\u05f4]|(?<=\p{Hebrew})\"(?=\p{Hebrew}))"
MARKED_TOKEN = regex.compile(rf"{NUMBER}|{WORD}(?:{INSIDE}{WORD})*+|(?!\s)\X")

WORD_OF_LETTERS = regex.compile(r"\p{L}[\p{L}\p{M}\u200c\u200d]*")

# Invisible characters separate words or are removed. Removed are soft hyphens, direction marks, and
# variation selectors and joiners without a character before them.
SOME_HIDDEN = regex.compile(f"[{HIDDEN}]")
DIVIDERS = regex.compile(rf"[\u200b{CONTROLS}{FILLERS}]")
LEFT_OUT = regex.compile(
    r"[\u00ad\u034f\u061c\u180e\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
    r"|(?<![^\s])[\p{Variation_Selector}\u200c\u200d\U000e0020-\U000e007f]+")


def composed(text: str) -> str:
    """Return `text` with accented letters in their composed form (Unicode NFC)."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def lowered(text: str) -> str:
    """Return `text` in lowercase. Unlike str.lower, turn İ into i without a combining dot."""
    return text.replace("İ", "i").lower()


def is_word(token: str) -> bool:
    """Return whether a token consists of letters, including combining marks."""
    return token.isalpha() or WORD_OF_LETTERS.fullmatch(token) is not None


def visible(token: str) -> str:
    """Return a token with invisible characters escaped, such as \\u200b."""
    return "".join(
        character.encode("unicode_escape").decode() if _unseen(character, before) else character
        for before, character in zip(" " + token, token))


def _unseen(character: str, before: str) -> bool:
    category = unicodedata.category(character)
    if category[0] == "M" or character in "\u200c\u200d":
        return before.isspace()
    return category in ("Cc", "Cf", "Cs", "Zl", "Zp") or DIVIDERS.match(character) is not None


def word_tokens(text: str, elision: bool = False) -> list[str]:
    """Split raw text of any script into words and single punctuation marks.

    A word is a run of letters, marks and digits, which may contain apostrophes and hyphens
    (don't, well-known). A number keeps its points and commas (3,000.5). The curly apostrophe
    becomes the straight one, a non-breaking hyphen becomes -, and accented letters take their
    composed form (Unicode NFC). Zero-width spaces, blank fillers and control characters divide
    words. Soft hyphens and direction marks are left out. With `elision=True` a word is split after
    each inner apostrophe, as in French: l'homme → l' homme (aujourd'hui is not split).
    """
    check_kind("text", text, str, "a string")
    check_flags(elision=elision)
    pattern: Any = TOKEN
    if not text.isascii():
        text = composed(text).replace("\u2019", "'").replace("\u2010", "-").replace("\u2011", "-")
        if MARKED.search(text):
            pattern = MARKED_TOKEN
            if SOME_HIDDEN.search(text):
                text = LEFT_OUT.sub("", DIVIDERS.sub(" ", text))
    tokens = pattern.findall(text)
    if not elision or "'" not in text:
        return tokens
    cut: list[str] = []
    for token in tokens:
        whole = "'" not in token or token == "'" or token.lower() == "aujourd'hui"
        cut.extend([token] if whole else re.findall(r"[^']+'?", token))
    return cut


TOKENIZERS: dict[str, Tokens] = {"words": word_tokens, "spaces": str.split, "characters": list}


@dataclass(frozen=True)
class TextForm:
    """A tokenizer of raw text: "words" (with `word_tokens`), "spaces" or "characters".

    lowercase: whether the text is lowercased first. Raises ValueError for another tokenizer.
    """

    tokenizer: str = "words"
    lowercase: bool = True

    def __post_init__(self) -> None:
        check_name("tokenizer", self.tokenizer, TOKENIZERS)
        check_flags(lowercase=self.lowercase)

    def in_case(self, lowercase: bool | None) -> "TextForm":
        """Return this TextForm with another value of `lowercase`. None keeps the value."""
        return self if lowercase is None else replace(self, lowercase=lowercase)

    def tokens(self, text: str) -> list[str]:
        """Return the tokens of raw text. With the tokenizer "characters", a newline is a token."""
        check_kind("text", text, str, "a string")
        text = composed(lowered(text) if self.lowercase else text)
        return TOKENIZERS[self.tokenizer](text)

    def text(self, tokens: Sequence[str]) -> str:
        """Return tokens joined into text, with spaces unless the tokenizer is "characters"."""
        check_tokens("tokens", tokens)
        between = "" if self.tokenizer == "characters" else " "
        return between.join(tokens)

    def pairs(self, source: str | Path, target: str | Path, columns: Sequence[int] | None = None,
              skip_blank: bool = False) -> list[Pair]:
        """Return the Pairs of two files of raw text. For the arguments, see `read_pairs`."""
        return read_pairs(source, target, self.tokens, columns, skip_blank)
