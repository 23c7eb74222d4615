"""Whole models.

`training/protocols.py` holds the methods that training needs, `decoding/protocols.py` those that
decoding needs:

    loss, state = model.loss_and_grad(batch, state, scale, grads, rng)   grads += ∂(scale · Σ loss)
    loss, state = model.loss(batch, state)                                 no dropout

    state                     = model.start(source, source_mask)           source (S, B)
    log_probs, weights, state = model.next(tokens, state)                  (B,) → (B, V), (B, S)
"""
