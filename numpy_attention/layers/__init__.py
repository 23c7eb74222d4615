"""Layers that do not carry a state from step to step.

    y, cache = layer.forward(x)
    dx       = layer.backward(dy, cache, grads)
"""

from numpy_attention.lazy import exports

_PUBLIC = {
    "Linear": "linear",
    "Embedding": "embedding",
    "Dropout": "dropout",
    "LayerNorm": "layer_norm",
    "Output": "output",
}

__all__ = list(_PUBLIC)
__getattr__, __dir__ = exports(__name__, _PUBLIC)
