"""A heatmap as a table of HTML: numbers, links, and tokens that stay text."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from numpy_attention.plotting.html import heatmap_table, token_html

UNSAFE = ["<script>alert(1)</script>", "</table>", "\"'", "a\u2028b", "\u202egnol", "\0", "&amp;",
           "<!--", "\ud800", "\x85", "שלום", "e\u0301"]


class Tags(HTMLParser):
    """The tags of a text of HTML, and the text between them."""

    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.text = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)

    def handle_data(self, data):
        self.text.append(data)


def test_every_weight_stands_in_its_cell(rng):
    weights = rng.dirichlet(np.ones(3), 2)
    table = heatmap_table(weights, ["a", "b", "</s>"], ["x", "y"])
    found = re.findall(r"<td [^>]*>([\d.]+)</td>", table)
    assert found == [f"{weight:.2f}" for weight in weights.ravel()]
    assert Tags(table).tags.count("tr") == 3


def test_the_colour_grows_with_the_weight():
    table = heatmap_table(np.array([[0.0, 0.5, 1.0]]), list("abc"), ["x"])
    shares = [float(share) for share in re.findall(r"rgba\(0, 114, 178, ([\d.]+)\)", table)]
    assert shares == [0, 0.375, 0.75]


def test_gold_links_are_framed_by_source_and_target():
    table = heatmap_table(np.full((2, 2), 0.5), ["a", "b"], ["x", "y"], [(1, 0)], [(1, 0), (0, 1)])
    titles = re.findall(r"<td [^>]*?(?:title=\"(\w+) link\")?>0.50", table)
    assert titles == ["", "gold", "possible", ""]


@pytest.mark.parametrize("token", UNSAFE)
def test_a_token_stays_text(token):
    found = Tags(token_html(token))
    assert found.tags == ["bdi"]
    text = "".join(found.text)
    assert len(text) == len(token)
    for there, given in zip(text, token):
        assert there == given or given in "\0\u2028\ud800\x85"
    assert not set("\0\u2028\ud800\x85") & set(text)


def test_a_whole_table_of_unsafe_tokens_has_its_own_tags_alone():
    n = len(UNSAFE)
    table = heatmap_table(np.full((n, n), 1 / n), UNSAFE, UNSAFE, caption="<b>caption</b>")
    tags = Tags(table).tags
    assert set(tags) == {"table", "caption", "tr", "th", "td", "bdi"}
    assert tags.count("bdi") == 2 * n
