"""Methods that decoding needs: an object that has them can be searched or sampled from."""

from typing import Any, Protocol

from numpy_attention.module import Array


class State(Protocol):
    """The state of a translator, a row for each sentence or hypothesis of the batch."""

    def take(self, rows: Array) -> "State":
        """The state of these rows, in this order; a row may occur more than once, or not at all."""


class Translator(Protocol):
    """Writes one word after another, given a source sentence."""

    def start(self, source: Array, mask: Array) -> Any:
        """Read the source (S, B) → the State before the first target word."""

    def next(self, tokens: Array, state: Any) -> tuple[Array, Array, Any]:
        """Previous words (B,), <s> first → log p of the next (B, V), weights (B, S), State."""


class LanguageModel(Protocol):
    """Writes one token after another, given those before; only the model reads its state."""

    def next(self, tokens: Array, state: Any = None) -> tuple[Array, Array | None, Any]:
        """A token each (B,) → log p of the next (B, V), weights (B, S) or None, state.

        The weights are over the S states remembered, oldest first; None without attention. A
        translator is one too, once it has started: its weights are over the source.
        """
