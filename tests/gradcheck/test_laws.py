"""Laws that central differences cannot test. One line breaks each law, and the report names it."""

import warnings
from dataclasses import dataclass

import numpy as np
import pytest

from numpy_attention.attention.dot import DotAttention
from numpy_attention.attention.softmax import masked_softmax
from numpy_attention.gradcheck import GradientError, gradcheck, laws, protocol, randomize
from numpy_attention.gradcheck.check import Check
from numpy_attention.gradcheck.errors import NotFloat32
from numpy_attention.gradcheck.laws import broken_conditions, broken_laws
from numpy_attention.gradcheck.laws.leaks import leak
from numpy_attention.gradcheck.laws.masking import at_mask, claims, masks_of
from numpy_attention.gradcheck.passes import Broken, differing, names_of
from numpy_attention.module import Array, Module

EMPTY = np.empty, np.empty_like


@dataclass(eq=False)
class Squash(Module):
    """y = tanh(x W), correct; each test changes one of its passes."""

    W: Array  # (I, H)

    def forward(self, x):
        y = np.tanh(x @ self.W)
        return y, (x, y)

    def backward(self, dy, cache, grads):
        x, y = cache
        da = dy * (1 - y**2)
        grads.W += x.T @ da
        return da @ self.W.T


def squash(rng, kind=Squash):
    return randomize(kind(np.zeros((3, 2))), rng), rng.standard_normal((4, 3))


def broken(rng, target, *inputs, **passes):
    """Return the broken laws and the message of a check whose gradients are all correct."""
    with pytest.raises(GradientError) as caught:
        gradcheck(target, *inputs, rng=rng, **passes)
    assert not caught.value.report.wrong
    return caught.value.report.laws, str(caught.value)


def single_law(rng, target, *inputs, **passes):
    laws, message = broken(rng, target, *inputs, **passes)
    assert len(laws) == 1
    return laws[0], message


def test_differing():
    """The tolerance is relative to the largest value of an array, or of all arrays if it is 0."""
    wanted = {"a": np.array([100.0, 0.0]), "rounding": np.zeros(2), "none": np.ones((0, 2))}
    found = {"a": np.array([100.0, 9e-5]), "rounding": np.full(2, 9e-11), "none": np.ones((0, 2))}
    assert differing(found, wanted, 1e-6) == []
    found["rounding"][1] = 2e-10
    assert differing(found, wanted, 1e-6) == ["rounding"]
    found["a"][1] = np.nan
    assert differing(found, wanted, 1e-6) == ["a", "rounding"]
    found["a"][1] = -2e-4
    assert differing(found, wanted, 1e-6) == ["a", "rounding"]
    assert differing({}, {}, 1e-6) == []


def test_correct_layer_breaks_no_law(rng):
    layer, x = squash(rng)
    check = Check(layer, [x], layer.forward, layer.backward, "Squash")
    check.draw(rng)
    assert broken_conditions(check) == broken_laws(check) == []
    assert gradcheck(layer, x, rng=rng).right == ["W", "input[0]"]
    assert (np.empty, np.empty_like) == EMPTY


# ---- arguments stay unchanged --------------------------------------------------------------------


def test_backward_that_changes_the_upstream(rng):
    layer, x = squash(rng)

    def backward(dy, cache, grads):
        _, y = cache
        dy *= 1 - y**2
        grads.W += x.T @ dy
        return dy @ layer.W.T

    law, message = single_law(rng, layer, x, backward=backward)
    assert law.kind == "argument changed"
    assert law.place.text == "dy *= 1 - y**2"
    assert law.place.function.endswith("backward") and law.place.file == __file__
    assert message.startswith("Squash: every gradient agrees with central differences, but "
                              "a law that they cannot test is broken\n"
                              "backward changes dy in place, line ")
    assert f"line {law.place.line} of test_laws.py" in message
    assert "\n    dy *= 1 - y**2\n  arguments belong to the caller" in message


