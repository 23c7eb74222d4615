"""Mutations of a function: the changed code and its description."""

import pytest

from numpy_attention.course.exercises.mutations import mutations


def mutations_of(*lines):
    """Return {changed lines: description} for a function with these lines."""
    text = "\n    ".join(["def f(self, x, y, z, n):", *lines])
    return {one.text.partition("\n    ")[2].rstrip().replace("\n    ", "; "): one.what
            for one in mutations(text, "f")}


@pytest.mark.parametrize("line, other, what", [
    ("x += y @ z", "x += 2 * (y @ z)", "a term added twice"),
    ("x = y * z", "x = -(y * z)", "the opposite sign"),
    ("x = y * z", "x = y * z * z", "a factor used twice"),
    ("x = y * z", "x = y / z", "a division instead of a product"),
    ("x = y / z", "x = z / y", "an inverted quotient"),
    ("x = y / z", "x = y / z ** 2", "a squared divisor"),
    ("x = y ** 2", "x = 2 * y", "a factor 2 instead of a square"),
    ("x = 1 - y", "x = y", "a missing term"),
    ("x = 1 - y ** 2", "x = y * (1 - y)", "the derivative of σ instead of that of tanh"),
    ("x = 1 - y ** 2", "x = (1 - y) ** 2", "a square in the wrong place"),
    ("x = y * (1 - y)", "x = y * (1 - y ** 2)", "an extra square"),
    ("x = y * (1 - y)", "x = (1 - y) * (1 - y)", "1 - x instead of x"),
    ("x = y < z", "x = y <= z", "the wrong one of < and ≤"),
    ("x = y == z", "x = y != z", "a reversed comparison"),
    ("x = y if n else z", "x = z", "a missing case"),
    ("x = np.exp(y)", "x = np.log(y)", "log instead of exp"),
    ("x = y.sum(0)", "x = y.sum(None)", "a sum over all axes"),
    ("x = g(y, z)", "x = g(z, y)", "two arguments of g swapped"),
    ("x = range(n)", "x = range(0, n - 1)", "one step too many or too few"),
    ("x = y.sum(keepdims=True)", "x = y.sum()", "missing keepdims"),
    ("x = y[1:]", "x = y[:-1]", "the wrong end cut off"),
    ("x = y[:n]", "x = y[:n - 1]", "a slice that is off by one"),
    ("x = y[::-1]", "x = y", "an order that is not reversed"),
    ("x = self.U + self.W", "x = self.W + self.W", "`self.W` instead of `self.U`"),
])
def test_local_mutation(line, other, what):
    assert mutations_of(line, "return x")[f"{other}; return x"] == what


@pytest.mark.parametrize("lines, other, what", [
    (["return x"], "return 2 * x", "an extra factor 2"),
    (["return (x, y)"], "return (x, 0 * y)", "an extra factor 0"),
    (["return x"], "return x / np.shape(x)[0]",
     "an extra division by a length of `x`, as in a mean"),
    (["x -= y"], "x += y", "a plus instead of a minus"),
    (["if x < y:", "    x = y"], "if x <= y:;     x = y", "the wrong one of < and ≤"),
    (["if x < y:", "    x = y"], "if True:;     x = y", "a missing condition"),
    (["while x < y:", "    x = y"], "while not x < y:;     x = y", "the opposite condition"),
    (["for x in y:", "    n = x"], "for x in list(y)[1:]:;     n = x", "the first step missing"),
    (["for x in y:", "    n = x"], "for x in list(y)[::-1]:;     n = x", "the reversed order"),
    (["x = y", "n = x"], "n = x; x = y", "two steps swapped"),
    (["for x in y:", "    n = x", "y = n"], "for x in y:;     n = x;     y = n",
     "a step inside the loop that belongs after it"),
    (["for x in y:", "    n = x", "    y = n"], "for x in y:;     n = x; y = n",
     "a step after the loop that belongs inside it"),
    (["for x in y:", "    if x:", "        continue", "    n = x"],
     "for x in y:;     if x:;         pass;     n = x", "missing continue"),
    (["x = y ** 2"], "x = y ** (2 - 1)", "another number"),
    (["x = np.sqrt(y) + n"], "x = np.sqrt(y + n)", "added under the root instead of after it"),
    (["x = np.sqrt(y + n)"], "x = np.sqrt(y) + n", "added after the root instead of under it"),
])
def test_structural_mutation(lines, other, what):
    assert mutations_of(*lines)[other] == what


def test_mutations_are_distinct_and_differ_from_the_original():
    text = "def f(x, y):\n    z = x * x + y * y\n    return z\n"
    found = [one.text for one in mutations(text, "f")]
    assert len(found) == len(set(found))
    assert text not in found


def test_rest_of_the_file_is_unchanged():
    text = "x = 1  # one\n\n\nclass A:\n    def f(self):\n        return x * 2\n\n    y = 3\n"
    one = next(mutations(text, "f"))
    assert one.text == text.replace("x * 2", "-(x * 2)")
    assert one.description == "the opposite sign, in the return value"
