"""Stacked cells: a cell made of cells (dropout as in Zaremba et al. 2014, section 3.2)."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from numpy_attention.cells.cell import StepGradients, Steps
from numpy_attention.layers.dropout import Dropout
from numpy_attention.module import Array, Module
from numpy_attention.products import few_rows
from numpy_attention.validation.messages import typed_repr


@dataclass
class StackedSteps:
    """The Steps of each layer, and the inputs of each layer from the layer below."""

    layers: list[Steps]
    belows: list[Array]     # for each layer except the first: its input D(h) (T, B, H)
    Ws: list[Any]           # for each of them: W (H, G), laid out for the product D(h) W of a step
    keys: list[Any]         # for each of them: the key of the dropout D; None: no dropout
    row_ids: Array            # (T, B)    ids that D hashes

    @property
    def a(self):
        """The pre-activations (T, B, G) of the first layer. Decoders add to a[t] before step t."""
        return self.layers[0].a

    @property
    def hs(self):
        """The states (T + 1, B, H) of the top layer."""
        return self.layers[-1].hs


@dataclass
class StackedGradients:
    """The gradients of the steps of all layers of a stack."""

    layers: list[StepGradients]
    W_Ts: list[Any]         # Wᵀ (G, H) of each layer except the first, laid out for da Wᵀ

    @property
    def a(self):
        """∂L/∂a (T, B, G) of the first layer."""
        return self.layers[0].a


class Cache(NamedTuple):
    """The caches of all layers, for the backward pass over a whole sequence."""

    cells: list[Any]
    dropped: list[Any]      # None: no dropout, as below the first layer


@dataclass(eq=False)
class Stacked(Module):
    """Several cells on top of each other, with dropout in between. The state is a tuple of states.

        x^l_t = D(h^{l−1}_t)    the input of layer l, where D is dropout

    The methods are those of `protocol.RecurrentCell`. `forward` processes a whole sequence layer by
    layer, with one product for the input of each layer. A layer may be a Bidirectional if only
    `forward` and `backward` are used. The methods for single steps need a `Cell` in every layer.
    """

    cells: list
    dropout: Dropout

    @classmethod
    def create(cls, make, sizes, dropout=0.0):
        """Build a stack with a layer make(inputs, hidden) for each pair of consecutive sizes.

        make: a function that builds a cell from the sizes of its input and of its state. sizes:
        first the size of the input, then the state size of each layer.
        """
        layers = [make(below, above) for below, above in zip(sizes, sizes[1:])]
        return cls(layers, Dropout(dropout))

    @property
    def hidden_size(self):
        """H, the size of the state of the top layer."""
        return self.cells[-1].hidden_size

    @property
    def gates_size(self):
        """G, the number of pre-activations of the first layer."""
        return self.cells[0].gates_size

    def zero_state(self, B):
        """Return a tuple of the initial states of all layers, which are zeros."""
        return tuple(cell.zero_state(B) for cell in self.cells)

    def project(self, xs):
        """Project the input of the first layer: xs (T, B, I) → a (T, B, G)."""
        return self.cells[0].project(xs)

    def project_backward(self, da, xs, grads):
        """Return the gradient of xs; add the gradients of the first layer's W and b to grads."""
        return self.cells[0].project_backward(da, xs, grads.cells[0])

    # ---- step by step -----------------------------------------------------------------------

    def begin(self, a, state=None, mask=None, rng=None, row_ids=None):
        """Allocate the steps of all layers, and draw a dropout key for each layer except the first.

        Without rng there is no dropout. row_ids (T, B): the ids of the rows for `Dropout`, by
        default 0, 1, 2, … Raises the errors of `Cell.begin`, and the ValueError of `forward`.
        """
        layers = []
        for cell, before in zip(self.cells, self._states(state)):
            if layers:
                a = np.empty(a.shape[:2] + (cell.gates_size,), a.dtype)
            layers.append(cell.begin(a, before, mask))
        T, B = a.shape[:2]
        if row_ids is None:
            row_ids = np.arange(T * B).reshape(T, B)
        belows = [np.empty_like(steps.hs[1:]) for steps in layers[:-1]]
        Ws = [few_rows(cell.W, B, T) for cell in self.cells[1:]]
        keys = [self.dropout.draw(rng) for _ in belows]
        return StackedSteps(layers, belows, Ws, keys, row_ids)

    def state(self, steps, t):
        """Return the states of all layers before step t; t = T or −1 gives the last states."""
        return tuple(cell.state(one, t) for cell, one in zip(self.cells, steps.layers))

    def hidden(self, state):
        """Return the hidden state of the top layer → h (B, H)."""
        return self.cells[-1].hidden(state[-1])

    def step(self, t, steps):
        """Compute step t of all layers, from the bottom up."""
        for i, cell in enumerate(self.cells):
            if i:
                h = steps.layers[i - 1].hs[t + 1]
                below, _ = self.dropout.apply(h, steps.keys[i - 1], steps.row_ids[t])
                steps.belows[i - 1][t] = below
                # a_t = D(h_t) W + b
                steps.layers[i].a[t] = below @ steps.Ws[i - 1] + cell.b
            cell.step(t, steps.layers[i])

    def begin_backward(self, steps):
        """Allocate the gradients of the steps of all layers."""
        T, B, _ = steps.a.shape
        return StackedGradients([cell.begin_backward(one)
                                 for cell, one in zip(self.cells, steps.layers)],
                                [few_rows(cell.W.T, B, T) for cell in self.cells[1:]])

    def step_backward(self, t, dy, dstate, steps, dsteps):
        """Return the gradients of all layers' states before step t; write ∂L/∂a_t to dsteps."""
        dbefore = []
        for i in reversed(range(len(self.cells))):
            cell = self.cells[i]
            part = dsteps.layers[i]
            dbefore.append(cell.step_backward(t, dy, dstate[i], steps.layers[i], part))
            if i:
                # a_t = D(h_t) W + b; the gradient is dropped as h_t was
                dbelow = part.a[t] @ dsteps.W_Ts[i - 1]
                dy, _ = self.dropout.apply(dbelow, steps.keys[i - 1], steps.row_ids[t])
        return tuple(reversed(dbefore))

    def end_backward(self, steps, dsteps, grads):
        """Return da of the first layer; add all gradients to grads except those of its W and b."""
        parts = zip(self.cells, steps.layers, dsteps.layers, grads.cells)
        das = [cell.end_backward(one, done, gradients) for cell, one, done, gradients in parts]
        for i, below in enumerate(steps.belows, 1):
            self.cells[i]._weights_backward(das[i], below, grads.cells[i])
        return das[0]

    # ---- a whole sequence -------------------------------------------------------------------

    def forward(self, xs, state=None, mask=None, rng=None, row_ids=None):
        """Run all layers: xs (T, B, I) → ys (T, B, H) of the top layer, last states, cache.

        Without rng there is no dropout. Raises ValueError unless `state` is None or a tuple with
        one state for each layer.
        """
        last = []
        cache = Cache([], [])
        for cell, before in zip(self.cells, self._states(state)):
            dropped = None
            if last:
                xs, dropped = self.dropout.forward(xs, rng, row_ids)
            xs, after, inside = cell.forward(xs, before, mask)
            last.append(after)
            cache.cells.append(inside)
            cache.dropped.append(dropped)
        return xs, tuple(last), cache

    def backward(self, dys, dstate, cache, grads):
        """Return the gradients of xs and all initial states. None for dys or dstate means 0."""
        dfirst = []
        dafter = self._states(dstate)
        for i in reversed(range(len(self.cells))):
            dys, dbefore = self.cells[i].backward(dys, dafter[i], cache.cells[i], grads.cells[i])
            dys = self.dropout.backward(dys, cache.dropped[i])
            dfirst.append(dbefore)
        return dys, tuple(reversed(dfirst))

    def _states(self, state):
        """Return the states of the layers as a tuple: `state`, or Nones if `state` is None.

        Raises ValueError if `state` is anything but a tuple with one state for each layer.
        """
        if state is None:
            return (None,) * len(self.cells)
        if not isinstance(state, tuple) or len(state) != len(self.cells):
            given = f"a {len(state)}-tuple" if isinstance(state, tuple) else typed_repr(state)
            raise ValueError(f"state is {given}; expected a tuple of {len(self.cells)} states, one "
                             "for each layer")
        return state


def stack(make, sizes, dropout=0.0):
    """Return Stacked.create(make, sizes, dropout), or its only cell if it has one layer."""
    made = Stacked.create(make, sizes, dropout)
    return made.cells[0] if len(made.cells) == 1 else made
