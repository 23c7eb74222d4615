"""Heatmaps as HTML tables: weights, links, and escaped tokens."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from numpy_attention.plotting.html import heatmap_table, token_html

UNSAFE = ["<script>alert(1)</script>", "</table>", "\"'", "a\u2028b", "\u202egnol", "\0", "&amp;",
           "<!--", "\ud800", "\x85", "שלום", "e\u0301"]


class Tags(HTMLParser):
    """Collect the tags and the text of an HTML string."""

    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.text = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)

    def handle_data(self, data):
        self.text.append(data)


def test_cells_contain_the_weights(rng):
    weights = rng.dirichlet(np.ones(3), 2)
    table = heatmap_table(weights, ["a", "b", "</s>"], ["x", "y"])
    found = re.findall(r"<td [^>]*>([\d.]+)</td>", table)
    assert found == [f"{weight:.2f}" for weight in weights.ravel()]
    assert Tags(table).tags.count("tr") == 3


def test_colour_opacity_grows_with_the_weight():
    table = heatmap_table(np.array([[0.0, 0.5, 1.0]]), list("abc"), ["x"])
    shares = [float(share) for share in re.findall(r"rgba\(0, 114, 178, ([\d.]+)\)", table)]
    assert shares == [0, 0.375, 0.75]


def test_gold_and_possible_links_are_marked():
    table = heatmap_table(np.full((2, 2), 0.5), ["a", "b"], ["x", "y"], [(1, 0)], [(1, 0), (0, 1)])
    titles = re.findall(r"<td [^>]*?(?:title=\"(\w+) link\")?>0.50", table)
    assert titles == ["", "gold", "possible", ""]


@pytest.mark.parametrize("token", UNSAFE)
def test_tokens_are_escaped(token):
    found = Tags(token_html(token))
    assert found.tags == ["bdi"]
    text = "".join(found.text)
    assert len(text) == len(token)
    for shown, given in zip(text, token):
        assert shown == given or given in "\0\u2028\ud800\x85"
    assert not set("\0\u2028\ud800\x85") & set(text)


def test_unsafe_tokens_add_no_tags_to_the_table():
    n = len(UNSAFE)
    table = heatmap_table(np.full((n, n), 1 / n), UNSAFE, UNSAFE, caption="<b>caption</b>")
    tags = Tags(table).tags
    assert set(tags) == {"table", "caption", "tr", "th", "td", "bdi"}
    assert tags.count("bdi") == 2 * n
