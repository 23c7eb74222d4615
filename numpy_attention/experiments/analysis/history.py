"""Measure how a language model uses its past: attention spans and the reach of gradients."""

from typing import Any

import numpy as np

from numpy_attention.cells.lstm import LSTM
from numpy_attention.data.batching import TextBatch
from numpy_attention.data.vocabulary import PAD
from numpy_attention.experiments.analysis.losses import check_texts, in_order, name_of
from numpy_attention.module import Array
from numpy_attention.validation.arguments import check_kind, check_methods
from numpy_attention.validation.arrays import at_least
from numpy_attention.validation.messages import short_repr


def attention_span(model: Any, batches: Any, longest: int | None = None) -> Array:
    """Return the mean attention weight at each distance. Index 0 is the previous position.

    batches: TextBatches or DocumentBatches. longest: the largest distance; by default, the window
    of the readout or, without a window, a quarter of the time steps of the longest batch. Only time
    steps with at least `longest` positions before them count: earlier ones cannot look that far
    back. The means add up to 1 if the window is `longest`. Raises ValueError for a model without
    attention, or if no time step has `longest` positions before it.
    """
    reader: Any = getattr(model, "reader", None)
    if not hasattr(reader, "attention"):
        raise ValueError(f"{name_of(model)} has no attention weights; train a model "
                         "with attention = 'single', 'combined' or 'key-value'")
    check_texts(batches)
    at_least(1, longest=longest)
    if longest is None:
        steps = max(len(batch.inputs) for batch, _ in in_order(batches))
        longest = reader.window or max(1, steps // 4)
    total = np.zeros(longest)
    count = 0
    state = None
    for batch, carried in in_order(batches):
        weights, state = model.weights(batch, state if carried else None)       # (T, B, S)
        T, B, S = weights.shape
        for t in range(T):
            now = S - T + t                     # the step's own position in the memory
            if now < longest:
                continue
            rows = (batch.targets[t] != PAD) & (weights[t].sum(1) > 0.5)
            seen = weights[t, rows, now - longest:now]              # oldest first
            total += seen[:, ::-1].sum(0, dtype=np.float64)
            count += rows.sum()
    if not count:
        raise ValueError(f"no step in these batches has {longest} earlier positions; choose a "
                         "smaller `longest`, or use longer batches")
    return total / count


def gradient_flow(model: Any, batch: TextBatch, state: Any = None, of: str = "h") -> Array:
    """Return an array with the norm ‖∂L_T/∂h_t‖ at each distance T − t = 0, 1, …

    L_T is the loss of the last step of the batch, and h_t is the hidden state of the top layer.
    With of="c", return ‖∂L_T/∂c_t‖ instead. The gradient flows through the recurrence and, in an
    attentive model, through the memory that later steps read. In an LSTM h_t = o_t ∘ tanh(c_t), and
    ∂L_T/∂h_t holds c_t fixed, so only ∂L_T/∂c_t contains the gradient along the cell state. Norms
    are root mean squares over the sequences of the batch. state: the initial state, if any.

    Raises ValueError if a sequence is padded, or if `of` is not a state of the cell.
    """
    check_methods("model", model, "a language model of cells", "cells", "output", "zeros_like")
    check_kind("batch", batch, TextBatch, "a TextBatch")
    cell = model.cells.cells[-1]
    known = ("h", "c") if isinstance(cell, LSTM) else ("h",)
    if not isinstance(of, str) or of not in known:
        raise ValueError(f"`of` = {short_repr(of)} is not a state of {type(cell).__name__}; "
                         f"expected {' or '.join(map(repr, known))}")
    if (batch.targets[-1] == PAD).any() or (batch.inputs == PAD).any():
        raise ValueError("a sequence in the batch is padded; pass sequences of equal length")
    y, _, cache = model.forward(batch, state)
    grads = model.zeros_like()
    dy = np.zeros_like(y)
    _, dy[-1] = model.output.loss_and_grad(y[-1], batch.targets[-1], 1.0, grads.output)
    dh = model.dropout.backward(dy, cache.dropped)
    if hasattr(model, "reader"):
        dh = model.reader.backward(dh, None, cache.reader, grads.reader)         # (T, B, H)
    # the backward pass of the top cell, step by step
    top = cache.read.cells.cells[-1].steps
    dstate = cell.zero_state(batch.size)
    dsteps = cell.begin_backward(top)
    flow = []
    for t in reversed(range(len(dh))):
        later = dstate[0] if isinstance(dstate, tuple) else dstate
        arriving = dh[t] + later                                    # (B, H)  ∂L/∂h_t
        if of == "c":
            # h_t = o_t ∘ tanh(c_t)
            o = top.gates[t][:, 3 * cell.hidden_size:]
            arriving = dstate[1] + arriving * o * (1 - np.tanh(top.cs[t + 1]) ** 2)
        flow.append(np.sqrt((arriving.astype(np.float64) ** 2).sum(1).mean()))
        dstate = cell.step_backward(t, dh[t], dstate, top, dsteps)
    return np.array(flow)
