"""The form of a lesson: small cells, one assignment per line, imports listed at the start.

Applies to lessons that use `course`.
"""

import ast
import re

import pytest
from lesson_files import LESSONS, TEXTS, derivation, tagged

from numpy_attention.gradcheck import GradientError

EDITION = [name for name, text in TEXTS.items() if "\nfrom course import " in text]
LINES = 15          # of code in a cell
PLAIN_LINES = 45    # in a cell with a whole reference implementation
every = pytest.mark.parametrize("name", EDITION)


def lines_of_code(body):
    """Return the lines of a cell except blank ones, comments, docstrings and imports."""
    tree = ast.parse(body)
    left = set()
    for node in ast.walk(tree):
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_docstring or isinstance(node, (ast.Import, ast.ImportFrom)):
            left |= set(range(node.lineno, node.end_lineno + 1))
    lines = enumerate(body.splitlines(), 1)
    return sum(bool(line.strip()) and not line.strip().startswith("#") and number not in left
               for number, line in lines)


@every
def test_lines_and_cells_are_short(name):
    lines = TEXTS[name].splitlines()
    assert max(map(len, lines)) <= 100
    assert not [line for line in lines if re.match("# %[^%]", line)]    # the site would omit it
    for cell in tagged(name):
        if not cell.is_text:
            allowed = PLAIN_LINES if cell.tag == "plain" else LINES
            assert lines_of_code(cell.body) <= allowed, cell.body


@every
def test_one_assignment_per_line(name):
    for node in ast.walk(ast.parse(TEXTS[name])):
        if isinstance(node, ast.Assign):
            parallel = [one for one in node.targets
                        if isinstance(one, ast.Tuple) and isinstance(node.value, ast.Tuple)]
            assert not parallel, ast.unparse(node)
            assert len(node.targets) == 1, ast.unparse(node)
        assert not (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Subscript)
                    and isinstance(node.value.value, ast.Subscript)), ast.unparse(node)
    for body in (cell.body for cell in tagged(name) if not cell.is_text):
        lines = [node.lineno for node in ast.walk(ast.parse(body)) if isinstance(node, ast.stmt)]
        assert len(lines) == len(set(lines)), body


@every
def test_box_at_the_start_lists_all_names_used_from_the_package(name):
    used = set()
    for node in ast.walk(ast.parse(TEXTS[name])):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("numpy_attention"):
            used |= {one.asname or one.name for one in node.names}
    box = next(cell.body for cell in tagged(name) if cell.is_text and "# | from the" in cell.body)
    listed = re.findall(r"^# \| `(\w+)`", box, re.MULTILINE)
    assert sorted(listed) == sorted(used)


@every
def test_has_a_diagram_of_its_architecture(name):
    assert "plotting.diagram(" in TEXTS[name]


@every
def test_derivation_can_be_imported_without_training(name):
    assert any(cell.tag == "training" for cell in tagged(name)) or name.startswith("00")
    try:
        names = derivation(name)
    except GradientError as error:
        raise AssertionError(f"{name} does not catch its planted bug") from error
    assert names


# ---- questions and their answers ----------------------------------------------------------------


def questions(name):
    """Return the numbers of a lesson's questions."""
    body = tagged(name)[-1].body
    assert body.startswith("\n# ## Questions")
    return [int(number) for number in re.findall(r"^# (\d+)\. ", body, re.MULTILINE)]


def answers(name):
    """Return {number of a question: text of its answer}."""
    text = (LESSONS / "answers" / name.replace(".py", ".md")).read_text(encoding="utf-8")
    parts = re.split(r"^## (\d+)\. .*$", text, flags=re.MULTILINE)
    return {int(number): body for number, body in zip(parts[1::2], parts[2::2])}


@every
def test_every_question_has_a_folded_answer(name):
    assert list(answers(name)) == questions(name) == list(range(1, len(questions(name)) + 1))
    for body in answers(name).values():
        opened = body.count("<details><summary>")
        assert opened == body.count("</details>") == 1
        answer = body.split("</summary>")[1]
        assert len(answer.split()) > 8


@every
def test_code_of_the_answers_runs(name):
    """Run blocks marked `python`; those marked `python long` take minutes."""
    for number, body in answers(name).items():
        blocks = re.findall(r"^```python\n(.*?)^```", body, re.MULTILINE | re.DOTALL)
        if blocks:
            names = dict(derivation(name))
            for block in blocks:
                exec(compile(block, f"answer {number} of {name}", "exec"), names)
