"""Scatter-add, and the hash of dropout masks."""

import numpy as np
import pytest

from numpy_attention.kernels.rows import dropout, mix, scatter_add


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scatter_add_counts_every_occurrence(rng, dtype):
    ids = np.array([3, 0, 3, 3, 1])
    rows = rng.standard_normal((5, 4)).astype(dtype)
    table = np.ones((6, 4), dtype)
    scatter_add(ids, rows, table)
    np.testing.assert_allclose(table, 1 + np.eye(6)[ids].T @ rows, rtol=1e-5)
    assert (table[[2, 4, 5]] == 1).all()


def masks(row_ids, key, rate=0.3, size=400):
    x = np.ones((len(row_ids), size), np.float32)
    y = np.empty_like(x)
    dropout(x, np.asarray(row_ids), np.uint32(key), np.uint32(rate * 2**32), np.float32(2), y)
    assert set(np.unique(y)) <= {0, 2}
    return y > 0


def test_dropout_rate_and_independence():
    kept = masks(range(500), 1)
    assert abs(kept.mean() - 0.7) < 4 * np.sqrt(0.21 / kept.size)
    assert np.abs(kept.mean(0) - 0.7).max() < 0.12 and np.abs(kept.mean(1) - 0.7).max() < 0.12
    for shift in (1, 2, 7):                                             # neighbours are independent
        rows = kept[shift:], kept[:-shift]
        columns = kept[:, shift:], kept[:, :-shift]
        for a, b in (rows, columns):
            assert abs((a & b).mean() - 0.49) < 0.01
    other = masks(range(500), 2)
    assert abs((kept & other).mean() - 0.49) < 0.01                 # so are the masks of two keys


def test_mask_depends_only_on_the_row_id():
    whole = masks([5, 65536 * 3 + 1, 65536 * 3 + 2, 7], 9)
    part = masks([7, 65536 * 3 + 1], 9)
    assert (part == whole[[3, 1]]).all() and (whole[0] != whole[3]).any()
    assert masks([1], 0, rate=0.0).all()


def test_mix_is_injective_on_a_sample():
    values = [int(mix(np.uint32(v))) for v in range(4096)]
    assert len(set(values)) == 4096 and max(values) < 2**32