def test_backward_that_changes_the_cache(rng):
    """Changes in lists, dicts and objects are found. Each changing line is one broken law."""
    layer, x = squash(rng)

    class Steps:
        def __init__(self, y):
            self.y = y

    def forward(x):
        y = np.tanh(x @ layer.W)
        return y.copy(), {"x": [x.copy()], "steps": Steps(y), "more": (np.ones(2), np.zeros(2))}

    def backward(dy, cache, grads):
        y, (x,), more = cache["steps"].y, cache["x"], cache["more"]
        y **= 2
        da = dy * (1 - y)
        grads.W += x.T @ da
        x *= 0
        for array in more: array += 1                           # noqa: E701
        return da @ layer.W.T

    laws, _ = broken(rng, layer, x, forward=forward, backward=backward)
    found = {law.text.partition(" in place")[0]: law.place.text for law in laws}
    assert found == {
        "backward changes cache['steps'].y": "y **= 2",
        "backward changes cache['x'][0]": "x *= 0",
        "backward changes cache['more'][0], cache['more'][1]": "for array in more: array += 1"}


@pytest.mark.parametrize("line, name", [("x", "input[0]"), ("W", "W")])
@pytest.mark.parametrize("where", ["forward", "backward"])
def test_passes_that_change_inputs_or_parameters(rng, where, line, name):
    """A random output has no differences, so this raises. The arrays are restored."""
    layer, x = squash(rng)

    def spoil():
        if line == "W":
            layer.W += 1
        return layer.W

    def forward(x):
        found = Squash.forward(layer, x)
        if where == "forward":
            spoil()
            x += line == "x"
        return found

    def backward(dy, cache, grads):
        found = Squash.backward(layer, dy, cache, grads)
        if where == "backward":
            spoil()
            cache[0][...] += line == "x"
        return found

    before = layer.W.copy()
    law, message = single_law(rng, layer, x, forward=forward, backward=backward)
    assert law.kind == "argument changed"
    assert law.text.startswith(f"{where} changes {name} in place\n")
    assert law.place.text == {("W", "forward"): "layer.W += 1", ("W", "backward"): "layer.W += 1",
                              ("x", "forward"): 'x += line == "x"',
                              ("x", "backward"): 'cache[0][...] += line == "x"'}[line, where]
    assert message.startswith("Squash: no gradient can be compared\n")
    assert (layer.W == before).all()


def test_random_forward(rng):
    layer, x = squash(rng)
    noise = np.random.default_rng(0)

    def forward(x):
        y, cache = layer.forward(x)
        return y + 1e-6 * noise.random(y.shape), cache

    law, message = single_law(rng, layer, x, forward=forward)
    assert law.kind == "random" and "forward gives a different output[0]" in message


# ---- backward twice doubles ---------------------------------------------------------------------


def test_assignment_instead_of_addition(rng):
    class Assigned(Squash):
        def backward(self, dy, cache, grads):
            x, y = cache
            da = dy * (1 - y**2)
            grads.W[...] = x.T @ da
            return da @ self.W.T

    class OneRow(Squash):
        def backward(self, dy, cache, grads):
            x, y = cache
            da = dy * (1 - y**2)
            grads.W[1:] = x.T[1:] @ da
            grads.W[:1] += x.T[:1] @ da
            return da @ self.W.T

    law, _ = single_law(rng, *squash(rng, OneRow))
    assert law.place.text == "grads.W[1:] = x.T[1:] @ da"
    law, message = single_law(rng, *squash(rng, Assigned))
    assert law.kind == "assigned" and law.place.text == "grads.W[...] = x.T @ da"
    assert "called twice, backward does not double grads.W: use +=, not =" in message


def test_backward_with_hidden_state(rng):
    """The second result is neither doubled nor equal, so backward keeps some state."""
    layer, x = squash(rng)
    layer.calls = 0

    def backward(dy, cache, grads):
        layer.calls += 1
        dx = layer.backward(dy, cache, grads)
        return dx if layer.calls % 2 else 1.5 * dx

    check = Check(layer, [x], layer.forward, backward, "Squash")
    check.draw(rng)
    law, = broken_laws(check)
    assert law.kind == "cache" and law.place is None
    assert "a different result when it is called again with the same cache: input[0]\n" in law.text


