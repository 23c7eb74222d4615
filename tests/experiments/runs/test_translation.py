"""One translated sentence: unknown words replaced, and its display in a notebook."""

import re

import numpy as np

from numpy_attention.experiments.runs.translation import Translation, in_source_order, in_words

WEIGHTS = np.array([[0.9, 0.1, 0.0], [0.2, 0.7, 0.1], [0.0, 0.0, 1.0]], np.float32)


def test_html_has_words_and_weights():
    html = Translation(["a", "b"], ["x", "y"], -1.25, WEIGHTS)._repr_html_()
    assert "(log p -1.250)" in html
    assert re.findall(r"<th scope=\"col\"><bdi>(.*?)</bdi>", html) == ["a", "b", "&lt;/s&gt;"]
    assert re.findall(r"<th scope=\"row\".*?<bdi>(.*?)</bdi>", html) == ["x", "y", "&lt;/s&gt;"]
    assert re.findall(r">([\d.]+)</td>", html) == [f"{w:.2f}" for w in WEIGHTS.ravel()]


def test_html_escapes_words():
    token = "<img src=x onerror=alert(1)>"
    html = Translation([token, "b"], [token, "y"], -1.0, WEIGHTS)._repr_html_()
    assert "<img" not in html and html.count("&lt;img") == 3


def test_html_inherits_the_colours_of_the_page():
    html = Translation(["a", "b"], ["x", "y"], -1.0, WEIGHTS)._repr_html_()
    # the only colour is a translucent blue, which works on light and dark pages
    assert not re.search(r"[;\"]color:", html)
    assert set(re.findall(r"background:(\w+)", html)) == {"rgba"}


def test_reversed_source():
    assert in_source_order(np.array([[0.1, 0.2, 0.3, 0.4]])).tolist() == [[0.3, 0.2, 0.1, 0.4]]
    assert in_source_order(np.array([[1.0]])).tolist() == [[1.0]]


def test_sums_over_source_pieces_and_means_over_target_pieces():
    weights = np.array([[0.1, 0.2, 0.3, 0.4],           # first piece of the first word
                        [0.5, 0.1, 0.3, 0.1],           # its second piece
                        [0.0, 0.0, 0.0, 1.0]])          # </s>
    found = in_words(weights, columns=[0, 0, 1, 2], rows=[0, 0, 1])
    np.testing.assert_allclose(found, [[0.45, 0.3, 0.25], [0, 0, 1]], rtol=1e-15)
    assert in_words(weights.astype(np.float32), [0, 0, 1, 2], [0, 0, 1]).dtype == np.float32


def test_unfinished_translation():
    found = in_words(np.array([[0.25, 0.75], [0.75, 0.25]]), columns=[0, 1], rows=[0, 0])
    np.testing.assert_allclose(found, [[0.5, 0.5]])
