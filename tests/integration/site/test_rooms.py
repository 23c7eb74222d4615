"""The map of the package agrees with the imports."""

import ast
import re

import pytest
from site_pages import rooms


def test_every_room_is_on_the_map_and_every_arrow_leads_down():
    uses = rooms.arrows()
    lines = rooms.rows(uses)
    places = {room: number for number, row in enumerate(lines) for room in row}
    assert sorted(places) == sorted(rooms.rooms()) and len(places) > 20
    assert all(places[room] < places[one] for room, below in uses.items() for one in below)


def test_an_arrow_is_an_import():
    uses = rooms.arrows()
    assert "kernels" in uses["cells"] and "cells" not in uses["kernels"]
    assert uses["kernels"] == []
    imports = {path.relative_to(rooms.PACKAGE).parts[0] for path in rooms.PACKAGE.rglob("*.py")
               if "from numpy_attention.decoding" in path.read_text(encoding="utf-8")}
    assert {room for room, below in uses.items() if "decoding" in below} == imports - {"decoding"}


def test_arrows_that_a_longer_way_says_are_left_out():
    assert rooms.needed({"a": ["b", "c"], "b": ["c"], "c": []}) == {"a": ["b"], "b": ["c"], "c": []}
    with pytest.raises(ValueError, match="a → b → a"):
        rooms.levels({"a": ["b"], "b": ["a"]})


def test_picture_and_table_name_every_room():
    picture = rooms.svg(lambda room: f"api/{room}.html")
    table = rooms.table(lambda room: f"api/{room}.html")
    for room in rooms.rooms():
        assert f'href="api/{room}.html"' in picture and f"](api/{room}.html)" in table
    assert len(re.findall('class="arrow', picture)) == sum(map(len, rooms.arrows().values()))


def test_what_a_room_says_of_itself_is_its_own_first_sentence():
    text = (rooms.PACKAGE / "cells" / "__init__.py").read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)).startswith(rooms.first_line("cells"))
