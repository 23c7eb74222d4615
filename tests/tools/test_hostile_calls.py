"""The hostile calls: none is a finding, and what should be one is."""

import hostile
import numpy as np
import pytest
from hostility import calls, catalogue, engine, values
from hostility.outcome import REFUSED, RIGHT
from hostility.right_calls import Call, Sizes, alike, array, ids, numbers, other, same, whole

from numpy_attention.layers.linear import Linear
from numpy_attention.shapes import expect_real


def test_a_sample_is_right_or_refused(capsys):
    assert hostile.main(["--number", "150", "--seed", "7"], {"calls": calls.attempt}) == 0, \
        capsys.readouterr().out


@pytest.mark.parametrize("maker", catalogue.MAKERS)
def test_the_catalogue_is_right(maker):
    for call, again in zip(calls.made(maker, 3), calls.made(maker, 3)):
        for name, value in call.arguments.items():
            assert call.fits(name, value, value), f"{call.what}: {name}"
        assert same(numbers(call()), numbers(again()))


def outcome(function, mutant, **right):
    """Of a call with x made hostile."""
    made = [Call("it", function, {"x": np.ones((2, 3), np.float32)}, right) for _ in range(2)]
    return calls.tried(*made, {"x": mutant})


def doubled(x):
    expect_real("x", x)
    return 2 * x


def test_what_is_told():
    ones = np.ones((2, 3), np.float32)
    fortran = values.Mutant("Fortran order", np.asfortranarray(ones), values.SAME)
    double = values.Mutant("float64", ones.astype(float), values.DTYPE)
    text = values.Mutant("'a'", "a", values.THING)
    assert outcome(doubled, fortran).verdict == RIGHT
    assert outcome(doubled, double).text == "accepted with a wrong x"
    assert outcome(doubled, double, x=lambda value: value.dtype.kind == "f").verdict == RIGHT
    assert outcome(doubled, text).verdict == REFUSED
    assert outcome(lambda x: 2 * x + "a", text).verdict == "silence"
    assert outcome(lambda x: x.sum(), text).verdict == "traceback"
    by_memory = outcome(lambda x: x.ravel("K") * np.arange(6), fortran)
    assert by_memory.verdict == RIGHT                   # of ones
    steps = np.arange(6, dtype=np.float32).reshape(2, 3)
    made = [Call("it", lambda x: x.ravel("K"), {"x": steps}) for _ in range(2)]
    mutant = values.Mutant("Fortran order", np.asfortranarray(steps), values.SAME)
    assert "other numbers" in calls.tried(*made, {"x": mutant}).text


def largest(x):
    return np.nanmax(x)


def test_a_hidden_nan_is_told():
    spoilt = np.ones((2, 3), np.float32)
    spoilt[0, 1] = np.nan
    mutant = values.Mutant("nan at 1", spoilt, values.CONTENT)
    assert outcome(largest, mutant).text == "the NaN of x is hidden"
    assert outcome(doubled, mutant).verdict == RIGHT
    call, plain = (Call("it", largest, {"x": spoilt}, {}, {"x": True}) for _ in range(2))
    assert calls.tried(call, plain, {"x": mutant}).verdict == RIGHT


def test_what_is_right_may_not_be_refused():
    mutant = values.Mutant("1e38 at 0", np.full((2, 3), 1e38, np.float32), values.CONTENT)

    def picky(x):
        expect_real("x", x.astype(int))
    assert "refused although it is right" in outcome(picky, mutant).text


def test_tests_of_values():
    assert array(2, None)(np.ones((2, 5), np.float32)) and not array(2)(np.ones((2, 5)))
    assert array(..., 5)(np.ones((3, 2, 5), np.float32)) and not array(..., 5)(np.float32(5))
    assert ids(5, 2)(np.array([0, 4])) and not ids(5, 2)(np.array([0, 5]))
    assert whole(1)(3) and not whole(1)(True) and not whole(1)(0)
    rng = np.random.default_rng(0)
    one, two = Linear.create(rng, 3, 2), Linear.create(rng, 3, 2)
    assert alike(one, two) and not alike(one, Linear.create(rng, 3, 4)) and not alike(one, None)
    assert other(rng, Sizes()) != Sizes()


def test_calls_are_repeated_by_their_number():
    whats = [calls.attempt(np.random.default_rng([0, 0, i]), None).what for i in range(5)]
    assert whats == [result.what for result in engine.run({"calls": calls.attempt}, range(5), 0)]
