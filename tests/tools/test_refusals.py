"""Public functions of the upper rooms answer a wrong argument as tests/tools/refusals.txt says."""

import pytest
import refusals
from hostility import uses

KNOWN = {name: [] for name in uses.CATALOGUE}
for _line in refusals.FILE.read_text(encoding="utf-8").splitlines():
    for _name in sorted(KNOWN, key=len, reverse=True):
        if _line.startswith(f"{_name}("):
            KNOWN[_name].append(_line)
            break
    else:
        raise ValueError(f"{refusals.FILE.name} has an answer of nobody: {_line}")


@pytest.mark.parametrize("name", uses.CATALOGUE)
def test_wrong_arguments_are_answered_as_before(name):
    assert refusals.answers(name) == KNOWN[name]


@pytest.mark.parametrize("text, expected", [
    ("ValueError: beam = 'x': expected a number", "ValueError: beam …: expected a number"),
    ("TypeError: rng is list: pass one", "TypeError: rng …: pass one"),
    ("ValueError: 3 hypotheses but 2: give one", "ValueError: 3 hypotheses but 2: give one"),
    ("ValueError: it has [1, 2]; say more", "ValueError: it has …; say more"),
])
def test_the_value_given_is_left_out(text, expected):
    assert refusals.without_value(text) == expected