def test_cache_that_works_only_once(rng):
    layer, x = squash(rng)

    def forward(x):
        y, cache = layer.forward(x)
        return y, [cache]

    def backward(dy, caches, grads):
        return layer.backward(dy, caches.pop(), grads)

    law, message = single_law(rng, layer, x, forward=forward, backward=backward)
    assert law.kind == "cache" and law.place.text.endswith("caches.pop(), grads)")
    assert "only once with a cache; the second call raises IndexError: pop" in message


def test_cache_stored_in_self(rng):
    class Remembers(Squash):
        def forward(self, x):
            y, self.cache = super().forward(x)
            return y, None

        def backward(self, dy, cache, grads):
            return super().backward(dy, self.cache, grads)

    law, message = single_law(rng, *squash(rng, Remembers))
    assert law.kind == "cache"
    assert "from an earlier cache: W, input[0]\n" in message and "keep none in self" in message


def test_names_of_arguments():
    assert names_of(lambda dy, cache, grads: None) == ["dy", "cache", "grads"]
    assert names_of(lambda *given: None) == names_of(7) == names_of(max) == []


# ---- linear in the upstream ---------------------------------------------------------------------


def test_clipped_gradient(rng):
    class Clipped(Squash):
        def backward(self, dy, cache, grads):
            return super().backward(np.clip(dy, -20, 20), cache, grads)

    law, message = single_law(rng, *squash(rng, Clipped))
    assert law.kind == "factor" and law.place is None
    assert "not linear in the upstream gradient: W, input[0]\n" in message


def test_ignored_upstream(rng):
    """The gradients are correct for an upstream of 1, which a loss has."""
    layer, x = squash(rng)

    def forward(x):
        y, cache = layer.forward(x)
        return y.sum(), cache

    check = Check(layer, [x], forward, lambda dloss, cache, grads: layer.backward(1, cache, grads),
                  "Squash", upstream=[1.0])
    law, = broken_laws(check)
    assert law.kind == "output ignored"
    assert "gives the same W, input[0] for every upstream" in law.text


def test_floats_stored_in_an_integer_array(rng):
    layer, x = squash(rng)

    def backward(dy, cache, grads):
        x, y = cache
        da = np.zeros(dy.shape, int)
        da[...] = dy * (1 - y**2)
        return layer.backward(da / (1 - y**2), cache, grads)

    check = Check(layer, [x], layer.forward, backward, "Squash", upstream=[np.full((4, 2), 9.0)])
    law, = broken_laws(check)
    assert law.kind == "dtype" and law.place.text == "da = np.zeros(dy.shape, int)"
    assert law.text.startswith("a small upstream is lost: W, input[0] becomes 0\n")


# ---- uninitialized memory -----------------------------------------------------------------------


def test_uninitialized_gradients_are_reported_with_their_line(rng, monkeypatch):
    """Uninitialized memory may contain 0, with which every gradient is correct."""
    layer, x = squash(rng)

    def forward(x):
        y, cache = layer.forward(x)
        kept = np.empty_like(y)
        kept[...] = y
        return kept, cache

    def backward(dy, cache, grads):
        x, y = cache
        dy = np.where(np.arange(4)[:, None] < 3, dy, 0)
        dx = np.empty(x.shape)
        dx[:3] = layer.backward(dy, cache, grads)[:3]
        return dx

    check = Check(layer, [x], forward, backward, "Squash")
    check.draw(rng)
    # after such a forward, no other law is tested: its result could depend on that memory
    monkeypatch.setattr(laws, "FORWARD_LAWS", (lambda check: [Broken("mask forward", "")],))
    law, = broken_laws(check)
    assert law.kind == "unwritten" and law.place.text == "dx = np.empty(x.shape)"
    assert law.text.startswith("input[0]: computed from uninitialized memory\n")
    assert (np.empty, np.empty_like) == EMPTY


def test_empty_is_restored_after_an_exception(rng):
    layer, x = squash(rng)

    def backward(dy, cache, grads):
        assert (np.empty, np.empty_like) == EMPTY
        return layer.backward(dy, cache, grads)

    assert gradcheck(layer, x, rng=rng, backward=backward).right
    assert (np.empty, np.empty_like) == EMPTY


# ---- masks --------------------------------------------------------------------------------------


