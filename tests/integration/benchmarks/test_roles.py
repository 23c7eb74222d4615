"""benchmarks/roles.py: small models trained step by step, and what is measured on the way."""

import numpy as np
import pytest
import roles
from pictures import texts

from numpy_attention.data.running_text import Text
from numpy_attention.experiments.analysis import role_gradients
from numpy_attention.experiments.runs.writer import LanguageModelRun
from numpy_attention.plotting import COLOURS

WORDS = "the dog sees a cat . it the bird sings".split()
TEXT = Text([[[WORDS[k] for k in np.random.default_rng(n).integers(9, size=8)]
              for n in range(300)]])
SMALL = "--size 6 --steps 7 --every 3".split()


class Selection:
    def load(self, *splits):
        assert splits == ("train", "valid")
        return TEXT, TEXT


@pytest.fixture
def corpora(monkeypatch):
    """The corpora that are asked for."""
    asked = []

    def selected(what, kind):
        asked.append((what, kind))
        return Selection()

    monkeypatch.setattr(roles, "selected", selected)
    monkeypatch.setattr(roles, "STREAMS", 3)
    return asked


def test_figure_and_figures(corpora, tmp_path, capsys, monkeypatch):
    figures = []
    drawn = roles.drawn
    monkeypatch.setattr(roles, "drawn", lambda found: figures.append(drawn(found)) or figures[-1])
    roles.main([str(tmp_path / "roles.png"), *SMALL, "--corpus", "ptb"])
    out = capsys.readouterr().out
    assert corpora == [({"name": "ptb"}, "text")]
    assert (tmp_path / "roles.png").stat().st_size > 10_000
    for name in roles.MODELS:
        assert f"{name}: norm of query after 6 steps " in out
    assert "\nkey-value: cosine of value · predict after 6 steps " in out
    assert "key-value-predict: cosine of value" not in out
    above, below = np.array(figures[0].axes).reshape(2, 3)
    assert [ax.get_title() for ax in above] == list(roles.MODELS)
    assert texts(above[1].get_legend().get_texts()) == ["query · key", "value · predict"]
    assert len(above[0].lines) == 6 + 1 and len(below[0].lines) == 4
    assert list(above[2].lines[0].get_xdata()) == [0, 3, 6]
    # a pair has one colour in all columns
    assert above[0].lines[5].get_color() == above[1].lines[1].get_color() == COLOURS[5]
    assert below[0].get_yscale() == "log" and below[0].get_xlabel() == "training steps"


def test_a_seed_makes_the_same_figures(corpora, tmp_path, capsys):
    told = []
    for seed in (0, 0, 1):
        roles.main([str(tmp_path / "a.png"), *SMALL, "--models", "single", "--seed", str(seed)])
        told.append(capsys.readouterr().out)
    assert told[0] == told[1] != told[2]
    assert "of query" not in told[0]


def test_it_trains_as_a_run_does(corpora, tmp_path, monkeypatch):
    """So many steps of the loop are so many of `fit`, whose epochs are as long."""
    options = type("Options", (), dict(size=6, steps=0, every=100, seed=3))
    looked = []
    monkeypatch.setattr(roles.Measured, "look",
                        lambda self, step: looked.append((step, self.model.vector.copy())))
    how = []
    create = LanguageModelRun.create
    monkeypatch.setattr(LanguageModelRun, "create", lambda *given: how.append(given) or create(*given))
    roles.trained("attention", TEXT, TEXT, options)
    writer = create(*how[0])
    trainer = writer.trainer(TEXT, threads=1, progress=False)
    options.steps = options.every = 2 * len(trainer.train)
    roles.trained("attention", TEXT, TEXT, options)
    assert [step for step, _ in looked] == [0, 0, options.steps]
    trainer.fit(2)
    np.testing.assert_array_equal(looked[-1][1], writer.model.vector)


def test_what_is_measured_is_the_model_as_it_is(corpora):
    options = type("Options", (), dict(size=6, steps=1, every=1, seed=3))
    found = roles.trained("key-value", TEXT, TEXT, options)
    last = role_gradients(found.model, found.batches, np.random.default_rng(0))
    assert found.norms["key"][1] == last.norms["key"] != found.norms["key"][0]
    assert found.cosines["query · key"][1] == last.cosines["query", "key"]


@pytest.mark.parametrize("words, message", [
    ("--models ngram", "--models ngram: expected some of single, combined"),
    ("--models attention,", "--models : expected"), ("--steps 0", "expected at least 1 each")])
def test_refused(words, message, capsys):
    with pytest.raises(SystemExit):
        roles.main(["a.png", *words.split()])
    assert message in capsys.readouterr().err
