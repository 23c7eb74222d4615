"""Base class of cells: the loop over time, masks, and the matrix products outside the loop."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from numpy_attention.kernels import gates as kernels
from numpy_attention.module import Array, Module
from numpy_attention.products import few_rows
from numpy_attention.validation.arrays import (
    as_rows,
    check_dtype,
    check_mask,
    check_parameters,
    check_shape,
)
from numpy_attention.validation.messages import plural
from numpy_attention.validation.results import check_returned, check_written


@dataclass
class Steps:
    """The arrays of T steps of a cell, which the forward pass writes and the backward pass reads.

    Step t reads a[t] and computes hs[t + 1].
    """

    a: Array        # (T, B, G)         the input's part of the pre-activations
    mask: Array     # (T, B)            False: the row keeps its state
    hs: Array       # (T + 1, B, H)     states; hs[0] is the initial one
    Us: list[Any]                       # blocks of U, laid out for the products h U of a step
    ragged: Array = field(init=False)   # (T,)      True where a step masks some row

    def __post_init__(self):
        self.ragged = ~self.mask.all(1)

    @property
    def U(self):
        """U, laid out for the product h U. Only for cells that multiply by all of U at once."""
        return self.Us[0]

    def is_guarded(self, t, dy, dh, dc=None):
        """Return whether the kernel of the backward step t should check its arguments.

        It should at the last time step, where the loop begins, and if dy, dh or dc is not (B, H).
        """
        alike = dy.shape == dh.shape == (dh if dc is None else dc).shape == self.hs.shape[1:]
        return t == len(self.a) - 1 or not alike


@dataclass
class StepGradients:
    """The gradients of both parts of the pre-activations, a = x W + b and u = h U, in T steps."""

    a: Array        # (T, B, G)
    u: Array        # (T, B, G)         the array `a` itself in cells that only read a + u
    U_Ts: list[Any]     # transposed blocks of U, laid out for the products du Uᵀ

    @property
    def U_T(self):
        """Uᵀ, laid out for the product du Uᵀ. Only for cells that multiply by all of U at once."""
        return self.U_Ts[0]


class Cache(NamedTuple):
    """The arrays that the backward pass over a whole sequence needs."""

    xs: Array       # (T, B, I)
    steps: Steps


class Cell(Module):
    """A recurrent cell with the fields W (I, G), U (H, G), b (G,), where G = gates · H.

    `protocol.RecurrentCell` documents the methods. A user-defined cell implements its equations in
    `_step` and `_step_backward`, which need not handle masks. If its backward pass needs more
    arrays than Steps has, the class sets `steps_type` to a subclass of Steps with these arrays.
    """

    steps_type = Steps
    # number of gates, whose columns are side by side in W, U and b; None: any number
    gates: ClassVar[int | None] = None

    def __post_init__(self):
        check_parameters(self, W="IG", U="HG", b="G")
        if self.gates and self.gates_size != self.gates * self.hidden_size:
            expected = self.hidden_size, self.gates * self.hidden_size
            raise ValueError(f"U has shape {self.U.shape}; expected {expected}, because "
                             f"{type(self).__name__} needs {self.gates} · H columns")

    @property
    def hidden_size(self):
        """H, the size of a state."""
        return len(self.U)

    @property
    def gates_size(self):
        """G, the number of columns of the pre-activations."""
        return len(self.b)

    def zero_state(self, B):
        """Return zeros as the initial state of B sequences → h (B, H)."""
        return np.zeros((B, self.hidden_size), self.U.dtype)

    def _blocks(self):
        """Return the blocks of U by which a step multiplies, in the order of the products."""
        return [self.U]

    # ---- the input's part: one product for all steps ----------------------------------------

    def project(self, xs):
        """Compute a = xs W + b.   xs (T, B, I) → a (T, B, G)."""
        a = as_rows(xs) @ self.W
        a += self.b
        return a.reshape(xs.shape[:2] + a.shape[1:])

    def project_backward(self, da, xs, grads):
        """Return dxs = da Wᵀ; add xsᵀ da and Σ da, the gradients of W and b, to grads."""
        self._weights_backward(da, xs, grads)
        return (as_rows(da) @ self.W.T).reshape(xs.shape)

    def _weights_backward(self, da, xs, grads):
        """Add the gradients of W and b to grads, without computing the gradient of xs."""
        check_returned(self.end_backward, da, "da", (*xs.shape[:2], len(self.b)), "(T, B, G)")
        grads.W += as_rows(xs).T @ as_rows(da)
        grads.b += as_rows(da).sum(0)

    # ---- step by step, forward --------------------------------------------------------------

    def begin(self, a, state=None, mask=None, rng=None, row_ids=None):
        """Allocate the Steps for the pre-activations `a` (T, B, G) from `project`.

        state: the initial state; None means zeros. If mask is None, no step is padding. rng and
        row_ids have no effect. The Steps use `a` without a copy; its padding is set to 0. Raises
        ValueError unless `a` is (T, B, G), mask (T, B) and each state array (B, H), TypeError if
        the mask is not boolean, or if `a` or the state does not have the dtype of the weights.
        """
        check_shape("a", a, (None, None, self.gates_size), "(T, B, G)", "pass a = cell.project(xs)")
        check_dtype("a", a, self.U)
        T, B, _ = a.shape
        if mask is None:
            mask = np.ones((T, B), bool)
        check_mask(mask, (T, B), "(T, B)")
        a[~mask] = 0            # so that padding cannot overflow
        hs = np.empty((T + 1, B, self.hidden_size), a.dtype)
        steps = self.steps_type(a, mask, hs, [few_rows(U, B, T) for U in self._blocks()])
        zero = self.zero_state(B)
        state = zero if state is None else state
        check_state("state", state, zero)
        for place, initial in zip(arrays(self.state(steps, 0)), arrays(state)):
            place[...] = initial
        return steps

    def state(self, steps, t):
        """Return the state before step t; t = T or −1 gives the last state."""
        return steps.hs[t]

    def hidden(self, state):
        """Return the hidden state, which is the first array of a state → h (B, H)."""
        return arrays(state)[0]

    def step(self, t, steps):
        """Compute the state after step t from `a[t]` and the old state, which masked rows keep."""
        returned = self._step(t, steps)
        if returned is not None:
            check_written(self._step, arrays(returned)[0], steps.hs[t + 1])
        if steps.ragged[t]:
            before = arrays(self.state(steps, t))
            after = arrays(self.state(steps, t + 1))
            for kept, place in zip(before, after):
                kernels.keep(steps.mask[t], kept, place)

    # ---- step by step, backward -------------------------------------------------------------

    def begin_backward(self, steps):
        """Allocate the StepGradients of the steps."""
        da = np.empty_like(steps.a)
        T, B, _ = da.shape
        return StepGradients(da, da, [few_rows(U.T, B, T) for U in self._blocks()])

    def step_backward(self, t, dy, dstate, steps, dsteps):
        """Return the gradient of the state before step t, and write ∂L/∂a_t to dsteps.

        dy (B, H): ∂L/∂h_t from the layers above. dstate: ∂L/∂(state after step t) from later steps.
        """
        dbefore = self._step_backward(t, dy, dstate, steps, dsteps)
        others = ["dc"] * (len(arrays(dstate)) - 1)
        check_returned(self._step_backward, dbefore, "dh", dy.shape, "(B, H)", *others)
        if steps.ragged[t]:
            mask = steps.mask[t]
            dh_next, *dc_next = arrays(dstate)
            dh, *dc = arrays(dbefore)
            kernels.keep_backward(mask, dy, dh_next, dsteps.a[t], dsteps.u[t], dh)
            for dkept, place in zip(dc_next, dc):
                kernels.keep(mask, dkept, place)
        return dbefore

    def end_backward(self, steps, dsteps, grads):
        """Return da, the gradient of the `a` passed to `begin`; add the gradient of U to grads."""
        grads.U += as_rows(steps.hs[:-1]).T @ as_rows(dsteps.u)
        return dsteps.a

    # ---- a whole sequence -------------------------------------------------------------------

    def forward(self, xs, state=None, mask=None, rng=None, row_ids=None):
        """Run all steps: xs (T, B, I), mask (T, B) → ys (T, B, H), last state, cache."""
        steps = self.begin(self.project(xs), state, mask)
        for t in range(len(xs)):
            self.step(t, steps)
        return steps.hs[1:], self.state(steps, -1), Cache(xs, steps)

    def backward(self, dys, dstate, cache, grads):
        """Return the gradients of xs and the initial state. None for dys or dstate means 0."""
        xs, steps = cache
        T, B, _ = xs.shape
        dys = np.zeros((T, B, self.hidden_size), xs.dtype) if dys is None else dys
        dstate = self.zero_state(B) if dstate is None else dstate
        dsteps = self.begin_backward(steps)
        for t in reversed(range(T)):
            dstate = self.step_backward(t, dys[t], dstate, steps, dsteps)
        da = self.end_backward(steps, dsteps, grads)
        return self.project_backward(da, xs, grads), dstate


def check_state(what, state, like):
    """Raise ValueError or TypeError unless a state has the arrays, shapes and dtype of `like`.

    what: the name of the state, for messages. like: a valid state.
    """
    given = arrays(state)
    wanted = arrays(like)
    if len(given) != len(wanted):
        raise ValueError(f"{what} has {plural(len(given), 'array')}; expected {len(wanted)}. "
                         "An LSTM has the state (h, c), and other cells have one array h")
    for name, part, one in zip(("h", "c"), given, wanted):
        label = f"{what} {name}"
        check_shape(label, part, one.shape, "(B, H)",
                    "a state has one row for each sequence of the batch")
        check_dtype(label, part, one)


def arrays(state):
    """Return the arrays of a cell's state as a tuple, h first."""
    return state if isinstance(state, tuple) else (state,)
