"""The trace as a table: rows for lines and loops, and selections from it."""

import re
from pathlib import Path

import numpy as np
import pytest

from numpy_attention.course.trace import Trace, trace, traced
from numpy_attention.gradcheck import protocol
from numpy_attention.layers.linear import Linear
from numpy_attention.models.luong import LuongTranslator

DOCS = Path(__file__).parents[3] / "docs" / "trace.md"
IDS = [4, 5, 6, 7], [5, 6]
model = LuongTranslator.create(np.random.default_rng(0), 9, 9, embedding=3, hidden=4, layers=1)


def cubes(x):
    """y_t = x_t³, summed over t."""
    total = np.zeros(2)
    for t in range(len(x)):
        y = x[t] ** 3
        total += y
    return total, (x,)


def cubes_backward(dtotal, cache, grads):
    x, = cache
    dx = np.empty_like(x)
    for t in reversed(range(len(x))):
        dx[t] = 3 * x[t] ** 2 * dtotal
    return dx


X = np.array([[1.0, 2], [3, 4], [0, 1]])
found = traced(None, X, forward=cubes, backward=cubes_backward)


@pytest.fixture(scope="module")
def luong_trace():
    return traced(model, *IDS)


def row_named(trace, name):
    row, = (row for row in trace.rows if row.name == name)
    return row


def test_rows_have_shape_norm_and_equation():
    assert [row.name for row in found.rows] == ["total", "y", "total", "dx[t]"]
    row = row_named(found, "y")
    assert (row.shape, row.equation, row.function, row.layer) == (
        (2,), "y = x[t] ** 3", "cubes", None)
    assert row.file == "test_table.py"
    assert row.line == cubes.__code__.co_firstlineno + 4
    assert np.allclose(row.norms, np.linalg.norm(X**3, axis=1))
    assert np.isclose(found.rows[2].norm, np.linalg.norm((X**3).sum(0)))


def test_array_outputs_are_their_own_upstream_gradient():
    total = (X**3).sum(0)
    assert found.title == f"cubes: L = {(total**2).sum() / 2:.6g}"
    expected = np.linalg.norm(3 * X**2 * total, axis=1)[::-1]
    assert np.allclose(row_named(found, "dx[t]").norms, expected)
    assert [steps[0].label for steps in row_named(found, "dx[t]").steps] == [2, 1, 0]


def test_loops_are_printed_once():
    text = found.text()
    lines = text.splitlines()
    assert lines[0] == found.title
    assert lines[1].split() == ["cubes(x", "(3,", "2))", "test_table.py"]
    assert [line for line in lines if "steps" in line] == [
        "        for t in range(len(x)):   steps 0 … 2",
        "        for t in reversed(range(len(x))):   steps 2 … 0"]
    largest = np.hypot(27, 64)
    assert re.search(rf"y +\(2,\) +1 … {largest:.4g} +y = x\[t\] \*\* 3", text)
    assert len(lines) == 9


def test_single_step():
    lines = found.text(step=2).splitlines()
    assert len(lines) == 6 and not any("for t" in line for line in lines)
    assert re.search(r"y +\(2,\) +1 +y = ", lines[2])
    assert found.text(step=1) != found.text(step=2)


def test_names_are_selected_by_patterns():
    lines = found.text(names="d*").splitlines()
    assert [line.split()[1] for line in lines if "=" in line][1:] == ["dx[t]"]
    assert len(found.text(names=["y", "total"]).splitlines()) == 6


