"""Recorded figures: format of a line, appending lines, and the tables in README."""

import json
import os
import re
from types import SimpleNamespace

import claims
import numpy as np
import pytest
from results_table import main as tool

from numpy_attention.experiments.recipes import results

LINE = {"recipe": "r", "settings": "0a", "seed": 0, "metric": "bleu", "split": "test",
        "value": 20.0, "parameters": 1234567, "minutes": 3.0, "threads": 2}


def line(**changes):
    return LINE | changes


@pytest.mark.parametrize("changes, message", [
    ({"note": "x"}, "a result has wrong fields: missing 'low', 'high'; unknown 'note'"),
    ({"seed": True}, "'seed' of a result is True"), ({"settings": 3}, "result is 3"),
    ({"value": None}, "value"), ({"value": float("nan")}, "finite"),
    ({"seed": 10**400}, "result is 1000.*…, of type int; expected an integer of at"),
    ({"low": 2.0, "high": 1.0}, "low ≤ high"), ({"low": 1.0}, "fields"),
])
def test_malformed_lines_raise(changes, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        results.append(tmp_path / "r.jsonl", [LINE, line(**changes)])
    assert not (tmp_path / "r.jsonl").exists()


def test_appended_once_in_one_write(tmp_path, monkeypatch):
    path = tmp_path / "results" / "r.jsonl"
    writes = []
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: writes.append(data) or write(file, data))
    assert results.append(path, [line(), line(seed=1)]) == [line(), line(seed=1)]
    # existing lines are not repeated
    assert results.append(path, [line(seed=1), line(seed=2)]) == [line(seed=2)]
    assert results.append(path, [line()]) == []
    assert len(writes) == 2 and path.read_bytes() == b"".join(writes)
    assert results.read(path.parent) == [line(), line(seed=1), line(seed=2)]
    for text in path.read_text().splitlines():
        assert list(json.loads(text)) == [name for name in results.FIELDS if name in LINE]


def test_file_is_closed_and_has_umask_permissions(tmp_path, monkeypatch):
    files = []
    open_file = os.open
    monkeypatch.setattr(os, "open", lambda *how: files.append(open_file(*how)) or files[-1])
    before = os.umask(0)
    try:
        results.append(tmp_path / "r.jsonl", [line()])
    finally:
        os.umask(before)
    assert (tmp_path / "r.jsonl").stat().st_mode & 0o777 == 0o666
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(files[-1])


def test_figures_of_other_settings_are_rejected(tmp_path):
    path = tmp_path / "r.jsonl"
    message = "r.jsonl: the settings of recipe 'r' have changed; remove this recipe's lines"
    with pytest.raises(ValueError, match=message):
        results.append(path, [line(), line(seed=1, settings="0b")])
    assert not path.exists()
    results.append(path, [line()])
    with pytest.raises(ValueError, match=message):
        results.append(path, [line(seed=1, settings="0b")])
    assert results.existing_figures(path, [line(recipe="s", settings="0b")]) == [line()]
    assert results.read_file(path) == [line()]


def test_figure_with_interval(tmp_path):
    whole = line(high=22.0, low=18.5)
    results.append(tmp_path / "r.jsonl", [whole, line(seed=1)])
    text = (tmp_path / "r.jsonl").read_text().splitlines()
    assert list(json.loads(text[0])) == list(results.FIELDS)
    assert results.read_file(tmp_path / "r.jsonl") == [whole, line(seed=1)]


def test_tables_show_intervals_in_brackets():
    lines = [line(low=18.0, high=21.0), line(seed=1, value=22.0, low=20.0, high=23.0),
             line(recipe="s", low=19.0, high=20.5), line(recipe="t"), line(seed=2, value=21.0)]
    rows = results.tables(lines).splitlines()
    assert rows[2].startswith("| r | 21.00 ± 1.00 [19.00, 22.00] | 3 |")
    assert rows[3].startswith("| s | 20.00 [19.00, 20.50] | 1 |")
    assert rows[4].startswith("| t | 20.00 | 1 |")


def test_full_disk_leaves_no_partial_line(tmp_path, monkeypatch):
    path = tmp_path / "r.jsonl"
    write = os.write
    results.append(path, [line()])
    before = path.read_bytes()
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:25]))
    with pytest.raises(OSError, match="only 25 of"):
        results.append(path, [line(seed=1)])
    assert path.read_bytes() == before


@pytest.mark.parametrize("text, message", [
    (json.dumps(LINE) + "\n{}\n", "line 2: a result has wrong fields: missing '?recipe"),
    ("{\"recipe\": \"r\n", "line 1"),
    ("[" * 100_000, "line 1: .*; correct or remove"),
])
def test_damaged_file_raises(text, message, tmp_path):
    (tmp_path / "r.jsonl").write_text(text)
    with pytest.raises(ValueError, match=f"r.jsonl, {message}"):
        results.read(tmp_path)
    with pytest.raises(ValueError, match=f"r.jsonl, {message}"):
        results.append(tmp_path / "r.jsonl", [line()])
    assert (tmp_path / "r.jsonl").read_text() == text


def test_file_without_final_newline_is_not_changed(tmp_path):
    (tmp_path / "r.jsonl").write_text(json.dumps(LINE))
    with pytest.raises(ValueError, match="newline"):
        results.append(tmp_path / "r.jsonl", [line(seed=1)])
    assert (tmp_path / "r.jsonl").read_text() == json.dumps(LINE)


