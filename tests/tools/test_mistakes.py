"""The planted mistakes: right files are right, and every mistake is one."""

import inspect
import re
import subprocess
import sys
import traceback
from collections import Counter
from pathlib import Path

import laws
import numpy as np
import pytest
from mistakes import exam, planting
from mistakes.fourth import FOURTH
from mistakes.fresh import FRESH
from mistakes.kept_out import KEPT_OUT
from mistakes.known import KNOWN
from mistakes.planting import FILES, KINDS, Mistake, plant, right

from numpy_attention.gradcheck.cases.case import Case
from numpy_attention.gradcheck import gradcheck

MISTAKES = KNOWN + KEPT_OUT + FRESH + FOURTH
FRESH_FILES = {"coverage", "transformer", "local", "bidirectional", "model"}
FOURTH_FILES = {"stack", "feeding", "heads", "deep_output", "columns", "pointer"}
EXAM = Path(exam.__file__)

# {file: (number of an input, places in it, outputs that do not depend on these places)}
PADDING = {
    "additive": (1, np.s_[1, 3:], np.s_[:]),
    "gru": (0, np.s_[2:, 1], np.s_[:]),
    "rnn": (0, np.s_[3:, 1], np.s_[:]),
    "dot": (1, np.s_[0, 4:], np.s_[:]),
    "scaled_dot": (0, np.s_[1, 3:], np.s_[:, :3]),
    "decoder": (0, np.s_[1, 2:], np.s_[:]),
    "coverage": (1, np.s_[1, 3:], np.s_[:]),
    "transformer": (0, np.s_[1, 3:], np.s_[:, :3]),
    "local": (1, np.s_[1, 4:], np.s_[:]),
    "bidirectional": (0, np.s_[3:, 1], np.s_[:]),
    "model": (3, np.s_[2:, 1], np.s_[...]),
    "feeding": (2, np.s_[0, 3:], np.s_[:]),
    "heads": (1, np.s_[1, 2:], np.s_[:]),
    "deep_output": (3, np.s_[3:, 1], np.s_[...]),
    "columns": (0, np.s_[1, 2:], np.s_[:]),
}
LATER = {
    "gru": (0, np.s_[2:], np.s_[:2]),
    "lstm": (0, np.s_[2:], np.s_[:2]),
    "rnn": (0, np.s_[2:], np.s_[:2]),
    "dot": (0, np.s_[2:], np.s_[:2]),
    "scaled_dot": (0, np.s_[:, 2:], np.s_[:, :2]),
    "key_value": (0, np.s_[2:], np.s_[:2]),
    "decoder": (1, np.s_[2:], np.s_[:2]),
    "coverage": (0, np.s_[2:], np.s_[:2]),
    "transformer": (0, np.s_[:, 2:], np.s_[:, :2]),
    "local": (0, np.s_[:, 2:], np.s_[:, :2]),
    "bidirectional": (0, np.s_[2:], np.s_[:2, :, :4]),
    "stack": (0, np.s_[2:], np.s_[:2]),
    "feeding": (0, np.s_[:, 2:], np.s_[:, :2]),
    "columns": (0, np.s_[:, 2:], np.s_[:, :2]),
}


def case_of(module, seed=0):
    target, inputs, forward, backward = module.case(np.random.default_rng(seed))
    return Case(target, inputs, forward, backward)


def first_output(module, change=None):
    """The first output of a module's case, an input changed at a place where there is one."""
    case = case_of(module)
    if change:
        number, where = change
        case.inputs[number][where] += 1
    return case.forward(*case.inputs)[0]


def empty_of_nan(monkeypatch):
    """What np.empty gives is chance: here it is NaN."""
    monkeypatch.setattr(np, "empty", lambda shape, dtype=float: np.full(shape, np.nan, dtype))
    monkeypatch.setattr(np, "empty_like", lambda array: np.full_like(array, np.nan))


def seen(module):
    """Whatever shows from outside: {name: array}, of two backward passes after one forward."""
    try:
        with np.errstate(all="ignore"):
            return dict(laws.leaves(_seen(module)))
    except Exception as error:                  # a mistake may be that shapes do not fit
        return {"error": np.array(repr(error))}


def _seen(module):
    case = case_of(module)
    outputs, upstream, cache, grads, dinputs = laws.run(case)
    after = {"outputs": outputs, "upstream": upstream, "cache": cache, "inputs": case.inputs}
    found = {"once": [grads.copy(), dinputs], "after": after}
    found = {name: array.copy() for name, array in laws.leaves(found)}
    return found | {"twice": [case.backward(*upstream, cache, grads), grads]}


