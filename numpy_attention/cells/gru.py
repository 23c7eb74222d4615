"""The gated recurrent unit (Cho et al. 2014), in the variants of papers and libraries."""

from dataclasses import dataclass, field, replace

import numpy as np

from numpy_attention.cells.cell import Cell, Steps
from numpy_attention.initializers import check_initial, glorot, orthogonal
from numpy_attention.kernels import gates as kernels
from numpy_attention.module import Array
from numpy_attention.registry import RESETS, UPDATES
from numpy_attention.validation.arguments import check_name
from numpy_attention.validation.arrays import as_rows, check_parameters, check_sizes


@dataclass
class GRUSteps(Steps):
    """The Steps of a GRU, with two more arrays for its backward pass."""

    gates: Array = field(init=False)    # (T, B, 3H)    r z n
    s: Array = field(init=False)        # (T, B, H)     reset="after": h U_n + b_n; "before": r ∘ h

    def __post_init__(self):
        super().__post_init__()
        self.gates = np.empty_like(self.a)
        self.s = np.empty_like(self.hs[1:])


@dataclass(eq=False)
class GRU(Cell):
    """Gated recurrent unit; its gates are in PyTorch's order r z n.

        r = σ(x W_r + h U_r + b_r)                          reset gate
        z = σ(x W_z + h U_z + b_z)                          update gate
        n = tanh(x W_n + b_n' + r ∘ (h U_n + b_n))          reset="after": r after the product h U_n
        n = tanh(x W_n + b_n' + (r ∘ h) U_n)                reset="before": r before the product
        h_t = (1 − z) ∘ n + z ∘ h                           update="old": z weights the old state
        h_t = z ∘ n + (1 − z) ∘ h                           update="new": z weights the candidate

    Here x is x_t, h is h_{t−1}, and n is the candidate. Sources differ in `reset` and `update`:

        paper or library                                reset     update
        Bahdanau et al. 2015, A.1.1                     before    new
        Cho et al. 2014, equations 5 to 8 (version 3)   before    old
        cuDNN, PyTorch                                  after     old

    b holds b_r, b_z and b_n'. b_n is None with reset="before", where it would only add to b_n'.
    In PyTorch, b_n' is in b_ih, and b_n in b_hh. b_r and b_z are the sums of their parts in both.
    `PlainGRU` in lesson 04 is the same cell in plain NumPy.
    """

    W: Array  # (I, 3H)
    U: Array  # (H, 3H)
    b: Array  # (3H,)
    b_n: Array | None = None  # (H,)
    reset: str = "after"
    update: str = "old"

    steps_type = GRUSteps
    gates = 3

    def __post_init__(self):
        super().__post_init__()
        check_name("reset", self.reset, RESETS)
        check_name("update", self.update, UPDATES)
        if (self.b_n is None) != (self.reset == "before"):
            problem = ("needs the bias b_n; pass b_n of shape (H,)" if self.b_n is None else
                       "has no bias b_n; omit b_n, or pass reset='after'")
            raise ValueError(f"a GRU with reset={self.reset!r} {problem}")
        check_parameters(self, U="HG", b_n="H")

    @classmethod
    def create(cls, rng, inputs, hidden, reset="after", update="old", init=glorot,
               recurrent=orthogonal, dtype=np.float32):
        """Draw W and U; biases are 0. Raises ValueError for an invalid size, reset or update."""
        check_sizes(inputs=inputs, hidden=hidden)
        check_initial(rng, dtype, init, recurrent)
        return cls(W=init(rng, (inputs, 3 * hidden), dtype),
                   U=recurrent(rng, (hidden, 3 * hidden), dtype),
                   b=np.zeros(3 * hidden, dtype),
                   b_n=np.zeros(hidden, dtype) if reset == "after" else None,
                   reset=reset, update=update)

    @property
    def _new(self):
        return self.update == "new"

    def _blocks(self):
        """Return [U] or, with reset="before", [U_rz, U_n], which multiply h and r ∘ h."""
        if self.reset == "after":
            return [self.U]
        H = self.hidden_size
        return [self.U[:, :2 * H], self.U[:, 2 * H:]]

    def _step(self, t, steps):
        a = steps.a[t]
        h = steps.hs[t]
        s = steps.s[t]
        gates = steps.gates[t]
        if self.reset == "after":
            kernel = kernels.gru.in_loop(t == 0)
            kernel(a, h @ steps.U, self.b_n, h, self._new, gates, s, steps.hs[t + 1])
        else:
            U_rz, U_n = steps.Us
            kernels.gru_reset.in_loop(t == 0)(a, h @ U_rz, h, gates, s)
            kernels.gru_update.in_loop(t == 0)(a, s @ U_n, h, self._new, gates, steps.hs[t + 1])

    def begin_backward(self, steps):
        """Allocate the StepGradients. With reset="after", du is not da and has its own array."""
        dsteps = super().begin_backward(steps)
        if self.reset == "after":
            return replace(dsteps, u=np.empty_like(dsteps.a))
        return dsteps

    def _step_backward(self, t, dy, dstate, steps, dsteps):
        h = steps.hs[t]
        gates = steps.gates[t]
        da = dsteps.a[t]
        du = dsteps.u[t]
        first = steps.is_guarded(t, dy, dstate)
        dh = np.empty_like(dstate)
        if self.reset == "after":
            # h_t from a_t, u_t and h_{t−1}
            kernel = kernels.gru_backward.in_loop(first)
            kernel(dy, dstate, gates, steps.s[t], h, self._new, da, du, dh)
            # u_t = h_{t−1} U
            dh += du @ dsteps.U_T
        else:
            H = self.hidden_size
            U_rz_T, U_n_T = dsteps.U_Ts
            # h_t from a_t, u_n = s U_n and h_{t−1}
            kernel = kernels.gru_update_backward.in_loop(first)
            kernel(dy, dstate, gates, h, self._new, da, dh)
            # u_n = s U_n
            ds = da[:, 2 * H:] @ U_n_T
            # s = r ∘ h_{t−1}
            kernels.gru_reset_backward.in_loop(first)(ds, gates, h, da, dh)
            # u_rz = h_{t−1} U_rz
            dh += da[:, :2 * H] @ U_rz_T
        return dh

    def end_backward(self, steps, dsteps, grads):
        """Return da, the gradient of the `a` passed to `begin`; add the gradients of U and b_n."""
        H = self.hidden_size
        if self.reset == "after":
            grads.b_n += as_rows(dsteps.u)[:, 2 * H:].sum(0)
            return super().end_backward(steps, dsteps, grads)
        da = as_rows(dsteps.a)
        grads.U[:, :2 * H] += as_rows(steps.hs[:-1]).T @ da[:, :2 * H]
        grads.U[:, 2 * H:] += as_rows(steps.s).T @ da[:, 2 * H:]
        return dsteps.a
