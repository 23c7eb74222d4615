"""What all translators share: loss, gradient and weights from one teacher-forced pass."""

from numpy_attention.module import Module


class TeacherForced(Module):
    """Base of the translators, whose `forward(batch, rng)` gives what the output layer reads (N, K) of the N target words
    that are no padding, weights (T, B, S) and a cache, and whose `backward` takes their gradients.
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
