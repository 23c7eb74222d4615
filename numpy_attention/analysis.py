"""What a trained language model does with its past: where attention falls, and how far back a gradient reaches."""

import numpy as np

from numpy_attention.cells.lstm import LSTM
from numpy_attention.data.vocabulary import PAD
from numpy_attention.models.attentive_language_model import AttentiveLanguageModel


def attention_span(model, batches, longest=None):
    """Mean attention weight at each distance back → array, [0] for the previous position, [1] for the one before …

    Only steps that can see at least `longest` positions count (default: the reader's window, or a quarter of the longest
    batch's steps), so that the start of a text, where little can be seen, does not look like a short span; the means add up to
    1 where the window is `longest`. ValueError: a model without attention, or no step that sees so far.
    """
    reader = getattr(model, "reader", None)
    if not hasattr(reader, "attention"):
        raise ValueError(f"{type(model).__name__}{'' if reader is None else ' with ' + type(reader).__name__} has no "
                         "attention weights: expected a model with attention over its history")
    places = batches.order()
    longest = longest or reader.window or max(1, max(len(batches.batch(place).inputs) for place in places) // 4)
    total, count, state = np.zeros(longest), 0, None
    for place in places:
        batch = batches.batch(place)
        weights, state = model.weights(batch, state if batches.carried(place) else None)
        T, B, S = weights.shape
        for t in range(T):
            now = S - T + t                     # the step's own position in the memory
            if now >= longest:
                rows = (batch.targets[t] != PAD) & (weights[t].sum(1) > 0.5)
                total += weights[t, rows, now - longest:now][:, ::-1].sum(0, dtype=np.float64)
                count += rows.sum()
    if not count:
        raise ValueError(f"no step of these batches sees {longest} positions back: choose a smaller `longest`, or batches "
                         "of more steps")
    return total / count


def gradient_flow(model, batch, state=None, of="h"):
    """‖∂L_T/∂h_t‖, or of="c": ‖∂L_T/∂c_t‖, for every t, L_T the loss of the batch's last step alone → array over the
    distance T − t, 0 first.

    h_t is the top layer's state; what flows counts both its ways, through the recurrence and, in an attentive model,
    through the memory that later steps read. Of an LSTM ∂L/∂h_t holds c_t fixed; what comes back along the cell, its carousel,
    is in ∂L/∂c_t alone, with h_t = o_t ∘ tanh(c_t). Root mean square over the batch's sequences. ValueError: a last step
    without a target in every sequence, or "c" of a cell that has none.
    """
    if (batch.targets[-1] == PAD).any() or (batch.inputs == PAD).any():
        raise ValueError("a sequence of the batch is padded: expected sequences of equal length, with a last target")
    y, _, cache = model.forward(batch, state)
    dy, grad = np.zeros_like(y), model.zeros_like()
    _, dy[-1] = model.output.loss_and_grad(y[-1], batch.targets[-1], 1.0, grad.output)
    (_, _, steps), *read, dropped = cache
    dh = model.dropout.backward(dy, dropped)
    if isinstance(model, AttentiveLanguageModel):
        dh = model.reader.backward(dh, None, read[0], grad.reader)
    # the top cell's own way back, step by step
    cell, cell_grad = model.cells.cells[-1], grad.cells.cells[-1]
    if of not in ("h", "c") or of == "c" and not isinstance(cell, LSTM):
        raise ValueError(f"of={of!r} of the cell {type(cell).__name__}: expected 'h', or 'c' of an LSTM")
    inside = steps.cells[-1].steps
    dstate, dsteps, flow = cell.zero_state(batch.size), cell.begin_backward(inside), []
    for t in reversed(range(len(dh))):
        arriving = dh[t] + (dstate[0] if isinstance(dstate, tuple) else dstate)          # ∂L/∂h_t
        if of == "c":
            o = inside.gates[t][:, 3 * len(cell.U):]
            arriving = dstate[1] + arriving * o * (1 - np.tanh(inside.cs[t + 1]) ** 2)
        flow.append(np.sqrt((arriving.astype(np.float64) ** 2).sum(1).mean()))
        dstate = cell.step_backward(t, dh[t], dstate, inside, dsteps)
    cell.end_backward(inside, dsteps, cell_grad)
    return np.array(flow)
