"""The mutation script catches what it should, and reports what survives."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from numpy_attention.checks import CASES, CHECKS
from numpy_attention.gradcheck import gradcheck

PATH = Path(__file__).parents[2] / "tools" / "mutate.py"


@pytest.fixture(scope="module")
def mutate():
    spec = importlib.util.spec_from_file_location("mutate", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_mutant_of_linear_is_caught(mutate, capsys):
    checks = {name: CHECKS[name] for name in ("Linear", "Linear without bias", "Embedding")}
    assert mutate.main(["--only", "layers/linear.py"], checks) == 0
    out = capsys.readouterr().out
    assert "of 1 functions in 1 files" in out and out.strip().endswith(" 0 survived") and "SURVIVED" not in out
    made, survivors = mutate.run([mutate.PACKAGE / "layers" / "linear.py"], checks)
    assert len(made) >= 9 and not survivors
    descriptions = [mutant.what for mutant in made]
    assert "delete: grad.b += rows.sum(0)" in descriptions and "negate: grad.b += rows.sum(0)" in descriptions
    assert "delete: if self.b is not None: grad.b += rows.sum(0)" in descriptions
    for name in checks:                                                 # everything is in its place again
        CHECKS[name](np.random.default_rng(0))
    assert np.empty.__module__ == "numpy"


def test_a_survivor_is_reported(mutate, capsys):
    def forgetful(rng):
        """A check that never looks at the bias."""
        case = CASES["Linear"](rng, np.float64)
        layer = case.target

        def backward(dy, cache, grad):
            dx = layer.backward(dy, cache, grad)
            grad.b[...] = dy.sum((0, 1))
            return dx
        return gradcheck(layer, *case.inputs, rng=rng, forward=case.forward, backward=backward)

    assert mutate.main(["--only", "layers/linear.py"], {"forgetful": forgetful}) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("SURVIVED")]
    assert any("numpy_attention/layers/linear.py:" in line and "Linear.backward: delete: grad.b += rows.sum(0)" in line
               for line in lines)
    assert not any("grad.W" in line for line in lines)


def test_a_function_that_no_check_reaches_survives(mutate):
    made, survivors = mutate.run([mutate.PACKAGE / "layers" / "maxout.py"], {"Linear": CHECKS["Linear"]})
    assert made and survivors == made


def test_an_unknown_file_is_an_error(mutate, capsys):
    with pytest.raises(SystemExit):
        mutate.main(["--only", "layers/no_such_layer.py"])
    assert "is no file: name it relative to" in capsys.readouterr().err
