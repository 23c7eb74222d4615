"""The mutation script catches what it should, and reports what survives."""

import mutate
import numpy as np
import pytest
from exchange import PACKAGE

from numpy_attention import registry
from numpy_attention.gradcheck.cases import CASES, CHECKS
from numpy_attention.gradcheck import gradcheck, protocol, randomize

LINEAR = {name: CHECKS[name] for name in ("Linear", "Linear without bias", "Embedding")}

# general attention with one number for a matrix, in a file of its own
SCORE = '''
from dataclasses import dataclass

import numpy as np

from numpy_attention.attention.memory import dot_scores, sum_of_values
from numpy_attention.attention.softmax_attention import SoftmaxAttention
from numpy_attention.module import Array
from numpy_attention.registry import SCORES


@dataclass(eq=False)
class Sharp(SoftmaxAttention):
    g: Array            # (1,)

    @classmethod
    def create(cls, rng, query_size, value_size, dtype=np.float32):
        return cls(np.ones(1, dtype))

    def score(self, query, memory):
        return dot_scores(self.g * query, memory), query

    def score_backward(self, dscores, query, memory, dmemory, grads):
        dmemory.defer("values", dscores, self.g * query)
        dscaled = sum_of_values(dscores, memory)
        grads.g += (dscaled * query).sum()
        return self.g * dscaled


SCORES["sharp"] = Sharp
'''


def test_every_mutant_of_linear_is_caught(capsys):
    assert mutate.main(["--only", "layers/linear.py"], LINEAR) == 0
    out = capsys.readouterr().out
    assert "of 1 functions in 1 files" in out
    assert out.strip().endswith(" 0 survived")
    assert "SURVIVED" not in out
    made, survivors = mutate.run([PACKAGE / "layers" / "linear.py"], LINEAR)
    assert len(made) >= 9 and not survivors
    descriptions = [mutant.what for mutant in made]
    assert "delete: grads.b += drows.sum(0)" in descriptions
    assert "negate: grads.b += drows.sum(0)" in descriptions
    assert "delete: if self.b is not None: grads.b += drows.sum(0)" in descriptions
    for name in LINEAR:                             # everything is in its place again
        CHECKS[name](np.random.default_rng(0))
    assert np.empty.__module__ == "numpy"


def forgetful(rng):
    """A check that never looks at the bias."""
    case = CASES["Linear"](rng, np.float64)
    layer = case.target

    def backward(dy, cache, grads):
        db = grads.b + dy.sum((0, 1))
        dx = layer.backward(dy, cache, grads)
        grads.b[...] = db
        return dx
    return gradcheck(layer, *case.inputs, rng=rng, forward=case.forward, backward=backward)


def test_a_survivor_is_reported(capsys):
    assert mutate.main(["--only", "layers/linear.py"], {"forgetful": forgetful}) == 1
    lines = capsys.readouterr().out.splitlines()
    alive = [line for line in lines if line.startswith("SURVIVED")]
    assert any("numpy_attention/layers/linear.py:" in line
               and "Linear.backward: delete: grads.b += drows.sum(0)" in line for line in alive)
    assert not any("grads.W" in line for line in alive)


def test_what_changes_no_gradient_is_explained(monkeypatch, capsys):
    made, survivors = mutate.run([PACKAGE / "layers/linear.py"], {"forgetful": forgetful})
    for mutant in survivors:
        monkeypatch.setitem(mutate.EQUIVALENT, mutant.key, "the bias is not looked at")
    assert mutate.main(["--only", "layers/linear.py"], {"forgetful": forgetful}) == 0
    out = capsys.readouterr().out
    assert out.count("equivalent  ") == out.count("the bias is not looked at") == len(survivors)


def test_an_explanation_of_nothing_is_stale(monkeypatch, capsys):
    key = "numpy_attention/layers/linear.py Linear.backward: delete: grads.c += 1"
    monkeypatch.setitem(mutate.EQUIVALENT, key, "it was there once")
    assert mutate.main(["--only", "layers/linear.py"], LINEAR) == 1
    assert f"STALE       {key}: there is no such mutant" in capsys.readouterr().out


