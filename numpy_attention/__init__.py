"""Attention, understood by building it: NumPy, hand-written gradients, real text."""

__version__ = "0.2.0"
