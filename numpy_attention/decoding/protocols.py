"""Methods that decoding needs: an object that has them can be searched or sampled from."""

from typing import Any, Protocol

from numpy_attention.module import Array


class State(Protocol):
    """The state of a translator, a row for each sentence or hypothesis of the batch."""

    def take(self, rows: Array) -> "State":
        """Return the state of these rows, in this order; rows may be repeated or left out."""


class Translator(Protocol):
    """A model that writes one word after another, given a source sentence."""

    def start(self, source: Array, mask: Array) -> Any:
        """Return the State before the first target word of source (S, B)."""

    def next(self, tokens: Array, state: Any) -> tuple[Array, Array, Any]:
        """Predict from the previous words (B,), first <s> → log p (B, V), weights (B, S), State."""


class LanguageModel(Protocol):
    """A model that writes one token after another; only the model itself reads its state."""

    def next(self, tokens: Array, state: Any = None) -> tuple[Array, Array | None, Any]:
        """Predict from one token each (B,) → log p (B, V), weights (B, S) or None, state.

        The weights are over the S states remembered, oldest first; None without attention. A
        translator that has started can be used too: its weights are over the source.
        """
