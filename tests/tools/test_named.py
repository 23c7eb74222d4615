"""Whether what the gradient check says of a mutant names its line."""

import ast
from argparse import Namespace

import exchange
import mutate
import named
import numpy as np
import pytest
from exchange import PACKAGE
from mistakes import naming
from mistakes.lessons import LESSONS
from mistakes.planting import run
from mutants import Function, Mutant

from numpy_attention.gradcheck.cases import CHECKS
from numpy_attention.gradcheck import GradientError, gradcheck
from numpy_attention.gradcheck.report.finding import Finding
from numpy_attention.gradcheck.report.kinds import Kind
from numpy_attention.gradcheck.passes import Broken
from numpy_attention.gradcheck.report.report import Report
from numpy_attention.gradcheck.locate import rewriting, watching
from numpy_attention.gradcheck.locate.rewriting import Place

LINEAR = PACKAGE / "layers" / "linear.py"
every = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.file)


def mutant_of(what):
    return next(one for one in mutate.made_of([LINEAR]) if one.what == what)


@pytest.fixture
def one_check(monkeypatch):
    monkeypatch.setattr(named, "CHECKS", {"Linear": CHECKS["Linear"]})


def said_of(mutant, folder):
    (job,) = named.package_jobs([mutant], folder)
    return named.of_package(*job)


def test_a_negated_statement_is_named(one_check, tmp_path):
    mutant = mutant_of("negate: grads.b += drows.sum(0)")
    verdict, kind, place = said_of(mutant, tmp_path)
    assert (verdict, kind) == ("right", "sign")
    assert place.startswith("linear_0.py:") and place.endswith(" grads.b -= drows.sum(0)")
    number = int(place.split(":")[1].split()[0])
    lines = (tmp_path / "linear_0.py").read_text().splitlines()
    assert lines[number - 1].strip() == "grads.b -= drows.sum(0)"
    CHECKS["Linear"](np.random.default_rng(0))          # everything is in its place again


def test_of_a_deleted_statement_the_line_of_the_forward_is_named(one_check, tmp_path):
    verdict, kind, place = said_of(mutant_of("delete: grads.W += flat(x).T @ drows"), tmp_path)
    assert verdict in ("right", "forward") and kind and place


def test_a_mutant_that_no_check_reaches_passes(monkeypatch, tmp_path):
    monkeypatch.setattr(named, "CHECKS", {"Embedding": CHECKS["Embedding"]})
    assert said_of(mutant_of("negate: grads.b += drows.sum(0)"), tmp_path) == ["passes", "", ""]


# ---- what is a right answer ----------------------------------------------------------------------

RIGHT = "a = 1\nb = 2\nc = 3\nd = 4\n"


def place_in(path, line):
    return Place("f", str(path), line, "assign", "c", "c = 3")


def wrong_report(**more):
    report = Report("f", **more)
    report.add("W", np.ones(2), np.zeros(2))
    return report


def judged(tmp_path, line, what="negate: b = 2", text="a = 1\nb = -2\nc = 3\nd = 4\n", **more):
    """The verdict on a report whose first finding is a line of the mutated file, or of another."""
    path = tmp_path / "mutated.py"
    path.write_text(text)
    place = place_in(more.pop("file", path), line)
    report = wrong_report(findings=[Finding(place, "c")], **{"kinds": [[]], **more})
    mutant = Mutant(None, 2, what, None)
    return naming.judged(GradientError(report), path, RIGHT, mutant)


def test_the_changed_line_is_right_and_every_other_wrong(tmp_path):
    assert [judged(tmp_path, line)[0] for line in (1, 2, 3, 4)] == [
        "wrong", "right", "wrong", "wrong"]
    assert judged(tmp_path, 2)[2] == "mutated.py:2 b = -2"


def test_the_same_number_in_another_file_is_wrong(tmp_path):
    other = tmp_path / "other.py"
    assert judged(tmp_path, 2, file=other) == ["wrong", "", "other.py:2"]


@pytest.mark.parametrize("text, right", [
    ("a = 1\nc = 3\nd = 4\n", (1, 2)), ("a = 1\npass\nc = 3\nd = 4\n", (1, 2, 3))],
    ids=["gap", "pass"])
def test_beside_what_was_deleted_is_right(text, right, tmp_path):
    verdicts = {line: judged(tmp_path, line, "delete: b = 2", text)[0] for line in (1, 2, 3)}
    assert verdicts == {line: "right" if line in right else "wrong" for line in (1, 2, 3)}


def test_of_a_deleted_statement_a_line_of_the_forward_is_an_answer(tmp_path):
    kind = Kind("missing term", "nothing comes back", line=9)
    assert judged(tmp_path, 4, "delete: b = 2", kinds=[[kind]])[0] == "forward"
    assert judged(tmp_path, 4, "negate: b = 2", kinds=[[kind]])[0] == "wrong"
    assert judged(tmp_path, 2, "delete: b = 2", kinds=[[kind]])[0] == "right"
    other = Kind("derivative", "no tanh′", line=9)
    assert judged(tmp_path, 4, "delete: b = 2", kinds=[[other]])[0] == "wrong"
    nowhere = Kind("missing term", "all 0")
    assert judged(tmp_path, 4, "delete: b = 2", kinds=[[nowhere]])[0] == "wrong"


