"""Lessons as files: cells, prose, derivations, papers, and the list of the course.

CI runs the lessons; their asserts check the rest.
"""

import ast
import re

import pytest
from lesson_files import LESSONS, TEXTS, cells

from numpy_attention.course.trace.lessons import lesson_named, reference_cell, reference_of

NO_GRADIENTS = {"00_attention_on_paper.py", "10_decoding.py"}
DERIVED = [name for name in TEXTS if name not in NO_GRADIENTS]
every = pytest.mark.parametrize("name", list(TEXTS))


def test_course_lists_exactly_the_existing_lessons():
    course = (LESSONS / "README.md").read_text(encoding="utf-8")
    names = re.findall(r"^\| \[(.+?)\]\((.+?)\)", course, re.MULTILINE)
    assert all(name == link for name, link in names)
    assert [name for name, _ in names] == list(TEXTS)


@every
def test_cells_are_text_or_code_that_compiles(name):
    parts = cells(name)
    for is_text, body in parts:
        compile(body, name, "exec")                             # each cell can be run separately
        lines = [line for line in body.splitlines() if line]
        if is_text:
            comments = all(line.startswith("# ") or line == "#" for line in lines)
            assert lines and comments, "text stands in comments"
        else:
            assert ast.parse(body).body, "a code cell without code"
    assert sum(is_text for is_text, _ in parts) >= 5
    assert sum(not is_text for is_text, _ in parts) >= 5
    assert parts[0][1].startswith(f"\n# # Lesson {name[:2]}") and "# ## Questions" in parts[-1][1]


@every
def test_prints_before_it_imports_anything(name):
    first = ast.unparse(ast.parse(TEXTS[name]).body[0])
    assert re.match(rf"print\(['\"]Lesson {name[:2]}.*flush=True\)", first)


@pytest.mark.parametrize("name", DERIVED)
def test_has_derivation_check_comparison_and_planted_bug(name):
    for needed in ("# ## Forward", "# ## Backward", r"gradcheck\(",
                   r"np\.(testing\.assert_)?allclose\(", r"plotting\.save\(|show\(",
                   r"except \(?GradientError|caught\("):
        assert re.search(needed, TEXTS[name]), f"no {needed}"


@every
def test_uses_only_shipped_data_and_seeded_generators(name):
    text = TEXTS[name]
    assert not re.search(r"""["'](/[a-z]|~/|[A-Za-z]:\\)""", text), "no absolute path"
    assert not re.search(r"^\s*(import|from) (torch|jax)", text, re.MULTILINE)
    assert "plt.show" not in text and "input(" not in text
    assert '"__file__" in globals()' in text or "\nfrom course import " in text
    assert "default_rng(" in text and "default_rng()" not in text
    assert not re.search(r"np\.random\.(?!default_rng)", text)
    assert not re.search(r'"(ptb|wikitext-2|tatoeba-|multi30k-|tinyshakespeare)', text)


@pytest.mark.parametrize("name", [name for name in TEXTS if '# %% tags=["plain"]\n' in TEXTS[name]])
def test_reference_implementation_can_be_stepped_through(name):
    lesson = lesson_named(name, LESSONS)
    assert lesson.cells[reference_cell(lesson)].tag == "plain"
    found = reference_of(lesson)
    assert found.forward and found.forward[0].again() is not None
