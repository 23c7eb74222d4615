"""The first finding of the report for planted mistakes: line and kind."""

import re

import exam
import numpy as np
import pytest
from planted import MISTAKES, check, failure, report_of
from planting import plant, run

from numpy_attention.attention.dot import DotAttention
from numpy_attention.attention.memory import dot_scores, sum_of_values
from numpy_attention.gradcheck import GradientError, gradcheck
from numpy_attention.gradcheck.report.kinds import along


@pytest.mark.parametrize("name, kind", [
    ("layers: gain in its own gradient", "derivative"),
    ("additive: no derivative of tanh", "derivative"),
    ("layers: bias not summed", "batch sum"),
    ("layers: gradient of W transposed", "transpose"),
    ("additive: W_a untransposed", "transpose"),
    ("layers: layer norm's mean taken as constant", "jacobian"),
    ("dot: no second term in the Jacobian", "jacobian"),
    ("layers: W_o assigned", "assigned"),
    ("additive: one buffer for all steps", "buffer"),
    ("scaled_dot: residual forgotten", "missing term"),
    ("dot: key path forgotten", "missing term"),
    ("scaled_dot: Jacobian over the queries", "axis"),
    ("key_value: gradient not returned", "no return"),
    ("rnn: dropout's mask forgotten in the backward", "mask backward"),
    ("scaled_dot: sign of the temperature", "sign"),
    ("layers: upstream of the loss ignored", "output ignored"),
    ("layers: the smaller of a pair wins", "exchanged"),
    ("rnn: derivative at the state before", "wrong step"),
    ("scaled_dot: queries for keys", "wrong variable"),
    ("layers: gain forgotten", "factor"),
    ("local: places in integers", "dtype"),
    ("layers: words that do not occur unwritten", "unwritten"),
    ("layers: gradient of the ids added once", "repeated ids"),
    ("additive: keys counted twice", "double"),
    ("scaled_dot: residual counted twice", "extra term"),
    ("rnn: not divided by the length", "scale in time"),
    ("rnn: gain in its own gradient", "cache"),
    ("lstm: c updated in place", "argument changed"),
    # mistakes in the forward
    ("bidirectional: mask not turned", "mask forward"),
    ("scaled_dot: softmax over the queries", "axis"),
    ("scaled_dot: np.dot in three dimensions", "shape"),
    ("scaled_dot: one key too many is visible", "future"),
    ("key_value: a step reads itself", "wrong step"),
])
def test_line_and_kind(name, kind):
    error, mistake = failure(name), MISTAKES[name]
    answer = exam.answer_of(error)
    assert answer.line_of(mistake) == answer.judge_kind(mistake) == "right", answer.message
    assert answer.kind == kind
    assert len(answer.message.splitlines()) < 15


@pytest.mark.parametrize("name, line", [
    ("additive: key path forgotten", "keys = values @ self.U_a"),
    ("dot: key path forgotten", 'e = np.einsum("bd,bsd->bs", q, memory)'),
])
def test_missing_term_names_the_line_of_the_forward(name, line):
    report = report_of(name)
    kind = report.kinds[0][0]
    assert kind.name == "missing term" and kind.text.endswith(line)
    assert kind.line == MISTAKES[name]._line_with(line, MISTAKES[name].source.splitlines())


def test_correct_gradients_and_consequences_are_reported():
    text = str(report_of("additive: no derivative of tanh"))
    assert re.search("right: v_a$", text.splitlines()[0])
    assert "line 47 of planted_additive" in text and "a local derivative: `dx`" in text
    assert "every other error follows from it" in text


def test_variable_and_element_of_a_wrong_gradient_are_reported():
    text = str(report_of("dot: no second term in the Jacobian"))
    assert "de should be ∂L/∂(e) of line 35; its inputs are right" in text
    assert "element [0, 1] of (2, 6): found -2.4310911, right -0.053654226" in text


def test_correction_is_only_in_the_full_report():
    report = report_of("additive: no derivative of tanh")
    assert "1 - x" not in str(report)
    assert "line 47: right with `dx * (1 - x ** 2)`" in report.full


def test_backward_that_raises_is_reported_with_its_line():
    report = report_of("additive: W_a untransposed")
    first = str(report).splitlines()[0]
    assert first.startswith("PlainAttention: backward raises ValueError at line 54 of planted")
    assert ": matmul" in first


def test_two_mistakes_give_two_findings():
    both = MISTAKES["additive: no derivative of tanh"], MISTAKES["additive: v_a assigned"]
    source = both[0].source.replace(both[1].old, both[1].new)
    module = run(source, "two_mistakes", None)
    target, inputs, forward, backward = module.case(np.random.default_rng(0))
    with pytest.raises(GradientError) as caught:
        gradcheck(target, *inputs, rng=np.random.default_rng(1), forward=forward,
                  backward=backward)
    found = caught.value.report
    lines = {line for mistake in both for line in mistake.lines()}
    assert {one.place.line for one in found.findings} == lines
    assert {kinds[0].name for kinds in found.kinds} == {"derivative", "assigned"}


def test_report_is_deterministic():
    name = "additive: no derivative of tanh"
    assert str(failure(name)) == str(check(MISTAKES[name]))


