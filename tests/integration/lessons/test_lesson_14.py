"""Lesson 14: its versions agree, its checks find omissions, its floor is complete."""

import re

import numpy as np
import pytest
from lesson_files import TEXTS, pictures_in, tagged

from numpy_attention.gradcheck import GradientError

NAME = "14_how_fast.py"
VERSIONS = ("FirstWritten", "WeightsAtOnce", "WordsAtOnce", "CompiledGates", "OnePass", "UInPanels")
every = pytest.mark.parametrize("version", VERSIONS)


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    with pictures_in(tmp_path_factory.mktemp("parts")):
        import speed_parts
    return speed_parts


@every
def test_every_version_passes_its_gradient_check(lesson, version):
    lesson["check"](lesson[version])


@every
def test_every_version_trains_identically_in_float64(lesson, version):
    """Three steps, with and without clipping, with other numbers than the lesson's."""
    inputs, targets = np.random.default_rng(5).integers(9, size=(2, 5, 4))
    found = []
    for name in ("FirstWritten", version):
        model = lesson["created"](lesson[name], 9, 3, np.float64)
        grads = model.zeros_like()
        losses = [model.train_step(inputs, targets, grads) for _ in range(3)]
        found.append((losses, model.vector))
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-10)
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=0, atol=1e-10)
    assert losses[2] < losses[0]


def test_lesson_compares_each_version_with_the_previous_one(lesson):
    pairs = re.findall(r"^check_same\((\w+), (\w+)\)", TEXTS[NAME], re.MULTILINE)
    assert pairs == [*zip(VERSIONS[1:], VERSIONS), ("UInPanels", "FirstWritten")]
    assert tuple(kind.__name__ for kind in lesson["VERSIONS"]) == VERSIONS


def test_clipping_has_an_effect(lesson):
    model = lesson["created"](lesson["FirstWritten"], lesson["V"], lesson["H"])
    grads = model.zeros_like()
    model.loss_and_grad(lesson["inputs"], lesson["targets"], grads)
    assert np.linalg.norm(grads.vector) > 1.2 * lesson["CLIP"]


def without(name):
    """Return a backward pass that omits the gradient of one parameter."""
    def backward(self, dhs, cache, grads):
        other = grads.zeros_like()
        dxs = super(type(self), self).backward(dhs, cache, other)
        for each, array in other.named_parameters():
            if each != name:
                getattr(grads, each)[...] += array
        return dxs
    return backward


@pytest.mark.parametrize("name", ["W", "U", "b"])
def test_missing_term_is_detected_by_both_checks(lesson, name):
    wrong = type("Wrong", (lesson["OnePass"],), {"backward": without(name)})
    with pytest.raises(AssertionError, match=f"Wrong: d{name} differs"):
        lesson["check_same"](wrong, lesson["OnePass"])
    with pytest.raises(GradientError, match=f"wrong gradient for {name};"):
        lesson["check"](wrong)


def test_gradient_that_is_never_cleared_is_detected(lesson):
    class Stale(lesson["OnePass"]):
        def train_step(self, inputs, targets, grads):
            loss = self.loss_and_grad(inputs, targets, grads)
            rate = lesson["CLIP"] / np.linalg.norm(grads.vector)
            self.vector[...] -= self.dtype.type(rate) * grads.vector
            return loss

    with pytest.raises(AssertionError, match="the weights after two updates differs"):
        lesson["check_same"](Stale, lesson["OnePass"])


def test_bug_is_where_the_text_says(lesson):
    with pytest.raises(GradientError, match="wrong gradient for U; right: W, b, E, d, S"):
        lesson["check"](lesson["OneOff"])
    with pytest.raises(AssertionError, match="OneOff: dU differs"):
        lesson["check_same"](lesson["OneOff"], lesson["FirstWritten"])


def test_several_panels_pass_the_gradient_check(lesson, monkeypatch):
    monkeypatch.setitem(lesson, "SMALL", 30)
    shapes = {(2, 8): (2, 2, 4), (8, 2): (2, 8, 1), (4, 9): (9, 4, 1)}
    for shape, in_panels in shapes.items():
        assert lesson["Panels"](np.ones(shape), 3).panels.shape == in_panels
    lesson["check"](lesson["UInPanels"])


def test_missing_panel_is_detected(lesson):
    class Lossy(lesson["Panels"]):
        def __init__(self, M, rows):
            super().__init__(M, rows)
            self.panels[-1] = 0

    class Wrong(lesson["UInPanels"]):
        def times(self, M, rows):
            return Lossy(M, rows).times

    with pytest.raises(AssertionError, match="Wrong: .* differs"):
        lesson["check_same"](Wrong, lesson["OnePass"])


def test_floor_has_the_products_of_a_step(lesson):
    T, B, H, V = (lesson[letter] for letter in "TBHV")
    shapes = lesson["shapes_of_products"](B)
    of_recurrence = 2 * T * B * H * 4 * H
    of_words = 2 * T * B * H * V
    assert sum(2 * np.prod(shape) for shape in shapes) == 6 * of_recurrence + 3 * of_words
    results = lesson["products"](B)()
    assert [array.shape for array in results] == [(n, m) for n, _, m in shapes]
    assert {array.dtype for array in results} == {np.dtype(np.float32)}


def test_text_makes_no_claims_about_time():
    for cell in tagged(NAME):
        for line in cell.body.splitlines():
            timed = re.search(r"assert\b.*\b(seconds|ms|rates|first|last|floor|shares)\b", line)
            assert cell.is_text or not timed, line


# ---- speed_parts ---------------------------------------------------------------------------------


def test_every_side_runs_once_per_round_and_once_before(parts):
    ran = []
    sides = {name: lambda name=name: ran.append(name) for name in "abc"}
    seconds = parts.in_turns(sides, 4, np.random.default_rng(0))
    assert ran[:3] == ["a", "b", "c"]
    assert all(sorted(ran[n:n + 3]) == ["a", "b", "c"] for n in range(0, 15, 3))
    assert list(seconds) == ["a", "b", "c"]
    assert all(each.shape == (4,) and (each >= 0).all() for each in seconds.values())


def test_medians_ratios_and_verdicts(parts, capsys):
    slow = np.array([4.0, 6.0, 5.0])
    assert parts.medians({"slow": slow}) == {"slow": 5000.0}
    assert parts.ratio(slow / 2, slow) == "2.00 [2.00 to 2.00]"
    assert parts.verdict(slow / 2, slow) == "faster"
    assert parts.verdict(2 * slow, slow) == "slower"
    assert parts.verdict(np.array([3.0, 7.0, 5.0]), slow) == "too close to tell"
    parts.print_table({"FirstWritten": slow, "WeightsAtOnce": slow / 2, "the floor": slow / 4},
                      VERSIONS[:2])
    assert re.search(r"1 WeightsAtOnce +2500\.0 +2\.00 +2\.00 +1\.89\n", capsys.readouterr().out)


@pytest.mark.parametrize("times", [1.004, 0.996])
def test_range_printed_as_touching_1_is_undecided(parts, times):
    one = np.array([4.0, 6.0, 5.0])
    assert "[1.00 to 1.00]" in parts.ratio(one, times * one)
    assert parts.verdict(one, times * one) == "too close to tell"