@pytest.mark.parametrize("given, message", [
    ({"step": 9}, "nothing matches step 9; choose from 0, 1, 2"),
    ({"names": ["y", "dy"]}, "no array matches the name 'dy'; choose from y"),
    ({"layer": "cube"}, "nothing matches layer 'cube'; choose from cubes, cubes_backward"),
    ({"step": 0, "names": "total", "layer": "cubes_backward"}, "no array matches"),
])
def test_empty_selections_raise(given, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        found.text(**given)


@pytest.mark.parametrize("given", [{"step": 0.5}, {"layer": 7}, {"names": [7]}, {"depth": "all"}])
def test_selections_of_a_wrong_type_raise(given):
    with pytest.raises((TypeError, ValueError), match=next(iter(given))):
        found.text(**given)


# ---- models -------------------------------------------------------------------------------------


def test_submodules_are_named_by_their_paths(luong_trace):
    layers = {row.layer for row in luong_trace.rows}
    assert {"", "encoder.cells.0", "decoder.cells.0", "attention", "output"} <= layers
    text = luong_trace.text(layer="attention")
    heads = [line for line in text.splitlines() if line.startswith("      ")]
    assert "attention.step(query (1, 4))   attention/softmax_attention.py" in text
    assert not any("encoder.forward(" in line for line in heads)
    assert "dalpha = dot_scores(dcontext, memory)" in text


def test_function_is_selected_by_its_name(luong_trace):
    text = luong_trace.text(layer="_attentional")
    assert "mixed = context @ C + h @ W" in text and "encoder" not in text


def test_parameter_gradients_are_listed(luong_trace):
    names = {row.name.partition("[")[0] for row in luong_trace.rows if "grads." in row.name}
    assert {"grads.C", "grads.W", "grads.U", "grads.b", "grads.E"} <= names


def test_step_selects_encoder_and_decoder(luong_trace):
    text = luong_trace.text(step=1)
    assert "encoder.cells.0" in text and "contexts[t]" in text
    with pytest.raises(ValueError, match="choose from 0, 1, 2, 3, 4"):
        luong_trace.text(step=5)
    assert "contexts[t]" not in luong_trace.text(step=4)    # three words with </s>


def test_depth_folds_calls(luong_trace):
    lines = [luong_trace.text(depth=depth).count("\n") for depth in (0, 1, 2, 9)]
    assert lines == sorted(lines) and lines[0] == 1 and lines[-1] == luong_trace.text().count("\n")
    assert re.search(r"teacher_forced\.py   … \d+ lines$", luong_trace.text(depth=0))


def test_unwritten_arrays_have_no_norm():
    for row in traced(model, *IDS).rows:
        assert all(norm is None or norm < 1e6 for norm in row.norms), row


def test_functions_without_source_are_listed():
    names = {"np": np}
    exec("def square(x):\n    return x * x, x\n\n"
         "def back(dy, x, grads):\n    return 2 * x * dy", names)
    text = traced(None, np.ones(2), forward=names["square"], backward=names["back"]).text()
    assert "not followed: square has no readable source" in text


# ---- printing -----------------------------------------------------------------------------------


def test_trace_prints_what_text_returns(capsys):
    given = trace(None, X, forward=cubes, backward=cubes_backward, names="y")
    assert capsys.readouterr().out == found.text(names="y") + "\n"
    assert isinstance(given, Trace)
    assert repr(given) == f"Trace of {found.title}: 4 lines that make arrays"


def test_package_layer_and_attention_protocol():
    layer = Linear.create(np.random.default_rng(0), 3, 2, dtype=np.float64)
    x = np.ones((4, 3))
    y = x @ layer.W + layer.b
    assert f"L = {(y**2).sum() / 2:.6g}" in traced(layer, x).title
    assert np.isclose(row_named(traced(layer, x), "grads.b").norm, np.linalg.norm(y.sum(0)))
    values = np.random.default_rng(0).standard_normal((2, 5, 4)).astype(np.float32)
    forward, backward = protocol(model.attention, np.ones((2, 5), bool))
    both = traced(model.attention, values[:, :3].swapaxes(0, 1).copy(), values, forward=forward,
                  backward=backward)
    assert [len(row.norms) for row in both.rows if row.name == "dalpha"] == [3, 3]


def test_example_in_the_documentation(tmp_path, capsys):
    text = DOCS.read_text(encoding="utf-8")
    code, = (body for body in re.findall(r"```python\n(.*?)```", text, re.DOTALL)
             if "def forward" in body)
    first, second = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    file = tmp_path / "mine.py"
    file.write_text(code, encoding="utf-8")
    names = {"__name__": "mine"}
    exec(compile(code, str(file), "exec"), names)
    assert capsys.readouterr().out == first
    rng = names["np"].random.default_rng(0)
    inputs = rng.standard_normal((4, 3)), 0.5 * rng.standard_normal((3, 3))
    found = traced(None, *inputs, forward=names["forward"], backward=names["backward"])
    assert found.text(step=1, names="d*") + "\n" == second
