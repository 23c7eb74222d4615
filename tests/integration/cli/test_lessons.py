"""numpy-attention lessons: list, copy, run."""

import pytest
from lesson_files import FILES

from numpy_attention.cli.main import main
from numpy_attention.course import lessons as course


def test_list(capsys):
    assert main(["lessons", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "00  attention on paper" and len(lines) == len(FILES) + 1
    assert lines[-1] == f"they are in {course.lessons_folder()}"


def test_copy(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["lessons", "copy", "mine", "--only", "0,6"]) == 0
    copied = [f"mine/{FILES[number].name}" for number in (0, 6)]
    assert capsys.readouterr().out.splitlines() == copied
    assert main(["lessons", "copy", "mine"]) == 2
    error = capsys.readouterr().err
    assert "choose another folder, or use --force to overwrite files" in error
    assert main(["lessons", "copy", "mine", "--force"]) == 0


@pytest.fixture
def small_course(tmp_path, monkeypatch):
    """A course with one lesson replaces the package's."""
    folder = tmp_path / "lessons"
    folder.mkdir()
    monkeypatch.setattr(course, "CHECKOUT", folder)
    (folder / course.FIRST).write_text(
        "import os, pathlib, sys\n"
        "pathlib.Path(os.environ['NUMPY_ATTENTION_OUTPUTS'], 'made').write_text('x')\n"
        "sys.exit(5 if os.environ['MPLBACKEND'] == 'Agg' else 1)\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_run_saves_figures_in_the_current_folder_and_returns_the_exit_status(small_course):
    assert main(["lessons", "run", "0"]) == 5
    assert (small_course / "outputs" / "made").read_text() == "x"
    assert main(["lessons", "run", "00", "--outputs", "figures"]) == 5
    assert (small_course / "figures" / "made").exists()


def test_errors(small_course, capsys):
    assert main(["lessons", "run", "7"]) == 2
    assert "no lesson has the number '7'; choose from 00" in capsys.readouterr().err
    (small_course / "file").write_text("")
    assert main(["lessons", "run", "0", "--outputs", "file"]) == 2
    assert "file is a file; pass the path of a folder" in capsys.readouterr().err
