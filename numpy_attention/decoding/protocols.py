"""Methods that decoding needs. Any object that has them can be searched or sampled from."""

from typing import Any, Protocol

from numpy_attention.module import Array


class State(Protocol):
    """The state of a translator, with a row for each sentence or hypothesis of the batch."""

    def take(self, rows: Array) -> "State":
        """Return the state of these rows, in this order. Rows may be repeated or left out."""


class Translator(Protocol):
    """A model that writes one word after another, given a source sentence."""

    def start(self, source: Array, mask: Array) -> Any:
        """Return the State before the first target word of source (S, B)."""

    def next(self, tokens: Array, state: Any) -> tuple[Array, Array, Any]:
        """Predict the words that follow `tokens` (B,) → log p (B, V), weights (B, S), State.

        tokens: the previous words; at the first step, <s>.
        """


class LanguageModel(Protocol):
    """A model that writes one token after another. Only the model itself reads its state."""

    def next(self, tokens: Array, state: Any = None) -> tuple[Array, Array | None, Any]:
        """Predict from one token each (B,) → log p (B, V), weights (B, S) or None, state.

        The weights are over the S remembered states, oldest first. They are None without attention.
        A translator can be used too once it has started; its weights are over the source.
        """
