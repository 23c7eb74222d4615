"""The map of the package agrees with the imports."""

import ast
import re

import pytest
from site_pages import subpackages


def test_map_has_every_subpackage_and_arrows_point_down():
    uses = subpackages.arrows()
    places = {part: number for number, row in enumerate(subpackages.rows(uses)) for part in row}
    assert sorted(places) == sorted(subpackages.subpackages()) and len(places) > 20
    assert all(places[part] < places[one] for part, below in uses.items() for one in below)


def test_arrows_are_imports():
    uses = subpackages.arrows()
    assert "kernels" in uses["cells"] and uses["kernels"] == []
    root = subpackages.PACKAGE
    imports = {path.relative_to(root).parts[0] for path in root.rglob("*.py")
               if "from numpy_attention.decoding" in path.read_text(encoding="utf-8")}
    assert {part for part, below in uses.items() if "decoding" in below} == imports - {"decoding"}


def test_arrows_implied_by_longer_paths_are_omitted():
    uses = {"a": ["b", "c"], "b": ["c"], "c": []}
    assert subpackages.needed(uses) == {"a": ["b"], "b": ["c"], "c": []}
    with pytest.raises(ValueError, match="a → b → a"):
        subpackages.levels({"a": ["b"], "b": ["a"]})


def test_picture_and_table_list_every_subpackage():
    picture = subpackages.svg(lambda part: f"api/{part}.html")
    table = subpackages.table(lambda part: f"api/{part}.html")
    for part in subpackages.subpackages():
        assert f'href="api/{part}.html"' in picture and f"](api/{part}.html)" in table
    assert len(re.findall('class="arrow', picture)) == sum(map(len, subpackages.arrows().values()))


def test_description_of_a_subpackage_is_its_first_sentence():
    text = (subpackages.PACKAGE / "cells" / "__init__.py").read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)).startswith(subpackages.first_line("cells"))
