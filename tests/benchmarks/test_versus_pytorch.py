"""The benchmark against PyTorch: every model makes a step on both sides and on the floor, at tiny sizes."""

import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def benchmark():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import floor
        import sides
    finally:
        sys.path.remove(str(BENCHMARKS))
    return sides, floor


def tiny(size):
    return {name: min(value, 8) if isinstance(value, int) else value for name, value in size.items()}


NAMES = ("a", "b20", "b35", "c", "d", "e", "f")


def test_the_models_of_the_papers_are_there(benchmark):
    assert sorted(benchmark[0].MODELS) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_our_step_and_its_floor(benchmark, name):
    sides, floor = benchmark
    size = tiny(sides.MODELS[name])
    for make in (sides.ours, floor.floor):
        built = []
        step = make(size, 1, lambda: built.append(True))
        assert built == [True]
        losses = [step() for _ in range(3)]
        assert np.isfinite(losses).all()
    assert floor.PRODUCTS.keys() >= {size.get("model")}


@pytest.mark.parametrize("name", NAMES)
def test_their_step(benchmark, name, monkeypatch):
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install -e '.[parity]'")
    import torch
    threads = torch.get_num_threads()
    step = benchmark[0].theirs(tiny(benchmark[0].MODELS[name]), 1, lambda: None)
    losses = [step() for _ in range(4)]
    torch.set_num_threads(threads)
    assert np.isfinite(losses).all() and losses[-1] < losses[0] + 0.5
