"""Files that break a check: each is reported in one line; the file and progress are unchanged."""

import errno
import json
import os
import subprocess
import sys
import time

import pytest

from numpy_attention.course.exercises.catalogue import EXERCISES

SOFTMAX = EXERCISES["softmax"]
RIGHT = "return alpha * (dalpha - mean)"


def with_body(line):
    """Return the solution of softmax with a different last line."""
    assert SOFTMAX.solution.count(RIGHT) == 1
    return SOFTMAX.solution.replace(RIGHT, line)


@pytest.fixture
def begun(say, tmp_path):
    """The folder of a learner who has passed linear and started softmax."""
    folder = tmp_path / "exercises"
    for name in ("linear", "softmax"):
        say("start", name)
    (folder / "linear.py").write_text(EXERCISES["linear"].solution, encoding="utf-8")
    assert say("check", "linear")[0] == 0
    return folder


def records(folder):
    return json.loads((folder / "progress.json").read_text())["exercises"]


@pytest.mark.parametrize("text, message", [
    (with_body("while True: pass"), "it took longer than 3 seconds and was ended, in line 26 of"),
    (with_body("raise SystemExit(0)"), "it exits its process with status 0; remove"),
    (with_body("raise KeyboardInterrupt"), "it raises KeyboardInterrupt"),
    (with_body("for n in range(10**9): print(n)"), "it prints more than 1 MB; print less"),
    (with_body("import ctypes; ctypes.string_at(0)"), "it was ended by signal 11 (SIGSEGV)"),
    (with_body("return np.empty(2**33)"), "MemoryError: Unable to allocate"),
    ("\0" * 9, "your code is not valid Python: source code string cannot contain null bytes"),
    ("\n" * 10**6 * 2, "softmax.py has more than 1,000,000 bytes, too many for a Python file"),
], ids=range(8))
def test_broken_files_are_reported_and_unchanged(say, begun, text, message):
    file = begun / "softmax.py"
    file.write_text(text, encoding="utf-8")
    before = records(begun)
    status, output = say("check", "softmax", "--seconds", "3")
    assert status in (1, 2)
    assert message in output
    assert "Traceback" not in output
    assert file.read_text(encoding="utf-8") == text
    after = records(begun)
    assert after["linear"] == before["linear"]
    assert after["softmax"]["passed"] is False
    assert sorted(one.name for one in begun.iterdir()) == ["linear.py", "progress.json",
                                                           "softmax.py"]


@pytest.mark.parametrize("harm", [os.remove, lambda path: os.rename(path, f"{path}.old")],
                         ids=["deleted", "renamed"])
def test_missing_file(say, begun, harm):
    before = records(begun)
    harm(begun / "softmax.py")
    status, output = say("check", "softmax")
    assert (status, output.count("\n")) == (2, 1)
    assert "does not exist; create it with `numpy-attention exercise start softmax`" in output
    assert records(begun) == before


def test_code_that_deletes_its_own_file(say, begun):
    file = begun / "softmax.py"
    file.write_text(with_body(f"import os\n    if os.path.exists({str(file)!r}):\n"
                              f"        os.remove({str(file)!r})\n    {RIGHT}"))
    status, output = say("check", "softmax")
    assert "Traceback" not in output
    assert "softmax: passed" in output
    assert status == 0
    assert records(begun)["softmax"]["passed"] is True


def test_exercise_of_another_version_stays_passed(say, begun):
    text = (begun / "progress.json").read_text()
    cut = records(begun)["linear"]["cut"]
    (begun / "progress.json").write_text(text.replace(cut, "of another version"))
    mine = (begun / "linear.py").read_bytes()
    status, output = say("check", "linear")
    assert status == 0
    assert "the exercise has changed since you started it" in output
    assert (begun / "linear.py").read_bytes() == mine
    assert records(begun)["linear"]["passed"] is True


def test_concurrent_checks(begun):
    (begun / "softmax.py").write_text(with_body(f"import time; time.sleep(0.2)\n    {RIGHT}"))
    words = [sys.executable, "-m", "numpy_attention", "exercise", "check", "softmax"]
    first = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=begun.parent)
    lock = begun / "progress.json.lock"
    while not lock.exists() and first.poll() is None:
        time.sleep(0.01)
    second = subprocess.run(words, capture_output=True, text=True, cwd=begun.parent)
    output, _ = first.communicate()
    assert second.returncode == 2
    assert second.stderr.count("\n") == 1
    assert "another command is using" in second.stderr
    assert (first.returncode, "softmax: passed" in output) == (0, True)
    assert records(begun)["softmax"]["checks"] == 1


@pytest.mark.parametrize("words", [("start", "dot"), ("check", "softmax"), ("hint", "softmax"),
                                   ("reset", "softmax"), ("solution", "softmax")])
def test_full_disk(say, begun, monkeypatch, words):
    (begun / "softmax.py").write_text(with_body("return mine"))
    before = {one.name: one.read_bytes() for one in begun.iterdir()}

    def full(number):
        raise OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr(os, "fsync", full)
    status, output = say(*words)
    assert (status, output.count("\n")) == (2, 1)
    assert "No space left on device" in output
    assert "Free some space, or use another place" in output
    assert {one.name: one.read_bytes() for one in begun.iterdir()} == before


def test_full_disk_for_temporary_files(say, begun, monkeypatch):
    """Temporary files may be on a different disk than the learner's."""
    def full(path, data):
        raise OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    before = records(begun)
    status, output = say("check", "softmax")
    assert (status, output.count("\n")) == (2, 1)
    assert "cannot be written: No space left on device. Free some space" in output
    assert records(begun) == before
