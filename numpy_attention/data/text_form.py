"""How raw text becomes tokens, as a corpus was cut, and tokens become text again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from numpy_attention.data.pairs import Pair
from numpy_attention.data.reading import read_lines, read_pairs
from numpy_attention.data.tokens import word_tokens

CUTS: dict[str, Callable[[str], list[str]]] = {
    "words": word_tokens,
    "spaces": str.split,
    "characters": list,
}


@dataclass(frozen=True)
class TextForm:
    """How a corpus cuts raw text: "words" (with `word_tokens`), at "spaces", or into "characters".

    lowercase: whether it is lowercased before.
    """

    cut: str = "words"
    lowercase: bool = True

    def in_case(self, lowercase: bool | None) -> "TextForm":
        """The same with lowercase so; None: as it is."""
        return self if lowercase is None else replace(self, lowercase=lowercase)

    def tokens(self, text: str) -> list[str]:
        """The tokens of a raw sentence, without its line end."""
        if self.lowercase:
            text = text.lower()
        return CUTS[self.cut](text)

    def text(self, tokens: Sequence[str]) -> str:
        """Tokens as one line of text."""
        between = "" if self.cut == "characters" else " "
        return between.join(tokens)

    def pairs(self, source: str | Path, target: str | Path) -> list[Pair]:
        """Pairs of two files of raw text; errors as `read_pairs` raises them."""
        pairs = read_pairs(source, target, self.lowercase, self.cut == "words")
        if self.cut == "characters":
            lines = zip(read_lines(source), read_lines(target))
            pairs = [Pair(tuple(self.tokens(a)), tuple(self.tokens(b))) for a, b in lines]
        return pairs
