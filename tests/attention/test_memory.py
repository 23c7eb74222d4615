"""Memory, the deferred products in its gradient, and the sums that mechanisms share."""

import numpy as np
import pytest

from numpy_attention.attention.memory import Memory, dot_scores, sum_of_values, sum_over_steps

B, S, D, A, T = 2, 5, 3, 4, 6
MASK = np.array([[1, 1, 1, 1, 1], [1, 0, 1, 0, 0]], bool)


@pytest.fixture
def memory(rng):
    return Memory(rng.standard_normal((B, S, D)), rng.standard_normal((B, S, A)), MASK)


def test_take_repeats_and_reorders_rows(memory):
    taken = memory.take(np.array([1, 1, 0]))
    assert (taken.values == memory.values[[1, 1, 0]]).all()
    assert (taken.keys == memory.keys[[1, 1, 0]]).all()
    assert (taken.mask == MASK[[1, 1, 0]]).all()
    assert Memory(memory.values, None, MASK).take(np.array([0])).keys is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradient_starts_at_zero_in_the_memory_dtype(rng, dtype):
    keys = np.ones((B, S, A), dtype)
    dmemory = Memory(np.ones((B, S, D), dtype), keys, MASK).gradient()
    for gradient in (dmemory, dmemory.wrapped):
        assert not gradient.values.any() and gradient.values.shape == (B, S, D)
        assert not gradient.keys.any() and gradient.keys.shape == (B, S, A)
        assert gradient.values.dtype == gradient.keys.dtype == dtype
    assert Memory(keys, None, MASK).gradient().keys is None


@pytest.mark.parametrize("used", [False, True])
def test_values_without_a_deferred_step(used, memory):
    dmemory = memory.gradient()
    if used:
        dmemory.values += 2
    assert (dmemory.total_values() == (2 if used else 0)).all()
    assert (dmemory.total_values() == 0).all()              # reset


def test_deferred_products_and_values_add_up(memory):
    B, S, D = memory.values.shape
    dmemory = memory.gradient()
    dmemory.defer("values", np.ones((B, S)), np.ones((B, D)))
    dmemory.values += 2
    assert (dmemory.total_values() == 3).all()


def test_deferred_factors_are_stacked_by_name_in_backward_order(memory, rng):
    dmemory = memory.gradient()
    steps = [(rng.standard_normal((B, S)), rng.standard_normal((B, D))) for _ in range(T)]
    for factors, rows in steps:
        dmemory.defer("values", factors, rows)
        dmemory.defer("W_a", rows)
    factors, rows = dmemory.stacked("values")
    assert (factors == np.stack([one for one, _ in steps])).all()
    assert (rows == np.stack([one for _, one in steps])).all()
    assert (dmemory.stacked("W_a")[0] == rows).all()
    assert list(dmemory.pending) == ["values", "W_a"]


def test_defer_raises_for_factors_of_a_wrong_shape(memory):
    dmemory = memory.gradient()
    dmemory.defer("values", np.ones((B, S)), np.ones((B, D)))
    with pytest.raises(ValueError, match=r"the number of factors is 1, but it was 2 before"):
        dmemory.defer("values", np.ones((B, S)))
    with pytest.raises(ValueError, match=r"defer\('values', …\): factor 2 \(B, size\) has "):
        dmemory.defer("values", np.ones((B, S)), np.ones((B, D + 1)))
    with pytest.raises(ValueError, match="a row for each sentence"):
        dmemory.defer("new", np.ones((B + 1, S)))
    for factor in [[1.0] * S] * B, 1.0:
        with pytest.raises(TypeError, match=r"new.*factor 1 is .* \(B, size\)"):
            dmemory.defer("new", factor)
    with pytest.raises(ValueError, match=r"factor 1 \(B, size\) has shape \(\)"):
        dmemory.defer("new", np.array(1.0))
    assert list(dmemory.pending) == ["values"] and len(dmemory.pending["values"]) == 1


def test_wrapped_attention_has_its_own_gradient(memory):
    dmemory = memory.gradient()
    dmemory.wrapped.defer("values", np.ones((B, S)))
    dmemory.wrapped.keys += 1
    assert dmemory.wrapped is dmemory.wrapped
    assert not dmemory.pending and not dmemory.keys.any()


def test_sums(memory, rng):
    query = rng.standard_normal((B, D))
    wanted = np.where(MASK, np.einsum("bd,bsd->bs", query, memory.values), 0)
    np.testing.assert_allclose(dot_scores(query, memory), wanted, atol=1e-14)
    np.testing.assert_allclose(dot_scores(np.asfortranarray(query), memory), wanted, atol=1e-14)
    weights = rng.random((B, S))
    wanted = np.einsum("bs,bsd->bd", weights, memory.values)
    np.testing.assert_allclose(sum_of_values(weights, memory), wanted, atol=1e-14)
    factors = rng.standard_normal((T, B, S))
    rows = rng.standard_normal((T, B, D))
    wanted = np.einsum("nbs,nbd->bsd", factors, rows)
    np.testing.assert_allclose(sum_over_steps(factors, rows), wanted, atol=1e-13)
