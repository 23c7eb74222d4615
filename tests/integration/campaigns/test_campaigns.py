"""Smoke tests: every campaign runs, finds what it should, and prints its table."""

import fnmatch
import os
import subprocess
import sys
from pathlib import Path

import exam
import numpy as np
import planting
import pytest

try:
    import tomllib
except ModuleNotFoundError:        # before Python 3.11
    import tomli as tomllib

from numpy_attention.gradcheck import gradcheck

ROOT = Path(__file__).resolve().parents[3]
MISTAKES = [mistake for one in planting.SETS.values() for mistake in one]


def campaign(script, *words):
    """Run a campaign in a separate process."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, str(ROOT / "campaigns" / script), *words], cwd=ROOT,
                          env=environment, capture_output=True, text=True, timeout=600)


# ---- mutation -----------------------------------------------------------------------------------


@pytest.mark.parametrize("file, tests, survivors", [
    ("layers/linear.py", ["tests/gradcheck/test_cases.py::test_gradients[Linear]"], 0),
    ("layers/linear.py", ["tests/layers/test_linear.py"], 1),      # checks no gradient
    ("kernels/rows.py", ["tests/kernels/test_rows.py"], 0),
])
def test_mutants_are_run_against_the_tests_that_cover_their_line(file, tests, survivors):
    words = ["--only", file, "--tests", *tests, "--sample", "1"]
    ended = campaign("mutation/mutate.py", *words)
    assert ended.returncode == survivors, ended.stdout + ended.stderr
    assert f"| all | 1 | {1 - survivors} | 0 | {survivors} |" in ended.stdout
    assert ended.stdout.count("SURVIVED") == survivors


def test_equivalent_mutants_refer_to_existing_files():
    path = ROOT / "campaigns" / "mutation" / "equivalent_mutants.toml"
    files = [file.relative_to(ROOT).as_posix() for file in ROOT.rglob("numpy_attention/**/*.py")]
    for entries in tomllib.loads(path.read_text(encoding="utf-8")).values():
        for entry in entries:
            for pattern in entry["mutants"]:
                assert fnmatch.filter(files, pattern.split(" ")[0]), pattern


# ---- mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("file", planting.FILES)
def test_correct_file_passes_its_gradient_check(file):
    module = planting.run((planting.RIGHT / f"{file}.py").read_text(encoding="utf-8"), file)
    target, inputs, forward, backward = module.case(np.random.default_rng(0))
    gradcheck(target, *inputs, rng=np.random.default_rng(2), forward=forward, backward=backward)


def test_mistakes_are_distinct_and_have_correct_lines():
    assert len({mistake.name for mistake in MISTAKES}) == len(MISTAKES) == 430
    assert len({mistake.source for mistake in MISTAKES}) == len(MISTAKES)
    for mistake in MISTAKES:
        assert mistake.file in planting.FILES and mistake.kinds, mistake.name
        assert mistake.lines() <= set(range(1, 1 + len(mistake.source.splitlines())))


def test_text_that_does_not_occur_once_is_an_error():
    mistake = planting.Mistake("gru: nowhere", "H = len(self.U)", "", ("sign",))
    with pytest.raises(ValueError, match="occurs 2 times in gru.py: quote more"):
        mistake.source


def test_exam_checks_line_and_kind():
    sign = planting.Mistake("gru: sign", "dz = dnew * (h - n)", "dz = dnew * (n - h)", ("sign",))
    answer = exam.judge(sign)
    assert answer.caught and (answer.line_of(sign), answer.judge_kind(sign)) == ("right", "right")
    assert exam.Answer(True, (1,), "axis").line_of(sign) == "wrong"
    same = planting.Mistake("gru: none", sign.old, "dz = (h - n) * dnew", ("sign",))
    assert not exam.judge(same).caught
    judged = [(sign, answer), (same, exam.Answer(False))]
    lines = list(exam.counts("set", ["a", "b"], judged))
    assert lines[1].split() == ["a", "1", "1", "1", "0", "0", "0", "0", "0", "1"]


# ---- kills and fuzz -----------------------------------------------------------------------------


def test_killed_training_ends_like_an_uninterrupted_one():
    ended = campaign("kills/kills.py", "--kills", "1", "--only", "articles")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "every run bit-identical to the unbroken" in ended.stdout


def test_random_commands_satisfy_the_rules():
    ended = campaign("fuzz.py", "commands", "--number", "3")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout == "3 commands tried, 0 broke a rule\n"
