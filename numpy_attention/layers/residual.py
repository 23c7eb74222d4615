"""Residual connection with layer normalization and dropout around a sublayer of a Transformer."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from numpy_attention.layers.dropout import Dropout
from numpy_attention.layers.layer_norm import LayerNorm
from numpy_attention.module import Module


class PostCache(NamedTuple):
    """The cache of `Residual.post`."""

    dropped: Any            # of dropout
    normed: Any             # of the norm after the sum; None with pre_norm


@dataclass(eq=False)
class Residual(Module):
    """A residual connection around a sublayer f.   x (…, D) → y (…, D).

        y = LayerNorm(x + dropout(f(x)))        post-norm, Vaswani et al. 2017, section 3.1
        y = x + dropout(f(LayerNorm(x)))        pre_norm=True, Xiong et al. 2020

    Pre-norm also trains without a warm-up of the learning rate. The caller computes f between two
    calls: `pre` returns the input of f, and `post` takes the output of f.
    """

    norm: LayerNorm
    dropout: Dropout
    pre_norm: bool = False

    def pre(self, x):
        """Return f's input: LayerNorm(x) if pre_norm, else x.   x (…, D) → input (…, D), cache."""
        if self.pre_norm:
            return self.norm.forward(x)
        return x, None

    def post(self, x, fx, rng=None, row_ids=None):
        """Compute y from x and fx, the output of f.   x, fx (…, D) → y (…, D), cache."""
        fx, dropped = self.dropout.forward(fx, rng, row_ids)
        y = x + fx
        normed = None
        if not self.pre_norm:
            y, normed = self.norm.forward(y)
        return y, PostCache(dropped, normed)

    def post_backward(self, dy, cache, grads):
        """Return the gradients of the arguments x and fx of `post`.

        dy (…, D) → dx (…, D), dfx (…, D). dx is the part of ∂L/∂x that does not pass through f.
        """
        dropped, normed = cache
        if self.pre_norm:
            dsum = dy.copy()
        else:
            # y = LayerNorm(sum)
            dsum = self.norm.backward(dy, normed, grads.norm)
        # sum = x + dropout(f(x)): both get dsum
        return dsum, self.dropout.backward(dsum, dropped)

    def pre_backward(self, dinput, dx, cache, grads):
        """Return ∂L/∂x, the sum of the gradients through f and through the residual connection.

        dinput: the gradient of f's input. dx: as `post_backward` returns it. cache: from `pre`.
        """
        if self.pre_norm:
            # input = LayerNorm(x)
            return dx + self.norm.backward(dinput, cache, grads.norm)
        # input = x
        return dx + dinput
