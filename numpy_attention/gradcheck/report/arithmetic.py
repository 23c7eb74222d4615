"""The calculation of one element: the numbers from which a statement computed the element.

    dx = de * v             0.31 * 0.52
    dx = de @ W             0.31 * 0.52 + 0.2 * -1.3 + … (7 products); einsum likewise
    db = da.sum(axis=0)     0.31 + 0.2 + … (6 terms)

This only works for a one-line statement with a single operation. Its operands are computed a second
time, so they may call only NumPy functions and the array methods in METHODS.
"""

import ast
import linecache
import operator

import numpy as np

from numpy_attention.gradcheck.differences import relative_errors
from numpy_attention.gradcheck.locate.rewriting import path_of
from numpy_attention.gradcheck.locate.watching import traced

SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
METHODS = {"astype", "copy", "mean", "reshape", "sum", "swapaxes", "transpose"}
MOST_TERMS = 2          # terms that are written out


def arithmetic(check, finding):
    """Return the calculation of one wrong element, such as "0.31 * 0.52", or "" if unknown."""
    group = finding.group
    if group is None or finding.right is None or np.shape(finding.found) != finding.right.shape:
        return ""
    value = group.values[finding.first_wrong]
    place, at = value.place, furthest(finding.found, finding.right)
    node = assigned_expression(place)
    if node is None or not at or {(one.file, one.line) for one in value.places} != {
            (place.file, place.line)}:
        return ""
    before = sum(one.places.count(place) for one in group.values[:finding.first_wrong])
    taken = Taken(place, before, lambda evaluate: terms_of(node, at, finding.found.shape, evaluate))
    try:
        traced(check.gradients, taken.called)
        pairs, between = taken.found
    except Exception:                   # a backward that raises, or operands that are not arrays
        return ""
    total = sum(one if other is None else OPERATORS[between](one, other) for one, other in pairs)
    return format_terms(pairs, between) if np.isclose(total, finding.found[at], rtol=1e-9) else ""


def furthest(found, right):
    """Return the index of the largest absolute error among elements with large relative errors."""
    relative = relative_errors(found, right)
    errors = np.nan_to_num(np.abs(found - right), nan=np.inf)
    errors = np.where(relative >= relative.max() / 2, errors, -1)
    return tuple(int(i) for i in np.unravel_index(errors.argmax(), errors.shape))


def format_terms(pairs, between):
    written = [f"{one:.4g}" if other is None else f"{one:.4g} {between} {other:.4g}"
               for one, other in pairs[:MOST_TERMS]]
    if len(pairs) > MOST_TERMS:
        what = "terms" if pairs[0][1] is None else "products"
        written.append(f"… ({len(pairs)} {what})")
    return " + ".join(written)


def assigned_expression(place):
    """Return the right side of an assignment as a node, or None if it cannot be evaluated again."""
    try:
        statement = ast.parse(linecache.getline(place.file, place.line).strip()).body[0]
    except (SyntaxError, IndexError):
        return None
    if not isinstance(statement, ast.Assign) or ast.unparse(statement) != place.text:
        return None
    calls = [one.func for one in ast.walk(statement.value) if isinstance(one, ast.Call)]
    known = all(path_of(one).startswith("np.") or getattr(one, "attr", "") in METHODS
                for one in calls)
    return statement.value if known else None


class Taken:
    """Tracer that calls take(evaluate) just before a line runs, and keeps the result in `found`.

    before: how many executions of the line to skip. evaluate(node) returns a node's value.
    """

    def __init__(self, place, before, take):
        self.place = place
        self.left = before
        self.take = take
        self.found = None

    def called(self, frame, event, _):
        code = frame.f_code
        own = code.co_filename == self.place.file and not code.co_name.startswith("<")
        return self.stepped if own else None

    def stepped(self, frame, event, _):
        if event == "line" and frame.f_lineno == self.place.line:
            if self.left == 0:
                self.found = self.take(lambda node: np.asarray(eval(
                    compile(ast.Expression(node), self.place.file, "eval"),
                    frame.f_globals, frame.f_locals)))
            self.left -= 1
        return self.stepped


def terms_of(node, at, shape, evaluate):
    """Return (terms, operator) of one element, such as ([(0.31, 0.52), (0.2, -1.3)], "*").

    In a plain sum, each term is (number, None). node: the expression that computes the array. at:
    the index of the element. Raises an exception if the expression is not supported.
    """
    if isinstance(node, ast.BinOp) and type(node.op) in SIGNS:
        both = (np.broadcast_to(evaluate(part), shape)[at] for part in (node.left, node.right))
        return [tuple(both)], SIGNS[type(node.op)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        left, right = evaluate(node.left), evaluate(node.right)
        rows = np.broadcast_to(left, (*shape[:-2], *left.shape[-2:]))[at[:-1]]
        columns = np.broadcast_to(right, (*shape[:-2], *right.shape[-2:]))
        return list(zip(rows, columns[(*at[:-2], slice(None), at[-1])])), "*"
    if path_of(getattr(node, "func", None)) == "np.einsum" and len(node.args) == 3:
        return einsum_terms(node.args[0].value, at, *map(evaluate, node.args[1:])), "*"
    base = node.func.value              # of x.sum(axis); anything else raises
    axis = [*node.args, *(one.value for one in node.keywords if one.arg == "axis")][0]
    if node.func.attr != "sum":
        raise ValueError("no sum")
    return sum_terms(evaluate(base), ast.literal_eval(axis), at, len(shape)), "+"


def einsum_terms(subscripts, at, one, other):
    read, made = subscripts.replace(" ", "").split("->")
    left, right = read.split(",")
    known = dict(zip(made, at))
    sizes = dict(zip(left, one.shape)) | dict(zip(right, other.shape))
    summed = [letter for letter in sizes if letter not in known]
    pairs = []
    for values in np.ndindex(*(sizes[letter] for letter in summed)):
        where = known | dict(zip(summed, values))
        pairs.append((one[tuple(where[letter] for letter in left)],
                      other[tuple(where[letter] for letter in right)]))
    return pairs


def sum_terms(array, axis, at, ndim):
    axes = {one % array.ndim for one in (axis if isinstance(axis, tuple) else (axis,))}
    places = iter(at)
    kept = []
    for i in range(array.ndim):
        if i not in axes:
            kept.append(next(places))
        else:
            kept.append(slice(None))
            if ndim == array.ndim:      # keepdims
                next(places)
    return [(number, None) for number in array[tuple(kept)].ravel()]
