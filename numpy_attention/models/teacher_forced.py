"""What all translators share: loss, gradient and weights from one teacher-forced pass, and the way in from the words."""

from numpy_attention.layers.dropout import position_names
from numpy_attention.module import Module
from numpy_attention.shapes import expect_mask


class TeacherForced(Module):
    """Base of the translators, which have `dropout` and `output`, whose `forward(batch, rng)` gives what the output layer
    reads (N, K) of the N target words that are no padding, weights (T, B, S) and a cache, and whose `backward` takes their
    gradients.
    """

    smoothing = 0.0     # of the labels, in training

    def loss_and_grad(self, batch, state, scale, grad, rng=None):
        """Σ −log p(y_t) over the batch's target words, smoothed if so set, and None for the state; grad +=
        ∂(scale · loss)/∂parameters."""
        read_out, _, cache = self.forward(batch, rng)
        targets = batch.target_out[batch.target_mask]
        loss, dread_out = self.output.loss_and_grad(read_out, targets, scale, grad.output, self.smoothing)
        self.backward(dread_out, None, cache, grad)
        return loss, None

    def loss(self, batch, state=None):
        """Σ −log p(y_t) without dropout and smoothing, and None for the state."""
        read_out, _, _ = self.forward(batch)
        return float(self.output.loss(read_out, batch.target_out[batch.target_mask])), None

    def weights(self, batch):
        """Attention weights under teacher forcing (T, B, S)."""
        return self.forward(batch)[1]

    # ---- from words to vectors --------------------------------------------------------------------------------------

    def _source_names(self, source, mask, rows):
        """Check source and mask (S, B); → names (S, B) of the positions, or None without rows. ValueError: an empty one."""
        expect_mask(mask, source.shape, "(S, B)")
        if len(mask) == 0 or not mask[0].all():
            raise ValueError("a source sentence of the batch is empty, expected at least its </s>: drop empty sentences")
        return None if rows is None else position_names(len(source), rows)

    def _embed(self, embedding, ids, rng=None, names=None):
        """ids (T, B) → D(E ids) (T, B, E), D dropout, and a cache."""
        x, cache = embedding.forward(ids)
        x, dropped = self.dropout.forward(x, rng, names)
        return x, (cache, dropped)

    def _embed_backward(self, dx, embedding, cache, grad):
        cache, dropped = cache
        embedding.backward(self.dropout.backward(dx, dropped), cache, grad)
