"""Products with few rows: panels give the same result and are used where they are faster."""

import laws
import numpy as np
import pytest
from validation.borders import pairs, translators

from numpy_attention import products
from numpy_attention.decoding.beam import beam_search
from numpy_attention.decoding.greedy import greedy
from numpy_attention.gradcheck import randomize
from numpy_attention.gradcheck.cases import CASES
from numpy_attention.products import Panels, few_rows, fixed_weights
from numpy_attention.training.threads import Threads


@pytest.fixture(autouse=True)
def on_any_processor(monkeypatch):
    monkeypatch.setattr(products, "has_small_kernels", lambda: True)


# (rows, K, N): with whole panels, a partial one or none; K is split where rows · K is large
SIZES = [(1, 3, 64), (10, 200, 800), (7, 650, 130), (5, 9, 40), (20, 2048, 512), (33, 1999, 65)]


@pytest.mark.parametrize("rows, K, N", SIZES)
@pytest.mark.parametrize("dtype, tolerance", [(np.float32, 1e-4), (np.float64, 1e-12)])
def test_panels_match_the_plain_product(rng, rows, K, N, dtype, tolerance):
    W = rng.standard_normal((K, N)).astype(dtype)
    x = rng.standard_normal((rows, K)).astype(dtype)
    before = W.copy()
    for layout in (W, np.asfortranarray(W)):        # columns of the first layout lie pages apart
        y = x @ Panels(layout, rows)
        assert y.dtype == dtype and y.flags.c_contiguous
        np.testing.assert_allclose(y, x @ W, rtol=tolerance, atol=tolerance)
        np.testing.assert_array_equal(layout, before)


def test_each_product_of_panels_is_small(rng):
    for rows, K, N in SIZES:
        for block in Panels(rng.standard_normal((K, N)), rows).blocks:
            assert rows * block.shape[1] * block.shape[2] <= products.SMALL
            assert block.size == 0 or block.ctypes.data % products.LINE == 0


def test_panels_are_used_for_large_matrices_few_rows_and_many_steps(rng, monkeypatch):
    W = rng.standard_normal((512, 512))
    assert isinstance(few_rows(W, 10, 20), Panels)
    assert few_rows(W, 10, 1) is W
    for rows, steps, small in [(1, 20, W), (500, 20, W), (10, 20, W[:64, :64])]:
        found = few_rows(small.T, rows, steps)
        assert isinstance(found, np.ndarray) and found.flags.c_contiguous
        np.testing.assert_array_equal(found, small.T)
    monkeypatch.setattr(products, "has_small_kernels", lambda: False)
    assert isinstance(few_rows(W, 10, 20), np.ndarray)


def test_panels_are_cached_while_weights_are_fixed(rng):
    W = rng.standard_normal((512, 512))
    assert few_rows(W, 10) is W
    with fixed_weights():
        panels = few_rows(W, 10)
        assert isinstance(panels, Panels)
        assert few_rows(W, 16) is panels and few_rows(W, 17) is not panels
        assert few_rows(W.T, 10) is not panels and few_rows(W[:, :300], 10) is not panels
        with Threads(2) as pool:
            assert pool.map(lambda k: few_rows(W, 10)) == [panels, panels]
        with fixed_weights():
            assert few_rows(W, 10) is panels
    W[:] = 0
    with fixed_weights():
        assert not (np.ones((10, 512)) @ few_rows(W, 10)).any()


def test_cached_arrays_keep_their_address():
    """Panels are cached by the address of W, so it must not be reused while weights are fixed."""
    with fixed_weights():
        for value in range(5):
            W = np.full((512, 512), float(value))
            np.testing.assert_array_equal(np.ones((5, 512)) @ few_rows(W, 5), 512 * value)
            del W


def use_panels(monkeypatch):
    """Use panels for small matrices too; → a list that grows with each product."""
    used = []

    class Counted(Panels):
        def __rmatmul__(self, x):
            used.append(x)
            return super().__rmatmul__(x)

    small = {"WIDTH": 4, "SMALL": 50, "STEPS": 1, "Panels": Counted}
    for name, value in small.items():
        monkeypatch.setattr(products, name, value)
    return used


def test_layers_and_models_match_with_panels(monkeypatch):
    def results(build):
        outputs, _, _, grads, dinputs = laws.run(build(np.random.default_rng(1), np.float64))
        return outputs, grads.vector, dinputs

    plain = {name: results(build) for name, build in CASES.items()}
    used = use_panels(monkeypatch)
    in_case = {}
    for name, build in CASES.items():
        used.clear()
        with fixed_weights():
            laws.assert_close(results(build), plain[name], 1e-9, name)
        in_case[name] = len(used)
    assert sum(number > 0 for number in in_case.values()) > 60, in_case


@pytest.mark.parametrize("model", translators[:3], ids=lambda model: type(model).__name__)
def test_search_matches_with_panels(model, monkeypatch):
    model = randomize(model.astype(np.float64), np.random.default_rng(2))

    def found():
        beams = beam_search(model, pairs.source, pairs.source_mask, 2)
        best = [*greedy(model, pairs.source, pairs.source_mask), *sum(beams, [])]
        return [one.ids for one in best], [one.log_probability for one in best]

    ids, log_p = found()
    used = use_panels(monkeypatch)
    again = found()
    assert used and again[0] == ids
    np.testing.assert_allclose(again[1], log_p, rtol=1e-9)
