"""What all recurrent cells share: the loop over time, and the products that are hoisted out of it."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.module import Array, Module
from numpy_attention.shapes import expect, expect_dtype, expect_mask, flat


@dataclass
class Steps:
    """The cache of T steps of a cell: arrays over time, step t writing place t (states: place t + 1)."""

    a: Array            # (T, B, gates · H)   the input's part of the pre-activations
    mask: Array         # (T, B)              False: the step keeps the state it had
    hs: Array           # (T + 1, B, H)       states; hs[0] is the initial one
    cs: Array | None    # (T + 1, B, H)       an LSTM's cells
    gates: Array | None  # (T, B, gates · H)  activated gates
    s: Array | None     # (T, B, H)           a GRU's h U_n + b_n with reset="after", r ∘ h with reset="before"
    u: Array            # (B, gates · H)      room for one recurrent product


class Cell(Module):
    """A recurrent cell: fields W (I, gates · H), U (H, gates · H), b (gates · H,), and one step forward and backward.

    Its protocol for a loop of one's own, as a decoder needs it (forward and backward below are the plainest such loop):

        steps  = cell.begin(a, state, mask)                       a (T, B, gates · H) = cell.project(xs)
        cell.step(t, steps)                                       reads a[t] and the state before, writes the one after
        dsteps = cell.begin_backward(steps)
        dstate = cell.step_backward(t, dy, dstate, steps, dsteps)
        da     = cell.end_backward(steps, dsteps, grad)           recurrent weights: one product for all steps
        dxs    = cell.project_backward(da, xs, grad)              input weights: likewise

    dy (B, H) is ∂L/∂h_t from whatever read h_t, dstate ∂L/∂(the state after step t) from the later steps: `step_backward` adds
    the two, writes step t's place of dsteps and returns ∂L/∂(the state before step t). ValueError: shapes that do not fit.
    A cell of one's own writes `step` and `_step_backward`, and `_allocate` for what its backward reads.
    """

    @property
    def hidden_size(self):
        """H, the size of a state."""
        return len(self.U)

    def project(self, xs):
        """a = xs W + b for all steps in one product.   xs (T, B, I) → a (T, B, gates · H). ValueError: another I."""
        expect("xs", xs, (None, None, len(self.W)), "(T, B, I)", "sequences are time-major")
        expect_dtype("xs", xs, self.W)
        a = flat(xs) @ self.W
        a += self.b
        return a.reshape(xs.shape[:2] + a.shape[1:])

    def project_backward(self, da, xs, grad):
        """∂L/∂W += xsᵀ da, ∂L/∂b += Σ da, returns dxs = da Wᵀ."""
        self.weights_backward(da, xs, grad)
        return (flat(da) @ self.W.T).reshape(xs.shape)

    def weights_backward(self, da, xs, grad):
        """The weights' half of `project_backward`, where dxs was needed step by step."""
        grad.W += flat(xs).T @ flat(da)
        grad.b += flat(da).sum(0)

    def begin(self, a, state=None, mask=None):
        """Room for the steps of a (T, B, gates · H) from `state` (None: zeros).

        ValueError: shapes that do not fit; TypeError: a mask that is not boolean, an `a` of another dtype than the weights.
        """
        expect("a", a, (None, None, len(self.b)), "(T, B, gates · H)", "a = cell.project(xs)")
        expect_dtype("a", a, self.U)
        T, B, G = a.shape
        if mask is None:
            mask = np.ones((T, B), bool)
        expect_mask(mask, (T, B), "(T, B)")
        hs = np.empty((T + 1, B, self.hidden_size), a.dtype)
        steps = Steps(a, mask, hs, None, None, None, np.empty((B, G), a.dtype))
        self._allocate(steps)
        zero = self.zero_state(B)
        state = zero if state is None else state
        expect_state("state", state, zero)
        for first, array in zip(_tuple(state), (steps.hs, steps.cs)):
            array[0] = first
        return steps

    def zero_state(self, B):
        """The initial state of B sequences: zeros (B, H)."""
        return np.zeros((B, self.hidden_size), self.U.dtype)

    def state(self, steps, t):
        """The state before step t; t = T or −1: the last one."""
        return steps.hs[t]

    def begin_backward(self, steps):
        """Room for the gradients of the steps."""
        return np.empty_like(steps.a)

    def step_backward(self, t, dy, dstate, steps, dsteps):
        """From ∂L/∂h_t = dy (B, H) and ∂L/∂(the state after step t) to ∂L/∂(the state before); writes ∂L/∂a_t into dsteps.

        ValueError: other shapes, which compiled code would read past.
        """
        expect("dy", dy, steps.hs[t].shape, "(B, H)", "∂L/∂h_t, one row for each sequence of the batch")
        expect_state("dstate", dstate, self.state(steps, t))
        return self._step_backward(t, dy, dstate, steps, dsteps)

    def input_gradient(self, dsteps):
        """∂L/∂a (T, B, gates · H) of the steps gone back through so far: what a context that entered a waits for."""
        return dsteps

    def end_backward(self, steps, da, grad):
        """∂L/∂U += Σ_t h_{t−1}ᵀ da_t; returns da, the gradient of `begin`'s a."""
        grad.U += flat(steps.hs[:-1]).T @ flat(da)
        return da

    def forward(self, xs, state=None, mask=None):
        """All steps.   xs (T, B, I), mask (T, B) → ys (T, B, H), the last state, cache."""
        steps = self.begin(self.project(xs), state, mask)
        for t in range(len(xs)):
            self.step(t, steps)
        return steps.hs[1:], self.state(steps, -1), (xs, steps)

    def backward(self, dys, dstate, cache, grad):
        """From ∂L/∂ys and ∂L/∂(last state), or None for 0, to (dxs, ∂L/∂(initial state)). ValueError: other shapes."""
        xs, steps = cache
        T, B = xs.shape[:2]
        dys = np.zeros((T, B, self.hidden_size), xs.dtype) if dys is None else dys
        dstate = self.zero_state(B) if dstate is None else dstate
        expect("dys", dys, (T, B, self.hidden_size), "(T, B, H)", "as `forward` gave ys: sequences are time-major")
        expect_state("dstate", dstate, self.zero_state(B))
        dsteps = self.begin_backward(steps)
        for t in reversed(range(T)):
            dstate = self._step_backward(t, dys[t], dstate, steps, dsteps)
        return self.project_backward(self.end_backward(steps, dsteps, grad), xs, grad), dstate

    def _allocate(self, steps):
        """Subclasses add the arrays that their backward needs."""


def expect_state(what, state, like):
    """Refuse a state that is not made like this one, of the same cell."""
    given, wanted = _tuple(state), _tuple(like)
    if len(given) != len(wanted):
        raise ValueError(f"{what} has {len(given)} arrays, expected {len(wanted)}: an LSTM's is the tuple (h, c), others' "
                         "h alone")
    for name, part, one in zip(("h", "c"), given, wanted):
        expect(f"{what} {name}", part, one.shape, "(B, H)", "a state has one row for each sequence of the batch")


def _tuple(state):
    return state if isinstance(state, tuple) else (state,)
