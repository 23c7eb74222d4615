"""A lesson's output is compared with itself: what may differ, and what may not."""

import sys

import lesson_runs
import pytest

OUTPUT = "Lesson\nloss 2.50, 1,234 tokens/s\nepoch 1:  10%|█  | 3/30\nsaved in 3.1 s, 12 words\n"


def test_times_and_bars_may_differ():
    again = OUTPUT.replace("1,234", "987").replace("3.1", "4.2").replace("3/30", "4/30")
    assert lesson_runs.differing(OUTPUT, again) == []
    assert lesson_runs.farthest(OUTPUT, again) == 0


def test_figures_and_lines_may_not():
    assert lesson_runs.differing(OUTPUT, OUTPUT.replace("2.50", "2.51")) == ["loss 2.50,"]
    assert lesson_runs.differing(OUTPUT, OUTPUT + "more\n") == ["3 lines and 4"]
    assert lesson_runs.farthest(OUTPUT, OUTPUT.replace("2.50", "2.40")) == pytest.approx(0.04)
    assert lesson_runs.farthest(OUTPUT, OUTPUT.replace("12 words", "-12 words")) == 2
    assert lesson_runs.farthest(OUTPUT, OUTPUT.replace("loss", "gain")) == float("inf")


@pytest.fixture
def course(tmp_path, monkeypatch):
    (tmp_path / "lessons").mkdir()
    (tmp_path / "lessons" / "00_a.py").write_text("print('Lesson 00: 1.5')")
    monkeypatch.setattr(lesson_runs, "ROOT", tmp_path)
    return tmp_path / "lessons"


def test_lessons_are_run_and_timed(course, capsys):
    assert lesson_runs.main([]) == 0
    head, _, row = capsys.readouterr().out.splitlines()
    assert head == "| lesson | first line | seconds |" and row.startswith("| 00_a.py | ")


@pytest.mark.skipif(sys.platform != "linux", reason="a process is held to a core on Linux alone")
def test_what_is_not_the_same_ends_with_1(course, capsys):
    assert lesson_runs.main(["--same", "00"]) == 0
    assert "| the same | 0.0e+00 off at most |" in capsys.readouterr().out
    (course / "00_a.py").write_text("import os\nprint('Lesson', os.getpid())")
    assert lesson_runs.main(["--same", "00"]) == 1
    assert "1 lines differ: Lesson" in capsys.readouterr().out
    (course / "00_a.py").write_text(
        "import os\nprint('Lesson', 10 + len(os.sched_getaffinity(0)))")
    alone = lesson_runs.main(["--same", "00"])
    assert alone == 1 or "0.0e+00" in capsys.readouterr().out       # on a machine of one core


def test_a_lesson_that_ends_early_is_told(course, capsys):
    (course / "00_a.py").write_text("print('Lesson')\nraise SystemExit(3)")
    assert lesson_runs.main([]) == 1
    assert "00_a.py ended with 3:\nLesson" in capsys.readouterr().err
    assert lesson_runs.main(["77"]) == 2
    assert "no lesson has the number 77: expected some of 00" in capsys.readouterr().err
