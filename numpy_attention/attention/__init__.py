"""Attention mechanisms.

    memory                  = attention.read(values, mask)          per batch: project the keys
    context, weights, cache = attention.step(query, memory, t)      per target word: score,
                                                                    softmax, weighted sum
    dquery                  = attention.step_backward(dcontext, dweights, cache, dmemory, grads)
    dvalues                 = attention.read_backward(memory, dmemory, grads)
                                                                    per batch: large products

Here dmemory = memory.gradient(). The class `Attention` in `numpy_attention.attention.protocol`
documents these methods. Most mechanisms define only a score and inherit the rest from
`SoftmaxAttention`. `AttentionConfig` builds an attention by name. A language model attends in all
steps with one call: see `HistoryAttention` and `HistoryReadout`.
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
