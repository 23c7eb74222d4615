"""Kernels that are called from other modules raise for arrays that do not fit."""

import numpy as np
import pytest

from numpy_attention.kernels import elementary, gates, largest, rows, scores, softmax, updates
from numpy_attention.kernels.guard import Guarded, guarded

SIZES = dict(B=2, H=3, G=4, T=5, S=6, A=7, N=8, V=9, D=10, E=11, K=3)
SCALARS = dict(new=True, key=np.uint32(1), threshold=np.uint32(0), scale=1.0)
KERNELS = {name: held for module in (gates, largest, rows, scores, softmax, updates)
           for name, held in vars(module).items() if isinstance(held, Guarded)}
each = pytest.mark.parametrize("name", KERNELS)


def arguments(kernel, dtype=np.float32):
    """Return {name: argument} of a valid call, with an array of zeros for each array."""
    scalars = {name: SCALARS.get(name, 0.5) for name in kernel.py_func.__code__.co_varnames[
        :kernel.py_func.__code__.co_argcount]}
    arrays = {}
    for name, _, axes, kind, _ in kernel.arrays:
        shape = [times * SIZES[letter] for times, letter in axes]
        arrays[name] = np.zeros(shape, dtype if kind == "real" else kind)
    return scalars | arrays


def call(kernel, **changed):
    return kernel(*(arguments(kernel) | changed).values())


def invalid_arrays(kernel, name, axes, kind):
    """Yield invalid values for the argument with this name."""
    array = arguments(kernel)[name]
    others = [other for other in kernel.arrays if other[0] != name]
    letters = {letter for _, _, its_axes, *_ in others for _, letter in its_axes}
    for n, (_, letter) in enumerate(axes):
        if letter in letters:
            yield np.delete(array, 0, axis=n)
    if kind == "real" and any(other[3] == "real" for other in others):
        yield array.astype(np.float64)
    if kind != "int":
        yield array.astype(int)
    for dtype in (np.float16, complex, object):
        yield array.astype(dtype)
    yield from (array[None], array[0], array.tolist(), None, 1.0)


@each
def test_wrong_shape_or_dtype_raises(name):
    kernel = KERNELS[name]
    for one, _, axes, kind, _ in kernel.arrays:
        for other in invalid_arrays(kernel, one, axes, kind):
            call(kernel)            # the guard caches this valid call only
            with pytest.raises(ValueError, match=rf"^{name}: \w+ (has|is) .*expected .*$"):
                call(kernel, **{one: other})


def test_index_out_of_range_raises():
    for bad in (-1, SIZES["V"]):
        ids = np.full(SIZES["N"], bad)
        for kernel, name in ((rows.scatter_add, "ids"), (softmax.cross_entropy, "targets")):
            message = f"{name} contains {bad}; expected 0 to {SIZES['V'] - 1}"
            with pytest.raises(ValueError, match=message):
                call(kernel, **{name: ids})


def test_alternating_precisions():
    for dtype in (np.float32, np.float64, np.float32):
        gates.lstm(*arguments(gates.lstm, dtype).values())


def test_memory_order_does_not_matter(rng):
    weights = rng.random((4, 6))
    values = rng.random((4, 6, 5))
    wanted, given = np.empty((2, 4, 5))
    softmax.weighted_sum(weights, values, wanted)
    softmax.weighted_sum(np.asfortranarray(weights), np.repeat(values, 2, axis=2)[..., ::2], given)
    np.testing.assert_allclose(given, wanted, rtol=1e-14)


def test_empty_arrays():
    assert largest.largest(np.zeros(1), np.zeros((1, 3)), *np.zeros((2, 0), int), np.zeros(0)) == 0
    assert elementary.row_max(np.zeros(0)) == -np.inf and not updates.any_nonzero(np.zeros(0))
    softmax.log_softmax(np.zeros((2, 0)), np.zeros(0), np.zeros(0))
    softmax.masked_softmax(np.zeros((2, 0)), np.zeros((2, 0), bool), np.zeros((2, 0)))


def test_message():
    @guarded(x="N 2H", h="N H")
    def product(x, h):
        raise AssertionError

    with pytest.raises(ValueError) as caught:
        product(np.zeros((3, 4)), np.zeros((3, 5)))
    assert str(caught.value) == "product: x has shape (3, 4); expected (N, 2H) = (3, 10)"
