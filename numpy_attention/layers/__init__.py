"""Layers without memory of their own.

    y, cache = layer.forward(x)
    dx       = layer.backward(dy, cache, grads)
"""
