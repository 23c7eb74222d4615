"""Decoding beside PyTorch at a tiny size, and what is said of translations that differ."""

import json

import decoding
import pytest
from decoding import compare_words, difference_of, log_probabilities

from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.decoding.hypothesis import Hypothesis
from numpy_attention.experiments.runs.translator import Translator

TINY = {"embedding": 6, "hidden": 8}


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.setattr(decoding, "CORPUS", {"name": "reverse", "count": 700})
    for name, settings in decoding.SETTINGS.items():
        monkeypatch.setitem(decoding.SETTINGS, name, settings | TINY)


@pytest.fixture
def translator():
    return Translator.create(load_parallel("reverse", "train", count=40), "luong",
                             decoding.SETTINGS["luong"])


def test_both_sides_translate_alike(capsys, tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install -e '.[parity]'")
    file = tmp_path / "lines.jsonl"
    decoding.main(["--models", "rnnsearch", "--sentences", "30", "--steps", "10", "--rounds", "2",
                   "--threads", "1", "--beams", "1,2", "--json", str(file)])
    _, *out = capsys.readouterr().out.splitlines()
    assert "30 sentences, 1 threads" in out[0]
    assert out[1].startswith("rnnsearch, greedy: ours ") and " words: 30 equal" in out[1]
    assert out[2].startswith("rnnsearch, beam 2: ours ")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(line["beam"], line["equal"] + line["ties"]) for line in lines] == [(1, 30), (2, 30)]
    for line in lines:
        assert line["ratio_low"] <= line["ratio"] <= line["ratio_high"]
        assert line["products_of_ours"] > 0 and line["products_of_theirs"] > 0


def test_log_probabilities_are_those_of_the_search(translator):
    pair, = load_parallel("reverse", "test", count=1)
    found, = translator.translate([pair.source], beam=1)
    words = found.target + [translator.target_vocabulary.decode([9])[0]]
    one, other = (log_probabilities(translator, pair.source, some)
                  for some in (found.target, words))
    assert one[:-1] == pytest.approx(other[:len(one) - 1])
    if found.finished:
        assert sum(one) == pytest.approx(found.log_probability, rel=1e-5)
    # greedy: at the first word that differs; a beam: of the whole, by length
    first = len(found.target)
    assert difference_of(translator, pair.source, found.target, words, 1) == pytest.approx(
        abs(one[first] - other[first]))
    scores = [Hypothesis([0] * len(some), sum(some), None).score(1.0) for some in (one, other)]
    assert difference_of(translator, pair.source, found.target, words, 5) == pytest.approx(
        abs(scores[0] - scores[1]))


def test_translations_are_equal_tied_or_parted(monkeypatch, tmp_path):
    differences = {"tie": 0.0005, "part": 0.01}
    monkeypatch.setattr(decoding, "difference_of",
                        lambda translator, sentence, *rest: differences[sentence[0]])
    files = {"sentences": [["same"], ["tie"], ["part"]], "ours-5": [["a"], ["b", "c"], ["d"]],
             "theirs-5": [["a"], ["x"], ["y"]]}
    for name, content in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    counts, length = compare_words(None, tmp_path, 5)
    assert counts == {"equal": 1, "ties": 1, "parted": 1}
    assert length == 4 / 3


def test_unknown_models_are_refused(capsys):
    with pytest.raises(SystemExit):
        decoding.main(["--models", "luong,transformer"])
    assert "unknown model 'transformer': expected rnnsearch, luong" in capsys.readouterr().err
