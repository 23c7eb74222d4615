"""A residual connection with layer normalisation and dropout around any part of a Transformer."""

from dataclasses import dataclass

from numpy_attention.layers.dropout import Dropout
from numpy_attention.layers.layer_norm import LayerNorm
from numpy_attention.module import Module


@dataclass(eq=False)
class Residual(Module):
    """y = LayerNorm(x + D(f(x)))   (Vaswani et al. 2017, section 3.1), or with first=True

        y = x + D(f(LayerNorm(x)))   (Xiong et al. 2020), which trains without a warm-up too.

    f is whatever happens between `enter`, which gives its input, and `leave`, which takes its output; D is dropout.
    """

    norm: LayerNorm
    dropout: Dropout
    first: bool = False

    def enter(self, x):
        """→ the input of f, cache."""
        return self.norm.forward(x) if self.first else (x, None)

    def leave(self, x, fx, rng=None, names=None):
        """→ y, cache."""
        dropped, mask = self.dropout.forward(fx, rng, names)
        y = x + dropped
        if self.first:
            return y, (mask, None)
        y, normed = self.norm.forward(y)
        return y, (mask, normed)

    def leave_backward(self, dy, cache, grad):
        """→ (∂L/∂x past f, ∂L/∂f(x))."""
        mask, normed = cache
        dx = dy.copy() if self.first else self.norm.backward(dy, normed, grad.norm)
        return dx, self.dropout.backward(dx, mask)

    def enter_backward(self, dinput, dx, cache, grad):
        """∂L/∂(the input of f) and what passed f by, together: ∂L/∂x."""
        return dx + (self.norm.backward(dinput, cache, grad.norm) if self.first else dinput)
