"""What a right argument is replaced by is of the kind that it says."""

import numpy as np
import pytest
from hostility import values
from hostility.values import CONTENT, DTYPE, SAME, SHAPE, THING

ARRAYS = [np.arange(24, dtype=np.float32).reshape(2, 3, 4), np.ones((5, 2), bool), np.arange(6),
          np.zeros((0, 3)), np.ones(1, np.float32)]
OTHERS = [3, 0.5, "old", True, None, (np.zeros((2, 3)), np.ones((2, 3))), (), object()]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype} {array.shape}")
def test_of_an_array(array):
    kept = array.copy()
    kinds = set()
    for seed in range(300):
        name, value, kind = values.mutant(np.random.default_rng(seed), array)
        kinds.add(kind)
        assert name and "\n" not in name
        if kind == SAME:
            assert value.shape == array.shape and (value == array).all()
        elif kind == SHAPE:
            assert value.dtype == array.dtype
        elif kind == DTYPE:
            assert value.shape == array.shape and value.dtype != array.dtype
            assert not np.may_share_memory(value, array)
        elif kind == CONTENT:
            assert value.shape == array.shape and value.dtype == array.dtype
    assert {SAME, SHAPE, DTYPE, THING} <= kinds and (CONTENT in kinds or not array.size)
    assert (array == kept).all()


@pytest.mark.parametrize("value", OTHERS, ids=ascii)
def test_of_anything_else(value):
    names = {values.mutant(np.random.default_rng(seed), value).name for seed in range(100)}
    assert len(names) >= 10 or value == ()


def test_the_same_generator_gives_the_same():
    one, other = (values.mutant(np.random.default_rng(7), ARRAYS[0]) for _ in range(2))
    assert one.name == other.name and one.kind == other.kind
