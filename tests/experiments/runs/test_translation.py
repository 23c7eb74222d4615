"""One translated sentence: unknown words replaced, and how a notebook shows it."""

import re

import numpy as np

from numpy_attention.experiments.runs.translation import Translation

WEIGHTS = np.array([[0.9, 0.1, 0.0], [0.2, 0.7, 0.1], [0.0, 0.0, 1.0]], np.float32)


def test_an_unknown_word_becomes_the_source_word_looked_at():
    one = Translation(["a", "Anna"], ["x", "<unk>"], -1.0, WEIGHTS)
    assert one.unknown_replaced() == ["x", "Anna"]


def test_a_notebook_shows_words_and_weights():
    html = Translation(["a", "b"], ["x", "y"], -1.25, WEIGHTS)._repr_html_()
    assert "(log p -1.250)" in html
    assert re.findall(r"<th scope=\"col\"><bdi>(.*?)</bdi>", html) == ["a", "b", "&lt;/s&gt;"]
    assert re.findall(r"<th scope=\"row\".*?<bdi>(.*?)</bdi>", html) == ["x", "y", "&lt;/s&gt;"]
    assert re.findall(r">([\d.]+)</td>", html) == [f"{w:.2f}" for w in WEIGHTS.ravel()]


def test_a_translation_cut_off_has_no_row_for_its_end():
    html = Translation(["a", "b"], ["x", "y"], -1.0, WEIGHTS[:2], finished=False)._repr_html_()
    assert html.count("<tr>") == 3


def test_words_of_a_notebook_are_no_markup():
    token = "<img src=x onerror=alert(1)>"
    html = Translation([token, "b"], [token, "y"], -1.0, WEIGHTS)._repr_html_()
    assert "<img" not in html and html.count("&lt;img") == 3


def test_a_notebook_s_table_takes_the_page_s_own_colours():
    html = Translation(["a", "b"], ["x", "y"], -1.0, WEIGHTS)._repr_html_()
    # no colour of letters or ground but a blue that lets the ground through: light and dark
    assert not re.search(r"[;\"]color:", html)
    assert set(re.findall(r"background:(\w+)", html)) == {"rgba"}