def same(one, other):
    return one.keys() == other.keys() and all(
        one[name].shape == other[name].shape
        and (np.array_equal(one[name], other[name]) if one[name].dtype.kind not in "f"
             else np.allclose(one[name], other[name], rtol=1e-6, atol=1e-9, equal_nan=True))
        for name in one)


# ---- the right files -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("file", FILES)
def test_a_right_file_passes_its_gradient_check(file, seed):
    case = case_of(right(file), seed)
    gradcheck(case.target, *case.inputs, rng=np.random.default_rng(seed + 2),
              forward=case.forward, backward=case.backward)


@pytest.mark.parametrize("file", FILES)
def test_a_right_file_keeps_the_laws(file):
    laws.backward_twice_doubles(case_of(right(file)))
    laws.arguments_unchanged(case_of(right(file)))


@pytest.mark.parametrize("places", [PADDING, LATER], ids=["padding", "later"])
def test_a_right_file_reads_neither_padding_nor_what_comes_later(places):
    for file, (number, where, stays) in places.items():
        module = right(file)
        before, changed = first_output(module), first_output(module, (number, where))
        np.testing.assert_allclose(before[stays], changed[stays], rtol=1e-12, err_msg=file)


def test_a_right_file_leaves_nothing_unwritten(monkeypatch):
    empty_of_nan(monkeypatch)
    for file in FILES:
        for name, array in seen(right(file)).items():
            assert array.dtype.kind != "f" or np.isfinite(array).all(), f"{file}: {name}"


# ---- the mistakes --------------------------------------------------------------------------------


def test_every_mistake_has_a_name_of_its_own_a_file_and_known_kinds():
    assert len({mistake.name for mistake in MISTAKES}) == len(MISTAKES)
    for mistake in MISTAKES:
        assert mistake.file in FILES, mistake.name
        assert mistake.kinds and set(mistake.kinds) <= set(KINDS), mistake.name


def test_both_halves_are_of_every_file_that_is_not_fresh_and_no_kind_is_without_a_mistake():
    for half in (KNOWN, KEPT_OUT):
        assert {mistake.file for mistake in half} == set(FILES) - FRESH_FILES - FOURTH_FILES
    assert {kind for mistake in MISTAKES for kind in mistake.kinds} == set(KINDS)


def test_the_fresh_mistakes_are_of_files_that_neither_half_has_many_of_each():
    number = Counter(mistake.file for mistake in FRESH)
    assert set(number) == FRESH_FILES <= set(FILES)
    assert min(number.values()) >= 14


def test_the_fourth_mistakes_are_of_files_of_their_own_and_of_old_ones():
    number = Counter(mistake.file for mistake in FOURTH)
    assert FOURTH_FILES < set(number) <= set(FILES)
    assert min(number[file] for file in FOURTH_FILES) >= 16


def test_no_two_mistakes_are_the_same():
    assert len({mistake.source for mistake in MISTAKES}) == len(MISTAKES)


def test_every_mistake_stands_once_in_its_file_and_has_right_lines():
    for mistake in MISTAKES:
        length = len(mistake.source.splitlines())
        assert mistake.lines() and mistake.lines() <= set(range(1, length + 1)), mistake.name


def test_every_mistake_shows_in_outputs_gradients_errors_or_changed_arguments(monkeypatch):
    empty_of_nan(monkeypatch)
    wanted = {file: seen(right(file)) for file in FILES}
    for file in FILES:
        assert same(wanted[file], seen(right(file))) and "error" not in wanted[file]
    hidden = [mistake.name for mistake in MISTAKES
              if same(wanted[mistake.file], seen(plant(mistake)))]
    assert not hidden


# ---- planting ------------------------------------------------------------------------------------


SIGN = Mistake("gru: sign", "dz = dnew * (h - n)", "dz = dnew * (n - h)", ("sign",))
LOST = Mistake("gru: lost", "            dh_prev += da_r @ U_r.T\n", "", ("missing term",),
               missing_of="r = sigmoid(a[:, :H] + h @ U_r)")


def line_of(mistake, text):
    return next(n for n, line in enumerate(mistake.source.splitlines(), 1) if text in line)


def test_the_changed_lines_are_the_right_ones():
    assert SIGN.lines() == {line_of(SIGN, "dz = dnew")}


