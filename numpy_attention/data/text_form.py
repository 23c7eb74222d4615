"""How raw text becomes tokens, as in a corpus, and tokens become text again."""

import functools
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from numpy_attention.data.pairs import Pair
from numpy_attention.data.reading import Tokens, read_pairs
from numpy_attention.validation.arguments import check_flags, check_kind, check_name, check_tokens


@functools.lru_cache(maxsize=None)
def _token_pattern() -> re.Pattern[str]:
    # Python's \w leaves out combining marks, which many scripts need inside a word.
    characters = map(chr, range(0x300, 0x10000))
    marks = "".join(c for c in characters if unicodedata.category(c)[0] == "M")
    word = rf"\w+(?:[{marks}\u200c\u200d]+\w*)*"
    return re.compile(rf"\d+(?:[.,]\d+)+(?!\w)|{word}(?:['\-]{word})*|[^\w\s]")


def word_tokens(text: str, elision: bool = False) -> list[str]:
    """Split raw text of any script into words and single punctuation marks.

    A word is a run of letters, marks and digits, with apostrophes and hyphens kept inside it
    (don't, well-known); a number keeps its points and commas (3,000.5). The curly apostrophe
    becomes the straight one, and accented letters take their composed form (Unicode NFC). With
    `elision=True` a word is cut after each inner apostrophe, as in French: l'homme → l' homme
    (aujourd'hui is not cut).
    """
    check_kind("text", text, str, "a text")
    check_flags(elision=elision)
    text = unicodedata.normalize("NFC", text).replace("\u2019", "'")
    tokens = _token_pattern().findall(text)
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
    """How a corpus cuts raw text: "words" (with `word_tokens`), at "spaces", or into "characters".

    lowercase: whether it is lowercased first. ValueError: another tokenizer.
    """

    tokenizer: str = "words"
    lowercase: bool = True

    def __post_init__(self) -> None:
        check_name("tokenizer", self.tokenizer, TOKENIZERS)
        check_flags(lowercase=self.lowercase)

    def in_case(self, lowercase: bool | None) -> "TextForm":
        """Return this form with another `lowercase`; None: as it is."""
        return self if lowercase is None else replace(self, lowercase=lowercase)

    def tokens(self, text: str) -> list[str]:
        """Return the tokens of a raw sentence, without its line end."""
        check_kind("text", text, str, "a text")
        if self.lowercase:
            text = text.lower()
        return TOKENIZERS[self.tokenizer](text)

    def text(self, tokens: Sequence[str]) -> str:
        """Return tokens as one line of text."""
        check_tokens("tokens", tokens)
        between = "" if self.tokenizer == "characters" else " "
        return between.join(tokens)

    def pairs(self, source: str | Path, target: str | Path) -> list[Pair]:
        """Return the pairs of two files of raw text; errors as in `read_pairs`."""
        return read_pairs(source, target, self.tokens)
