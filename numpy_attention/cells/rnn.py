"""Recurrent network (Elman 1990)."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.cells.cell import Cell
from numpy_attention.initializers import check_initial, glorot, orthogonal
from numpy_attention.kernels import gates as kernels
from numpy_attention.module import Array
from numpy_attention.validation.arrays import check_sizes


@dataclass(eq=False)
class RNN(Cell):
    """Elman's recurrent network, which is PyTorch's `RNN` with b = b_ih + b_hh.

        h_t = tanh(x_t W + h_{t−1} U + b)
    """

    W: Array  # (I, H)
    U: Array  # (H, H)
    b: Array  # (H,)

    gates = 1

    @classmethod
    def create(cls, rng, inputs, hidden, init=glorot, recurrent=orthogonal, dtype=np.float32):
        """Draw W and U; b = 0. Raises ValueError if a size is below 1."""
        check_sizes(inputs=inputs, hidden=hidden)
        check_initial(rng, dtype, init, recurrent)
        return cls(W=init(rng, (inputs, hidden), dtype),
                   U=recurrent(rng, (hidden, hidden), dtype),
                   b=np.zeros(hidden, dtype))

    def _step(self, t, steps):
        kernels.elman.in_loop(t == 0)(steps.a[t], steps.hs[t] @ steps.U, steps.hs[t + 1])

    def _step_backward(self, t, dy, dstate, steps, dsteps):
        # h_t = tanh(a_t + u_t)
        kernel = kernels.elman_backward.in_loop(steps.is_guarded(t, dy, dstate))
        kernel(dy, dstate, steps.hs[t + 1], dsteps.a[t])
        # u_t = h_{t−1} U
        return dsteps.a[t] @ dsteps.U_T
