"""Greedy search takes the most probable word, whatever else is in the batch."""

import numpy as np
import pytest
from tables import Table

from numpy_attention.data.vocabulary import BOS, EOS
from numpy_attention.decoding.beam import beam_search
from numpy_attention.decoding.greedy import greedy


def test_greedy_takes_the_most_probable_word(rng):
    table = Table(rng, 5)
    source = np.full((4, 5), 4)
    for b, hypothesis in enumerate(greedy(table, source, source > 0, max_length=6)):
        previous = BOS
        total = 0.0
        for word in hypothesis.ids:
            assert word == 2 + table.log_p[b, previous, 2:].argmax()
            total += table.log_p[b, previous, word]
            previous = word
        assert hypothesis.ids[-1] == EOS or len(hypothesis.ids) == 6
        assert hypothesis.log_probability == pytest.approx(total, abs=1e-12)


def test_the_result_does_not_depend_on_the_batch(model, batch):
    together = greedy(model, batch.source, batch.source_mask)
    for b in range(batch.size):
        n = batch.source_mask[:, b].sum()
        alone = greedy(model, batch.source[:n, b:b + 1], batch.source_mask[:n, b:b + 1])[0]
        assert alone.ids == together[b].ids and together[b].weights.shape == (len(alone.ids), n)
        np.testing.assert_allclose(alone.weights, together[b].weights, atol=1e-12)


def test_what_is_never_chosen(rng):
    """The search goes on as if the model gave these words no probability."""
    table = Table(rng, 5)
    source = np.full((4, 5), 4)
    free = greedy(table, source, source > 0, max_length=6)
    used = {word for one in free for word in one.ids} - {EOS}
    word = min(used)
    for search in (greedy, lambda *how, **more: [one[0] for one in beam_search(*how, **more)]):
        found = search(table, source, source > 0, max_length=6, never=[word])
        assert not any(word in one.ids for one in found)
        less = Table(rng, 5)
        less.log_p[...] = table.log_p
        less.log_p[:, :, word] = -np.inf
        wanted = search(less, source, source > 0, max_length=6)
        assert [one.ids for one in found] == [one.ids for one in wanted]
        with pytest.raises(ValueError, match="the ids in `never` range from 3 to 999; expected 0"):
            search(table, source, source > 0, never=[3, 999])


def test_refused(model, batch):
    with pytest.raises(ValueError, match="max_length = -1"):
        greedy(model, batch.source, batch.source_mask, -1)
    with pytest.raises(ValueError, match="empty"):
        greedy(model, batch.source, np.zeros_like(batch.source_mask))
    with pytest.raises(TypeError, match="^model"):
        greedy(None, batch.source, batch.source_mask)
