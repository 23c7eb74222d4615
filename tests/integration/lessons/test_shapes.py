"""Shapes in comments of the lessons are correct for the code of their derivations."""

import ast
import re

import pytest
from lesson_files import FILES, pictures_in
from shape_comments import Watch

from numpy_attention.gradcheck.locate import rewriting


def derive(path, watch, folder):
    """Run a lesson's code up to the section of its first gradient check, without training cells."""
    tree = watch.read(path, "lesson")
    names = {"__file__": str(folder / path.name), "__name__": "lesson"}
    text = path.read_text(encoding="utf-8")
    checked, line = False, 1
    for cell in re.split(r"^(?=# %%)", text, flags=re.MULTILINE)[1:]:
        first, line = line, line + cell.count("\n")
        if cell.startswith('# %% tags=["training"]'):
            continue
        trains = re.search(r"\bTrainer\(|\.fit\(", cell)
        if checked and "\n# ## " in cell or trains:
            return
        checked = checked or "gradcheck(" in cell
        names["_shapes"] = watch.cell(names)
        body = [statement for statement in tree.body if first <= statement.lineno < line]
        exec(compile(ast.Module(body, []), str(path), "exec"), names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_shape_comments_are_correct(path, tmp_path, monkeypatch):
    # the lesson's gradient check edits functions of the file, not the instrumented ones
    monkeypatch.setattr(rewriting, "matches_source", lambda code: True)
    watch = Watch()
    with pictures_in(tmp_path), watch.running():
        derive(path, watch, tmp_path)
    print("", watch.report(), sep="\n")
    assert "\n".join(watch.wrong_claims.values()) == ""
    assert any(claim.state == "checked" for claim in watch.claims)
