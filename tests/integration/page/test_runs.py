"""Runs in a page: which examples it has."""

from numpy_attention.data.pairs import Pair
from numpy_attention.page import runs as page


def test_examples_are_spread_over_a_split_and_begin_with_links(capsys):
    class Selection:
        splits = ("train", "valid")

        def __init__(self, text):
            self.text = text

        def load(self, split):
            assert split == "valid"
            if not self.text:
                raise ValueError("gone")
            return [self.text]

    sentences = Selection([["w"] * 20, *([str(n)] * 4 for n in range(10))])
    assert page.examples_of(sentences, None, 4) == [[n] * 4 for n in "0369"]
    assert page.examples_of(sentences, None, 0) == []
    assert page.examples_of(Selection([]), None, 3) == []
    assert capsys.readouterr().err == "numpy-attention: no examples: gone\n"

    def pair(name, links):
        return Pair((name, "b", "c"), ("x", "y", "z"), {(k, k) for k in range(links)})

    few, several, many = pair("few", 2), pair("several", 3), pair("many", 3)
    assert page.examples_of(Selection([few, several, many]), None, 3) == [several, few, many]
