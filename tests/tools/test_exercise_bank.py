"""The bank of mistakes, made and compared."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import exercise_bank
import pytest

from numpy_attention.course.exercises import bank, operators, wider
from numpy_attention.course.exercises.catalogue import EXERCISES


def test_what_ships_was_made_of_what_is_there(capsys):
    assert exercise_bank.main(["--check"]) == 0
    assert capsys.readouterr().out == ""


def test_what_was_made_of_something_else_is_told(monkeypatch, capsys):
    monkeypatch.setitem(bank.MISTAKES, "dot", bank.MISTAKES["dot"][1:])
    assert exercise_bank.main(["--check"]) == 1
    assert capsys.readouterr().out == "to be made anew: tools/exercise_bank.py --only dot\n"


def test_other_blanks_are_told():
    dot = EXERCISES["dot"]
    assert bank.digest(replace(dot, blanks=dot.blanks[:-1])) != bank.digest(dot)


@pytest.mark.parametrize("module", [operators, wider])
def test_other_slips_are_told(module, monkeypatch, tmp_path):
    before = bank.digest(EXERCISES["dot"])
    changed = tmp_path / "changed.py"
    changed.write_bytes(Path(module.__file__).read_bytes() + b"# and one more\n")
    monkeypatch.setattr(module, "__file__", str(changed))
    assert bank.digest(EXERCISES["dot"]) != before


def test_one_is_made_anew_and_the_others_stay(monkeypatch, tmp_path):
    monkeypatch.setattr(bank, "FILE", Path(shutil.copy(bank.FILE, tmp_path)))
    before = json.loads(bank.FILE.read_text(encoding="utf-8"))
    begun = {**before, "dot": {**before["dot"], "mistakes": []}}
    bank.FILE.write_text(bank.as_text(begun), encoding="utf-8")
    assert exercise_bank.main(["--only", "dot"]) == 0
    after = json.loads(bank.FILE.read_text(encoding="utf-8"))
    assert list(after) == list(before)
    assert all(after[name] == before[name] for name in before if name != "dot")
    words = [[one[0] for one in each["dot"]["mistakes"]] for each in (before, after)]
    assert words[0] == words[1]


def test_an_exercise_that_there_is_not(capsys):
    assert exercise_bank.main(["--only", "dott"]) == 2
    assert "no exercise is named dott" in capsys.readouterr().err
