"""DocumentBatches: several documents per batch, each read from start to end."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numpy_attention.data.batching import DocumentBatches
from numpy_attention.data.vocabulary import PAD


def documents_of(rng, count):
    """Return `count` documents of consecutive ids; document k starts at 100 k + 4."""
    firsts = range(4, 100 * count, 100)
    return [list(range(i, i + n)) for i, n in zip(firsts, rng.integers(2, 30, count))]


@pytest.mark.parametrize("batch_size, steps", [(1, None), (4, None), (4, 5), (7, 1), (50, 100)])
@pytest.mark.parametrize("shuffled", [False, True])
def test_every_document_is_read_once_from_its_start(batch_size, steps, shuffled, rng):
    documents = documents_of(rng, 23)
    data = DocumentBatches(documents, batch_size, steps, block=2)
    order = data.order(rng if shuffled else None)
    if steps is None or not shuffled:
        # shuffled groups have more varied lengths and may take more steps
        assert len(order) == len(data)
    whole = []
    going = None
    for place in order:
        batch = data.batch(place)
        assert batch.size <= batch_size and batch.tokens
        assert steps is None or len(batch.inputs) <= steps
        if not data.carried(place):
            whole += going or []
            going = [[] for _ in range(batch.size)]
        assert batch.size == len(going)             # same rows while the state is carried
        for b in range(batch.size):
            real = batch.targets[:, b] != PAD
            assert (batch.inputs[:, b] != PAD).tolist() == real.tolist()
            assert real.tolist() == sorted(real.tolist(), reverse=True)
            inputs = batch.inputs[real, b].tolist()
            targets = batch.targets[real, b].tolist()
            assert targets == [id + 1 for id in inputs]
            if going[b]:
                # the last target of a window is the first input of the next
                assert not inputs or inputs[0] == going[b][-1]
                going[b] += targets
            else:
                going[b] += inputs[:1] + targets
    whole += going
    assert sorted(whole) == documents


def test_documents_of_similar_length_share_a_batch(rng):
    documents = documents_of(rng, 400)

    def spread(order):
        return np.mean([np.ptp([len(documents[i]) for i in group]) for group, _ in order])

    def groups(order):
        return [group.tolist() for group, _ in order]

    data = DocumentBatches(documents, 10, block=20)
    assert spread(data.order(rng)) < 5 and spread(data.order()) < 2
    assert groups(data.order()) == groups(data.order())
    assert groups(data.order(rng)) != groups(data.order(rng))


@pytest.mark.parametrize("arguments, message", [
    (([[2, 4]], 1, 0), "steps = 0"),
    (([],), "documents is empty; expected at least one"),
    (([[2, 4], [2]],), r"documents\[1\] has length 1; expected at least 2 ids"),
])
def test_invalid_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        DocumentBatches(*arguments)


@given(st.lists(st.lists(st.integers(4, 9), min_size=2, max_size=9), min_size=1, max_size=8),
       st.integers(1, 4), st.none() | st.integers(1, 4))
def test_every_token_but_the_first_is_predicted_once(documents, batch_size, steps):
    data = DocumentBatches(documents, batch_size, steps)
    predicted = [id for place in data.order() for id in data.batch(place).targets.ravel()]
    assert sorted(id for id in predicted if id != PAD) == sorted(
        id for document in documents for id in document[1:])


def test_first_words_match_the_document_batches():
    documents = [[0, 5, 6, 7], [1, 8], [2, 9, 4], [3, 5, 5, 5, 5]]
    for steps in (None, 2):
        batches = DocumentBatches(documents, 3, steps)
        first = batches.first_words()
        whole = [batches.batch(place) for place in batches.order() if not batches.carried(place)]
        found = [first.batch(place) for place in first.order()]
        assert [one.size for one in found] == [3, 1]
        for one, all_of_it in zip(found, whole, strict=True):
            assert np.array_equal(one.inputs, all_of_it.inputs[:1])
            assert np.array_equal(one.targets, all_of_it.targets[:1])
