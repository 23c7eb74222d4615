"""A residual connection with layer normalisation and dropout around any part of a Transformer."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from numpy_attention.layers.dropout import Dropout
from numpy_attention.layers.layer_norm import LayerNorm
from numpy_attention.module import Module
from numpy_attention.validation.arrays import expect, expect_dtype, expect_made, expect_twin


class Left(NamedTuple):
    """The cache of `leave`."""

    dropped: Any            # of dropout
    normed: Any             # of the norm after the sum; None with pre_norm


@dataclass(eq=False)
class Residual(Module):
    """A residual connection around f.   x (…, D) → y (…, D).

        y = LayerNorm(x + dropout(f(x)))        post-norm, Vaswani et al. 2017, section 3.1
        y = x + dropout(f(LayerNorm(x)))        pre_norm=True, Xiong et al. 2020

    The second trains without a warm-up too. f is whatever happens between `enter`, which gives its
    input, and `leave`, which takes its output.
    """

    norm: LayerNorm
    dropout: Dropout
    pre_norm: bool = False

    def enter(self, x):
        """x (…, D) → the input of f (…, D), cache. ValueError, TypeError: another x."""
        self._expect("x", x, (..., len(self.norm.g)))
        if self.pre_norm:
            return self.norm.forward(x)
        return x, None

    def leave(self, x, fx, rng=None, names=None):
        """x, fx (…, D) → y (…, D), cache. ValueError, TypeError: another x or fx."""
        self._expect("x", x, (..., len(self.norm.g)))
        self._expect("fx", fx, x.shape)
        fx, dropped = self.dropout.forward(fx, rng, names)
        y = x + fx
        normed = None
        if not self.pre_norm:
            y, normed = self.norm.forward(y)
        return y, Left(dropped, normed)

    def leave_backward(self, dy, cache, grad):
        """∂L/∂y (…, D) → ∂L/∂x past f (…, D), ∂L/∂f(x) (…, D)."""
        expect_made("cache", cache, Left, "leave")
        self._expect_twin(grad)
        self._expect("dy", dy, (..., len(self.norm.g)))
        dropped, normed = cache
        if self.pre_norm:
            dsum = dy.copy()
        else:
            # y = LayerNorm(sum)
            dsum = self.norm.backward(dy, normed, grad.norm)
        # sum = x + dropout(f(x)): both get dsum
        return dsum, self.dropout.backward(dsum, dropped)

    def enter_backward(self, dinput, dx, cache, grad):
        """∂L/∂(the input of f) and what passed f by, together: ∂L/∂x."""
        self._expect_twin(grad)
        self._expect("dx", dx, (..., len(self.norm.g)))
        self._expect("dinput", dinput, dx.shape)
        if self.pre_norm:
            # input = LayerNorm(x)
            return dx + self.norm.backward(dinput, cache, grad.norm)
        # input = x
        return dx + dinput

    def _expect_twin(self, grad):
        expect_twin(grad, self)
        expect_twin(grad.norm, self.norm)

    def _expect(self, name, x, shape):
        expect(name, x, shape, "(…, D)", "one shape goes through a residual connection")
        expect_dtype(name, x, self.norm.g)
