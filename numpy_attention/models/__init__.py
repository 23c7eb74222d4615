"""Whole models.

What training asks of a model:
    loss, state = model.loss_and_grad(batch, state, scale, grad, rng)    Σ loss over predicted tokens; grad += scale · ∇
    loss, state = model.loss(batch, state)                               evaluation, no dropout
What decoding asks of a translator:
    state                        = model.start(source, source_mask)      source (S, B)
    log_probs, weights, state    = model.next(tokens, state)             tokens (B,) → (B, V), (B, S)
    state.take(rows)                                                     reorders, repeats or drops hypotheses
"""
