"""The floor of a search has the products of the calls that it watched, and no others."""

import decoding
import decoding_floor
import numpy as np
import pytest
from decoding_floor import Watched, multiplier, products_of

from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.experiments.runs.translator import Translator

MASK = np.array([[1, 1], [1, 1], [1, 0]], bool)     # sentences of 3 and 2 words


def multiplications(shapes):
    return sum(rows * inner * columns for rows, inner, columns in shapes)


def test_luong():
    """Five words and three steps of two rows are read; then two rows write, and one."""
    E, H, V = 5, 7, 11
    batch, = products_of("luong", {"embedding": E, "hidden": H}, [(MASK, [2, 1])], V)
    read = 5 * E * 4 * H + 3 * 2 * H * 4 * H
    word = E * 4 * H + 2 * H * 4 * H + 2 * H * H + H * V
    assert multiplications(batch) == read + 3 * word


def test_rnnsearch():
    E, H, A, maxout, V = 5, 7, 3, 2, 11
    size = {"embedding": E, "hidden": H, "alignment": A, "maxout": maxout}
    batch, = products_of("rnnsearch", size, [(MASK, [2, 1])], V)
    read = 2 * (5 * E * 3 * H + 3 * 2 * H * 3 * H) + 5 * 2 * H * A + 2 * H * H
    cell = (E + H + 2 * H) * 3 * H + H * A
    word = cell + (H + E + 2 * H) * 2 * maxout + maxout * V
    assert multiplications(batch) == read + 3 * word


def test_every_product_of_a_batch_is_made(monkeypatch):
    made = []
    monkeypatch.setattr(np, "matmul", lambda x, W: made.append((*x.shape, W.shape[1])))
    batches = [[(2, 3, 4), (1, 3, 4)], [(5, 3, 6)]]
    multiply = multiplier(batches)
    multiply(1)
    multiply(0)
    assert made == batches[1] + batches[0]


@pytest.fixture(params=decoding.SETTINGS)
def translator(request):
    pairs = load_parallel("reverse", "train", count=40)
    size = dict.fromkeys(decoding.SIZES, 6) if request.param == "rnnsearch" else {
        "embedding": 6, "hidden": 8}
    return Translator.create(pairs, request.param, decoding.SETTINGS[request.param] | size)


@pytest.mark.parametrize("beam", [1, 3])
def test_a_watched_search_finds_the_same(translator, beam):
    sentences = [pair.source for pair in load_parallel("reverse", "test", count=70)]
    expected = translator.translate(sentences, beam)
    watched = translator.model = Watched(translator.model)
    found = translator.translate(sentences, beam)
    assert [one.target for one in found] == [one.target for one in expected]
    assert [mask.shape[1] for mask, _ in watched.begun] == [64, 6]
    longest = max(len(one.target) for one in found)
    for _, asked in watched.begun:
        assert 0 < min(asked) <= max(asked) <= 64 * beam
    assert max(len(asked) for _, asked in watched.begun) >= longest


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_share_the_batches(translator, threads, monkeypatch):
    made = []
    monkeypatch.setattr(decoding_floor, "multiplier", lambda batches: made.append)
    sentences = [pair.source for pair in load_parallel("reverse", "test", count=200)]
    assert decoding_floor.floor(translator, sentences, 1, threads)() == 0.0
    assert sorted(made) == [0, 1, 2, 3]
