"""Attention mechanisms.

    memory                  = attention.read(values, mask)          once a sentence: projects keys
    context, weights, cache = attention.step(query, memory, t)      once a target word: score,
                                                                    softmax, weighted sum
    dquery                  = attention.step_backward(dcontext, dweights, cache, dmemory, grads)
    dvalues                 = attention.read_backward(memory, dmemory, grads)
                                                                    the large products, once

with dmemory = memory.gradient(): the protocol `Attention` of `numpy_attention.attention.protocol`.
Most mechanisms are no more than a score, and have the rest from `SoftmaxAttention`;
`AttentionConfig` makes one from its name. Attention of a language model over its own past asks all
its questions at once: `HistoryAttention`, and the readers built on it.
"""

from numpy_attention.lazy import exports

_PUBLIC = {
    "Attention": "protocol",
    "Memory": "memory",
    "SoftmaxAttention": "softmax_attention",
    "AttentionConfig": "config",
    "DotAttention": "dot",
    "ScaledDotAttention": "dot",
    "GeneralAttention": "general",
    "AdditiveAttention": "additive",
    "LocationAttention": "location",
    "LocalMonotonic": "local",
    "LocalPredictive": "local",
    "FixedVector": "fixed",
    "HardAttention": "hard",
    "ScaledDotProductAttention": "scaled_dot",
    "MultiHeadAttention": "multi_head",
    "HistoryAttention": "history",
    "Single": "single",
    "Combined": "combined",
    "KeyValueReadout": "key_value",
    "NGramReadout": "ngram",
}

__all__ = list(_PUBLIC)
__getattr__, __dir__ = exports(__name__, _PUBLIC)
