"""Greedy search takes the most probable word, independently of the rest of the batch."""

import numpy as np
import pytest
from tables import Table

from numpy_attention.data.vocabulary import BOS, EOS
from numpy_attention.decoding.beam import beam_search
from numpy_attention.decoding.greedy import greedy


def test_most_probable_word(rng):
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


def test_result_does_not_depend_on_the_batch(model, batch):
    whole = greedy(model, batch.source, batch.source_mask)
    for b in range(batch.size):
        n = batch.source_mask[:, b].sum()
        single = greedy(model, batch.source[:n, b:b + 1], batch.source_mask[:n, b:b + 1])[0]
        assert single.ids == whole[b].ids and whole[b].weights.shape == (len(single.ids), n)
        np.testing.assert_allclose(single.weights, whole[b].weights, atol=1e-12)


def test_never(rng):
    """Forbidden words behave like words with probability 0."""
    table = Table(rng, 5)
    source = np.full((4, 5), 4)
    free = greedy(table, source, source > 0, max_length=6)
    used = {word for one in free for word in one.ids} - {EOS}
    word = min(used)
    for search in (greedy, lambda *args, **kwargs: [h[0] for h in beam_search(*args, **kwargs)]):
        found = search(table, source, source > 0, max_length=6, never=[word])
        assert not any(word in one.ids for one in found)
        masked = Table(rng, 5)
        masked.log_p[...] = table.log_p
        masked.log_p[:, :, word] = -np.inf
        wanted = search(masked, source, source > 0, max_length=6)
        assert [one.ids for one in found] == [one.ids for one in wanted]
        with pytest.raises(ValueError, match="`never` contains the id 999; expected ids from 0"):
            search(table, source, source > 0, never=[3, 999])


def test_invalid_arguments(model, batch):
    with pytest.raises(ValueError, match="max_length = -1"):
        greedy(model, batch.source, batch.source_mask, -1)
    with pytest.raises(ValueError, match="empty"):
        greedy(model, batch.source, np.zeros_like(batch.source_mask))
    with pytest.raises(TypeError, match="^model"):
        greedy(None, batch.source, batch.source_mask)