def test_a_function_that_no_check_reaches_survives():
    paths = [PACKAGE / "layers" / "maxout.py"]
    made, survivors = mutate.run(paths, {"Linear": CHECKS["Linear"]})
    assert made and survivors == made


def test_a_check_that_fails_unmutated_is_no_catch():
    """A function that cannot be compiled by itself would have all of its mutants caught."""
    calls = []

    def sometimes(rng):
        calls.append(rng)
        if len(calls) == 3:                         # after its calls and its central differences
            raise AssertionError("fails on what is unchanged")
        return CHECKS["Linear"](rng)

    with pytest.raises(AssertionError, match="fails on what is unchanged"):
        mutate.run([PACKAGE / "layers" / "linear.py"], {"Linear": sometimes})


def test_a_campaign_goes_on_where_it_was(tmp_path, monkeypatch, capsys):
    log = tmp_path / "outcomes.jsonl"
    arguments = ["--only", "layers/linear.py", "--resume", str(log)]
    assert mutate.main(arguments, {"forgetful": forgetful}) == 1
    first = capsys.readouterr().out
    lines = log.read_text().splitlines()
    log.write_text("\n".join(lines[:-2]) + "\n")    # killed before the last two
    tried = []
    survives = mutate.survives

    def counted(mutant, *more):
        tried.append(mutant)
        return survives(mutant, *more)

    monkeypatch.setattr(mutate, "survives", counted)
    assert mutate.main(arguments, {"forgetful": forgetful}) == 1
    assert capsys.readouterr().out == first
    assert len(tried) == 2
    assert log.read_text().splitlines() == lines
    log.write_text(log.read_text().replace('"code": "', '"code": "other'))
    assert mutate.main(arguments, {"forgetful": forgetful}) == 1
    assert len(tried) == 2 + len(lines)


def test_processes_share_the_mutants(capsys):
    alone = mutate.main(["--only", "layers/linear.py"], {"forgetful": forgetful})
    first = capsys.readouterr().out
    shared = mutate.main(["--only", "layers/linear.py", "--workers", "2"], {"forgetful": forgetful})
    assert (alone, capsys.readouterr().out) == (shared, first)


@pytest.fixture
def score(tmp_path, monkeypatch):
    """A score that a reader has written, outside of the package."""
    monkeypatch.setattr(registry, "SCORES", dict(registry.SCORES))
    path = tmp_path / "sharp_score.py"
    path.write_text(SCORE)
    return path


def sharp(rng):
    layer = randomize(registry.resolve("score", "sharp", registry.SCORES).create(rng, 4, 4, np.float64), rng)
    forward, backward = protocol(layer, np.array([[1, 1, 1], [1, 1, 0]], bool))
    inputs = (rng.standard_normal((2, 2, 4)), rng.standard_normal((2, 3, 4)))
    return gradcheck(layer, *inputs, rng=rng, forward=forward, backward=backward)


def test_a_score_of_your_own(score, capsys):
    assert mutate.main(["--only", str(score)], {"sharp": sharp}) == 0
    out = capsys.readouterr().out
    assert "of 1 functions in 1 files" in out
    assert "SURVIVED" not in out


def test_a_score_of_your_own_that_is_not_checked_survives(score, capsys):
    assert mutate.main(["--only", str(score)], {"Linear": CHECKS["Linear"]}) == 1
    assert f"SURVIVED    {score}:" in capsys.readouterr().out


def test_a_mutant_that_hangs_is_caught(monkeypatch):
    monkeypatch.setattr(mutate, "SECONDS", 0.5)

    def slow_where_it_is_wrong(rng):
        try:
            CHECKS["Linear without bias"](rng)
        except Exception:
            while True:
                pass

    paths = [PACKAGE / "layers" / "linear.py"]
    made, survivors = mutate.run(paths, {"slow": slow_where_it_is_wrong})
    alive = {mutant.what for mutant in survivors}
    assert "delete: grads.b += drows.sum(0)" in alive        # there is none in this check
    assert len(made) > len(survivors)
    assert not any("grads.W +=" in what for what in alive)


def test_an_unknown_file_is_an_error(capsys):
    with pytest.raises(SystemExit):
        mutate.main(["--only", "layers/no_such_layer.py"])
    assert "is no file: name it relative to" in capsys.readouterr().err
