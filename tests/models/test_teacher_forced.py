"""The loss of a translator on a batch is the sum of its losses on single sentences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numpy_attention.data.batching import pair_batch
from numpy_attention.gradcheck import randomize
from numpy_attention.models.encoder_decoder import EncoderDecoder
from numpy_attention.models.luong import LuongTranslator
from numpy_attention.models.rnnsearch import RNNSearch
from numpy_attention.models.transformer import Transformer

F = np.float64
RNG = np.random.default_rng(2)
RECURRENT = {"embedding": 3, "hidden": 4, "layers": 1, "dtype": F}
MODELS = {
    "rnnsearch": RNNSearch.create(RNG, 9, 9, **RECURRENT),
    "encoder-decoder": EncoderDecoder.create(RNG, 9, 9, **RECURRENT),
    "luong": LuongTranslator.create(RNG, 9, 9, **RECURRENT),
    "transformer": Transformer.create(RNG, 9, 9, 4, 1, 2, dtype=F),
}
SENTENCES = st.lists(st.integers(4, 8), min_size=1, max_size=6)
for each in MODELS.values():
    randomize(each, RNG)


@pytest.mark.parametrize("name", MODELS)
@given(pairs=st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=4))
def test_batch_loss_is_the_sum_over_sentences(name, pairs):
    model = MODELS[name]
    sources, targets = map(list, zip(*pairs))
    batch = pair_batch(sources, targets)
    separate = [model.loss(pair_batch([source], [target]))[0] for source, target in pairs]
    assert model.loss(batch)[0] == pytest.approx(sum(separate), rel=1e-9)
    shares = [model.loss(batch.share(k, len(pairs)))[0] for k in range(len(pairs))]
    assert shares == pytest.approx(separate, rel=1e-9)
    grads = model.zeros_like()
    loss, _ = model.loss_and_grad(batch, None, 1.0, grads)
    if not model.smoothing:
        assert loss == pytest.approx(sum(separate), rel=1e-9)
