"""The methods that a model needs of a recurrent cell or a stack of cells."""

from typing import Any, Protocol, runtime_checkable

from numpy_attention.module import Array


class StepsOfCell(Protocol):
    """The steps of a cell, as a decoder reads them: step t writes index t, states index t + 1."""

    @property
    def a(self) -> Array:
        """The input's part of the pre-activations (T, B, G), added to until step t reads a[t]."""

    @property
    def hs(self) -> Array:
        """The states h (T + 1, B, H), a stack's top ones; hs[0] is the initial one."""


class GradientsOfSteps(Protocol):
    """The gradients of these steps, for a decoder to read."""

    @property
    def a(self) -> Array:
        """∂L/∂a (T, B, G), as far as the steps have been gone back through."""


@runtime_checkable
class RecurrentCell(Protocol):
    """A recurrent cell, or a stack of cells.

    A whole sequence at once:

        ys, state, cache = cell.forward(xs, state, mask)          xs (T, B, I) → ys (T, B, H)
        dxs, dstate      = cell.backward(dys, dstate, cache, grads)

    A user-written loop, as in a decoder, whose input depends on the previous state:

        a      = cell.project(xs)                                 (T, B, I) → (T, B, G): one product
        steps  = cell.begin(a, state, mask)
        cell.step(t, steps)                                       for t = 0 … T − 1
        state  = cell.state(steps, T)
        dsteps = cell.begin_backward(steps)
        dstate = cell.step_backward(t, dy, dstate, steps, dsteps) for t = T − 1 … 0
        da     = cell.end_backward(steps, dsteps, grads)           recurrent weights: one product
        dxs    = cell.project_backward(da, xs, grads)              input weights: likewise

    A state is an array (B, H), an LSTM's the tuple (h, c), a stack's the tuple of its cells'. Where
    mask (T, B) is False a row keeps the state it had, and its gradient passes. The pre-activations
    have G = gates · H columns. Of a stack xs, a and G are the first cell's, H and hs the last's.
    """

    @property
    def hidden_size(self) -> int:
        """H, the size of a state."""

    @property
    def gates_size(self) -> int:
        """G, the columns of a: what a further input of a decoder is multiplied to."""

    def zero_state(self, B: int) -> Any:
        """The initial state of B sequences: zeros."""

    def project(self, xs: Array) -> Array:
        """The input's part of the pre-activations of all steps."""

    def begin(self, a: Array, state: Any = None, mask: Array | None = None, rng: Any = None,
              row_ids: Array | None = None) -> StepsOfCell:
        """Allocate the steps of a from `state` (None: zeros). mask None: no step is padding.

        rng and row_ids (T, B) are for the dropout between the layers of a stack.
        """

    def step(self, t: int, steps: Any) -> None:
        """Step t: reads a[t] and the state before, writes the state after."""

    def state(self, steps: Any, t: int) -> Any:
        """The state before step t; t = T or −1: the last one."""

    def hidden(self, state: Any) -> Array:
        """→ h (B, H) of a state, or of a state's gradient; a stack's: of the top layer."""

    def begin_backward(self, steps: Any) -> GradientsOfSteps:
        """Allocate the gradients of the steps."""

    def step_backward(self, t: int, dy: Array, dstate: Any, steps: Any, dsteps: Any) -> Any:
        """∂L/∂(the state before step t); writes ∂L/∂a_t.

        dy (B, H) is ∂L/∂h_t from whatever read h_t, dstate ∂L/∂(the state after step t) from the
        later steps; the two are added here.
        """

    def end_backward(self, steps: Any, dsteps: Any, grads: Any) -> Array:
        """Adds the gradients of the recurrent weights; returns da, the gradient of `begin`'s a."""

    def project_backward(self, da: Array, xs: Array, grads: Any) -> Array:
        """Adds the gradients of the input weights; returns dxs."""

    def forward(self, xs: Array, state: Any = None, mask: Array | None = None, rng: Any = None,
                row_ids: Array | None = None) -> tuple[Array, Any, Any]:
        """All steps: ys, the last state, cache; rng and row_ids as `begin` has them."""

    def backward(self, dys: Array | None, dstate: Any, cache: Any,
                 grads: Any) -> tuple[Array, Any]:
        """From ∂L/∂ys and ∂L/∂(last state), None for 0: dxs and ∂L/∂(initial state)."""
