"""Every model of the benchmark makes a step on both sides, at tiny sizes."""

import numpy as np
import pytest
import sides
from worker import tiny


def test_the_models_of_the_papers_are_there():
    assert sorted(sides.MODELS) == ["a", "b20", "b35", "c", "d", "e", "f"]


@pytest.mark.parametrize("name", sides.MODELS)
def test_our_step(name):
    built = []
    step = sides.ours(tiny(sides.MODELS[name]), 1, lambda: built.append(True))
    assert built == [True]
    losses = [step() for _ in range(3)]
    assert np.isfinite(losses).all()
    assert losses[0] > 0


@pytest.mark.parametrize("name", sides.MODELS)
def test_their_step(name):
    torch = pytest.importorskip(
        "torch", reason="PyTorch is not installed: pip install -e '.[parity]'")
    threads = torch.get_num_threads()
    try:
        step = sides.theirs(tiny(sides.MODELS[name]), 1, lambda: None)
        losses = [step() for _ in range(4)]
    finally:
        torch.set_num_threads(threads)
    assert np.isfinite(losses).all()
    assert losses[-1] < losses[0] + 0.5
