"""Finding a lesson and its reference implementation, and recording its calls."""

import re
import sys

import matplotlib
import numpy as np
import pytest
from lesson_files import LESSONS
from small_lessons import FOREVER, HEAD, LINES, PLAIN, STEPS, TRAINING, USE, reference_for, written

from numpy_attention.course.trace.lessons import cells_of, lesson_named

# ---- files --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["2", "02", "recurrent", "lessons/02_recurrent_network.py"])
def test_lesson_is_found_by_number_or_name(name):
    lesson = lesson_named(name, LESSONS)
    assert lesson.path.name == "02_recurrent_network.py"
    assert sum(cell.tag == "plain" for cell in lesson.cells) == 1


@pytest.mark.parametrize("name, message", [
    ("99", "no lesson matches '99'; choose one of 00_"),
    ("attention", "several lessons match 'attention'; choose one of "),
    ("", "no lesson matches"), ("nix", "no lesson matches")])
def test_unknown_names_raise(name, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        lesson_named(name, LESSONS)


def test_local_lessons_come_before_the_course(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert lesson_named("1").path.parent == LESSONS.resolve()
    written(tmp_path / "lessons", "01_mine", HEAD)
    assert lesson_named("1").path == tmp_path.resolve() / "lessons" / "01_mine.py"
    with pytest.raises(FileNotFoundError, match="contains no lessons; .*lessons of the course"):
        lesson_named("1", tmp_path)


def test_lines_and_tags_of_cells():
    cells = list(cells_of(HEAD + PLAIN + USE + TRAINING))
    assert [cell.tag for cell in cells] == ["", "plain", "", "training"]
    lines = (HEAD + PLAIN + USE).splitlines()
    for cell in cells[:3]:
        assert lines[cell.line - 1].startswith("# %%")
        assert lines[cell.line] == cell.body.splitlines()[1]


def test_untagged_cell_with_a_backward_pass_is_the_reference(tmp_path):
    found = reference_for(tmp_path, HEAD, PLAIN.replace(' tags=["plain"]', ""), USE, TRAINING)
    assert found.name == "Plain"


@pytest.mark.parametrize("parts, message", [
    ([HEAD], "01_small.py has no reference implementation to step through; write one in a cell"),
    ([HEAD, PLAIN, TRAINING], "reference implementation before training; call it above")])
def test_lesson_without_a_reference_raises(parts, message, tmp_path):
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        reference_for(tmp_path, *parts)
    assert "\n" not in str(error.value)


# ---- calls --------------------------------------------------------------------------------------


def test_both_passes_of_one_call_are_recorded(tmp_path, capsys):
    found = reference_for(tmp_path, HEAD, PLAIN, USE, TRAINING)
    forward, = found.forward
    backward, = found.backward
    assert (found.name, forward.name, backward.name) == ("Plain", "forward", "backward")
    assert np.array_equal(forward.arguments[1], np.arange(6.0).reshape(3, 2) / 5)
    hs, _ = forward.again()
    assert np.array_equal(hs, forward.again()[0])
    assert np.array_equal(backward.arguments[2][1][1:], list(hs))
    assert capsys.readouterr().out == ""                # the lesson's output is hidden


def test_functions_and_their_helpers(tmp_path):
    found = reference_for(tmp_path, HEAD, LINES)
    assert [one.name for one in found.forward + found.backward] == ["attend", "attend_backward"]


def test_steps_called_from_outside_are_recorded_once(tmp_path):
    found = reference_for(tmp_path, HEAD, STEPS, FOREVER)    # ends when both passes are known
    assert [one.name for one in found.forward] == ["read", "step", "step"]
    assert [one.name for one in found.backward] == ["step_backward"] * 2 + ["read_backward"]
    assert found.forward[0].arguments[1].min() == 1.0   # the last call of read, not the first


def test_without_a_backward_pass_the_first_call_is_recorded(tmp_path):
    use = "# %%\nPlain(1.0).forward(np.ones((2, 1)), np.ones(1))\n"
    found = reference_for(tmp_path, HEAD, PLAIN, use)
    assert [one.name for one in found.forward] == ["forward"] and found.backward == []


def test_overridden_methods_are_not_the_reference(tmp_path):
    other = ("# %%\nclass Wrong(Plain):\n    def backward(self, *given):\n        return None\n\n"
             "wrong = Wrong(2.0)\nwrong.backward(None, wrong.forward(np.ones((1, 1)), "
             "np.ones(1)), None)\n\n")
    found = reference_for(tmp_path, HEAD, PLAIN, other, USE)
    assert found.forward[0].arguments[0].w == 0.5


def test_global_state_is_restored(tmp_path):
    before = list(sys.path), matplotlib.get_backend(), sys.getprofile()
    written(tmp_path, "helper_parts", "value = 1\n")
    head = HEAD.replace("import numpy as np", "import numpy as np, helper_parts")
    reference_for(tmp_path, head, LINES)
    assert (list(sys.path), matplotlib.get_backend(), sys.getprofile()) == before
    assert "helper_parts" not in sys.modules


@pytest.mark.parametrize("wrong, message", [
    ("1 / 0", "ZeroDivisionError"), ("Plain(nothing)", "NameError"),
    ("1 +", "SyntaxError")])
def test_error_in_a_lesson_is_reported_with_its_line(wrong, message, tmp_path):
    line = (HEAD + PLAIN).count("\n") + 3
    with pytest.raises(ValueError, match=f"^01_small.py raises {message} on line {line}: "):
        reference_for(tmp_path, HEAD, PLAIN, f"# %%\n\n{wrong}\n")
    assert sys.getprofile() is None
