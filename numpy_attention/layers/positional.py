"""Positional encoding by sines and cosines (Vaswani et al. 2017, section 3.5)."""

import numpy as np

from numpy_attention.validation.arrays import check_floating, check_sizes


def positional_encoding(length, size, dtype=np.float32, start=0):
    """Encode the positions p = start, …, start + length − 1 → (length, D). size: D.

        PE(p, 2i)     = sin(p / 10000^(2i / D))
        PE(p, 2i + 1) = cos(p / 10000^(2i / D))

    For every fixed k, PE(p + k) is a linear function of PE(p): each pair (2i, 2i + 1) is rotated. A
    model can therefore learn to attend by relative position. Raises ValueError if size is odd.
    """
    check_sizes(0, length=length, size=size, start=start)
    check_floating(dtype)
    if size % 2:
        raise ValueError(f"size ({size}) must be even, because sines and cosines form pairs")
    positions = np.arange(start, start + length)[:, None]                   # (length, 1)
    angles = positions / 10000 ** (np.arange(0, size, 2) / size)            # (length, D / 2)
    pairs = np.stack([np.sin(angles), np.cos(angles)], axis=2)              # (length, D / 2, 2)
    return pairs.reshape(length, size).astype(dtype)