@dataclass(eq=False)
class Dot(Module):
    """c = Σ_j α_j h_j, α = softmax(q W · h_j) over visible words, with one query per sentence."""

    W: Array  # (Q, D)
    hide: float = np.inf

    def forward(self, q, values, mask):
        p = q @ self.W                                          # (B, D)
        e = np.einsum("bd,bsd->bs", p, values)
        e = self.masked(e, mask)
        alpha = np.exp(e - e.max(1, keepdims=True))
        alpha /= alpha.sum(1, keepdims=True)                    # (B, S)
        return np.einsum("bs,bsd->bd", alpha, values), alpha, (
            q, p, values, alpha, mask)

    def masked(self, e, mask):
        return np.where(mask, e, -np.inf)

    def flowing(self, de, mask):
        return de

    def backward(self, dc, dalpha, cache, grads):
        q, p, values, alpha, mask = cache
        dalpha = dalpha + np.einsum("bd,bsd->bs", dc, values)
        de = alpha * (dalpha - (alpha * dalpha).sum(1, keepdims=True))
        de = self.flowing(de, mask)
        dvalues = alpha[:, :, None] * dc[:, None] + de[:, :, None] * p[:, None]
        dp = np.einsum("bs,bsd->bd", de, values)
        grads.W += q.T @ dp
        return dp @ self.W.T, dvalues, None


class Unmasked(Dot):
    def masked(self, e, mask):
        return e


class Leaking(Dot):
    """Masked scores are only lowered a little."""

    def masked(self, e, mask):
        return np.where(mask, e, e - 3)


class HiddenByTrue(Dot):
    def masked(self, e, mask):
        return np.where(mask, -np.inf, e)


class UniformIfMasked(Dot):
    """Weights are uniform if everything is masked."""

    def masked(self, e, mask):
        return np.where(mask, e, -1e9)

    def flowing(self, de, mask):
        return np.where(mask, de, 0)


MASK = np.array([[1, 1, 1, 1], [1, 1, 0, 1], [1, 0, 0, 0]], bool)


def masked_case(rng, kind):
    target = randomize(kind(np.zeros((2, 5))), rng)
    return target, rng.standard_normal((3, 2)), rng.standard_normal((3, 4, 5))


@pytest.mark.parametrize("kind", [Unmasked, Leaking])
def test_missing_mask(rng, kind):
    law, message = single_law(rng, *masked_case(rng, kind), MASK)
    assert law.kind == "mask forward"
    assert "is the weight of a masked word" in message
    assert "masked values of input[1] change output[0], output[1]" in message


class DividesByLength(Dot):
    """Divide by the number of words, including masked ones."""

    def forward(self, q, values, mask):
        c, alpha, cache = super().forward(q, values, mask)
        return c / mask.shape[1], alpha, cache

    def backward(self, dc, dalpha, cache, grads):
        return super().backward(dc / cache[-1].shape[1], dalpha, cache, grads)


PADDED = np.array([[1, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0]], bool)


def test_masked_words_that_are_counted(rng):
    law, message = single_law(rng, *masked_case(rng, DividesByLength), PADDED)
    assert law.kind == "mask forward"
    assert "one more masked position at the end changes output[0]" in message
    assert "neither be read nor counted" in message


@pytest.mark.parametrize("kind, mask", [(Dot, PADDED), (DividesByLength, MASK),
                                        (HiddenByTrue, ~PADDED), (DividesByLength, PADDED | True),
                                        (DividesByLength, PADDED[[1, 0, 2]])])
def test_counting_is_tested_only_for_padding_at_the_end(rng, kind, mask):
    """Only padding at the end can be extended, and only if the mask is known to hide padding."""
    assert gradcheck(*masked_case(rng, kind), mask, rng=rng).right


def test_at_mask_with_several_heads(rng):
    array = np.arange(2 * 3 * 4 * 4.0).reshape(2, 3, 4, 4)
    mask = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], bool)
    selected = at_mask(array, mask)
    assert selected.shape == (5, 3, 4)
    np.testing.assert_array_equal(selected[3], array[1, :, 0])
    np.testing.assert_array_equal(at_mask(array[:, 0], mask), array[:, 0][mask.nonzero()])
    np.testing.assert_array_equal(at_mask(array[:, :, :, :3], mask), array[:, :, :, :3])


