"""Slips in one place of a function: what is written for each, and in which words."""

import pytest

from numpy_attention.course.exercises.operators import slips


def written(line, last=""):
    """{what is left of the text of a slip: what is said of it} of a function of one line."""
    text = f"def f(self, x, y, z, n):\n    {line}\n    {last or 'return x'}"
    return {slip.text.partition("\n    ")[2].partition("\n")[0].strip(): slip.what
            for slip in slips(text, "f")}


@pytest.mark.parametrize("line, other, what", [
    ("x += y @ z", "x += 2 * (y @ z)", "a term that is added twice"),
    ("x = y * z", "x = -(y * z)", "the opposite sign"),
    ("x = y * z", "x = y * z * z", "a factor that stands there twice"),
    ("x = y * z", "x = y / z", "a division for a product"),
    ("x = y / z", "x = z / y", "a quotient upside down"),
    ("x = y / z", "x = y / z ** 2", "a divisor that is squared"),
    ("x = y / z", "x = y / np.sqrt(z)", "a divisor of which the root is taken"),
    ("x = y ** 2", "x = 2 * y", "twice in the place of a square"),
    ("x = 1 - y", "x = y", "a term that is left out"),
    ("x = 1 - y ** 2", "x = y * (1 - y)", "the derivative of σ for that of tanh"),
    ("x = 1 - y ** 2", "x = (1 - y) ** 2", "a square in another place"),
    ("x = y * (1 - y)", "x = y * (1 - y ** 2)", "a square too many"),
    ("x = y * (1 - y)", "x = (1 - y) * (1 - y)", "x for 1 - x, or the other way round"),
    ("x = y < z", "x = y <= z", "< for ≤, or the other way round"),
    ("x = y < z", "x = y > z", "a comparison the wrong way round"),
    ("x = y == z", "x = y != z", "a comparison the wrong way round"),
    ("x = y if n else z", "x = z", "a case that is left out"),
    ("x = np.exp(y)", "x = np.log(y)", "a log for a exp"),
    ("x = y.argmax()", "x = y.argmin()", "a argmin for a argmax"),
    ("x = g(y, z)", "x = g(z, y)", "two arguments of g in the other order"),
    ("x = range(n)", "x = range(0, n - 1)", "a step too many or too few"),
    ("x = y.sum(keepdims=True)", "x = y.sum()", "keepdims that is left out"),
    ("x = y[1:]", "x = y[:-1]", "the other end is cut off"),
    ("x = y[:n]", "x = y[:n - 1]", "a part that is cut by one off"),
    ("x = self.U + self.W", "x = self.W + self.W", "`self.W` in the place of another array"),
])
def test_a_slip(line, other, what):
    assert written(line)[other] == what


def test_nothing_is_written_twice_and_nothing_as_it_was():
    text = "def f(x, y):\n    z = x * x + y * y\n    return z"
    found = [slip.text for slip in slips(text, "f")]
    assert len(found) == len(set(found))
    assert text not in found
