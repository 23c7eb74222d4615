"""Batches of running text: parallel streams that continue across windows."""

import numpy as np
import pytest

from numpy_attention.data.batching import TextBatches
from numpy_attention.data.vocabulary import PAD


@pytest.mark.parametrize("length, batch_size, steps", [
    (50, 4, 5), (41, 4, 5), (11, 3, 20), (5, 4, 1), (13, 3, 1),
])
def test_streams_predict_every_token_but_the_first_once(length, batch_size, steps):
    ids = np.arange(4, 4 + length)
    data = TextBatches(ids, batch_size, steps)
    seen = []
    for position, start in enumerate(data.order()):
        batch = data.batch(start)
        assert batch.size == batch_size and len(batch.inputs) <= steps
        assert batch.inputs.flags.c_contiguous
        real = batch.targets != PAD
        assert (batch.targets[real] == batch.inputs[real] + 1).all()
        assert batch.tokens == real.sum()
        assert data.carried(start) is (position > 0)
        seen += batch.targets[real].tolist()
    assert sorted(seen) == ids[1:].tolist() and len(data) == len(data.order())
    streams = np.concatenate([data.batch(start).inputs for start in data.order()])
    # a stream continues in the next window
    assert streams[:, 0].tolist() == ids[:len(streams)].tolist()
    share = data.batch(0).share(1, 2)
    assert share.rows.tolist() == list(range(batch_size // 2, batch_size))
    assert (share.targets == data.batch(0).targets[:, share.rows]).all()


def test_default_batch_size_and_steps():
    data = TextBatches(list(range(4, 1000)))
    assert (data.batch_size, data.steps) == (20, 20)
    assert data.batch(0).inputs.shape == (20, 20)


def test_text_that_is_too_short_raises():
    message = "a text of 4 tokens is too short for batch_size = 4; .* or set batch_size = 3"
    with pytest.raises(ValueError, match=message):
        TextBatches([4, 5, 6, 7], batch_size=4)
    with pytest.raises(ValueError, match="steps = 0; expected an integer of at least 1"):
        TextBatches([4, 5, 6, 7], batch_size=2, steps=0)


def test_ids_start_at_0():
    assert TextBatches([0, 4], batch_size=1).batch(0).inputs.tolist() == [[0]]
    with pytest.raises(ValueError, match="^ids contain -1; ids must be at least 0, like those"):
        TextBatches([4, -1, 5], batch_size=1)
