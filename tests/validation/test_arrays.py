"""Checks of arrays: shapes, dtypes, masks, ids, gradients and the names in their errors."""

import numpy as np
import pytest

from numpy_attention.cells.gru import GRU
from numpy_attention.cells.lstm import LSTM
from numpy_attention.cells.stacked import Stacked
from numpy_attention.layers.dropout import Dropout
from numpy_attention.layers.linear import Linear
from numpy_attention.validation.arrays import (
    as_rows,
    at_least,
    check_dtype,
    check_grads,
    check_ids,
    check_mask,
    check_parameters,
    check_real,
    check_shape,
    check_sizes,
)


def test_as_rows_returns_a_view_with_one_leading_axis():
    x = np.arange(24.0).reshape(2, 3, 4)
    assert as_rows(x).shape == (6, 4) and np.shares_memory(as_rows(x), x)
    assert (as_rows(x)[4] == x[1, 1]).all()


def test_as_rows_of_empty_arrays():
    assert as_rows(np.zeros((2, 3, 0))).shape == (6, 0)
    assert as_rows(np.zeros((2, 0, 4))).shape == (0, 4)
    assert as_rows(np.zeros((0, 0))).shape == (0, 0)
    assert as_rows(np.zeros(4)).shape == (1, 4)


def test_check_shape():
    check_shape("xs", np.zeros((3, 4)), (None, 4), "(T, I)")
    for wrong in (np.zeros((3, 5)), np.zeros(4), np.zeros((3, 4, 1))):
        with pytest.raises(ValueError) as caught:
            check_shape("xs", wrong, (None, 4), "(T, I)", "turn it round")
        message = f"xs (T, I) has shape {wrong.shape}; expected (T, 4). Turn it round"
        assert str(caught.value) == message


def test_check_shape_accepts_only_plain_arrays(tmp_path):
    check_shape("x", np.memmap(tmp_path / "x", np.float32, "w+", shape=(2, 3)), (2, 3), "(N, I)")
    for wrong in ([1.0], None, 1.0, np.float32(1), np.ma.ones((2, 3))):
        with pytest.raises(TypeError, match=r"x is .*; expected a NumPy array of shape \(N, I\)"):
            check_shape("x", wrong, (2, 3), "(N, I)")
    with pytest.raises(TypeError, match=r"Fill its masked values first, with .filled\(value\)"):
        check_shape("x", np.ma.ones((2, 3)), (2, 3), "(N, I)")


def test_check_real():
    check_real("x", np.zeros(2, np.float32))
    for wrong, message in ((np.zeros(2, int), "float32 or float64. Convert it with"),
                           (np.array(["a"]), "float64$"), (np.zeros(2, ">f8"), "dtype >f8"),
                           (None, "is None; expected a NumPy array$")):
        with pytest.raises(TypeError, match=message):
            check_real("x", wrong)


def test_check_dtype():
    check_dtype("xs", np.zeros(3), np.zeros((2, 2)))
    message = r"^xs is float64, but the weights are float32; convert it with .astype\(np.float32\)$"
    with pytest.raises(TypeError, match=message):
        check_dtype("xs", np.zeros(3), np.zeros(3, np.float32))


def test_at_least():
    at_least(2, order=2, hidden=np.int64(3), window=None)
    at_least(0, carried=0)
    for size, text in ((1, "1"), (2.0, "2.0"), ("3", "'3'"), (float("nan"), "nan")):
        message = f"^order = {text}; expected an integer of at least 2$"
        with pytest.raises(ValueError, match=message):
            at_least(2, hidden=5, order=size)


def test_check_sizes():
    check_sizes(hidden=1, inputs=np.int32(2**20))
    for size in (None, 0, True, 2.0):
        with pytest.raises(ValueError, match=f"^hidden = {size}; expected an integer of at l"):
            check_sizes(hidden=size)
    with pytest.raises(ValueError, match="expected at most 268,435,456, the largest size "):
        at_least(1, hidden=10**12)


def test_check_mask():
    check_mask(np.ones((2, 3), bool), (2, 3), "(T, B)")
    with pytest.raises(TypeError, match=r"is int64; .*\. Convert it with np.asarray\(mask, bool\)"):
        check_mask(np.ones((2, 3), np.int64), (2, 3), "(T, B)")
    with pytest.raises(TypeError, match="is a list; expected a boolean array"):
        check_mask([[True]], (1, 1), "(T, B)")
    with pytest.raises(ValueError, match=r"mask \(T, B\) has shape \(3, 2\); expected \(2, 3\)"):
        check_mask(np.ones((3, 2), bool), (2, 3), "(T, B)")


def test_check_ids():
    check_ids("ids", np.array([[0, 4]]), 5)
    check_ids("ids", np.zeros(0, np.int32), 5)
    for ids, error, message in (
        ([1], TypeError, "is a list; expected an integer"),
        (np.array([1.0]), TypeError, "is float64; expected an integer"),
        (np.array([1, 5]), ValueError, "contains the id 5; expected 0 to 4"),
        (np.array([-1, 9]), ValueError, "contains the id -1"),
    ):
        with pytest.raises(error, match=message):
            check_ids("ids", ids, 5)


def test_check_parameters():
    check_parameters(Linear(np.ones((2, 3)), None), W="IO", b="O")
    for wrong, error, message in (
        (lambda: Linear(np.ones((2, 3)), np.ones(1)), ValueError, r"b \(O\) has shape \(1,\)"),
        (lambda: Linear(np.ones((2, 3)), np.ones(3, np.float32)), TypeError, "b is float32, but"),
        (lambda: Linear(np.ones((2, 3), int), None), TypeError, "W has dtype int64"),
        (lambda: Linear([[1.0]], None), TypeError, r"W is a list; .* of shape \(I, O\)"),
        (lambda: LSTM(np.ones((2, 9)), np.ones((3, 9)), np.ones(9)), ValueError, "4 · H columns"),
    ):
        with pytest.raises(error, match=message):
            wrong()


def test_check_grads(rng):
    model = Stacked([GRU.create(rng, 3, 4), GRU.create(rng, 4, 4)], Dropout())
    check_grads(model.zeros_like(), model)
    for wrong, error, message in (
        (None, TypeError, "^grads is None; expected a Stacked that holds gradients"),
        (model, TypeError, "^grads is the same object as model; "),
        (model.astype(np.float64).zeros_like(), ValueError, r"^grads.cells\[0\].W is a float64"),
        (Stacked(model.cells[:1], Dropout()), ValueError,
         "^grads.cells is a list of length 1; expected a list of length 2"),
        (Stacked([model.cells[0], LSTM.create(rng, 4, 4)], Dropout()), TypeError,
         r"^grads.cells\[0\] is the same object as model.cells\[0\]"),
    ):
        with pytest.raises(error, match=message):
            check_grads(wrong, model)
