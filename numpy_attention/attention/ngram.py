"""N-gram RNN, which combines the last N − 1 states (Daniluk et al. 2017, section 2.4)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from numpy_attention.attention.readout import HistoryReadout, activate, activate_backward, last
from numpy_attention.initializers import check_initial, glorot
from numpy_attention.module import Array
from numpy_attention.registry import ACTIVATIONS
from numpy_attention.validation.arguments import check_name
from numpy_attention.validation.arrays import as_rows, check_parameters, check_sizes


class Cache(NamedTuple):
    parts: Array        # (T, B, H)
    y: Array            # (T, B, O)
    mask: Array         # (T, B)


@dataclass(eq=False)
class NGramReadout(HistoryReadout):
    """N-gram readout: combine one part of each of the last N − 1 states (Daniluk et al. 2017).

        h   = [h^1; …; h^{N−1}]
        y_t = tanh(W^N [h^1_t; h^2_{t−1}; …; h^{N−1}_{t−N+2}])

    This is equation 13. N is the field `order`, W^N the field `W`. Every state is split into N − 1
    parts. Part i of h_t is used at step t + i − 1. A long text is processed in chunks, one per
    batch. The states before a chunk are zeros or, with carried=True, the last states of the chunk
    before. There is no tanh if activation is "linear". With order 2, no earlier state is used.
    """

    W: Array  # (H, O), the rows in the order of the parts
    order: int = 4
    carried: bool = False
    activation: str = "tanh"

    def __post_init__(self):
        check_parameters(self, W="HO")
        check_name("activation", self.activation, ACTIVATIONS)

    @classmethod
    def create(cls, rng, hidden, outputs, order=4, carried=False, activation="tanh", init=glorot,
               dtype=np.float32):
        """Draw W. hidden: H. outputs: O. order: N. The class describes carried and activation.

        Raises ValueError if a size is below 1, if order is below 2, if N − 1 does not divide
        hidden, or if activation is unknown.
        """
        check_sizes(2, order=order)
        check_sizes(hidden=hidden, outputs=outputs)
        check_initial(rng, dtype, init)
        if hidden % (order - 1):
            raise ValueError(f"hidden ({hidden}) must be divisible by order − 1 ({order - 1})")
        return cls(init(rng, (hidden, outputs), dtype), order, carried, activation)

    @property
    def hidden_size(self):
        """H, the size of a state."""
        return len(self.W)

    @property
    def output_size(self):
        """O, the size of y."""
        return self.W.shape[1]

    @property
    def reach(self):
        """N − 2, the number of states before h_t that y_t depends on."""
        return self.order - 2

    def forward(self, h, mask, memory=None, keep=None):
        """Compute y: h (T, B, H), mask (T, B) → y (T, B, O), new memory, None for weights, cache.

        memory: as in `HistoryReadout`, with N − 2 states. The new memory has N − 2 states, too, if
        `carried` or keep is true and N > 2; else it is None. Generation word by word sets keep.
        """
        states, known = self.remember(h, mask, memory, self.reach)
        # a part of an unknown state is 0
        seen = np.where(known[..., None], states, 0)                            # (B, M + T, H)
        # part i of h_t is read at step t + i − 1
        parts = np.empty(h.shape, h.dtype)                                      # (T, B, H)
        T = len(h)
        for later, columns in self._columns():
            start = seen.shape[1] - T - later
            parts[:, :, columns] = seen[:, start:start + T, columns].transpose(1, 0, 2)
        # y_t = tanh(W^N parts_t)
        a = as_rows(parts) @ self.W                                                # (T · B, O)
        y = activate(a, self.activation).reshape(h.shape[:2] + a.shape[1:])     # (T, B, O)
        memory = last(states, known, self.reach if self.carried or keep else 0)
        return y, memory, None, Cache(parts, y, mask)

    def backward(self, dy, dweights, cache, grads):
        """Backpropagate dy (T, B, O) → dh (T, B, H). dweights has no effect: weights are None."""
        parts, y, mask = cache
        # y_t = tanh(W^N parts_t)
        da = as_rows(activate_backward(dy, y, self.activation))
        grads.W += as_rows(parts).T @ da
        dparts = (da @ self.W.T).reshape(parts.shape)                           # (T, B, H)
        # part i of h_t was read at step t + i − 1
        dh = np.zeros_like(parts)                                               # (T, B, H)
        T = len(dh)
        for later, columns in self._columns():
            dh[:max(T - later, 0), :, columns] = dparts[later:, :, columns]
        # a part of an unknown state is 0
        return np.where(mask[..., None], dh, 0)

    def _columns(self):
        """Return a list of pairs (steps, columns), one for each part of a state.

        The part h[…, columns] of a state h is used `steps` steps later.
        """
        n = len(self.W) // (self.order - 1)
        return [(i, slice(i * n, (i + 1) * n)) for i in range(self.order - 1)]