def test_recipes_with_the_same_figures_share_a_table():
    again = dict(seed=1, minutes=5.0, threads=1)
    text = results.tables([
        line(),
        line(metric="aer", value=0.25),
        line(value=22.0, **again),
        line(metric="aer", value=0.125),                # the same seed again: the last line counts
        line(metric="aer", value=0.25, **again),
        line(recipe="other", metric="bleu_greedy", split="valid", value=19.0),
        line(recipe="s"),
        line(recipe="s", metric="aer", value=0.5),
    ])
    first, second = text.split("\n\n")
    assert first.splitlines() == [
        "| recipe | bleu, test | aer, test | seeds | parameters | minutes | threads |",
        "|---|---:|---:|---:|---:|---:|---:|",
        "| r | 21.00 ± 1.41 | 0.188 ± 0.088 | 2 | 1,234,567 | 4.0 | 1, 2 |",
        "| s | 20.00 | 0.500 | 1 | 1,234,567 | 3.0 | 2 |"]
    head = "| recipe | bleu greedy, valid | seeds | parameters | minutes | threads |"
    assert second.splitlines()[0] == head
    assert second.splitlines()[2:] == ["| other | 19.00 | 1 | 1,234,567 | 3.0 | 2 |"]


@pytest.mark.parametrize("values, mean", [
    ((0.25, 1.0), "0.625 ± 0.530"), ((0.5, 3.0), "1.75 ± 1.77"), ((-0.5, -3.0), "-1.75 ± 1.77"),
    ((1.5,), "1.50")])
def test_fractions_have_an_extra_digit(values, mean):
    text = results.tables([line(seed=seed, value=value) for seed, value in enumerate(values)])
    assert text.splitlines()[2].split(" | ")[1] == mean


def test_rows_are_in_recipe_order_with_baselines_below():
    someone = {
        ("test", "bleu"): (28.5, "Someone 2015"),
        ("valid", "bleu_greedy"): (27, "Someone 2015"),
    }
    recipes = {
        "s": SimpleNamespace(baselines=someone),
        "absent": SimpleNamespace(baselines={("test", "bleu"): (1.0, "no run")}),
        "r": SimpleNamespace(baselines={}),
    }
    rows = results.tables([line(recipe=name) for name in "xrs"], recipes).splitlines()
    assert [row[:4] for row in rows[2:5]] == ["| s ", "| r ", "| x "]
    baseline = "- s: bleu, test, 28.5; bleu greedy, valid, 27 (Someone 2015)"
    assert rows[5:] == ["", "Baselines:", "", baseline]


def test_tool_writes_and_checks(tmp_path, capsys):
    readme = tmp_path / "README.md"
    folder = tmp_path / "results"
    there = ["--page", str(readme), "--results", str(folder)]
    assert tool(there) == 2 and "README.md is missing" in capsys.readouterr().err
    readme.write_text("# Title\n\nno markers\n")
    assert tool(there) == 2 and readme.read_text() == "# Title\n\nno markers\n"
    readme.write_text("# Title\n\n<!-- results -->\nold\n<!-- /results -->\nend\n")
    results.append(folder / "r.jsonl", [line()])
    assert tool(["--check", *there]) == 1 and "old" in readme.read_text()
    assert tool(there) == tool(["--check", *there]) == 0
    text = readme.read_text()
    assert text.startswith("# Title\n\n<!-- results -->\n| recipe |")
    assert text.endswith("|\n<!-- /results -->\nend\n")
    (folder / "r.jsonl").write_text("{}\n")
    assert tool(there) == 2 and readme.read_text() == text
    assert "r.jsonl, line 1" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["<!-- results -->", "<!-- /results --><!-- results -->",
                                  "<!-- results --><!-- results --><!-- /results -->"])
def test_markers_must_occur_once_and_in_order(text):
    with pytest.raises(ValueError, match="each once"):
        results.put_tables(text, "table")


def test_results_page_is_up_to_date():
    assert tool(["--check"]) == 0


# ---- claims --------------------------------------------------------------------------------------

def test_claims_table_is_up_to_date_and_links_to_sections():
    assert claims.main(["--check"]) == 0
    folder = claims.ROOT / "results"
    headings = {claims.slug(row[4:]) for row in (folder / "claims.md").read_text().splitlines()
                if row.startswith("### ")}
    links = re.findall(r"claims\.md#([^)]+)", (folder / "README.md").read_text())
    assert len(links) > 20 and set(links) <= headings


def test_verdict_needs_three_seeds_that_agree():
    claim = {"claim": "c", "verdict": "confirmed", "compare": ["a", "b"], "metric": "bleu"}
    figures = {("a", "bleu"): {0: 10.0, 1: 11.0, 2: 12.0},
               ("b", "bleu"): {0: 12.0, 1: 13.1, 2: 14.0}}
    found = claims.difference(claim, figures)
    assert found.seeds == 3 and found.mean == pytest.approx(2.1 - 0.2 / 3, abs=1e-9)
    claims.check_verdict(claim, found)
    with pytest.raises(ValueError, match="refuted"):
        claims.check_verdict(claim | {"verdict": "refuted"}, found)
    del figures["b", "bleu"][2]
    with pytest.raises(ValueError, match="2 seeds"):
        claims.check_verdict(claim, claims.difference(claim, figures))
    perplexities = {("a", "perplexity"): {0: 100.0}, ("b", "perplexity"): {0: 50.0}}
    halved = claims.difference(claim | {"metric": "perplexity"}, perplexities)
    assert halved.mean == pytest.approx(np.log(2)) and halved.low is None
