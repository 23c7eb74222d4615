"""Public functions of the upper rooms answer a wrong argument as tests/tools/refusals.txt says."""

import pytest
import refusals
from hostility import uses

ARGUMENTS = [(name, argument) for name, (_, kinds) in uses.CATALOGUE.items() for argument in kinds]
KNOWN = {}
for _line in refusals.FILE.read_text(encoding="utf-8").splitlines():
    KNOWN.setdefault(_line.partition("): ")[0], []).append(_line)


@pytest.mark.parametrize("name, argument", ARGUMENTS)
def test_a_wrong_argument_is_answered_as_before(name, argument):
    assert refusals.answers(name, argument) == KNOWN[f"{name}({argument}"]


def test_no_answer_is_of_nobody():
    assert KNOWN.keys() == {f"{name}({argument}" for name, argument in ARGUMENTS}


@pytest.mark.parametrize("text, expected", [
    ("ValueError: beam = 'x': expected a number", "ValueError: beam …: expected a number"),
    ("TypeError: rng is list: pass one", "TypeError: rng …: pass one"),
    ("ValueError: 3 hypotheses but 2: give one", "ValueError: 3 hypotheses but 2: give one"),
    ("ValueError: it has [1, 2]; say more", "ValueError: it has …; say more"),
])
def test_the_value_given_is_left_out(text, expected):
    assert refusals.without_value(text) == expected
