"""The decoder's states for lesson 08, and a comparison of two layers."""

import numpy as np


def states(translator, pairs):
    """The decoder's states and the encoder's annotations, with teacher forcing.

    → states (B, T, H), annotations (B, S, D), and the masks of both, (B, T) and (B, S).
    """
    batch = translator.batches(pairs, len(pairs)).batch(range(len(pairs)))
    state = translator.model.start(batch.source, batch.source_mask)
    found = []
    for words in batch.target_in:
        _, _, state = translator.model.next(words, state)
        found.append(state.cells[0])
    return np.stack(found, 1), state.memory.values, batch.target_mask.T, batch.source_mask.T


def check_same(mine, library, X, M, visible):
    """Compare two layers on (X, M, visible): outputs, weights, all gradients.

    AssertionError: one of them differs.
    """
    results = []
    for layer in (mine, library):
        rng = np.random.default_rng(9)
        y, weights, cache = layer.forward(X, M, visible)
        grads = layer.zeros_like()
        dX, dM = layer.backward(rng.standard_normal(y.shape), rng.standard_normal(weights.shape),
                                cache, grads)
        results.append([y, weights, dX, dM, *(array for _, array in grads.named_parameters())])
    for number, (ours, theirs) in enumerate(zip(*results, strict=True)):
        assert np.allclose(ours, theirs, rtol=1e-10, atol=1e-12), f"result {number} differs"
