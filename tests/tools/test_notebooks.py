"""Notebooks of the lessons: all cells, the modules beside them, nothing of a learner's lost."""

import json

import notebooks
import pytest
from lesson_files import FILES, LESSONS, cells

pytest.importorskip("jupytext", reason="jupytext makes the notebooks")


def test_every_lesson_is_a_notebook_with_all_its_cells(tmp_path, capsys):
    folder = tmp_path / "course"
    assert notebooks.main([str(folder)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        str(folder / f"{path.stem}.ipynb") for path in FILES]
    for path in FILES:
        made = json.loads((folder / f"{path.stem}.ipynb").read_text(encoding="utf-8"))
        assert made["metadata"]["kernelspec"]["name"] == "python3"
        kinds = [cell["cell_type"] for cell in made["cells"]]
        parts = cells(path.name)
        assert kinds == ["markdown" if is_text else "code" for is_text, _ in parts]
        for cell, (is_text, body) in zip(made["cells"], parts):
            if not is_text:
                assert "".join(cell["source"]) == body.strip("\n")
    for name in ("course.py", "checkpoints/lesson-06/checkpoint.npz"):
        assert (folder / name).read_bytes() == (LESSONS / name).read_bytes()


def test_what_a_learner_has_written_stays(tmp_path, capsys):
    kept = tmp_path / "04_gru.ipynb"
    kept.write_text("mine")
    assert notebooks.main([str(tmp_path), "--only", "01", "04"]) == 2
    assert "04_gru.ipynb already: choose another folder, or give --force" in capsys.readouterr().err
    assert kept.read_text() == "mine" and len(list(tmp_path.iterdir())) == 1
    assert notebooks.main([str(tmp_path), "--only", "04", "--force"]) == 0
    assert json.loads(kept.read_text(encoding="utf-8"))["cells"]


@pytest.mark.parametrize("words, message", [
    (["--only", "99"], "no lesson has the number 99: expected some of "),
    ([], "is a file"),
])
def test_what_is_refused(words, message, tmp_path, capsys):
    folder = tmp_path / "file"
    folder.write_text("")
    assert notebooks.main([str(folder), *words]) == 2
    error = capsys.readouterr().err
    assert error.startswith("notebooks: ") and error.count("\n") == 1
    assert folder.read_text() == ""