def test_line_of_a_missing_mask(rng):
    """Name the last line before the softmax where the mask could be applied."""
    law, message = single_law(rng, *masked_case(rng, Unmasked), MASK)
    assert law.place is None
    line = 'e = np.einsum("bd,bsd->bs", p, values)'
    assert f"Dot.forward\n    {line}\n  the check passes if this line is changed" in message
    assert "\n  a mask: `np.einsum(" in message


def test_leak_in_a_called_function_is_the_line_of_the_call():
    def mixed(x):
        y = np.ones((4, 4)) @ x
        return y

    def forward(x, mask):
        h = mixed(x)
        return 2 * h, mask

    x = np.ones((3, 4, 5))
    place = leak(lambda: forward(x, MASK), lambda: forward(x + ~MASK[:, :, None], MASK), MASK)
    assert place.text == "h = mixed(x)"


@pytest.mark.parametrize("kind, mask", [
    (Dot, MASK), (Dot, np.ones((3, 4), bool)), (HiddenByTrue, ~MASK),
    (UniformIfMasked, MASK & np.array([[True], [False], [True]])),
    (Unmasked, np.ones((3, 4), bool)),
])
def test_correct_masks(rng, kind, mask):
    assert gradcheck(*masked_case(rng, kind), mask, rng=rng).right


def test_claims():
    """Rows or columns without a visible position are excluded."""
    hidden_row = np.array([[1, 0, 1], [0, 0, 0]], bool)
    in_row, in_column = [[0, 1, 0], [0, 0, 0]], [[0, 0, 0], [1, 0, 1]]
    assert [found.tolist() for found in claims(hidden_row)] == [in_row, in_column]
    assert [found.T.tolist() for found in claims(hidden_row.T)] == [in_column, in_row]
    assert [found.tolist() for found in claims(np.array([[1, 1], [0, 0]], bool))] == [[[0, 0],
                                                                                       [1, 1]]]
    assert claims(np.ones((2, 3), bool)) == claims(np.zeros((2, 3), bool)) == []


def test_arrays_that_are_not_masks(rng):
    """Arrays with another name or type, or with ambiguous axes, are not masks."""
    target, q, values = masked_case(rng, Unmasked)

    def forward(q, values, kept):
        return target.forward(q, values, kept)

    assert gradcheck(target, q, values, MASK, rng=rng, forward=forward).right
    assert gradcheck(target, q, values, MASK.astype(float)[:, :0].sum(1) + 1, rng=rng,
                     backward=lambda *given: (*target.backward(*given)[:2], np.zeros(3))).right
    square = np.tri(3, dtype=bool)
    assert gradcheck(target, q, values[:, :3], square, rng=rng).right


def test_mask_in_a_closure(rng):
    class Attention(Module):
        def read(self, values, mask):
            """"""

        step = step_backward = read_backward = read

    forward, backward = protocol(Attention(), MASK)
    check = Check(None, [], forward, backward, "x")
    assert [found.tolist() for found in masks_of(check)] == [MASK.tolist()]
    forward, backward = protocol(Attention(), None)
    assert masks_of(Check(None, [], forward, backward, "x")) == []


def running_mean(leaks):
    """Return a mean over time in which a hidden step keeps the state."""
    def forward(xs, mask):
        hs = np.zeros((len(xs) + 1, *xs.shape[1:]))
        for t, x in enumerate(xs):
            new = (hs[t] + x) / 2
            hs[t + 1] = new if leaks else np.where(mask[t][:, None], new, hs[t])
        return hs[1:].copy(), mask

    def backward(dhs, mask, grads):
        dxs = np.zeros_like(dhs)
        dh = np.zeros(dhs.shape[1:])
        for t in reversed(range(len(dhs))):
            dh = dh + dhs[t]
            visible = np.ones_like(mask[t])[:, None] if leaks else mask[t][:, None]
            dxs[t] = np.where(visible, dh / 2, 0)
            dh = np.where(visible, dh / 2, dh)
        return dxs, None

    return {"forward": forward, "backward": backward}


