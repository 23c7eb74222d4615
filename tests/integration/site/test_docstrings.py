"""Plain docstrings as reStructuredText: layout is kept, and nothing is interpreted as markup."""

import ast

import pytest
from site_pages.docstrings import as_rst, cleaned
from site_pages.sources import PACKAGE

pytest.importorskip("docutils", reason="the site needs the extra site")

from docutils.core import publish_doctree  # noqa: E402
from docutils.nodes import list_item, literal, literal_block  # noqa: E402

TEXT = """Additive attention; `W_a` is a matrix.

    read    the keys
      step  score, sum

    write   the rest

Stars *a*b*, bars |x|, names_ and \\ stay; `score` does not.

- one point
  goes on
- another

size, rows: D and
    B
rng: a generator
"""


def test_indented_blocks_are_literal_and_prose_has_no_markup():
    tree = publish_doctree("\n".join(as_rst(TEXT.splitlines())),
                           settings_overrides={"report_level": 1, "halt_level": 1})
    block, = tree.findall(literal_block)
    assert block.astext() == "read    the keys\n  step  score, sum\n\nwrite   the rest"
    assert [one.astext() for one in tree.findall(literal)] == ["W_a", "score"]
    items = [one.astext() for one in tree.findall(list_item)]
    assert items[1:] == ["another", "size, rows: D and\nB", "rng: a generator"]
    text = tree.astext()
    for kept in ("Stars *a*b*, bars |x|, names_ and \\ stay", "one point\ngoes on", "another"):
        assert kept in text


def test_block_may_follow_a_paragraph_directly_or_end_the_text():
    tree = publish_doctree("\n".join(as_rst(["It is", "    x = 1", "", "    y = 2", ""])),
                           settings_overrides={"report_level": 1, "halt_level": 1})
    block, = tree.findall(literal_block)
    assert block.astext() == "x = 1\n\ny = 2"


def test_block_without_paragraph_stays_a_block():
    assert cleaned("One.\n\n        a = b\n    ") == "One.\n\n    a = b"
    assert cleaned("One.\n\n    Two,\n\n        a = b\n    ") == "One.\n\nTwo,\n\n    a = b"
    assert cleaned("One.") == "One." and cleaned("") == ""


def test_every_docstring_of_the_package_is_valid():
    """Text outside of literal blocks produces no system message."""
    seen = 0
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                continue
            doc = ast.get_docstring(node)
            if doc and ("\n" in doc or "*" in doc or "`" in doc):
                seen += 1
                publish_doctree("\n".join(as_rst(doc.splitlines())), settings_overrides={
                    "report_level": 1, "halt_level": 1, "source_path": str(path)})
    assert seen > 300
