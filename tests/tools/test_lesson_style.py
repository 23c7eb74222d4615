"""How lessons are written is counted right, in scripts and in notebooks."""

import json

import lesson_style
import pytest

SCRIPT = '''# %% [markdown]
# text = 1

# %%
import numpy as np
from os import path as p, sep

# %%
def double(x):
    """Twice.

    x: a number."""
    return 2 * x     # (B,)

a, b = 1, 2
c, d = double(a), double(b)
e = a
# a comment
'''


def test_a_script(tmp_path, capsys):
    file = tmp_path / "01_x.py"
    file.write_text(SCRIPT)
    assert lesson_style.main([str(file)]) == 0
    lines = ["import numpy as np", "from os import path as p, sep", "def double(x):",
             "return 2 * x     # (B,)", "a, b = 1, 2", "c, d = double(a), double(b)", "e = a"]
    mean = sum(map(len, lines)) / len(lines)
    head, _, row = capsys.readouterr().out.splitlines()
    assert head.startswith("| file | cells | lines a cell | longest | letters a line |")
    assert row == f"| 01_x.py | 2 | 3.5 | 5 | {mean:.1f} | 2 | 3 |"


def test_a_notebook(tmp_path, capsys):
    cells = [{"cell_type": "markdown", "source": ["a = 1"]},
             {"cell_type": "code", "source": ["%matplotlib inline\n", "a = 1\n", "\n", "b = 22"]},
             {"cell_type": "code", "source": ["# only a comment"]}]
    file = tmp_path / "x.ipynb"
    file.write_text(json.dumps({"cells": cells}))
    assert lesson_style.main([str(file)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "| x.ipynb | 1 | 2.0 | 2 | 5.5 | 0 | 0 |"


def test_the_lessons_as_they_are(capsys):
    assert lesson_style.main([]) == 0
    assert "01_gradients_by_hand.py" in capsys.readouterr().out


@pytest.mark.parametrize("name, text, message", [
    ("x.py", "a = 1", "x.py has no cells of code"),
    ("y.py", "# %%\na = (", "never closed"),
])
def test_what_is_refused(name, text, message, tmp_path, capsys):
    file = tmp_path / name
    file.write_text(text)
    assert lesson_style.main([str(file)]) == 2
    assert message in capsys.readouterr().err
    assert lesson_style.main([str(tmp_path / "nowhere.py")]) == 2
    assert "nowhere.py" in capsys.readouterr().err
