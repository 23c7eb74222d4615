"""The bank of mistakes, made and compared."""

import json
import shutil

import exercise_bank
import numpy as np

from numpy_attention.exercises import bank, pairs


def test_what_ships_was_made_of_what_is_there(capsys):
    assert exercise_bank.main(["--check"]) == 0
    assert capsys.readouterr().out == ""


def test_what_was_made_of_something_else_is_told(monkeypatch, capsys):
    monkeypatch.setitem(bank.MISTAKES, "dot", bank.MISTAKES["dot"][1:])
    assert exercise_bank.main(["--check"]) == 1
    assert capsys.readouterr().out == "to be made anew: tools/exercise_bank.py --only dot\n"


def test_one_is_made_anew_and_the_others_stay(monkeypatch, tmp_path):
    for module in (bank, pairs):
        name = module.FILE.name
        shutil.copy(module.FILE, tmp_path / name)
        monkeypatch.setattr(module, "FILE", tmp_path / name)
    pairs.kept.cache_clear()
    before = json.loads(bank.FILE.read_text(encoding="utf-8"))
    tables = dict(pairs.kept())
    try:
        assert exercise_bank.main(["--only", "dot"]) == 0
        pairs.kept.cache_clear()
        after = json.loads(bank.FILE.read_text(encoding="utf-8"))
        assert list(after) == list(before)
        assert all(after[name] == before[name] for name in before if name != "dot")
        words = [[one[0] for one in each["dot"]["mistakes"]] for each in (before, after)]
        assert words[0] == words[1]
        for name, table in pairs.kept().items():
            assert (table["first"] == tables[name]["first"]).all()
            assert (table["second"] == tables[name]["second"]).all()
            assert np.allclose(table["number"], tables[name]["number"])
    finally:
        pairs.kept.cache_clear()


def test_an_exercise_that_there_is_not(capsys):
    assert exercise_bank.main(["--only", "dott"]) == 2
    assert "no exercise is named dott" in capsys.readouterr().err