def test_a_law_is_said_before_a_finding(tmp_path):
    law = Broken("assigned", "twice is not twice", place_in(tmp_path / "mutated.py", 2))
    assert judged(tmp_path, 4, laws=[law])[:2] == ["right", "assigned"]


def test_where_a_backward_stops_its_line_is_said(tmp_path):
    path = tmp_path / "mutated.py"
    path.write_text("a = 1\nb = -2\nc = 3\nd = 4\n")
    mutant = Mutant(None, 2, "negate: b = 2", None)
    for line, verdict in ((2, "right"), (3, "wrong")):
        stops = f"f: backward stops in line {line} of mutated.py, f, with NameError: b"
        error = GradientError(Report("f", stops=stops))
        assert naming.judged(error, path, RIGHT, mutant)[:2] == [verdict, "stops"]


def test_an_error_without_a_line_names_none(tmp_path):
    assert naming.judged(GradientError(wrong_report()), tmp_path, "", None) == ["none", "", ""]
    assert naming.judged(TypeError("no"), tmp_path, "", None) == ["none", "TypeError", ""]
    assert naming.judged(mutate.OutOfTime(), tmp_path, "", None) == ["none", "OutOfTime", ""]
    assert naming.judged(None, tmp_path, "", None) == ["passes", "", ""]


def test_pass_stays_only_where_nothing_else_stands():
    text = "def f():\n    if a:\n        pass\n    else:\n        b\n        pass\n    pass\n"
    node = ast.parse(text).body[0]
    expected = "def f():\n    if a:\n        pass\n    else:\n        b"
    assert ast.unparse(naming.as_written(node)) == expected
    assert ast.unparse(node) == text.strip()


# ---- lessons -------------------------------------------------------------------------------------


@every
def test_the_plain_form_of_a_lesson_passes_its_cases(lesson, tmp_path):
    cases = list(run(lesson.source, f"right_{lesson.file}", tmp_path).cases(
        np.random.default_rng(0)))
    assert cases
    for target, inputs, forward, backward in cases:
        gradcheck(target, *inputs, rng=np.random.default_rng(1), forward=forward,
                  backward=backward)


def test_mutants_of_a_lesson_are_counted(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(named, "LESSONS", [one for one in LESSONS if one.file.startswith("01")])
    arguments = ["--lessons", "--list", "--sample", "6", "--resume", str(tmp_path / "said.jsonl")]
    named.main(arguments)
    out = capsys.readouterr().out
    lines = out.splitlines()
    title, first, total, share, kinds = lines[-5:]
    assert title.split() == ["mutants", "caught", *naming.VERDICTS]
    assert first.split()[0] == "01_gradients_by_hand" and total.split()[0] == "all"
    numbers = [int(number) for number in total.split()[1:]]
    assert first.split()[1:] == total.split()[1:]
    assert numbers[:2] == [6, 6] and sum(numbers[2:]) == 6
    assert share.startswith(f"named: {numbers[2] + numbers[3]} of the {numbers[1]} ")
    assert numbers[2] > numbers[4] + numbers[5] and kinds.startswith("wrong by kind: ")
    monkeypatch.setattr(named, "of_lesson", None)       # nothing is tried again
    named.main(arguments)
    assert capsys.readouterr().out == out


def test_a_larger_sample_of_a_seed_holds_the_smaller():
    def sample(size, seed):
        return named.drawn(list("abcdefghij"), Namespace(sample=size, seed=seed))
    assert sample(5, 1) == sample(9, 1)[:5] != sample(5, 2)
    assert sorted(sample(None, 1)) == sorted(sample(99, 1)) == list("abcdefghij")


def test_what_stands_in_for_numpy_s_empty_is_not_followed():
    before = rewriting.is_somebodys
    with exchange.plain_python():
        for module in (rewriting, watching):
            assert not module.is_somebodys(np.empty.__code__)
            assert module.is_somebodys(named.drawn.__code__)
            assert not module.is_somebodys(ast.parse.__code__)
    assert rewriting.is_somebodys is watching.is_somebodys is before


def test_the_table_counts_files_verdicts_and_the_kinds_of_what_is_wrong():
    def mutant(file):
        return Mutant(Function(None, file, "f", None), 1, "delete: a", None)
    said = [("b.py", "right", "sign"), ("a.py", "wrong", "sign"), ("a.py", "wrong", ""),
            ("a.py", "passes", ""), ("a.py", "wrong", "sign"), ("b.py", "forward", "factor"),
            ("b.py", "none", "")]
    rows = list(named.table([(mutant(file), [*more, ""]) for file, *more in said]))
    assert [row.split() for row in rows[1:4]] == [
        ["a.py", "4", "3", "0", "0", "3", "0"], ["b.py", "3", "3", "1", "1", "0", "1"],
        ["all", "7", "6", "1", "1", "3", "1"]]
    assert rows[4:] == ["named: 2 of the 6 that are caught, 33.3 %",
                        "wrong by kind: sign 2, no kind 1"]
