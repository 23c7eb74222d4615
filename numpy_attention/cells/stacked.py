"""Cells on top of each other, with dropout between them and never along time (Zaremba et al. 2014, section 3.2)."""

from dataclasses import dataclass

from numpy_attention.layers.dropout import Dropout
from numpy_attention.module import Module


@dataclass(eq=False)
class Stacked(Module):
    """Layer l reads D(h^{l−1}_t), where D is dropout; the state is the tuple of the layers' states."""

    cells: list
    dropout: Dropout

    def forward(self, xs, state=None, mask=None, rng=None, names=None):
        """xs (T, B, I) → ys (T, B, H) of the top layer, the layers' last states, cache; rng None: no dropout.

        ValueError: another number of states than cells.
        """
        if state is not None and len(state) != len(self.cells):
            raise ValueError(f"state has {len(state)} layers, expected {len(self.cells)}: one state for each cell")
        last, cache = [], []
        for i, cell in enumerate(self.cells):
            dropped = None
            if i:
                xs, dropped = self.dropout.forward(xs, rng, names)
            xs, after, steps = cell.forward(xs, None if state is None else state[i], mask)
            last.append(after)
            cache.append((dropped, steps))
        return xs, tuple(last), cache

    def backward(self, dys, dstate, cache, grad):
        """→ (dxs, the layers' ∂L/∂ initial states)."""
        first = []
        for i in reversed(range(len(self.cells))):
            dropped, steps = cache[i]
            dys, dbefore = self.cells[i].backward(dys, None if dstate is None else dstate[i], steps, grad.cells[i])
            dys = self.dropout.backward(dys, dropped)
            first.append(dbefore)
        return dys, tuple(reversed(first))
