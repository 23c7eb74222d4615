"""RNNsearch trained with hard attention, which Xu et al. (2015) propose."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.attention.hard import HardAttention
from numpy_attention.models.rnnsearch import RNNSearch
from numpy_attention.models.teacher_forced import check_step
from numpy_attention.validation.arguments import check_number


@dataclass(eq=False)
class HardRNNSearch(RNNSearch):
    """RNNsearch that reads one annotation per word: sampled in training, otherwise the most likely.

        R_t = Σ_{t' ≥ t} discount^{t' − t} (−log p(y_t'))      the loss of word t and later words
        b_t = the mean of R_t over the other sentences with a word t, or 0 if there are none

    `HardAttention` estimates gradients with R_t − b_t. With discount 1 the estimate is unbiased; a
    smaller discount reduces its variance. In training, a fraction `soft` of the sentences reads the
    expected annotation instead of a sampled one. Xu et al. (2015, section 4.1) use soft = 0.5.
    """

    discount: float = 0.5

    def __post_init__(self):
        super().__post_init__()
        check_number("discount", self.discount, 0, 1, "a number from 0 to 1")

    @classmethod
    def create(cls, rng, *vocabularies, discount=0.5, soft=0.0, **settings):
        """Build a new model. discount, soft: as in the class. settings: see RNNSearch.create."""
        model = super().create(rng, *vocabularies, **settings)
        model.attention = HardAttention(model.attention, soft)
        model.discount = discount
        model.__post_init__()
        return model

    def encode(self, source, mask, rng=None, rows=None):
        """Encode as RNNSearch.encode does; with rng, `memory` is a SampledMemory."""
        memory, s_0, cache = super().encode(source, mask, rng, rows)
        if rng is not None:
            memory = self.attention.sampled(memory, rng, rows)
        return memory, s_0, cache._replace(memory=memory)

    def loss_and_grad(self, batch, state, scale, grads, rng=None):
        """Return the loss Σ −log p(y_t), with label smoothing, and None for the state.

        With rng, positions are sampled, and an estimate of ∂(scale · E[loss])/∂parameters is added
        to grads. Without rng, the most likely position is read, and its choice has no gradient.
        """
        check_step(self, scale, grads, rng)
        x, _, cache = self.forward(batch, rng)
        targets = batch.target_out[batch.target_mask]
        found = np.zeros(batch.target_out.shape)                                # (T, B)
        losses = np.empty(len(targets))
        loss, dx = self.output.loss_and_grad(x, targets, scale, grads.output, self.smoothing,
                                             losses)
        dweights = None
        if rng is not None:
            found[batch.target_mask] = losses
            advantage = scale * self.advantage(found, batch.target_mask)        # (T, B)
            dweights = [(row[:, None] * attend.chosen * ~attend.soft[:, None]).astype(x.dtype)
                        for row, attend in zip(advantage, cache.attend_caches)]
        self.backward(dx, dweights, cache, grads)
        return loss, None

    def advantage(self, losses, mask):
        """Return R_t − b_t of the class docstring; 0 at padding.   losses, mask (T, B) → (T, B)."""
        following = losses.copy()                                               # R
        for t in reversed(range(len(losses) - 1)):
            following[t] += self.discount * following[t + 1]
        others = mask.sum(1, keepdims=True) - 1                                 # (T, 1)
        total = (following * mask).sum(1, keepdims=True)
        mean = (total - following) / np.maximum(others, 1)
        return (following - np.where(others > 0, mean, 0)) * mask
