"""Lessons of the course: found in a checkout or an installation, and copied completely."""

import json
import sys

import pytest
from lesson_files import FILES, LESSONS, cells

from numpy_attention.course import lessons as course


def test_lessons_next_to_the_package():
    assert course.lessons_folder() == LESSONS
    found = course.lessons()
    assert [lesson.path.name for lesson in found] == [path.name for path in FILES]
    assert [lesson.number for lesson in found] == [path.name[:2] for path in FILES]
    assert found[6].title == "additive attention" and all(lesson.title for lesson in found)


class Installed:
    """A file of an installed package, like those of importlib.metadata."""

    def __init__(self, path):
        self.name = path.name
        self.locate = lambda: path


def test_installed_lessons(tmp_path, monkeypatch):
    monkeypatch.setattr(course, "CHECKOUT", tmp_path / "lessons")
    monkeypatch.setattr(course.metadata, "files", lambda name: None)
    with pytest.raises(FileNotFoundError, match="the lessons are not installed; reinstall"):
        course.lessons_folder()
    missing = Installed(tmp_path / "missing" / course.FIRST)
    present = tmp_path / "share" / course.FIRST
    present.parent.mkdir()
    present.write_text("# %% [markdown]\n# # Lesson 00: attention\n")
    monkeypatch.setattr(course.metadata, "files", lambda name: [missing, Installed(present)])
    assert course.lessons_folder() == present.parent.resolve()
    assert [lesson.title for lesson in course.lessons()] == ["attention"]


def test_chosen():
    assert [lesson.number for lesson in course.chosen(["6", "00"])] == ["00", "06"]
    assert len(course.chosen([])) == len(FILES)
    with pytest.raises(ValueError, match="no lesson has the number '99'; choose from 00 01 "):
        course.chosen(["99", "1"])


def test_copy_contains_every_file(tmp_path):
    folder = tmp_path / "mine"
    assert course.copy(folder) == [folder / path.name for path in FILES]
    for path in LESSONS.rglob("*"):
        inside = path.relative_to(LESSONS)
        if path.is_file() and not {"outputs", "__pycache__"} & set(inside.parts):
            assert (folder / inside).read_bytes() == path.read_bytes(), inside


def test_copy_as_notebooks(tmp_path):
    pytest.importorskip("jupytext", reason="jupytext makes the notebooks")
    made = course.copy(tmp_path, notebooks=True)
    assert made == [tmp_path / f"{path.stem}.ipynb" for path in FILES]
    for path, notebook in zip(FILES, made):
        read = json.loads(notebook.read_text(encoding="utf-8"))
        assert read["metadata"]["kernelspec"]["name"] == "python3"
        kinds = [cell["cell_type"] for cell in read["cells"]]
        parts = cells(path.name)
        assert kinds == ["markdown" if is_text else "code" for is_text, _ in parts]
        for cell, (is_text, body) in zip(read["cells"], parts):
            if not is_text:
                assert "".join(cell["source"]) == body.strip("\n")
    for name in ("course.py", "checkpoints/lesson-06/checkpoint.npz"):
        assert (tmp_path / name).read_bytes() == (LESSONS / name).read_bytes()


def test_existing_files_are_not_overwritten(tmp_path):
    kept = tmp_path / "04_gru.py"
    kept.write_text("mine")
    with pytest.raises(FileExistsError, match=r"already contains 04_gru\.py; choose another"):
        course.copy(tmp_path, ["1", "4"])
    assert kept.read_text() == "mine" and list(tmp_path.iterdir()) == [kept]
    course.copy(tmp_path, ["4"], force=True)
    assert kept.read_bytes() == (LESSONS / kept.name).read_bytes()
    with pytest.raises(FileExistsError, match="already contains"):     # course.py, for example
        course.copy(tmp_path, ["5"])
    assert not (tmp_path / FILES[5].name).exists()


def test_nothing_is_written_if_a_copy_raises(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(NotADirectoryError, match="is a file; pass the path of a folder"):
        course.copy(file)
    with pytest.raises(ValueError, match="no lesson has the number"):
        course.copy(tmp_path / "new", ["77"])
    monkeypatch.setitem(sys.modules, "jupytext", None)
    with pytest.raises(ImportError, match=r'pip install "numpy_attention\[notebooks\]"'):
        course.copy(tmp_path / "new", notebooks=True)
    assert file.read_text() == "" and list(tmp_path.iterdir()) == [file]
