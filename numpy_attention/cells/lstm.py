"""The LSTM without peepholes (Hochreiter & Schmidhuber 1997; Gers et al. 2000)."""

from dataclasses import dataclass, field

import numpy as np

from numpy_attention.cells.cell import Cell, Steps
from numpy_attention.initializers import check_initial, glorot, orthogonal
from numpy_attention.kernels import gates as kernels
from numpy_attention.module import Array
from numpy_attention.validation.arrays import check_sizes


@dataclass
class LSTMSteps(Steps):
    """The Steps of an LSTM, with its cell states c and its gates."""

    cs: Array = field(init=False)       # (T + 1, B, H)    cells; cs[0] is the initial one
    gates: Array = field(init=False)    # (T, B, 4H)       i f g o

    def __post_init__(self):
        super().__post_init__()
        self.cs = np.empty_like(self.hs)
        self.gates = np.empty_like(self.a)


@dataclass(eq=False)
class LSTM(Cell):
    """Long short-term memory with state (h, c) and the gates in PyTorch's order i f g o.

        i, f, o = σ(x_t W + h_{t−1} U + b)      input, forget and output gate
        g       = tanh(x_t W + h_{t−1} U + b)   candidate
        c_t     = f ∘ c_{t−1} + i ∘ g
        h_t     = o ∘ tanh(c_t)

    These are the equations of Zaremba et al. 2014, section 3. With b = b_ih + b_hh they are also
    those of PyTorch's `LSTM`. Each gate has its own columns of W, U and b. `PlainLSTM` in lesson 03
    is the same cell in plain NumPy.
    """

    W: Array  # (I, 4H)
    U: Array  # (H, 4H)
    b: Array  # (4H,)

    steps_type = LSTMSteps
    gates = 4

    @classmethod
    def create(cls, rng, inputs, hidden, init=glorot, recurrent=orthogonal, forget_bias=1.0,
               dtype=np.float32):
        """Draw the weights. Biases are 0, except for `forget_bias` in the forget gate.

        Raises ValueError if a size is below 1.
        """
        check_sizes(inputs=inputs, hidden=hidden)
        check_initial(rng, dtype, init, recurrent)
        W = init(rng, (inputs, 4 * hidden), dtype)
        U = recurrent(rng, (hidden, 4 * hidden), dtype)
        b = np.zeros(4 * hidden, dtype)
        b[hidden:2 * hidden] = forget_bias
        return cls(W, U, b)

    def zero_state(self, B):
        """Return zeros as the initial state of B sequences → h (B, H), c (B, H)."""
        return super().zero_state(B), super().zero_state(B)

    def state(self, steps, t):
        """Return the state (h, c) before step t; t = T or −1 gives the last state."""
        return steps.hs[t], steps.cs[t]

    def _step(self, t, steps):
        kernel = kernels.lstm.in_loop(t == 0)
        kernel(steps.a[t], steps.hs[t] @ steps.U, steps.cs[t], steps.gates[t],
               steps.hs[t + 1], steps.cs[t + 1])

    def _step_backward(self, t, dy, dstate, steps, dsteps):
        dh_next, dc_next = dstate
        dc = np.empty_like(dc_next)
        # h_t, c_t from a_t, u_t and c_{t−1}
        kernel = kernels.lstm_backward.in_loop(steps.is_guarded(t, dy, dh_next, dc_next))
        kernel(dy, dh_next, dc_next, steps.gates[t], steps.cs[t], steps.cs[t + 1], dsteps.a[t], dc)
        # u_t = h_{t−1} U
        return dsteps.a[t] @ dsteps.U_T, dc
