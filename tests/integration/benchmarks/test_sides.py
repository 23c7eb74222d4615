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


@pytest.mark.parametrize("name", ["c", "e"])
def test_compiled_is_the_same_model(monkeypatch, name):
    """The compiler here compiles nothing: what it is given, and that what it gives is used."""
    torch = pytest.importorskip(
        "torch", reason="PyTorch is not installed: pip install -e '.[parity]'")
    given = []

    def compiler(loss):
        given.append(loss)
        return lambda *ids: loss(*ids)
    threads = torch.get_num_threads()
    monkeypatch.setattr(torch, "compile", compiler)
    try:
        size = tiny(sides.MODELS[name])
        losses = [make(size, 1, lambda: None)() for make in (sides.theirs, sides.compiled)]
    finally:
        torch.set_num_threads(threads)
    assert len(given) == 1
    assert losses[0] == losses[1]


def test_targets_of_a_length_of_their_own(rng):
    size = sides.MODELS["c"] | {"low": 30, "high": 40, "written": 7}
    batch = sides.batch_of(size, rng)
    assert len(batch.source) > 30
    assert len(batch.target_in) == 8 and batch.tokens == 8 * size["batch"]


def test_a_part_by_its_names():
    assert sides.part({"a.W": 1, "a.b.W": 2, "ab.W": 3}, "a") == {"W": 1, "b.W": 2}
