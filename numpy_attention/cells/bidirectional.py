"""Bidirectional cell: one cell from each end of the sequence (Schuster & Paliwal 1997)."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from numpy_attention.cells.cell import Cell
from numpy_attention.module import Module


class Cache(NamedTuple):
    """The caches of both cells."""

    forward: Any
    backward: Any


@dataclass(eq=False)
class Bidirectional(Module):
    """Two cells, one forward and one backward in time (Bahdanau et al. 2015, A.2.1).

        h_j = [→h_j; ←h_j]      the states of the forward and of the backward cell

    Padding is at the end of a sequence, so the backward cell reads the padding first. It keeps its
    initial state at these masked steps. The state is the pair of last states (→h_T, ←h_1).
    """

    forward_cell: Cell
    backward_cell: Cell

    @property
    def output_size(self):
        """D, the size of h_j: the sum of the state sizes of both cells."""
        return self.forward_cell.hidden_size + self.backward_cell.hidden_size

    def forward(self, xs, state=None, mask=None, rng=None, row_ids=None):
        """Run both cells: xs (T, B, I), mask (T, B) → ys (T, B, D), (→h_T, ←h_1), cache.

        rng and row_ids have no effect; only a stack of cells uses them.
        """
        before, after = (None, None) if state is None else state
        ahead, last, forward_cache = self.forward_cell.forward(xs, before, mask)
        reversed_mask = None if mask is None else mask[::-1]
        back, first, backward_cache = self.backward_cell.forward(xs[::-1], after, reversed_mask)
        ys = np.concatenate([ahead, back[::-1]], axis=2)                    # (T, B, D)
        return ys, (last, first), Cache(forward_cache, backward_cache)

    def backward(self, dys, dstate, cache, grads):
        """Backpropagate dys (T, B, D) or None → dxs (T, B, I), dstate.

        The argument dstate is the gradient of the state (→h_T, ←h_1): a pair of gradients, or None
        for 0. Each gradient in the pair may be None, too. The returned dstate is the pair of
        gradients of the initial states.
        """
        dlast, dfirst = (None, None) if dstate is None else dstate
        H = self.forward_cell.hidden_size
        # h_j = [→h_j; ←h_j]
        dahead = None if dys is None else np.ascontiguousarray(dys[:, :, :H])
        dback = None if dys is None else np.ascontiguousarray(dys[::-1, :, H:])
        dxs, dbefore = self.forward_cell.backward(dahead, dlast, cache.forward, grads.forward_cell)
        dxs_back, dafter = self.backward_cell.backward(dback, dfirst, cache.backward,
                                                       grads.backward_cell)
        return dxs + dxs_back[::-1], (dbefore, dafter)
