"""The searches in PyTorch find what the package's find, with the same weights."""

import numpy as np
import pytest

from numpy_attention.data.vocabulary import EOS
from numpy_attention.decoding.beam import beam_search
from numpy_attention.decoding.greedy import greedy
from numpy_attention.gradcheck import randomize
from numpy_attention.models.luong import LuongTranslator
from numpy_attention.models.rnnsearch import RNNSearch

torch = pytest.importorskip(
    "torch", reason="PyTorch is not installed: pip install -e '.[parity]'")
from pytorch import torch_decoding, torch_luong, torch_rnnsearch  # noqa: E402

V = 9


def rnnsearch(rng):
    ours = RNNSearch.create(
        rng, V, V, 3, 6, alignment=5, maxout=4, readout="current", reset="after", update="old",
        init="modern", dtype=np.float64)
    theirs = torch_rnnsearch.TorchRNNSearch(V, V, 3, 6, 5, 4).double()
    randomize(ours, rng)
    return ours, torch_decoding.RNNSearcher(torch_rnnsearch.copy_weights(ours, theirs))


def luong(rng):
    ours = LuongTranslator.create(rng, V, V, 3, 6, layers=1, dtype=np.float64)
    randomize(ours, rng)
    theirs = torch_luong.TorchLuong(V, V, 3, 6).double()
    return ours, torch_decoding.LuongSearcher(torch_luong.copy_weights(ours, theirs))


@pytest.fixture
def source(rng):
    """(S, B), ragged, </s> at the end."""
    lengths = rng.integers(1, 7, 30)
    ids = np.zeros((7, 30), np.int64)
    for b, n in enumerate(lengths):
        ids[:n, b] = rng.integers(4, V, n)
        ids[n, b] = EOS
    return ids


@pytest.mark.parametrize("make", [rnnsearch, luong])
def test_greedy(rng, source, make):
    ours, searcher = make(rng)
    expected = [found.ids for found in greedy(ours, source, source != 0)]
    assert torch_decoding.greedy(searcher, torch.from_numpy(source)) == expected
    assert len(set(map(len, expected))) > 3             # some end, some are cut off


@pytest.mark.parametrize("beam", [1, 2, 5])
@pytest.mark.parametrize("make", [rnnsearch, luong])
def test_beam(rng, source, make, beam):
    ours, searcher = make(rng)
    expected = [found[0].ids for found in beam_search(ours, source, source != 0, beam)]
    assert torch_decoding.beam_search(searcher, torch.from_numpy(source), beam) == expected
    assert len(set(map(len, expected))) > 3
