"""A translated sentence and its attention weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from numpy_attention.data.vocabulary import EOS, SPECIAL_TOKENS
from numpy_attention.module import Array
from numpy_attention.plotting.html import heatmap_table, token_html
from numpy_attention.validation.arguments import check_tokens

Sentence = Sequence[str]


@dataclass
class Translation:
    """A translated sentence: its words, log p, and attention weights, which include </s>."""

    source: list[str]
    target: list[str]
    log_probability: float
    weights: Array                      # (target words and </s>, source words and </s>)
    score: float | None = None          # the score by which beam search ranks
    finished: bool = True               # False: the limit was reached before </s>

    def unknown_replaced(self) -> list[str]:
        """Return the target, with the source word of the largest weight in place of each <unk>.

        This copies names and numbers (Luong et al. 2015, section 4.2, without their dictionary).
        """
        return [self.source[int(row[:-1].argmax())] if "<unk>" in word and row[:-1].any() else word
                for word, row in zip(self.target, self.weights)]

    def heatmap(self, **options: Any) -> Any:
        """Plot the weights, with options of `plotting.attention_heatmap`. Return the Axes."""
        from numpy_attention.plotting import attention_heatmap
        source, target = self._labels()
        return attention_heatmap(self.weights, source_tokens=source, target_tokens=target,
                                 **options)

    def _labels(self) -> tuple[list[str], list[str]]:
        """Return the tokens that label the columns and the rows of the weights, with </s>."""
        end = [SPECIAL_TOKENS[EOS]]
        return self.source + end, self.target + end * (len(self.weights) - len(self.target))

    def _repr_html_(self) -> str:
        """Show the words and their attention weights as a table in a notebook."""
        words = " ".join(map(token_html, self.target))
        table = heatmap_table(self.weights, *self._labels())
        return f"<p>{words} &nbsp;(log p {self.log_probability:.3f})</p>\n{table}"


def check_sentence(sentence: Sentence, name: str) -> None:
    """Raise TypeError unless a sentence is a list of tokens, and ValueError if it is empty."""
    check_tokens(name, sentence)
    if not len(sentence):
        raise ValueError(f"{name} is empty; expected at least one token")


def in_source_order(weights: Array) -> Array:
    """Reverse the columns of weights (T, S) over a reversed source, but keep </s> last."""
    return np.concatenate([weights[:, -2::-1], weights[:, -1:]], axis=1)


def in_words(weights: Array, columns: Sequence[int], rows: Sequence[int]) -> Array:
    """Convert weights (T, S) of ids to weights (target words, source words).

    The weights are summed over the ids of a source word, and averaged over the ids of a target
    word. columns (S,), rows (T,): the index of the word to which each source or target id belongs.
    </s> counts as one more word at the end.
    """
    source = np.eye(max(columns) + 1, dtype=weights.dtype)[columns]         # (S, source words)
    target = np.eye(max(rows) + 1, dtype=weights.dtype)[rows]               # (T, target words)
    return target.T @ weights @ source / target.sum(0)[:, None]