def test_hidden_steps(rng):
    """The mask (T, B) has a gap. Outputs at hidden steps are not compared."""
    xs = rng.standard_normal((4, 3, 2))
    mask = np.array([[1, 0, 1, 1], [1, 1, 0, 0], [1, 1, 1, 0]], bool).T
    assert gradcheck(None, xs, mask, rng=rng, **running_mean(False)).right
    law, message = single_law(rng, None, xs, mask, **running_mean(True))
    assert law.kind == "mask forward" and law.place is None
    assert "\nmasked values of input[0] change output[0]\n" in message
    # nothing is read after the last word
    ragged = np.arange(4)[:, None] < np.array([4, 2, 1])
    assert gradcheck(None, xs, ragged, rng=rng, **running_mean(True)).right


def test_hidden_ids(rng):
    """Hidden ids are replaced by other ids that occur, which are valid."""
    table = rng.standard_normal((3, 2))
    ids = np.array([[0, 2, 1, 1], [2, 0, 0, 1], [1, 1, 2, 0]])

    def forward(ids, mask, scale):
        return (table[ids].sum(1) * scale), (ids, scale)

    def backward(dy, cache, grads):
        ids, scale = cache
        return None, None, (table[ids].sum(1) * dy).sum(0)

    inputs = ids, MASK, rng.standard_normal(2)
    law, _ = single_law(rng, None, *inputs, forward=forward, backward=backward)
    assert "masked values of input[0] change output[0]\n" in law.text


# ---- the future ---------------------------------------------------------------------------------


def window(ahead):
    """Return passes of y_t = x_t + 2 x_{t + ahead}, along axis 1."""
    def forward(xs):
        return xs + 2 * np.roll(xs, -ahead, 1), np.array(1.0), None

    def backward(dys, done, cache, grads):
        return dys + 2 * np.roll(dys, ahead, 1)

    return {"forward": forward, "backward": backward}


def test_future(rng):
    xs = rng.standard_normal((2, 5, 3))
    assert gradcheck(None, xs, rng=rng, **window(1)).right
    assert gradcheck(None, xs, rng=rng, causal=1, **window(0)).right
    law, message = single_law(rng, None, xs, causal=1, **window(1))
    assert law.kind == "future"
    assert "input[0] from step 1 on (counted from 0) changes output[0] before step 1" in message


def test_future_of_ids(rng):
    table = rng.standard_normal((4, 2))
    ids = np.array([[1, 3], [0, 2], [2, 0]])
    later = lambda ids, scale: (scale * table[ids[::-1]], (ids, scale))
    forward = lambda ids, scale: (scale * table[ids], (ids, scale))
    backward = lambda dy, cache, grads: (None, (dy * table[cache[0]]).sum((0, 1)))
    late = lambda dy, cache, grads: (None, (dy * table[cache[0][::-1]]).sum((0, 1)))
    scale = rng.standard_normal(2)
    assert gradcheck(None, ids, scale, rng=rng, causal=0, forward=forward, backward=backward).right
    law, _ = single_law(rng, None, ids, scale, causal=0, forward=later, backward=late)
    assert law.kind == "future"


@pytest.mark.parametrize("causal, error, words", [
    (3, ValueError, "causal = 3 is not an axis of input"),
    (-1, ValueError, "causal = -1"), (True, ValueError, "causal = True"),
    (0.5, ValueError, "causal = 0.5")])
def test_invalid_time_axis(rng, causal, error, words):
    with pytest.raises(error, match=words):
        gradcheck(None, rng.standard_normal((2, 5, 3)), rng=rng, causal=causal, **window(0))


def test_time_axis_missing_from_the_outputs(rng):
    layer, x = squash(rng)
    with pytest.raises(ValueError, match="no output has the same length as input.0. on this axis"):
        gradcheck(layer, x, rng=rng, causal=1)


def test_time_axis_of_a_forward_that_fails_in_a_later_call(rng):
    layer, x = squash(rng)
    calls = iter([layer.forward])
    with pytest.raises(StopIteration):
        gradcheck(layer, x, rng=rng, causal=0, forward=lambda x: next(calls)(x))


# ---- wrong gradients ----------------------------------------------------------------------------


