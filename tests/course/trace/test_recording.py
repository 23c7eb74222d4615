"""Recording a run: values with their lines and the steps of their loops."""

import numpy as np
import pytest

from numpy_attention.course.trace.recording import recorded, written
from numpy_attention.layers.linear import Linear


def recorded_by(work, model=None):
    return recorded(work, np.array, model).entries


def names_of(work, *kinds):
    return [one.name for one in recorded_by(work) if not kinds or one.place.kind in kinds]


def only(entries, name):
    found, = (one for one in entries if one.name == name)
    return found


# ---- recorded values ----------------------------------------------------------------------------


def lines(x):
    a = x + 1
    b, c = a * 2, a - 1  # two names
    b += c
    b[0] = 7.0
    n = len(b)
    return np.tanh(b[:n])


def test_assigned_names_have_values_and_lines():
    entries = recorded_by(lambda: lines(np.ones(3)))
    assert [(one.name, one.place.kind) for one in entries] == [
        ("x", "argument"), ("a", "assign"), ("b", "assign"), ("c", "assign"), ("b", "update"),
        ("b[0]", "part"), ("return", "return")]
    assert [one.place.text for one in entries[1:4]] == ["a = x + 1"] + 2 * ["b, c = a * 2, a - 1"]
    assert [one.value.tolist() for one in entries[2:6]] == [[4, 4, 4], [1, 1, 1], [5, 5, 5], 7]
    first = lines.__code__.co_firstlineno
    assert [one.place.line - first for one in entries[1:]] == [1, 2, 2, 3, 4, 6]
    assert np.allclose(entries[-1].value, np.tanh([7, 5, 5]))


def test_result_is_returned_and_functions_are_restored():
    before = lines.__code__
    recording = recorded(lambda: lines(np.ones(3)), np.array)
    assert np.array_equal(recording.result, lines(np.ones(3)))
    assert lines.__code__ is before and recording.unfollowed == {}


def several(
        x,
        scale=2.0):
    return x * (
        scale       # so much
        + 1)


def test_continued_lines_are_joined():
    entries = recorded_by(lambda: several(np.ones(2)))
    assert only(entries, "return").place.text == "return x * ( scale + 1)"
    assert only(entries, "scale").value == 2.0


def filling(x):
    out = np.empty(2)
    half = np.empty_like(out)
    half[0] = x[0]
    np.multiply(x, 3, out)
    fill(out, half)
    np.add(x, 1, out=half)
    return out


def fill(x, y):
    y[...] = x


def test_arrays_filled_by_a_function():
    entries = [one for one in recorded_by(lambda: filling(np.ones(2)))
            if one.call.function == "filling"]
    assert [(one.name, one.place.kind) for one in entries[1:]] == [
        ("out", "assign"), ("half", "assign"), ("half[0]", "part"), ("out", "filled"),
        ("half", "filled"), ("half", "update"), ("return", "unpacked")]
    assert not written(entries[1].value).any() and np.isnan(entries[1].value).all()
    assert [one.value.tolist() for one in entries[4:]] == [[3, 3], [3, 3], [2, 2], [3, 3]]


def test_nan_counts_as_written():
    assert written(np.array([np.nan, 1])).all() and written(np.float32([np.nan])).all()


def growing(xs):
    hs = [xs[0]]
    for x in xs:
        hs.append(np.tanh(x + hs[-1]))
    caches = []
    caches.append((xs, hs[-1]))
    return np.stack(hs)


def test_appended_values_are_recorded_once_under_the_name_of_the_list():
    assert names_of(lambda: growing(np.ones((2, 3))), "appended") == ["hs[-1]", "hs[-1]"]


def state(x):
    pair = x + 1, x + 2
    known = pair[0], x
    h, c = pair
    return h * c, known


def test_tuples_are_recorded_by_their_parts():
    entries = recorded_by(lambda: state(np.ones(2)))
    assert [(one.name, one.place.kind) for one in entries] == [
        ("x", "argument"), ("pair[0]", "assign"), ("pair[1]", "assign"), ("known[0]", "packed"),
        ("known[1]", "packed"), ("h", "unpacked"), ("c", "unpacked"), ("return[0]", "return")]


