"""Learning rate schedules by hand, and argument errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numpy_attention.training.schedules import Constant, Decay, LinearDecay, Warmup


def test_constant():
    assert Constant()(7, 3) == 1


def test_decay_of_zarembas_small_model():
    decay = Decay(full_epochs=4, divisor=2)                     # constant for 4 epochs, then halved
    assert [decay(1, epoch) for epoch in range(7)] == [1, 1, 1, 1, 0.5, 0.25, 0.125]


def test_linear_decay():
    line = LinearDecay(steps=10, last=0.1)
    assert line(1, 0) == 1
    assert line(6, 0) == pytest.approx(0.55)
    assert line(11, 0) == pytest.approx(0.1)
    assert line(500, 9) == pytest.approx(0.1)


def test_warmup_matches_the_transformer_schedule():
    warmup = Warmup(steps=4)
    size = 512
    assert [warmup(step, 0) for step in range(1, 5)] == [0.25, 0.5, 0.75, 1]
    assert warmup(16, 0) == warmup(16, 9) == 0.5 and warmup(400, 0) == pytest.approx(0.1)
    for step in (1, 3, 4, 5, 90):               # Vaswani et al. 2017, equation 3
        equation = size**-0.5 * min(step**-0.5, step * 4**-1.5)
        assert (size * 4)**-0.5 * warmup(step, 0) == pytest.approx(equation, rel=1e-12)


def test_smallest_valid_settings():
    assert [Decay(0, np.int64(1))(1, epoch) for epoch in range(3)] == [1, 1, 1]     # divided by 1
    assert [LinearDecay(1)(step, 0) for step in (1, 2, 3)] == [1, 0, 0]     # to 0 by default
    assert [LinearDecay(4, last=1)(step, 0) for step in (1, 5)] == [1, 1]
    assert [Warmup(1)(step, 0) for step in (1, 4)] == [1, 0.5]


@pytest.mark.parametrize("make, words", [
    (lambda: Decay(2, 0.5), "divisor"),
    (lambda: Decay(-1, 2), "full_epochs = -1; expected an integer of at least 0"),
    (lambda: LinearDecay(0), "steps = 0; expected an integer of at least 1"),
    (lambda: LinearDecay(5, -0.1), "last = -0.1"),
    (lambda: LinearDecay(5, 1.5), r"last = 1.5; expected a fraction in \[0, 1\]"),
    (lambda: Warmup(0), "steps = 0; expected an integer of at least 1"),
    (lambda: Warmup(-3), "steps = -3"),
])
def test_bad_settings(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@given(st.integers(1, 500), st.integers(0, 50), st.integers(1, 300))
def test_every_rate_is_between_0_and_1(step, epoch, steps):
    for schedule in (Constant(), Decay(epoch // 2, 1.5), LinearDecay(steps, 0.1), Warmup(steps)):
        assert 0 <= schedule(step, epoch) <= 1


def test_divisor_below_1_raises():
    with pytest.raises(ValueError, match="^divisor = 0.5; expected a number of at least 1$"):
        Decay(0, 0.5)
