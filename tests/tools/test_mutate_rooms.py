"""The campaign over the rooms beside the gradients: what it catches, reports and remembers."""

import json
import subprocess
import sys

import mutate_rooms
import pytest
from outcomes import Outcomes
from patient import CAUGHT, SLOW, SURVIVED, verdict

SHARES = "training/shares.py"


class AllTests:
    """Stands for Noticing: the tests of one file, without a measurement."""

    seconds = {"tests/training/test_shares.py": 1.0}

    def tests(self, mutant):
        return list(self.seconds), []


class NoTests(AllTests):
    def tests(self, mutant):
        return [], []


@pytest.fixture(autouse=True)
def no_warm_up(monkeypatch):
    monkeypatch.setattr(mutate_rooms, "FIRST", ())


@pytest.fixture
def some():
    """Two mutants that the tests of shares must see."""
    made = mutate_rooms.all_mutants([SHARES])
    return [mutant for mutant in made if mutant.what.startswith("return: ")][:2]


def test_mutants_of_a_file_are_caught_by_its_tests(some, tmp_path):
    log = tmp_path / "outcomes.jsonl"
    assert mutate_rooms.run(some, Outcomes(log), AllTests()) == []
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [line["survives"] for line in lines] == [False, False]


@pytest.fixture
def noticing(some, monkeypatch):
    """A Noticing of one mutant: a quick test that lets it pass, and a slow one that does not."""
    quick, slow = "tests/training/test_lock.py", f"./{next(iter(AllTests.seconds))}"
    measured = {"seconds": {quick: 1.0, slow: 9.0},
                "lines": {some[0].file: {str(some[0].line): [quick, slow]}}}
    monkeypatch.setattr(mutate_rooms.Noticing, "_measured", staticmethod(lambda: measured))
    found = mutate_rooms.Noticing(None)
    assert found.tests(some[0]) == ([quick], [slow])
    return found


def test_no_mutant_is_called_a_survivor_that_a_slow_test_of_another_file_notices(some, noticing):
    assert mutate_rooms.run(some[:1], Outcomes(), noticing) == []


def test_of_one_that_does_no_harm_the_slow_tests_are_not_asked(some, noticing, monkeypatch):
    outcomes = Outcomes()
    with monkeypatch.context() as explained:
        explained.setattr(mutate_rooms, "HARMLESS", {"never read": [some[0].key]})
        assert mutate_rooms.run(some[:1], outcomes, noticing) == some[:1]
    assert mutate_rooms.run(some[:1], outcomes, noticing) == []     # no longer explained: all are


def test_what_is_known_is_not_tried_again(some, tmp_path):
    log = tmp_path / "outcomes.jsonl"
    assert mutate_rooms.run(some, Outcomes(log), NoTests()) == some     # none runs: none notices
    written = log.read_text(encoding="utf-8")
    assert mutate_rooms.run(some, Outcomes(log), AllTests()) == some
    assert log.read_text(encoding="utf-8") == written


def test_a_worker_that_fails_ends_the_campaign(some, monkeypatch):
    """It would be waited for without end otherwise."""
    def copy_of_checkout(folder):
        raise OSError("no space left")

    monkeypatch.setattr(mutate_rooms, "copy_of_checkout", copy_of_checkout)
    with pytest.raises(OSError, match="no space left"):
        mutate_rooms.run(some, Outcomes(), AllTests(), workers=2)


def test_a_process_that_dies_ends_the_campaign(some, monkeypatch):
    monkeypatch.setattr(mutate_rooms.sys, "executable", "true")
    with pytest.raises((RuntimeError, BrokenPipeError)):
        mutate_rooms.run(some, Outcomes(), AllTests())


def test_another_function_of_the_same_words_is_tried_anew(some, tmp_path):
    outcomes = Outcomes(tmp_path / "outcomes.jsonl")
    for mutant in some:
        outcomes.add(mutant.key, "code of another day", False)
    assert mutate_rooms.run(some, outcomes, NoTests()) == some


def test_the_report_by_room(some, monkeypatch, capsys):
    monkeypatch.setattr(mutate_rooms, "HARMLESS", {"never read": [some[0].key]})
    assert mutate_rooms.report(some, some) == 1
    out = capsys.readouterr().out
    assert f"SURVIVED    {some[1]}" in out and f"SURVIVED    {some[0]}" not in out
    assert "| training | 2 | 0 | 1 | 1 |" in out
    assert mutate_rooms.report(some, some[:1]) == 0
    assert mutate_rooms.report(some, [], mutate_rooms.stale([])) == 1
    assert f"STALE       {some[0].key}" in capsys.readouterr().out


def test_a_star_stands_for_anything():
    key = "numpy_attention/data/datasets/grammar.py : constant: 'le' → 'le_'"
    assert mutate_rooms.matches(key, "numpy_attention/data/datasets/grammar.py : constant: *")
    assert not mutate_rooms.matches(key, "numpy_attention/data/*.py forward: *")
    assert mutate_rooms.matches("a.py f: constant: x[0] → x[1]", "a.py f: constant: x[0] *")


def test_an_unknown_room_is_refused(capsys):
    with pytest.raises(SystemExit):
        mutate_rooms.main(["--only", "kitchen"])
    assert "no file or room kitchen" in capsys.readouterr().err


def test_a_verdict_puts_the_file_back(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = tmp_path / "subject.py"
    code.write_text("def one():\n    return 1\n", encoding="utf-8")
    test = tmp_path / "test_subject.py"
    test.write_text("import sys\nsys.path.insert(0, '.')\n\n\ndef test_one():\n"
                    "    from subject import one\n    assert one() == 1\n", encoding="utf-8")
    before = code.read_bytes()
    wrong = "def one():\n    return 2\n"
    endless = "def one():\n    while True:\n        pass\n"
    same = "def one():\n    return 0 + 1\n"
    assert verdict(code, wrong, [str(test)], 60) == CAUGHT
    assert verdict(code, same, [str(test)], 60) == SURVIVED
    assert verdict(code, endless, [str(test)], 3) == SLOW
    assert code.read_bytes() == before


def test_after_the_warm_up_nothing_but_the_kernels_is_left():
    """A module that stayed would be tried unchanged, whatever its file holds."""
    script = """
import sys, patient
patient.warm_up(["tests/training/test_shares.py"])
files = [getattr(module, "__file__", None) or "" for module in sys.modules.values()]
print(sorted(file for file in files if "numpy_attention/" in file or "tests/" in file))
"""
    root = mutate_rooms.ROOT
    done = subprocess.run([sys.executable, "-c", script], cwd=root, text=True, capture_output=True,
                          env={**mutate_rooms.environment(root),
                               "PYTHONPATH": f"{root}:{root / 'tools'}"})
    left = done.stdout.splitlines()[-1]
    assert "kernels/updates.py" in left, done.stdout + done.stderr
    assert not any(name in left for name in ("attention/training/", "trees.py", "test_shares.py"))
