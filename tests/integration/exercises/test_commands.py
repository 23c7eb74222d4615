"""The exercise commands, used as a learner uses them."""

import json
import subprocess
import sys

import pytest

from numpy_attention.course.exercises.catalogue import EXERCISES

RIGHT = EXERCISES["softmax"].source.body("softmax_backward")


def write(folder, body):
    path = folder / "exercises" / "softmax.py"
    text = path.read_text(encoding="utf-8")
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    path.write_text(text.replace('    raise NotImplementedError("yours to write")', lines),
                    encoding="utf-8")


def progress(folder):
    return json.loads((folder / "exercises" / "progress.json").read_text())["exercises"]


def test_start_to_pass(say, tmp_path):
    status, text = say("start", "softmax")
    assert status == 0
    assert "write softmax_backward, then" in text
    status, text = say("check", "softmax")
    assert (status, "softmax_backward is not implemented yet" in text) == (1, True)
    write(tmp_path, "return cache * dalpha")
    status, text = say("check", "softmax")
    assert status == 1
    assert "✓ values ✗ gradients" in text
    assert "only the first term of the Jacobian diag(α) − α αᵀ" in text
    path = tmp_path / "exercises" / "softmax.py"
    path.write_text(path.read_text().replace("return cache * dalpha", "return cache * (dalpha - "
                                             "(cache * dalpha).sum(1)[:, None])"))
    status, text = say("check", "softmax")
    assert status == 0
    assert "softmax: passed" in text
    assert "+++ the reference" in text
    assert "why it is written this way" in text
    assert "what no gradient check detects" in text
    assert text.endswith("\nnext: numpy-attention exercise progress\n")
    assert progress(tmp_path)["softmax"] | {"cut": ""} == {
        "cut": "", "checks": 3, "hints": 0, "passed": True, "asked": False, "seen": False}
    assert "1 of " in say("progress")[1]
    assert "✓ softmax" in say("list")[1]
    status, text = say("check", "softmax")          # not printed again
    assert (status, "reference" in text) == (0, False)


def test_hints_are_given_one_at_a_time(say):
    say("start", "softmax")
    hints = [say("hint", "softmax")[1] for _ in range(5)]
    assert [text.count("\n") for text in hints[:3]] == [2, 3, 4]
    assert "law: Adding one number" in hints[0] and "line:" not in hints[0]
    assert RIGHT.strip().splitlines()[-1] in hints[3]
    assert hints[4] == hints[3]


def test_solution_asks_for_confirmation_once(say, tmp_path):
    say("start", "softmax")
    status, text = say("solution", "softmax")
    assert (status, "repeat the command" in text) == (1, True)
    status, text = say("solution", "softmax")
    assert status == 0
    assert text == EXERCISES["softmax"].solution + "\n"
    assert say("solution", "softmax") == (0, text)          # shown without asking from now on
    assert progress(tmp_path)["softmax"]["seen"] is True


def test_reset_keeps_a_backup(say, tmp_path):
    say("start", "softmax")
    write(tmp_path, "return 'mine'")
    status, text = say("start", "softmax")
    assert (status, "already exists and was not changed" in text) == (2, True)
    say("reset", "softmax")
    folder = tmp_path / "exercises"
    assert "return 'mine'" in (folder / "softmax.1.py").read_text()
    assert say("reset", "softmax")[1].count("\n") == 1      # nothing has changed since
    assert not (folder / "softmax.2.py").exists()
    write(tmp_path, "return 'again'")
    say("reset", "softmax")
    assert "return 'again'" in (folder / "softmax.2.py").read_text()


def test_commands_from_within_the_folder(say, tmp_path, monkeypatch):
    say("start", "softmax")
    say("start", "attend")
    assert "next: numpy-attention exercise check attend" in say("progress")[1]
    monkeypatch.chdir(tmp_path / "exercises")
    assert "or use ./softmax.py with --folder ." in say("check", "softmax")[1]
    assert "softmax_backward is not implemented" in say("check", "softmax", "--folder", ".")[1]


@pytest.mark.parametrize("words, message", [
    (["start", "softmx"], "no exercise is named 'softmx' (did you mean softmax?)"),
    (["check", "softmax", "--seconds", "0"], "--seconds"),
    (["list", "--folder", ""], "folder"),
])
def test_errors(say, words, message):
    status, text = say(*words)
    assert status == 2
    assert message in text
    assert text.count("\n") == 1


@pytest.mark.parametrize("text", ["{", '{"format": 2}',
                                  '{"format": 1, "exercises": {"softmax": {"hints": "many"}}}'])
def test_invalid_progress_file(say, tmp_path, text):
    say("start", "softmax")
    (tmp_path / "exercises" / "progress.json").write_text(text)
    status, message = say("list")
    assert status == 2
    assert "is not a valid progress file" in message
    assert (tmp_path / "exercises" / "softmax.py").exists()


def test_path_as_an_image(say, tmp_path):
    assert "saved path.png" in say("progress", "--output", "path.png")[1]
    assert (tmp_path / "path.png").stat().st_size > 10_000


def test_watch_checks_again_after_each_save(say, tmp_path):
    say("start", "softmax")
    write(tmp_path, "return cache * dalpha")
    path = tmp_path / "exercises" / "softmax.py"
    watching = subprocess.Popen([sys.executable, "-m", "numpy_attention", "exercise", "watch",
                                 "softmax"], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    try:
        seen = until(watching, "a hint:")
        assert "✗ gradients" in seen
        path.write_text(path.read_text().replace("cache * dalpha", "cache *"))
        seen = until(watching, "a hint:")
        assert "✗ runs" in seen and "is not valid Python" in seen
        path.write_text(EXERCISES["softmax"].solution)
        assert "softmax: passed" in watching.communicate(timeout=120)[0]
        assert watching.returncode == 0
    finally:
        watching.kill()
    assert progress(tmp_path)["softmax"]["checks"] == 3


def until(process, word):
    """Read a process's output up to the line that starts with a word."""
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith(word):
            break
    return "".join(lines)
