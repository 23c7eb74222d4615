"""The gated recurrent unit (Cho et al. 2014), in all the conventions that papers and libraries use."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.cells.cell import Cell
from numpy_attention.initializers import glorot, orthogonal
from numpy_attention.kernels import gates as kernels
from numpy_attention.module import Array
from numpy_attention.shapes import at_least, flat


@dataclass(eq=False)
class GRU(Cell):
    """Gated recurrent unit; gates side by side in PyTorch's order r z n.

        r = σ(x W_r + h U_r + b_r)                          reset gate
        z = σ(x W_z + h U_z + b_z)                          update gate
        n = tanh(x W_n + b_n' + r ∘ (h U_n + b_n))          candidate, reset="after" the product
        n = tanh(x W_n + b_n' + (r ∘ h) U_n)                candidate, reset="before" it
        h_t = (1 − z) ∘ n + z ∘ h                           update="old": z weighs the old state
        h_t = z ∘ n + (1 − z) ∘ h                           update="new": z weighs the new one

    | who                                           | reset  | update |
    | Bahdanau et al. 2015, A.1.1                   | before | new    |
    | Cho et al. 2014, equations 5 to 8 (version 3) | before | old    |
    | cuDNN, PyTorch                                | after  | old    |

    b holds b_r, b_z and b_n'; b_n exists with reset="after" alone, the only bias that the recurrent side needs
    (PyTorch's b_hh for r and z merely add to b_ih's).
    """

    W: Array  # (I, 3H)
    U: Array  # (H, 3H)
    b: Array  # (3H,)
    b_n: Array | None = None  # (H,)
    reset: str = "after"
    update: str = "old"

    def __post_init__(self):
        if self.reset not in ("after", "before") or self.update not in ("old", "new"):
            raise ValueError(f"GRU(reset={self.reset!r}, update={self.update!r}): expected reset 'after' or 'before' "
                             "(the recurrent product) and update 'old' or 'new' (the state that z weighs)")
        if (self.b_n is None) != (self.reset == "before"):
            raise ValueError(f"GRU(reset={self.reset!r}) {'needs' if self.b_n is None else 'has no'} bias b_n: it stands "
                             "inside r ∘ (h U_n + b_n) alone")

    @classmethod
    def create(cls, rng, inputs, hidden, reset="after", update="old", init=glorot, recurrent=orthogonal,
               dtype=np.float32):
        """Biases 0. ValueError: sizes below 1, or an unknown convention."""
        at_least(1, inputs=inputs, hidden=hidden)
        return cls(init(rng, (inputs, 3 * hidden), dtype), recurrent(rng, (hidden, 3 * hidden), dtype),
                   np.zeros(3 * hidden, dtype), np.zeros(hidden, dtype) if reset == "after" else None, reset, update)

    @property
    def _sign(self):
        return self.U.dtype.type(1 if self.update == "old" else -1)

    def _allocate(self, steps):
        steps.gates, steps.s = np.empty_like(steps.a), np.empty_like(steps.hs[1:])

    def step(self, t, steps):
        """Step t: the equations above, from a[t] and the state before to the state after."""
        h, mask, gates, H = steps.hs[t], steps.mask[t], steps.gates[t], self.hidden_size
        if self.reset == "after":
            np.matmul(h, self.U, out=steps.u)
            kernels.gru(steps.a[t], steps.u, self.b_n, h, mask, self._sign, gates, steps.s[t], steps.hs[t + 1])
        else:
            kernels.gru_reset(steps.a[t], h @ self.U[:, :2 * H], h, mask, self._sign, gates, steps.s[t])
            kernels.gru_update(steps.a[t], steps.s[t] @ self.U[:, 2 * H:], h, mask, gates, steps.hs[t + 1])

    def begin_backward(self, steps):
        da = np.empty_like(steps.a)
        return (da, np.empty_like(da)) if self.reset == "after" else (da, None)

    def _step_backward(self, t, dy, dstate, steps, dsteps):
        (da, du), h, mask, gates, H = dsteps, steps.hs[t], steps.mask[t], steps.gates[t], self.hidden_size
        dh = np.empty_like(dstate)
        if self.reset == "after":
            kernels.gru_backward(dy, dstate, gates, steps.s[t], h, mask, self._sign, da[t], du[t], dh)
            dh += du[t] @ self.U.T
        else:
            kernels.gru_update_backward(dy, dstate, gates, h, mask, self._sign, da[t], dh)
            ds = da[t, :, 2 * H:] @ self.U[:, 2 * H:].T                          # ∂L/∂(r ∘ h)
            kernels.gru_reset_backward(ds, gates, h, mask, da[t], dh)
            dh += da[t, :, :2 * H] @ self.U[:, :2 * H].T
        return dh

    def input_gradient(self, dsteps):
        return dsteps[0]

    def end_backward(self, steps, dsteps, grad):
        (da, du), H = dsteps, self.hidden_size
        before = flat(steps.hs[:-1])
        if self.reset == "after":
            grad.U += before.T @ flat(du)
            grad.b_n += flat(du)[:, 2 * H:].sum(0)
        else:
            grad.U[:, :2 * H] += before.T @ flat(da)[:, :2 * H]
            grad.U[:, 2 * H:] += flat(steps.s).T @ flat(da)[:, 2 * H:]         # s is r ∘ h here
        return da
