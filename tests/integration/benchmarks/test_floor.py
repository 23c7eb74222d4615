"""The floor has products for every model of the benchmark, as many as its sizes say."""

import floor
import pytest
from sides import MODELS
from worker import tiny


def multiplications(products):
    """Of a training step: a product forward, and one for the gradient of either factor."""
    def count(shapes):
        total = 0
        for *b, n, k, m in shapes:
            total += (b[0] if b else 1) * n * k * m
        return total
    return 2 * count(products.once + products.every_step) + count(products.once + products.hoisted)


@pytest.mark.parametrize("name", MODELS)
def test_a_step_of_the_floor(name):
    built = []
    step = floor.floor(tiny(MODELS[name]), 1, lambda: built.append(True))
    assert built == [True]
    assert step() == 0.0


@pytest.mark.parametrize("name", MODELS)
def test_two_threads_share_the_work(name):
    make = floor.PRODUCTS[MODELS[name].get("model")]
    one = multiplications(make(MODELS[name], 1))
    two = multiplications(make(MODELS[name], 2))
    assert two == pytest.approx(one / 2, rel=0.01)


def test_a_character_model():
    """T B words: inputs and state to three gates each, then 65 characters; all three times."""
    products = floor.PRODUCTS[None](MODELS["e"], 1)
    assert multiplications(products) == 3 * 50 * 32 * 128 * (3 * 128 + 3 * 128 + 65)