def flat(x):
    return x.reshape(-1)


def through_a_view(x):
    dx = np.zeros((2, 2))
    flat(dx)[1] = x
    return dx


def test_arrays_filled_through_a_view():
    entries = [one for one in recorded_by(lambda: through_a_view(3.0)) if one.name == "dx"]
    assert [one.place.kind for one in entries] == ["assign", "filled"]
    assert entries[1].value.tolist() == [[0, 3], [0, 0]]


class Log:
    """Has `append`, but is not a list."""

    def __init__(self):
        self.last = None

    def append(self, value):
        self.last = value


def awkward(x, nothing=None):
    log = Log()
    log.append(x)
    rest = [x]
    rest.remove(rest[0])
    print(*(one for one in range(2)), nothing.a if nothing else x, end="")
    sorted(rest, key=lambda one: one.size)
    small = np.empty(2, np.float16)
    small[0] = 1
    whole = np.empty(2, int)
    whole[:] = 3
    return small + whole


def test_unusual_statements_keep_their_behaviour(capsys):
    x = np.ones(1)
    entries = recorded_by(lambda: awkward(x))
    assert capsys.readouterr().out == 3 * "0 1 [1.]"
    assert [one.value.tolist() for one in entries if one.name == "whole[:]"] == [[3, 3]]
    assert written(only(entries, "small").value).all()


# ---- loops and calls ----------------------------------------------------------------------------


def loops(xs):
    total = xs[0] * 0
    for t in reversed(range(len(xs))):
        for row in xs[t]:
            total = total + row
        total = total * 2
    n = 0
    while n < 2:
        n += 1
        total = step(total)
    return total


def step(x):
    y = x + 1
    return y


def test_labels_of_loop_steps():
    entries = recorded_by(lambda: loops(np.ones((2, 3, 4))))
    steps = [[one.label for one in each.every_step] for each in entries if each.name == "total"]
    assert steps[1:9] == [[1, 0], [1, 1], [1, 2], [1], [0, 0], [0, 1], [0, 2], [0]]
    assert steps[9:] == [[0], [1]]
    inner = [one for one in entries if one.name == "y"]
    assert [[one.label for one in each.every_step] for each in inner] == [[0], [1]]
    assert all(one.steps == () and one.call.parent.function == "loops" for one in inner)
    assert inner[0].call.around[0].text == "while n < 2:"


def over_ids(ids):
    total = np.zeros(1)
    for id in ids:
        total = total + id
    for n, id in enumerate(ids, 5):
        total = total * id
    return total


def test_loop_over_ids_is_labelled_by_position():
    entries = [one for one in recorded_by(lambda: over_ids([7, 7, 3])) if one.name == "total"]
    assert [[one.label for one in each.every_step] for each in entries] == [
        [], [0], [1], [2], [5], [6], [7]]


def test_calls_store_caller_arguments_and_module():
    class Two(Linear):
        def forward(self, x):
            y, _ = super().forward(x)
            return y

    model = Two.create(np.random.default_rng(0), 3, 2)
    entries = recorded_by(lambda: model.forward(np.ones((4, 3), np.float32)), model)
    outer, inner = only(entries, "y").call, entries[1].call
    assert outer.owner == inner.owner == "" and inner.parent is outer and outer.parent is None
    assert outer.given == inner.given == {"x": (4, 3)}
    assert recorded_by(lambda: model.forward(np.ones((4, 3), np.float32)))[0].call.owner is None


def test_is_followed():
    entries = recorded(lambda: loops(np.ones((1, 1, 2))), np.array,
                       is_followed=lambda code: code.co_name == "step").entries
    assert {one.call.function for one in entries} == {"step"}


def test_functions_without_source_are_listed():
    names = {"np": np}
    exec("def hidden(x):\n    y = x + 1\n    return y", names)
    recording = recorded(lambda: names["hidden"](np.ones(2)), np.array)
    assert recording.entries == [] and "no readable source" in recording.unfollowed["hidden"]


def test_exceptions_propagate():
    def wrong(x):
        return x @ np.ones(3)

    with pytest.raises(ValueError, match="matmul"):
        recorded(lambda: wrong(np.ones(2)), np.array)