def test_broken_laws_are_reported_with_wrong_gradients(rng):
    class Both(Squash):
        def backward(self, dy, cache, grads):
            x, y = cache
            dy *= 1 - y**2
            grads.W -= x.T @ dy
            return dy @ self.W.T

    with pytest.raises(GradientError) as caught:
        gradcheck(*squash(rng, Both), rng=rng)
    report = caught.value.report
    assert report.wrong == ["W"] and [law.kind for law in report.laws] == ["argument changed"]
    assert "wrong gradient for W" in str(caught.value)
    assert "backward changes dy in place" in str(caught.value)


def test_laws_skip_a_pass_that_raises(rng):
    """The check itself reports the line of the exception."""
    layer, x = squash(rng)

    def backward(dy, cache, grads):
        raise KeyError("nothing")

    check = Check(layer, [x], layer.forward, backward, "Squash")
    check.draw(rng)
    assert broken_conditions(check) == broken_laws(check) == []
    with pytest.raises(GradientError, match="backward raises KeyError at line"):
        check.compare()


def test_line_where_nan_first_appears(rng):
    layer, x = squash(rng)

    def forward(x):
        e = np.where(x > 9, x, -np.inf)
        alpha = np.exp(e - e.max(1, keepdims=True))
        return alpha.sum(1), None

    with pytest.raises(ValueError, match="not finite.*first NaN comes from line .* of test_laws"):
        with np.errstate(invalid="ignore"):
            gradcheck(layer, x, rng=rng, forward=forward)


def test_a_line_of_a_user_is_named_for_nan_that_the_package_makes(rng):
    layer, x = squash(rng)

    def forward(x):
        scores = 2 * x
        return masked_softmax(scores * np.inf, np.ones(x.shape, bool)), None

    line = forward.__code__.co_firstlineno + 2
    with pytest.raises(ValueError, match=f"first NaN comes after line {line} of test_laws.py, "):
        with np.errstate(invalid="ignore"):
            gradcheck(layer, x, rng=rng, forward=forward)


# ---- float32 ------------------------------------------------------------------------------------


class Scaled(Squash):
    """y = tanh(x W) / √I, where √I is a NumPy scalar of type float64."""

    def forward(self, x):
        y = np.tanh(x @ self.W)
        scaled = y / np.sqrt(x.shape[1])
        return scaled, (x, y)

    def backward(self, dy, cache, grads):
        return super().backward(dy / np.sqrt(cache[0].shape[1]), cache, grads)


class Returned(Scaled):
    def forward(self, x):
        y = np.tanh(x @ self.W)
        return y / np.sqrt(x.shape[1]), (x, y)


class ScaledBack(Scaled):
    """Use float64 only inside the functions."""

    def forward(self, x):
        scaled, cache = super().forward(x)
        return scaled.astype(x.dtype), cache

    def backward(self, dy, cache, grads):
        return super().backward(dy, cache, grads).astype(dy.dtype)


@pytest.mark.parametrize("kind, line", [
    (Scaled, "scaled = y / np.sqrt(x.shape[1])"),
    (Returned, "return y / np.sqrt(x.shape[1]), (x, y)"),
])
def test_float64_scalar_warns(rng, kind, line):
    with pytest.warns(NotFloat32) as warned:
        gradcheck(*squash(rng, kind), rng=rng)
    message = str(warned[0].message)
    assert f"\n    {line}\n" in message
    assert "output[0] and the gradient of input[0] are float64" in message


def test_float64_inside_a_function_is_allowed(rng):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gradcheck(*squash(rng, ScaledBack), rng=rng)


def test_attention_that_returns_float64_warns(rng):
    class Slow(DotAttention):
        def score(self, query, memory):
            scores, cache = super().score(query, memory)
            return scores * np.float64(1), cache

    attention = Slow.create(rng, 4, 4)
    inputs = rng.standard_normal((2, 3, 4)), rng.standard_normal((3, 5, 4))
    with pytest.warns(NotFloat32, match="a float64 array leads to ValueError") as warned:
        gradcheck(attention, *inputs, rng=rng)
    assert "\n    return scores * np.float64(1), cache\n" in str(warned[0].message)
