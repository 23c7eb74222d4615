"""Lessons 07 and 08 as files: cells, prose, derivation. (CI runs them; their own asserts check the rest.)"""

import ast
import re
from pathlib import Path

import pytest

LESSONS = Path(__file__).parents[2] / "lessons"
NAMES = ["07_encoder_decoder.py", "08_additive_attention.py"]
text_of = {name: (LESSONS / name).read_text(encoding="utf-8") for name in NAMES}


def cells(text):
    """[(marker, body)] of a percent-cell script."""
    parts = re.split(r"^(# %%.*)$", text, flags=re.MULTILINE)
    assert parts[0] == "", "something stands before the first cell"
    return list(zip(parts[1::2], parts[2::2]))


@pytest.mark.parametrize("name", NAMES)
def test_cells_are_text_or_code_and_each_compiles(name):
    parts = cells(text_of[name])
    assert {marker for marker, _ in parts} == {"# %%", "# %% [markdown]"}
    for marker, body in parts:
        compile(body, name, "exec")
        lines = [line for line in body.splitlines() if line]
        if "markdown" in marker:
            assert lines and all(line.startswith("# ") or line == "#" for line in lines), "text stands in comments"
        else:
            assert ast.parse(body).body, "a code cell without code"
    assert parts[0][1].startswith(f"\n# # Lesson {name[:2]}") and "# ## Questions" in parts[-1][1]


@pytest.mark.parametrize("name", NAMES)
def test_prints_before_it_imports_anything(name):
    first = ast.parse(text_of[name]).body[0]
    assert ast.unparse(first).startswith(f"print('Lesson {name[:2]}") and "flush=True" in ast.unparse(first)


@pytest.mark.parametrize("name", NAMES)
def test_derives_checks_and_plants_a_bug_that_must_be_caught(name):
    for needed in ("# ## Forward", "# ## Backward", r"gradcheck\(", r"np\.allclose\(",
                   r"except GradientError as error:\n.*\nelse:\n    raise AssertionError", r"plotting\.save\("):
        assert re.search(needed, text_of[name]), f"{name} has no {needed}"


@pytest.mark.parametrize("name", NAMES)
def test_seeds_every_generator_and_writes_beside_itself(name):
    assert "default_rng()" not in text_of[name] and not re.search(r"np\.random\.(?!default_rng)", text_of[name])
    assert '"__file__" in globals()' in text_of[name]


def test_lesson_08_prints_the_command_that_uses_its_run():
    text = text_of["08_additive_attention.py"]
    assert '"runs" / "lesson-08"' in text and "numpy-attention translate {os.path.relpath(run)}" in text
