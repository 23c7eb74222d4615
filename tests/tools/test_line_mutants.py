"""What may be changed in any code, and what is let alone."""

import pytest
from line_mutants import mutants

CODE = '''
"""A module."""

from typing import Protocol

import numpy as np

LIMIT = 3


class Wide(Protocol):
    def width(self) -> int:
        return 3


class Counter:
    size: int = 4

    def add(self, values: list[int], weight, *, start=0, deep=True):
        """Adds."""
        if weight < 0:
            raise ValueError(f"weight {weight + 1}: expected at least 0")
        total: int
        total = start
        total = total + 2
        for value in values:
            if not value:
                continue
            total += value * weight
        self.total = max(total, -self.size)
        options = {"first": total, "second": weight}
        describe(total, values, help="how many", name="sum")
        return total, options
'''


@pytest.fixture
def made(tmp_path):
    path = tmp_path / "counter.py"
    path.write_text(CODE, encoding="utf-8")
    return list(mutants(path, "counter.py"))


def described(made, kind):
    return [mutant.what.removeprefix(f"{kind}: ") for mutant in made
            if mutant.what.startswith(f"{kind}: ")]


def test_a_guard_has_its_boundary_and_is_left_out(made):
    assert described(made, "compare") == ["weight < 0 → weight <= 0"]
    assert "if weight < 0: …" in described(made, "left out")


def test_constants_and_defaults(made):
    assert set(described(made, "constant")) == {
        "3 → 4", "4 → 5", "0 → 1", "0 → 1 (2)", "True → False", "2 → 3",
        "'first' → 'first_'", "'second' → 'second_'", "'sum' → 'sum_'"}


def test_arguments(made):
    assert described(made, "arguments") == [
        "describe(total, values, help='how many', name='sum') → "
        "describe(values, total, help='how many', name='sum')"]
    left_out = described(made, "argument left out")
    assert len(left_out) == 1 and left_out[0].endswith("→ describe(total, values, help='how many')")
    assert described(made, "call") == [
        "max(total, -self.size) → min(total, -self.size)"]


def test_what_is_returned(made):
    assert described(made, "return") == ["return (total, options) → return None",
                                         "return (total, options) → return (options, total)"]


def test_statements_left_out(made):
    assert set(described(made, "left out")) == {
        "if weight < 0: …", "total = start", "total = total + 2", "continue",
        "total += value * weight", "self.total = max(total, -self.size)",
        "describe(total, values, help='how many', name='sum')"}


def test_arithmetic_logic_and_tables(made):
    assert set(described(made, "arithmetic")) == {
        "total + 2 → total - 2", "total += value * weight → total -= value * weight",
        "value * weight → value / weight"}
    assert described(made, "sign") == ["-self.size → self.size"]
    assert described(made, "logic") == ["not value → value"]
    assert described(made, "values") == [
        "{'first': total, 'second': weight} → {'first': weight, 'second': total}"]


def test_what_is_the_same_program_is_no_mutant(tmp_path):
    path = tmp_path / "long.py"
    path.write_text("table = {" + ", ".join(f"'name{n}': int" for n in range(30)) + ", 'x': str}")
    made = [mutant for mutant in mutants(path, "long.py") if "values: " in mutant.what]
    assert len(made) == 1 and "'name29': str, 'x': int" in made[0].source


def test_words_annotations_and_protocols_are_let_alone(made):
    text = "\n".join(str(mutant) for mutant in made)
    for let_alone in ("Adds", "weight {weight", "'how many' →", "int →", "Wide"):
        assert let_alone not in text, let_alone


def test_a_mutant_is_the_whole_file_with_one_change(made):
    plain = next(mutant for mutant in made if mutant.what == "total + 2"
                 or mutant.what == "arithmetic: total + 2 → total - 2")
    assert plain.function == "Counter.add" and plain.key.startswith("counter.py Counter.add: ")
    assert "total = total - 2" in plain.source and "total += value * weight" in plain.source
    assert CODE.splitlines()[plain.line - 1].strip() == "total = total + 2"
    assert list(plain.lines) == [plain.line]
    for mutant in made:
        compile(mutant.source, "counter.py", "exec")
    assert len({mutant.source for mutant in made}) == len(made)


def test_keys_tell_all_apart(made):
    assert len({mutant.key for mutant in made}) == len(made)
