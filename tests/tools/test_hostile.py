"""The hostile campaign tells what an attempt ended in: right, refused, or each kind of finding."""

import json
import os
import signal
import time

import hostile
import numpy as np
import pytest
from hostility import accepted, engine
from hostility.outcome import REFUSED, RIGHT, UNTRIED, Attempt, Outcome, judged

from numpy_attention.shapes import at_least, flat


def right():
    return Outcome(RIGHT, "as expected")


def crashes():
    os.kill(os.getpid(), signal.SIGKILL)


def leaves():
    os._exit(7)


def hangs():
    time.sleep(60)


def accepts():
    return Outcome("silence", "a float was taken for an integer")


def foreign():
    flat([1, 2])


def refused():
    at_least(1, hidden=0)


def many_lines():
    raise ValueError("one\ntwo")


RUNS = [right, crashes, leaves, hangs, accepts, foreign, refused, many_lines]
VERDICTS = [RIGHT, "crash", "crash", "hang", "silence", "traceback", REFUSED, "traceback"]


def forced(run):
    return lambda rng, folder: Attempt(f"{run.__name__} {rng.integers(1000)}", run)


@pytest.mark.parametrize("run, verdict", list(zip(RUNS, VERDICTS)))
def test_what_an_attempt_ends_in(run, verdict):
    result, after = engine.run({"calls": forced(run)}, range(2), 0, seconds=1)
    assert result.verdict == after.verdict == verdict          # another worker goes on
    assert result.what.split()[0] == run.__name__


def test_the_text_says_what_happened():
    def text(run):
        return engine.run({"calls": forced(run)}, [0], 0, seconds=1)[0].text
    assert "SIGKILL" in text(crashes)
    assert "status 7" in text(leaves)
    assert "AttributeError" in text(foreign) and "shapes.py" in text(foreign)
    assert text(refused) == "ValueError: hidden = 0: expected a whole number of at least 1"
    assert "not one clear line" in text(many_lines)


def test_attempts_are_those_of_seed_kind_and_number():
    def whats(numbers, seed=0, kind="calls", workers=1):
        results = engine.run({kind: forced(right)}, numbers, seed, workers)
        return [result.what for result in results]
    four = whats(range(4))
    assert len(set(four)) == 4
    assert whats([2]) == four[2:3] and whats(range(4), workers=2) == four
    assert whats(range(4), seed=1) != four and whats(range(4), kind="uses") != four


def test_each_attempt_has_an_empty_folder():
    def littering(rng, folder):
        assert folder.is_dir() and not list(folder.iterdir())
        (folder / "left").touch()
        return Attempt("littering", right)
    assert len(engine.run({"calls": littering}, range(3), 0)) == 3


def test_an_attempt_that_cannot_be_made_is_no_finding():
    def bad(rng, folder):
        raise KeyError("no such call")
    with pytest.raises(RuntimeError, match="attempt 3 of calls could not be made(.|\n)*no such"):
        engine.run({"calls": bad}, [3], 0)


def test_making_an_attempt_may_take_longer():
    def slowly(rng, folder):
        time.sleep(0.4)
        return Attempt("slowly", right)
    (result,) = engine.run({"calls": slowly}, [0], 0, seconds=0.2)
    assert result.verdict == RIGHT


def test_memory_is_limited():
    def greedy():
        np.ones(2 * engine.ROOM, np.uint8)
    (result,) = engine.run({"calls": forced(greedy)}, [0], 0)
    assert result.verdict == REFUSED and "MemoryError" in result.text


def test_what_is_kept_is_not_tried_again(tmp_path, monkeypatch):
    path = tmp_path / "results.jsonl"
    engine.run({"calls": forced(right)}, range(3), 0, log=engine.Log(path, 0))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["i"] for line in lines] == [0, 1, 2]
    again = engine.run({"calls": forced(accepts)}, range(4), 0, log=engine.Log(path, 0))
    assert [result.verdict for result in again] == [RIGHT] * 3 + ["silence"]
    assert not engine.Log(path, 1).results                      # another seed
    monkeypatch.setattr(engine, "digest", lambda: "other code")
    assert not engine.Log(path, 0).results


def test_judged():
    for call, verdict in ((refused, REFUSED), (foreign, "traceback"), (many_lines, "traceback")):
        with pytest.raises(Exception) as caught:
            call()
        assert judged(caught.value).verdict == verdict
    assert judged(MemoryError("Unable to allocate 7 TiB")).verdict == REFUSED
    assert judged(MemoryError()).verdict == "traceback"


def test_what_was_not_tried_is_told_and_not_counted(capsys):
    def untried():
        return Outcome(UNTRIED, "no disk")
    assert hostile.main(["--number", "2"], {"calls": forced(right), "uses": forced(untried)}) == 0
    told, _, calls = capsys.readouterr().out.splitlines()
    assert told.split() == "NOT TRIED 2 uses: no disk".split()
    assert calls.split()[:3] == ["calls", "2", "2"]


def test_the_report(capsys, monkeypatch):
    assert hostile.main(["--number", "2"], {"calls": forced(right), "uses": forced(refused)}) == 0
    head, calls, uses = capsys.readouterr().out.splitlines()
    assert head.split() == ["kind", "tried", "right", "refused", "explained", "crash", "hang",
                            "traceback", "silence", "code"]
    assert calls.split()[:4] == ["calls", "2", "2", "0"]
    assert uses.split()[:4] == ["uses", "2", "0", "2"]
    assert hostile.main(["calls", "--only", "5"], {"calls": forced(accepts)}) == 1
    out = capsys.readouterr().out
    assert out.startswith("SILENCE         5 calls: accepts ")
    assert "a float was taken for an integer" in out
    monkeypatch.setitem(accepted.ACCEPTED, "calls: accepts .* a float was", "it is a whole number")
    assert hostile.main(["calls", "--only", "5"], {"calls": forced(accepts)}) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[4] == "1"


def test_an_unknown_kind(capsys):
    with pytest.raises(SystemExit):
        hostile.main(["bites"], {"calls": forced(right)})
    assert "bites is no kind of attack: expected calls" in capsys.readouterr().err