def test_gradients_may_be_named_grad_as_in_1_0():
    mistake = MISTAKES["additive: v_a assigned"]
    module = run(re.sub(r"\bgrads\b", "grad", mistake.source), "as_in_1_0", None)
    target, inputs, forward, backward = module.case(np.random.default_rng(0))
    with pytest.raises(GradientError) as caught:
        gradcheck(target, *inputs, rng=np.random.default_rng(1), forward=forward,
                  backward=backward)
    found = caught.value.report
    assert found.findings[0].place.line in mistake.lines()
    assert found.kinds[0][0].name == "assigned"


def test_functions_and_parameters_are_restored():
    target, inputs, forward, backward = plant(MISTAKES["rnn: derivative at the state before"]).case(
        np.random.default_rng(0))
    codes = type(target).forward.__code__, type(target).backward.__code__
    kept = {name: array.copy() for name, array in target.named_parameters()}
    with pytest.raises(GradientError):
        gradcheck(target, *inputs, rng=np.random.default_rng(1), forward=forward,
                  backward=backward)
    assert (type(target).forward.__code__, type(target).backward.__code__) == codes
    assert "__gradcheck__" not in type(target).forward.__globals__
    for name, array in target.named_parameters():
        np.testing.assert_array_equal(array, kept[name])


# ---- mistakes without a proof --------------------------------------------------------------------

DOUBT = "no small change to this line corrects it"


def test_value_recomputed_differently_in_the_backward():
    mistake = MISTAKES["local: words counted from 1 in the forward alone"]
    first = report_of(mistake.name).findings[0]
    assert first.edit is None and first.is_proven
    assert first.recomputed.name == first.name == "away"
    assert first.place.line in mistake.lines()
    assert not np.array_equal(first.found, first.right)


def test_wrong_scale_points_to_the_scaling_statement():
    mistake = MISTAKES["model: mean of the sentences' means"]
    report = report_of(mistake.name)
    assert report.findings[0].place.line in mistake.lines()
    assert report.findings[0].place.is_scaling


def test_error_before_scaling_points_to_the_earlier_line():
    mistake = MISTAKES["model: the word itself as its target"]
    first = report_of(mistake.name).findings[0]
    assert first.place.line in mistake.lines()
    assert first.others and all(one.is_scaling for one in first.others)


def test_incomplete_sum_is_not_reported_as_zero():
    report = report_of("local: state's way to the output forgotten")
    assert "nothing comes back" not in str(report)
    assert not report.findings[0].is_proven
    assert str(report).count(DOUBT) == 1
    start = str(report).split("first wrong:")[1]
    assert DOUBT in start and "its inputs are right" not in start


@pytest.mark.parametrize("name, note", [
    ("heads: d without its root", "dQ of line 64, made of dE, should be ∂L/∂(Q) of line 27"),
    ("deep_output: scores without a gradient", "dnll of line 50 should be ∂L/∂(nll) of line 39"),
])
def test_intermediate_value_reports_what_it_was_compared_with(name, note):
    report = report_of(name)
    assert f"  {note}\n" in str(report)
    first = report.findings[0]
    assert first.found.shape == first.right.shape
    assert first.compared.line != first.place.line


def test_several_findings_are_limited_to_15_lines():
    report = report_of("heads: d without its root")
    lines = str(report).splitlines()
    assert len(report.findings) > 1 and len(lines) < 15
    assert [line.split(":")[0] for line in lines].count("first wrong") == 2
    for finding in report.findings:
        assert any(f"line {finding.place.line} of planted" in line for line in lines)
    assert len(report.findings) == sum(line.startswith(("first wrong", "then wrong"))
                                       for line in lines)
    assert report.full.count("first wrong") == len(report.findings)


def test_gradient_added_at_wrong_ids_has_a_line():
    mistake = MISTAKES["deep_output: gradient to the targets' words"]
    first = report_of(mistake.name).findings[0]
    assert first.place.text == "np.add.at(grads.E, targets, dy)"
    assert first.place.line in mistake.lines()


class Forgetful(DotAttention):
    """A score whose backward omits ∂L/∂values."""

    def score_backward(self, dscores, cache, memory, dmemory, grads):
        query, _ = cache
        return sum_of_values(dscores, memory) + 0 * query

    def score(self, query, memory):
        return dot_scores(query, memory), (query, None)


def test_package_code_is_not_blamed_for_user_code(rng):
    inputs = rng.standard_normal((2, 3, 4)), rng.standard_normal((3, 5, 4))
    with pytest.raises(GradientError) as caught:
        gradcheck(Forgetful(), *inputs, rng=rng)
    message = str(caught.value)
    assert "first wrong: the values that Forgetful passes to line" in message
    assert "; the line itself is correct" in message
    assert "nothing comes back through line" in message
    assert "return dot_scores(query, memory), (query, None)" in message


def test_masked_sentence_does_not_mislead():
    """All sentences with a gradient are wrong, so the one without a gradient is not a hint."""
    right = np.ones((3, 4))
    right[2] = 0
    assert along(2 * right, right, 1.0) == []
    found = right.copy()
    found[0] = 2
    assert [kind.name for kind in along(found, right, 1.0)] == ["place"]
