"""A translated sentence, and what may be one to translate."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy_attention.validation.arguments import check_tokens
from numpy_attention.data.vocabulary import EOS, SPECIAL_TOKENS
from numpy_attention.module import Array
from numpy_attention.page.table import heatmap_table, token_html

Sentence = Sequence[str]


@dataclass
class Translation:
    """One translated sentence: its words, log p, and attention weights, </s> on both sides."""

    source: list[str]
    target: list[str]
    log_probability: float
    weights: Array                      # (target words and </s>, source words and </s>)
    score: float | None = None          # what search ranks by
    finished: bool = True               # False: cut off before </s>, as `longest` says

    def unknown_replaced(self) -> list[str]:
        """The target with each <unk> replaced by the source word that its largest weight is on.

        So names and numbers are copied (Luong et al. 2015, section 4.2, without their dictionary).
        It stays where no source word has any weight.
        """
        return [self.source[int(row[:-1].argmax())] if "<unk>" in word and row[:-1].any() else word
                for word, row in zip(self.target, self.weights)]

    def heatmap(self, **options: Any) -> Any:
        """Draw the attention weights; options as in `plotting.attention_heatmap`. → the Axes."""
        from numpy_attention.plotting import attention_heatmap
        return attention_heatmap(self.weights, *self._labels(), **options)

    def _labels(self) -> tuple[list[str], list[str]]:
        """Source and target tokens of the weights' columns and rows, </s> included."""
        end = [SPECIAL_TOKENS[EOS]]
        return self.source + end, self.target + end * (len(self.weights) - len(self.target))

    def _repr_html_(self) -> str:
        """Show the words and their attention weights as a table in a notebook."""
        words = " ".join(map(token_html, self.target))
        table = heatmap_table(self.weights, *self._labels())
        return f"<p>{words} &nbsp;(log p {self.log_probability:.3f})</p>\n{table}"


def check_sentence(sentence: Sentence, name: str) -> None:
    """A sentence is a list of tokens. TypeError: it is one string; ValueError: it is empty."""
    check_tokens(name, sentence)
    if not len(sentence):
        raise ValueError(f"{name} is empty: expected at least one token")
