"""A user-defined recipe is one entry of a TOML file; it is listed, run, recorded and compared."""

import pytest

from numpy_attention.cli import compare
from numpy_attention.cli.main import main, parse
from numpy_attention.experiments.recipes import RECIPES, load_recipes, results

TABLES = """
[tiny]
base = "clauses-dot"
description = "dot attention, copying"
details = ""
corpus = { name = "copy", count = 60, max_length = 3 }
settings = { hidden = 8, embedding = 6 }
training = { epochs = 1, batch_size = 16, min_count = 1 }
metrics = ["valid perplexity", "test bleu"]
baselines = { "test bleu" = [30.5, "a textbook"] }

[tiny-general]
base = "tiny"
description = "general attention, copying"
settings = { attention = "general" }
"""


@pytest.fixture
def added(tmp_path, monkeypatch):
    path = tmp_path / "mine.toml"
    path.write_text(TABLES)
    known = load_recipes(path)
    for name, recipe in known.items():
        monkeypatch.setitem(RECIPES, name, recipe)
    monkeypatch.chdir(tmp_path)
    return known


def test_it_is_listed_run_and_recorded(added, capsys, tmp_path):
    assert main(["reproduce", "--list"]) == 0
    assert "tiny  dot attention, copying\n" in capsys.readouterr().out
    assert main(["reproduce", "tiny", "--threads", "1"]) == 0
    assert "30.5 (a textbook)" in capsys.readouterr().out
    lines = results.read(tmp_path / "results")
    assert [(line["split"], line["metric"]) for line in lines] == [
        ("valid", "perplexity"), ("test", "bleu")]
    assert {line["settings"] for line in lines} == {added["tiny"].digest()}
    table = results.tables(lines, RECIPES)
    assert table.splitlines()[2].startswith("| tiny | ") and table.endswith(
        "- tiny: bleu, test, 30.5 (a textbook)")


def test_it_is_compared(added):
    _, options = parse(["compare", "tiny*"])
    assert compare.chosen(options) == list(added.values())
