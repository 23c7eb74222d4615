"""Methods that decoding needs. Any object with these methods can be used for decoding."""

from typing import Any, Protocol

from numpy_attention.module import Array


class State(Protocol):
    """The state of a translator, with a row for each sentence or hypothesis of the batch."""

    def take(self, rows: Array) -> "State":
        """Return the state of the given rows, in the given order.

        A row may occur several times in `rows`, or not at all.
        """


class Translator(Protocol):
    """A model that writes one word after another, given a source sentence."""

    def start(self, source: Array, mask: Array) -> Any:
        """Return the State before the first target word. source and mask: (S, B)."""

    def next(self, tokens: Array, state: Any) -> tuple[Array, Array, Any]:
        """Predict the words that follow `tokens` (B,) → log p (B, V), weights (B, S), State.

        tokens: the previous words; at the first step, <s>.
        """


class LanguageModel(Protocol):
    """A model that writes one token after another. Its state may be any object."""

    def next(self, tokens: Array, state: Any = None) -> tuple[Array, Array | None, Any]:
        """Predict the next token of each text → log p (B, V), weights (B, S) or None, state.

        tokens: the last token of each text. state: what the previous step returned, or None at the
        first step. The weights are over the S states in memory, oldest first, or None without
        attention. For a Translator, S is the source length, and the first state is from `start`.
        """
