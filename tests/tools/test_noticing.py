"""Which test runs which line, shared fixtures among them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "noticing.py"
CODE = '''
def double(x):
    return 2 * x


def triple(x):
    return 3 * x
'''
TESTS = '''
import pytest
from numpy_attention.subject import double, triple


@pytest.fixture(scope="module")
def six():
    return triple(2)


def test_double():
    assert double(1) == 2


def test_six(six):
    assert six == 6


def test_six_again(six):
    assert six > 5


@pytest.mark.parametrize("x", [1, 2])
def test_both(x):
    assert triple(double(x)) == 6 * x
'''


@pytest.fixture
def measured(tmp_path):
    """A checkout of one file, which has the package's name, and its tests."""
    package = tmp_path / "numpy_attention"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "subject.py").write_text(CODE, encoding="utf-8")

    def run(tests):
        (tmp_path / "test_subject.py").write_text(tests, encoding="utf-8")
        command = [sys.executable, str(TOOL), "out.json", "test_subject.py"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120,
                              env={"PYTHONPATH": str(tmp_path), "PATH": ""})
        return done, tmp_path / "out.json"
    return run


def test_lines_know_their_tests(measured):
    done, out = measured(TESTS)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(out.read_text(encoding="utf-8"))
    lines = found["lines"]["numpy_attention/subject.py"]
    double, triple = ([test.partition("::")[2] for test in lines[line]] for line in ("3", "7"))
    assert double == ["test_both[1]", "test_both[2]", "test_double"]
    assert triple == ["test_both[1]", "test_both[2]", "test_six", "test_six_again"]
    assert len(found["seconds"]) == 5 and min(found["seconds"].values()) > 0


def test_tests_that_fail_are_refused(measured):
    done, out = measured(TESTS + "\n\ndef test_wrong():\n    assert double(1) == 3\n")
    assert done.returncode == 1 and not out.exists()
    assert "test_wrong" in done.stderr.splitlines()[-1]