def test_further_lines_are_right_where_the_table_says_so():
    also = Mistake(SIGN.name, SIGN.old, SIGN.new, SIGN.kinds, ("dn = dnew", "da_z = "))
    assert also.lines() == {line_of(SIGN, text) for text in ("dz = dnew", "dn = dnew", "da_z = ")}


def test_of_a_deleted_line_the_forward_line_that_lost_its_gradient_is_right_and_those_beside():
    gap = line_of(LOST, "dh_prev += da_z @ U_z.T")
    assert LOST.lines() == {line_of(LOST, "r = sigmoid(a[:, :H]"), gap - 1, gap}


def test_lines_behind_a_longer_change_are_counted_in_the_changed_file():
    longer = Mistake("gru: longer", "            h = hs[t]\n", "            h = hs[t]\n\n",
                     ("sign",), ("dz = dnew",))
    assert longer.lines() == {line_of(longer, "h = hs[t]") + 1, line_of(SIGN, "dz = dnew") + 1}


@pytest.mark.parametrize("old, count", [("no such text", 0), ("H = len(self.U)", 2)])
def test_a_text_that_does_not_stand_there_once_is_refused(old, count):
    mistake = Mistake("gru: nowhere", old, "", ("sign",))
    message = f"gru: nowhere: '{re.escape(old)}' occurs {count} times in gru.py: quote more of its"
    with pytest.raises(ValueError, match=message):
        mistake.source


def test_a_line_that_does_not_stand_there_once_is_refused():
    mistake = Mistake(SIGN.name, SIGN.old, SIGN.new, SIGN.kinds, ("H = len(self.U)",))
    message = "gru: sign: .* stands in 2 lines of the changed gru.py, expected one"
    with pytest.raises(ValueError, match=message):
        mistake.lines()


def test_a_planted_module_has_a_file_whose_lines_show(tmp_path):
    wrong = Mistake("gru: stops", "b_n += ds.sum(0)", "b_n += ds", ("batch sum",))
    module = plant(wrong, tmp_path)
    assert Path(module.__file__).parent == tmp_path
    assert "grads.b_n += ds\n" in inspect.getsource(module.PlainGRU)
    case = case_of(module)
    with pytest.raises(ValueError) as caught:
        laws.run(case)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, {last.lineno}) == (module.__file__, wrong.lines())
    assert last.line == "grads.b_n += ds"


def test_without_a_folder_modules_stand_in_a_temporary_one_that_goes_with_the_process():
    code = "from mistakes.planting import right; print(right('gru').__file__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          timeout=120, env={"PYTHONPATH": f"{EXAM.parents[1]}:{EXAM.parents[2]}"})
    path = Path(done.stdout.strip())
    assert path.name == "right_gru.py" and not path.parent.exists()
    assert Path(right("gru").__file__).parent == Path(plant(SIGN).__file__).parent
    assert planting.RIGHT not in Path(right("gru").__file__).parents


# ---- what the check says -------------------------------------------------------------------------


def test_a_mistake_is_caught_with_its_line_and_its_kind():
    answer = exam.judge(SIGN)
    assert answer.caught and answer.message.startswith("PlainGRU: wrong gradient for")
    assert (answer.line_of(SIGN), answer.kind_of(SIGN), answer.kind) == ("right", "right", "sign")
    assert answer.seconds > 0


def test_a_law_that_is_broken_is_what_is_said_first():
    masked = next(m for m in KNOWN if m.name == "additive: mask forgotten in the softmax")
    answer = exam.judge(masked)
    assert "weight of a word that the mask hides" in answer.message
    assert answer.kind == "mask forward" and answer.line_of(masked) == "right"


@pytest.mark.parametrize("name, kind", [
    ("stack: states written into the first ones", "argument changed"),
    ("feeding: keys' gradient begun with np.empty", "unwritten"),
    ("heads: upstream of the weights added to", "argument changed"),
    ("deep_output: target added", "sign"),
])
def test_of_the_fourth_set_some_are_caught_with_line_and_kind(name, kind):
    mistake = next(one for one in FOURTH if one.name == name)
    answer = exam.judge(mistake)
    assert answer.caught and answer.kind == kind
    assert answer.line_of(mistake) == "right" and answer.kind_of(mistake) == "right"


def test_a_forward_that_stops_is_caught():
    stops = next(m for m in KNOWN if m.name == "scaled_dot: np.dot in three dimensions")
    answer = exam.judge(stops)
    assert answer.caught and "forward stops in line" in answer.message and len(answer.lines) == 1


