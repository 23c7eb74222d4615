"""Recurrent cells, and stacks of them. What a model asks of one: `protocol.RecurrentCell`.

    ys, state, cache = cell.forward(xs, state, mask)        xs (T, B, I), mask (T, B) → ys (T, B, H)
    dxs, dstate      = cell.backward(dys, dstate, cache, grads)
"""
