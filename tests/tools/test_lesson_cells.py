"""A lesson run cell by cell: what it prints and draws is kept, and it is the script's own run."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUNNER = ROOT / "tools" / "lesson_cells.py"
SCRIPT = '''# %% [markdown]
# # A lesson

# %%
import sys
from pathlib import Path
print("one", flush=True)
assert __name__ == "__main__" and Path(__file__).name == "lesson.py"
assert Path(sys.argv[0]) == Path(__file__) and sys.path[0] == str(Path(__file__).parent)

# %%
x = 2

# %%
import matplotlib
from matplotlib import pyplot as plt
from numpy_attention import plotting
from beside import NAME
figure, ax = plt.subplots()
ax.set_title("a line,\\nand more")
print("two", NAME)
plotting.save(figure, Path(__file__).parent / "line.png")
print(matplotlib.get_backend().lower(), x)
'''
PNG = b"\x89PNG"


@pytest.fixture
def lesson(tmp_path):
    (tmp_path / "beside.py").write_text("NAME = 'beside'\n")
    path = tmp_path / "lesson.py"
    path.write_text(SCRIPT, encoding="utf-8")
    return path


def run(*words):
    environment = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    return subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True,
                          env={**environment, "PYTHONPATH": str(ROOT)})


def test_keeps_text_and_pictures_cell_by_cell(lesson, tmp_path):
    out = tmp_path / "out.json"
    process = run(RUNNER, lesson, out)
    assert process.returncode == 0, process.stderr
    assert process.stdout == "one\ntwo beside\nagg 2\n"
    first, second, third = json.loads(out.read_text(encoding="utf-8"))
    assert first == [{"text": "one\n"}] and second == []
    text, picture, rest = third
    assert text == {"text": "two beside\n"} and rest == {"text": "agg 2\n"}
    assert picture["titles"] == ["a line, and more"]
    assert base64.b64decode(picture["png"]) == (tmp_path / "line.png").read_bytes()
    assert (tmp_path / "line.png").read_bytes().startswith(PNG)


def test_an_error_is_the_scripts_own_and_nothing_is_written(lesson, tmp_path):
    lesson.write_text(SCRIPT.replace("x = 2", "x = 1 / 0"), encoding="utf-8")
    out = tmp_path / "out.json"
    process = run(RUNNER, lesson, out)
    line = 1 + SCRIPT.splitlines().index("x = 2")
    assert process.returncode == 1
    assert f'lesson.py", line {line}, in <module>' in process.stderr
    assert "ZeroDivisionError" in process.stderr and not out.exists()


def test_a_lesson_prints_what_it_prints_as_a_script(tmp_path):
    script = ROOT / "lessons" / "00_attention_on_paper.py"
    kept = run(RUNNER, script, tmp_path / "out.json")
    assert kept.returncode == 0, kept.stderr
    assert kept.stdout == run(script).stdout
    cells = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    text = "".join(one.get("text", "") for cell in cells for one in cell)
    assert text == kept.stdout and sum("png" in one for cell in cells for one in cell) >= 6


def test_a_missing_lesson_is_told_in_a_line(tmp_path):
    process = run(RUNNER, tmp_path / "none.py", tmp_path / "out.json")
    assert process.returncode == 2
    assert process.stderr == f"lesson_cells: there is no file {tmp_path / 'none.py'}\n"