def test_what_changes_nothing_passes():
    harmless = Mistake("gru: none", "dz = dnew * (h - n)", "dz = (h - n) * dnew", ("sign",))
    answer = exam.judge(harmless)
    assert not answer.caught
    assert (answer.line_of(harmless), answer.kind_of(harmless)) == ("none", "none")


def test_a_line_and_a_kind_may_be_wrong():
    answer = exam.Answer(True, (1, 2), "axis")
    assert (answer.line_of(SIGN), answer.kind_of(SIGN)) == ("wrong", "wrong")
    assert exam.Answer(True, (1, *SIGN.lines())).line_of(SIGN) == "right"


def test_another_line_may_be_proven_or_only_be_where_a_value_is_wrong_first():
    for verdict in ("another", "beside"):
        assert exam.Answer(True, (1,), "sign", of_others=verdict).line_of(SIGN) == verdict
        lines = tuple(SIGN.lines())
        assert exam.Answer(True, lines, "sign", of_others=verdict).line_of(SIGN) == "right"
        assert exam.Answer(True, of_others=verdict).line_of(SIGN) == "none"


def test_a_table_of_counts():
    judged = [(SIGN, exam.Answer(True, tuple(SIGN.lines()), "sign")), (SIGN, exam.Answer(False)),
              (LOST, exam.Answer(True, (1,), "axis"))]
    lines = list(exam.counts("half", ["a", "b", "a"], judged))
    assert [text.split() for text in lines] == [
        ["half", "number", "caught", "line", "doubted", "another", "beside", "wrong", "none",
         "kind"],
        ["a", "2", "2", "1", "0", "0", "0", "1", "0", "1"],
        ["b", "1", "0", "0", "0", "0", "0", "0", "1", "0"]]


def test_the_script_prints_the_chosen_files(monkeypatch, capsys):
    new = Mistake("gru: new", SIGN.old, "dz = dnew * h", ("missing term",))
    last = Mistake("gru: last", SIGN.old, "dz = dnew", ("missing term",))
    answers = {SIGN: exam.Answer(True, tuple(SIGN.lines()), "sign", seconds=1.0),
               LOST: exam.Answer(False, seconds=3.0), new: exam.Answer(True, seconds=4.0),
               last: exam.Answer(True, seconds=5.0)}
    other = Mistake("lstm: other", "", "", ("axis",))
    monkeypatch.setattr(exam, "KNOWN", (SIGN, other))
    monkeypatch.setattr(exam, "KEPT_OUT", (LOST,))
    monkeypatch.setattr(exam, "FRESH", (new,))
    monkeypatch.setattr(exam, "FOURTH", (last,))
    monkeypatch.setattr(exam, "judge", answers.__getitem__)
    exam.main(["gru"])
    out = capsys.readouterr().out
    assert out.splitlines()[0].split() == "gru: sign sign caught right right sign".split()
    assert out.splitlines()[1].split() == "gru: lost missing term passes none none".split()
    assert out.splitlines()[2].split() == "gru: new missing term caught none none".split()
    assert "kept out" in out and "fresh" in out and "lstm" not in out
    assert re.search("^fourth +1 ", out, re.MULTILINE)
    assert out.endswith("seconds: median 4.0, longest 5.0\n")
    exam.main(["--known", "gru"])
    out = capsys.readouterr().out
    assert "kept out" not in out and "gru: lost" not in out and "gru: new" not in out
    exam.main(["--fourth", "gru"])
    out = capsys.readouterr().out
    assert "gru: last" in out and "gru: sign" not in out
    with pytest.raises(SystemExit):
        exam.main(["--fourth", "--known"])
    capsys.readouterr()
    exam.main(["--markdown", "gru"])
    assert "| gru: sign | sign | yes | right | right | sign |" in capsys.readouterr().out
    exam.main(["--counts", "gru"])
    assert capsys.readouterr().out.split()[:3] == ["half", "number", "caught"]
    with pytest.raises(SystemExit):
        exam.main(["nothing"])
    assert "no file 'nothing': expected additive, " in capsys.readouterr().err


def test_the_script_runs_by_its_path():
    done = subprocess.run([sys.executable, str(EXAM), "--help"], capture_output=True, text=True,
                          timeout=120, env={"PYTHONPATH": str(EXAM.parents[2])})
    assert done.returncode == 0 and "--known" in done.stdout
