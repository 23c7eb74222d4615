"""Sphinx settings: docstrings, fields, source links and internal links."""

import importlib.util
import json
import sys

import numpy as np
import pytest
from site_pages import sources

from numpy_attention.attention import additive
from numpy_attention.attention.additive import AdditiveAttention
from numpy_attention.attention.local import LocalPredictive, PredictiveCache

pytest.importorskip("sphinx", reason="the site needs the extra site")


@pytest.fixture(scope="module")
def settings():
    before = list(sys.path)
    spec = importlib.util.spec_from_file_location("site_settings",
                                                  sources.ROOT / "docs" / "site" / "conf.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = before


def test_fields_are_listed_below_a_docstring_with_shapes(settings):
    lines = ["Additive attention (…"]        # what Sphinx has made of the docstring
    settings.readable(None, "class", "", AdditiveAttention, None, lines)
    text = "\n".join(lines)
    assert "    W_a: Array  (Q, A)" in text and text.index('"formulas"') < text.index("W_a: ")
    assert "    gauss: Array         (B, S)" in settings.fields_of(PredictiveCache)
    assert "    width: int = 10" in settings.fields_of(LocalPredictive)
    assert settings.fields_of(int) == []


def test_fields_are_not_described_twice(settings):
    def skipped(thing, what="class"):
        return settings.without_fields(None, what, "name", thing, False, None)

    assert skipped(10) and skipped(np.float32)
    assert skipped(AdditiveAttention.score) is None and skipped(property()) is None
    assert skipped(10, "module") is None


def test_source_links_lead_to_the_first_line_of_a_definition(settings):
    lines = sources.PACKAGE.joinpath("attention", "additive.py").read_text("utf-8").splitlines()
    for name, line in (("AdditiveAttention.score", "    def score(self, query, memory):"),
                       ("AdditiveAttention", "@dataclass(eq=False)")):
        link = settings.linkcode_resolve("py", {"module": additive.__name__, "fullname": name})
        page, _, anchor = link.partition("#L-")
        assert page == "site:source/numpy_attention/attention/additive.py.html"
        assert lines[int(anchor) - 1] == line
    for name in ("AdditiveAttention.W_a", "np"):
        assert settings.linkcode_resolve("py", {"module": additive.__name__,
                                                "fullname": name}) is None


@pytest.mark.parametrize("page, address", [
    ("index", "source/a.html"), ("docs/own", "../source/a.html"),
    ("mechanisms/attention/dot", "../../source/a.html")])
def test_internal_links_are_relative_to_the_page(page, address, settings):
    from docutils import nodes
    from docutils.utils import new_document
    document = new_document("test")
    document += nodes.reference("", "it", refuri="site:source/a.html")
    document += nodes.reference("", "it", refuri="https://example.org/")
    settings.within_the_site(None, document, page)
    assert [link["refuri"] for link in document.findall(nodes.reference)] == [
        address, "https://example.org/"]


def test_pins_match_the_extra(settings):
    import configparser
    from importlib import metadata
    parser = configparser.ConfigParser()
    parser.read(sources.ROOT / "setup.cfg", encoding="utf-8")
    required = parser["options.extras_require"]["site"].split("\n")
    pinned = dict(one.split("==") for one in required if "==" in one)
    assert set(pinned) == {"sphinx", "myst-nb", "furo"}
    assert json.dumps({name: metadata.version(name) for name in pinned}) == json.dumps(pinned)
