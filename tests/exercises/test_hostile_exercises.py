"""The hostile campaign of exercises: a few attempts, and what it calls a finding."""

import json
import os

import pytest
from hostility import exercises
from hostility.engine import run
from hostility.outcome import REFUSED, RIGHT

from numpy_attention.exercises.catalogue import EXERCISES


def test_a_few_attempts():
    found = run({"exercises": exercises.attempt}, range(12), seed=7, seconds=120)
    assert [one for one in found if one.verdict not in (RIGHT, REFUSED)] == []


@pytest.mark.parametrize("text, work, said", [
    (EXERCISES["softmax"].solution, "", "what is no solution has passed"),
    (EXERCISES["softmax"].start, "softmax.py", "the reader's file is another now"),
    (EXERCISES["softmax"].start, "progress.json", "what was passed is not passed any more"),
])
def test_what_is_a_finding(text, work, said, tmp_path, monkeypatch):
    place = tmp_path / "exercises"
    place.mkdir()
    (place / "softmax.py").write_text(text)
    (place / "progress.json").write_text(json.dumps({"format": 1, "exercises": exercises.KEPT}))
    monkeypatch.chdir(tmp_path)
    outcome = exercises.outcome

    def harming(words, text, folder):
        found = outcome(words, text, folder)
        if work:
            os.remove(place / work)
        return found

    monkeypatch.setattr(exercises, "outcome", harming)
    found = exercises.judged(["exercise", "check", "softmax"], tmp_path, place / "softmax.py",
                             place / "progress.json")
    assert found == ("silence", said)
