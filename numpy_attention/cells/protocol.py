"""Protocol of recurrent cells and stacks of cells: the methods that models call."""

from typing import Any, Protocol, runtime_checkable

from numpy_attention.module import Array


class StepsOfCell(Protocol):
    """The arrays of a cell's steps that a decoder reads or adds to.

    Step t reads a[t] and computes hs[t + 1].
    """

    @property
    def a(self) -> Array:
        """Pre-activations (T, B, G) without the part h U. Decoders add to a[t] before step t."""

    @property
    def hs(self) -> Array:
        """The states h (T + 1, B, H) of the top layer; hs[0] is the initial state."""


class GradientsOfSteps(Protocol):
    """The gradients of a cell's steps; a decoder's backward pass reads only `a`."""

    @property
    def a(self) -> Array:
        """∂L/∂a (T, B, G). Index t is valid only after step_backward(t, …)."""


@runtime_checkable
class RecurrentCell(Protocol):
    """A recurrent cell, or a stack of cells.

    A whole sequence at once:

        ys, state, cache = cell.forward(xs, state, mask)          xs (T, B, I) → ys (T, B, H)
        dxs, dstate      = cell.backward(dys, dstate, cache, grads)

    Step by step, for a decoder whose input depends on the previous state:

        a      = cell.project(xs)                                 (T, B, I) → (T, B, G): one product
        steps  = cell.begin(a, state, mask)
        cell.step(t, steps)                                       for t = 0 … T − 1
        state  = cell.state(steps, T)
        dsteps = cell.begin_backward(steps)
        dstate = cell.step_backward(t, dy, dstate, steps, dsteps) for t = T − 1 … 0
        da     = cell.end_backward(steps, dsteps, grads)           recurrent weights: one product
        dxs    = cell.project_backward(da, xs, grads)              input weights: one product

    A state is an array (B, H). For an LSTM it is a tuple (h, c), and for a stack a tuple of states.
    If mask[t, b] is False, step t changes neither the state of row b nor, in the backward pass, the
    gradient of this state. The pre-activations have G = gates · H columns. In a stack, xs, `a` and
    G are those of the first cell, while H, ys and the `hs` of the steps are those of the last cell.
    """

    @property
    def hidden_size(self) -> int:
        """H, the size of a state."""

    @property
    def gates_size(self) -> int:
        """G, the size of the pre-activations `a`. Decoders project other inputs to this size."""

    def zero_state(self, B: int) -> Any:
        """Return zeros as the initial state of B sequences."""

    def project(self, xs: Array) -> Array:
        """Return `a` = xs W + b (T, B, G), the pre-activations of all steps without h U."""

    def begin(self, a: Array, state: Any = None, mask: Array | None = None, rng: Any = None,
              row_ids: Array | None = None) -> StepsOfCell:
        """Allocate the steps for the pre-activations `a`, which come from `project`.

        state: the initial state; None means zeros. If mask is None, no step is padding. rng and
        row_ids (T, B) are for the dropout between the layers of a stack.
        """

    def step(self, t: int, steps: Any) -> None:
        """Compute the state after step t from `a[t]` and the state before step t."""

    def state(self, steps: Any, t: int) -> Any:
        """Return the state before step t; t = T or −1 gives the last state."""

    def hidden(self, state: Any) -> Array:
        """Return h (B, H) from a state or its gradient. A stack returns h of its top layer."""

    def begin_backward(self, steps: Any) -> GradientsOfSteps:
        """Allocate the gradients of the steps."""

    def step_backward(self, t: int, dy: Array, dstate: Any, steps: Any, dsteps: Any) -> Any:
        """Return the gradient of the state before step t, and write ∂L/∂a_t to dsteps.

        dy: the gradient of h_t (B, H) from the layers that read h_t. dstate: the gradient of the
        state after step t from later steps. The whole gradient of h_t is dy + hidden(dstate).
        """

    def end_backward(self, steps: Any, dsteps: Any, grads: Any) -> Array:
        """Return da, the gradient of `a`; add the gradients of the recurrent weights to grads."""

    def project_backward(self, da: Array, xs: Array, grads: Any) -> Array:
        """Return the gradient of xs; add the gradients of the input weights to grads."""

    def forward(self, xs: Array, state: Any = None, mask: Array | None = None, rng: Any = None,
                row_ids: Array | None = None) -> tuple[Array, Any, Any]:
        """Run all steps; return ys, the last state and a cache. rng, row_ids: as in `begin`."""

    def backward(self, dys: Array | None, dstate: Any, cache: Any,
                 grads: Any) -> tuple[Array, Any]:
        """Return the gradients of xs and of the initial state.

        dys: the gradient of ys. dstate: the gradient of the last state. None means 0.
        """
