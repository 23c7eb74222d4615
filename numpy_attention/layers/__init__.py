"""Layers without internal state.

    y, cache = layer.forward(x)
    dx       = layer.backward(dy, cache, grads)
"""
