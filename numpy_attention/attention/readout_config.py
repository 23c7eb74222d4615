"""Configuration of the readout of a language model's history, chosen by name."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.attention.key_value import KeyValueReadout
from numpy_attention.attention.ngram import NGramReadout
from numpy_attention.initializers import glorot
from numpy_attention.registry import ACTIVATIONS, HISTORY_READOUTS
from numpy_attention.validation.arguments import check_name
from numpy_attention.validation.arrays import at_least, check_sizes

# the variants of the papers: number of parts of a state, score, whether there is a bias
FORMS = {
    "single": {"parts": 1, "score": "single", "bias": True},
    "combined": {"parts": 1, "score": "combined", "bias": True},
    "attention": {"parts": 1},
    "key-value": {"parts": 2},
    "key-value-predict": {"parts": 3},
}


@dataclass(frozen=True)
class ReadoutConfig:
    """Configuration of a history readout: its attention and its memory.

    attention: "single" or "combined" (Salton et al. 2017); "attention", "key-value",
        "key-value-predict" or "ngram" (Daniluk et al. 2017); "projection", the N-gram readout with
        order 2, which reads only the current state; or a user-defined HistoryAttention class, for
        which states are not split and the readout has no bias
    window: the number of earlier states that attention may read, by default all
    carried: the number of states kept from earlier batches. An N-gram model keeps order − 2 states
        unless carried is 0
    order: N of the N-gram model
    activation: "tanh" or "linear", which is the identity

    Raises ValueError for an unknown name, a number out of range, or an N-gram model with a window.
    """

    attention: str | type = "combined"
    window: int | None = None
    carried: int = 0
    order: int = 4
    activation: str = "tanh"

    def __post_init__(self):
        if not (isinstance(self.attention, type) and hasattr(self.attention, "create")):
            check_name("attention", self.attention, HISTORY_READOUTS)
        check_name("activation", self.activation, ACTIVATIONS)
        check_sizes(0, carried=self.carried)
        at_least(1, window=self.window)
        check_sizes(2, order=self.order)
        if self._order is not None and self.window is not None:
            raise ValueError(f"window = {self.window} has no effect in an N-gram model, which "
                             f"reads order − 1 = {self._order - 1} states; omit it")

    @property
    def _order(self):
        """The order N of an N-gram model, or None for a readout that has attention."""
        return {"ngram": self.order, "projection": 2}.get(self.attention)

    @property
    def _form(self):
        return FORMS.get(self.attention) or {"parts": 1, "score": self.attention}

    @property
    def parts(self):
        """The number of parts into which a state is split. It must divide the hidden size."""
        return self._order - 1 if self._order else self._form["parts"]

    def create(self, rng, hidden, outputs, init=glorot, dtype=np.float32):
        """Build a readout that maps states (T, B, hidden) to outputs (T, B, outputs)."""
        shared = {"activation": self.activation, "init": init, "dtype": dtype}
        if self._order:
            return NGramReadout.create(rng, hidden, outputs, self._order, bool(self.carried),
                                       **shared)
        return KeyValueReadout.create(rng, hidden, outputs, window=self.window,
                                      carried=self.carried, **self._form, **shared)
