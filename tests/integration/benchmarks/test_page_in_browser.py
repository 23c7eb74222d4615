"""benchmarks/page_in_browser.py: what it says of a page, of tabs that answer as they are told."""

import numpy as np
import page_in_browser
import pytest
from page_models import WORDS, sentences_of, translator_of, writer_of

from numpy_attention.data.pairs import Pair


class Tab:
    """Answers with what it was given."""

    def __init__(self, answers):
        self.answers = iter(answers)

    def evaluate(self, script, argument):
        return next(self.answers)


def test_translations_that_differ_are_counted(rng):
    translator = translator_of("luong", {"layers": 1}, rng)
    sources = sentences_of(rng, 4)
    own = [one.target for one in translator.translate(sources, 1)]
    pairs = [Pair(tuple(source), tuple(target or ["w1"])) for source, target in zip(sources, own)]
    tab = Tab([[own, 100.0], [[["?"]] * 4, 200.0]])
    greedy, beam = page_in_browser.translator_s(translator, pairs, tab)
    assert greedy.startswith("greedy: 4 of 4 as Python, BLEU") and "25.0 ms" in greedy
    assert beam.startswith("beam 5: 0 of 4 as Python") and "50.0 ms" in beam
    alone, _ = page_in_browser.translator_s(translator, pairs, None)
    assert alone.split()[-1] == greedy.split("BLEU ")[1].split(",")[0]


def test_the_largest_difference_of_log_p_is_told(rng):
    writer = writer_of("language-model", {"layers": 1}, rng)
    sentences = [WORDS[:2], WORDS[:1]]
    line, = page_in_browser.writer_s(writer, sentences, None)
    perplexity = float(line.split()[-1])
    logs = [[-1.0, -2.0], [-3.0]]
    line, = page_in_browser.writer_s(writer, sentences, Tab([[logs, 6.0]]))
    assert f"perplexity {np.exp(2):.2f}, 2.00 ms a word" in line and perplexity > 1


def test_the_time_of_a_keystroke_is_a_median():
    line = page_in_browser.keystrokes(Tab([[1.0, 2.0, 3.0, 4.0, 90.0]]), ["a b c"])
    assert line == "3 ms a keystroke, nine of ten within 56 ms (5 letters)"


def test_a_browser_that_is_not_there_is_told(monkeypatch):
    pytest.importorskip("playwright.sync_api", reason="needs playwright, of the extra test")
    monkeypatch.setattr(page_in_browser.shutil, "which", lambda name: None)
    with pytest.raises(SystemExit, match="chromium is not installed"):
        with page_in_browser.tabs():
            pass
