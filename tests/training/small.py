"""A translator small enough to train in a test: reverse, GRU of 12 units."""

import numpy as np

from numpy_attention.data.batching import PairBatches, TextBatches
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.models.rnnsearch import RNNSearch
from numpy_attention.training.optimizers import SGD, Adam
from numpy_attention.training.trainer import Trainer


def pairs(count=60, seed=0, vocabulary=9):
    """Return (sources, targets) as ids: each target is its source reversed; lengths 1 to 6."""
    rng = np.random.default_rng(seed)
    sources = [rng.integers(4, vocabulary, rng.integers(1, 7)).tolist() for _ in range(count)]
    return sources, [source[::-1] for source in sources]


def translator_model(seed=0, dtype=np.float32, hidden=12, **settings):
    settings = {"dropout": 0.2, **settings}
    return RNNSearch.create(np.random.default_rng(seed), 9, 9, embedding=5, hidden=hidden,
                            alignment=7, maxout=4, init="modern", dtype=dtype, **settings)


def trainer(model=None, path=None, count=60, **settings):
    """Return a Trainer on `reverse` with validation; settings override the defaults."""
    settings = {"optimizer": Adam(5e-3), "clip": 1.0, "threads": 1, "progress": False,
                "rng": np.random.default_rng(3), **settings}
    train = PairBatches(*pairs(count), batch_size=8, block=2)
    valid = PairBatches(*pairs(20, 1), batch_size=8)
    return Trainer(model or translator_model(), train=train, valid=valid, path=path, **settings)


def language_trainer(path=None, hidden=6, **settings):
    """Return a Trainer of a language model with carried state on a text of random ids."""
    text = np.random.default_rng(5).integers(4, 12, 400)
    model = LanguageModel.create(np.random.default_rng(1), 12, hidden, layers=2, dropout=0.3)
    settings = {"optimizer": SGD(0.5), "threads": 1, "progress": False,
                "rng": np.random.default_rng(4), **settings}
    return Trainer(model, train=TextBatches(text, batch_size=4, steps=7), path=path, **settings)
