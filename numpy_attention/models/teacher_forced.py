"""Base class of translators: loss, gradient and weights with teacher forcing."""

from typing import ClassVar, NamedTuple

import numpy as np

from numpy_attention.layers.dropout import position_ids
from numpy_attention.module import Array, Module
from numpy_attention.validation.arguments import check_generator, check_methods, check_number
from numpy_attention.validation.arrays import check_grads, check_integers, check_mask


class Embedded(NamedTuple):
    """The cache of embedded words: the ids of the words, and the cache of dropout."""

    ids: Array
    dropped: object


# attributes of a batch of sentence pairs, and of a batch of text
PAIRS = ("source", "target_in", "target_out", "rows")
TEXT = ("inputs", "targets", "rows")


def check_batch(batch, parts):
    """Raise TypeError unless `batch` has the attributes whose names are in `parts`."""
    check_methods("batch", batch, "a batch", *parts)


def check_step(model, scale, grads, rng):
    """Check the arguments of a training step. Raises TypeError or ValueError if one is wrong."""
    check_number("scale", scale)
    check_grads(grads, model)
    if rng is not None:
        check_generator(rng)


class TeacherForced(Module):
    """Base class of translators, whose decoders read the reference words in training.

    A subclass has `dropout`, `output` and two methods:

        x, weights, cache = model.forward(batch, rng)        x (N, K) is what the output layer reads
        model.backward(dx, dweights, cache, grads)

    x has a row for each of the N target words that are not padding; the weights are (T, B, S).
    A translator carries no state between batches, so the methods below do not use `state`.
    """

    smoothing = 0.0     # of the labels, in training
    # the configuration class whose settings `create` accepts besides its own arguments
    config_class: ClassVar[type | None] = None

    def loss_and_grad(self, batch, state, scale, grads, rng=None):
        """Return Σ −log p(y_t) over the target words, with label smoothing, and None for the state.

        Adds ∂(scale · loss)/∂parameters to grads.
        """
        check_step(self, scale, grads, rng)
        x, _, cache = self.forward(batch, rng)
        targets = batch.target_out[batch.target_mask]
        loss, dx = self.output.loss_and_grad(x, targets, scale, grads.output, self.smoothing)
        self.backward(dx, None, cache, grads)
        return loss, None

    def loss(self, batch, state=None):
        """Return Σ −log p(y_t) without dropout or label smoothing, and None for the state."""
        x, _, _ = self.forward(batch)
        return float(self.output.loss(x, batch.target_out[batch.target_mask])), None

    def losses(self, batch, state=None):
        """Return −log p(y_t) for each word, and None for the state.   → losses (T, B), None.

        The losses are float64, and 0 at padding.
        """
        x, _, _ = self.forward(batch)
        found = np.zeros(batch.target_out.shape)
        found[batch.target_mask] = self.output.losses(x, batch.target_out[batch.target_mask])
        return found, None

    def weights(self, batch):
        """Run the model with teacher forcing → weights (T, B, S) of the attention."""
        _, weights, _ = self.forward(batch)
        return weights

    # ---- from words to vectors ---------------------------------------------------------------

    def _source_ids(self, source, mask, rows):
        """Check the source; return its position ids.   source, mask (S, B) → row_ids (S, B).

        The position ids are for dropout. rows: the ids of the sentences. If rows is None, the
        result is None. Raises ValueError for a sentence that is empty or begins with padding.
        """
        check_integers("source", source, (None, None), "(S, B)")
        check_mask(mask, source.shape, "(S, B)")
        if len(mask) == 0 or not mask[0].all():
            empty = [*mask[:1].any(0), False].index(False)
            raise ValueError(f"source[:, {empty}] does not begin with a token; remove it if it is "
                             "empty, or put the padding at the end")
        return None if rows is None else position_ids(len(source), rows)

    def _embed(self, embedding, ids, rng=None, row_ids=None):
        """Embed the ids and apply dropout D: ids (T, B) → x = D(E ids) (T, B, E), cache."""
        x, ids = embedding.forward(ids)                                         # (T, B, E)
        x, dropped = self.dropout.forward(x, rng, row_ids)
        return x, Embedded(ids, dropped)

    def _embed_backward(self, dx, embedding, cache, grads):
        # x = D(E ids)
        embedding.backward(self.dropout.backward(dx, cache.dropped), cache.ids, grads)
