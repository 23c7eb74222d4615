"""Local mutations: one expression or one statement is replaced by a similar one.

Most functions yield pairs: a description, such as "a missing factor", and the replacement node.
"""

import ast
from collections.abc import Iterator

from numpy_attention.course.exercises.mutations.change import Change, place_of, statements
from numpy_attention.gradcheck import (
    BOUNDARY,
    OPPOSITES,
    PRODUCTS,
    by_pattern,
    calling,
    changed,
    exchanged,
    function_name,
    opposite_sign,
    parsed,
    with_axis,
    without_keyword,
)

AXES = ("0", "1", "-1", "None")
# {operator: ((description, code that replaces the operation on {0} and {1}), …)}
OPERATIONS: dict[type, tuple[tuple[str, str], ...]] = {
    ast.Mult: (
        ("a missing factor", "{0}"),
        ("a missing factor", "{1}"),
        ("a factor used twice", "({0}) * ({1}) * ({1})"),
        ("a factor used twice", "({0}) * ({0}) * ({1})"),
        ("a division instead of a product", "({0}) / ({1})")),
    ast.Div: (
        ("a missing division", "{0}"),
        ("a product instead of a division", "({0}) * ({1})"),
        ("an inverted quotient", "({1}) / ({0})"),
        ("a squared divisor", "({0}) / ({1}) ** 2"),
        ("the square root of the divisor", "({0}) / np.sqrt({1})")),
    ast.Add: (
        ("a missing term", "{0}"),
        ("a missing term", "{1}"),
        ("a minus instead of a plus", "({0}) - ({1})")),
    ast.Pow: (
        ("a missing square", "{0}"),
        ("a factor 2 instead of a square", "2 * ({0})")),
    ast.MatMult: tuple(
        ("a matrix product in the wrong order, or wrongly transposed", wrong)
        for wrong in PRODUCTS),
}
FUNCTIONS = {"exp": ("log",), "log": ("exp", "log2", "log10"), "maximum": ("minimum",),
             "minimum": ("maximum",), "var": ("std",), "std": ("var",),
             "zeros": ("ones",), "ones": ("zeros",), "zeros_like": ("ones_like",),
             "ones_like": ("zeros_like",),
             **{name: (other,) for name, other in OPPOSITES.items()}}
REVERSED: dict[type, type] = {
    ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}


def changes(function: ast.FunctionDef) -> Iterator[Change]:
    """Yield every local Change of a function."""
    known = Known(function)
    for statement in statements(function):
        where = place_of(statement)
        for what, other in of_statement(statement):
            yield Change(statement, what, where, other)
        for what, node, other in of_expressions(statement, known):
            yield Change(node, what, where, other)


class Known:
    """The names that occur in a function.

    arrays: the local variables and the arguments, except `self` and arguments that are called
    parts: the attributes that the function reads but does not call, such as "self.W"
    complements: the code of each `x` in an expression `1 - x`
    """

    def __init__(self, function: ast.FunctionDef):
        inside = list(ast.walk(function))
        calls = [node.func for node in inside if isinstance(node, ast.Call)]
        called = {node.id for node in calls if isinstance(node, ast.Name)}
        self.arrays = sorted({node.id for node in inside
                              if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
                             | {one.arg for one in function.args.args if one.arg != "self"}
                             - called)
        self.parts = sorted({ast.unparse(node) for node in inside
                             if is_part(node) and node not in calls})
        self.complements = {ast.unparse(node.right) for node in inside
                            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)
                            and ast.unparse(node.left) == "1"
                            and isinstance(node.right, (ast.Name, ast.Attribute, ast.Subscript))}


def is_part(node: ast.AST) -> bool:
    """Return whether a node reads an attribute such as self.W, but not np.pi, x.T or x.shape."""
    return (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
            and isinstance(node.ctx, ast.Load) and node.value.id != "np"
            and node.attr not in ("T", "shape", "size", "ndim"))


# ---- whole statements ---------------------------------------------------------------------------


def of_statement(node: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    """Yield (description, replacement) for one statement."""
    if isinstance(node, ast.AugAssign):
        if isinstance(node.op, ast.Add):
            yield "assigned instead of added", assigned(node)
            yield "a minus instead of a plus", opposite_sign(node)
            yield "a term added twice", with_value(node, "2 * ({})")
        yield "a missing term", ast.Pass()
    elif isinstance(node, (ast.Assign, ast.Return)) and isinstance(node.value, ast.BinOp):
        yield "the opposite sign", with_value(node, "-({})")
    elif isinstance(node, ast.Expr):
        yield "a missing step", ast.Pass()


def assigned(node: ast.AugAssign) -> ast.stmt:
    target: ast.expr = node.target
    if isinstance(target, ast.Attribute):           # of a parameter, whose array must stay
        target = parsed(f"{ast.unparse(target)}[...]")
    return ast.Assign([target], node.value, lineno=0)


def with_value(node: ast.stmt, pattern: str) -> ast.stmt:
    """Return a changed copy of a statement: pattern "2 * ({})" turns `y = x` into `y = 2 * x`."""
    value = getattr(node, "value")
    return changed(node, value=parsed(pattern.format(ast.unparse(value))))


# ---- expressions within one ---------------------------------------------------------------------


def of_expressions(statement: ast.stmt, known: Known) -> Iterator[tuple[str, ast.expr, ast.expr]]:
    """Yield (description, expression, replacement) for the expressions in a statement."""
    inside = list(ast.walk(statement.iter if isinstance(statement, ast.For) else statement))
    orders = {node.step for node in inside if isinstance(node, ast.Slice)}      # [::-1]
    for node in inside:
        if isinstance(node, ast.expr) and node not in orders:
            for what, other in of_expression(node, known):
                yield what, node, other


def of_expression(node: ast.expr, known: Known) -> Iterator[tuple[str, ast.expr]]:
    """Yield (description, replacement) for one expression. known: the names in the function."""
    if ast.unparse(node) in known.complements:
        yield "1 - x instead of x", parsed(f"1 - {ast.unparse(node)}")
    if isinstance(node, ast.BinOp):
        yield from of_operation(node)
    elif isinstance(node, ast.BoolOp):
        for left_out in node.values:
            others = [one for one in node.values if one is not left_out]
            yield "a missing condition", (
                others[0] if len(others) == 1 else ast.BoolOp(node.op, others))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = isinstance(node.operand, ast.Constant)
        yield "the wrong axis" if number else "a missing minus sign", node.operand
    elif isinstance(node, ast.Attribute) and node.attr == "T":
        yield "a missing transpose", node.value
    elif isinstance(node, ast.Call):
        yield from of_call(node)
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        yield from of_index(node)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        for what, table in (("the wrong one of < and ≤", BOUNDARY),
                            ("a reversed comparison", REVERSED)):
            if type(node.ops[0]) in table:
                other = table[type(node.ops[0])]()
                yield what, ast.Compare(node.left, [other], node.comparators)
    elif isinstance(node, ast.IfExp):
        yield "a missing case", node.body
        yield "a missing case", node.orelse
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in known.arrays:
        yield from of_names(node, known.arrays)
    elif is_part(node):
        yield from of_names(node, known.parts)


def of_names(node: ast.expr, names: list[str]) -> Iterator[tuple[str, ast.expr]]:
    for name in names:
        if name != ast.unparse(node):
            yield f"`{name}` instead of `{ast.unparse(node)}`", parsed(name)


def of_operation(node: ast.BinOp) -> Iterator[tuple[str, ast.expr]]:
    yield from by_pattern(node, OPERATIONS)
    if isinstance(node.op, ast.Sub):
        yield "a missing term", node.left
        yield "a missing term", node.right
        if ast.unparse(node.left) == "1":
            yield from of_derivative(node.right)
        yield "the opposite sign", changed(node, left=node.right, right=node.left)
        yield "a plus instead of a minus", opposite_sign(node)


def of_derivative(y: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield (description, replacement) for 1 - y, as in tanh' = 1 - t² or σ' = s (1 - s)."""
    if isinstance(y, ast.BinOp) and isinstance(y.op, ast.Pow):
        base = ast.unparse(y.left)
        yield "the derivative of σ instead of that of tanh", parsed(f"({base}) * (1 - ({base}))")
        yield "a square in the wrong place", parsed(f"(1 - ({base})) ** 2")
    else:
        yield "an extra square", parsed(f"1 - ({ast.unparse(y)}) ** 2")


def of_any_call(node: ast.Call, name: str) -> Iterator[tuple[str, ast.expr]]:
    """Yield (description, replacement) for a call to the function `name`."""
    for other in FUNCTIONS.get(name, ()):
        yield f"{other} instead of {name}", calling(node, other)
    for i in range(len(node.args) - 1):
        args = exchanged(node.args, i, i + 1)
        yield f"two arguments of {name} swapped", changed(node, args=args)
    if name == "range":
        stop = ast.unparse(node.args[-1] if len(node.args) < 3 else node.args[1])
        start = ast.unparse(node.args[0]) if len(node.args) > 1 else "0"
        step = f", {ast.unparse(node.args[2])}" if len(node.args) > 2 else ""
        for one, two in ((start, f"{stop} - 1"), (start, f"{stop} + 1"), (f"{start} + 1", stop),
                         (f"{start} - 1", stop)):
            yield "one step too many or too few", parsed(f"range({one}, {two}{step})")
    for keyword in ("keepdims", "ddof"):
        if any(one.arg == keyword for one in node.keywords):
            yield f"missing {keyword}", without_keyword(node, keyword)


def of_call(node: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    name = function_name(node)
    yield from of_any_call(node, name)
    if name in ("sum", "mean", "max"):
        yield from of_reduction(node, name)
    elif name == "where" and len(node.args) == 3:
        yield "a missing mask", node.args[1]
        yield "a missing mask", node.args[2]
        yield "an inverted mask", changed(node, args=exchanged(node.args, 1, 2))
    elif name in ("reversed", "sqrt", "copy", "abs", "maximum", "minimum"):
        if node.args:
            yield f"missing {name}", node.args[0]
        elif isinstance(node.func, ast.Attribute):
            yield f"missing {name}", node.func.value
    elif name in ("exp", "tanh", "log", "sigmoid") and node.args:
        yield f"missing {name}", node.args[0]


def of_reduction(node: ast.Call, name: str) -> Iterator[tuple[str, ast.expr]]:
    """Yield (description, replacement) for a call to sum, mean or max: another method or axis."""
    for method in ("sum", "mean"):
        if method != name and isinstance(node.func, ast.Attribute):
            yield f"a {method} instead of a {name}", calling(node, method)
    for axis in AXES:
        axes = "all axes" if axis == "None" else "the wrong axis"
        yield f"a {name} over {axes}", with_axis(node, axis)


def of_index(node: ast.Subscript) -> Iterator[tuple[str, ast.expr]]:
    index = node.slice
    if isinstance(index, ast.Name):
        for step in (" - 1", " + 1"):
            yield "a step that is off by one", parsed(
                f"{ast.unparse(node.value)}[{index.id}{step}]")
    elif isinstance(index, ast.BinOp) and isinstance(index.op, (ast.Add, ast.Sub)):
        yield "a step that is off by one", parsed(
            f"{ast.unparse(node.value)}[{ast.unparse(index.left)}]")
    elif isinstance(index, ast.Slice):
        backwards = isinstance(index.step, ast.UnaryOp)
        yield "an order that is not reversed" if backwards else "a missing slice", node.value
        if not backwards:
            yield from of_bounds(node, index)


def of_bounds(node: ast.Subscript, index: ast.Slice) -> Iterator[tuple[str, ast.expr]]:
    """Yield (description, replacement) for a slice. The replacements have other bounds."""
    value = ast.unparse(node.value)
    lower = ast.unparse(index.lower) if index.lower else ""
    upper = ast.unparse(index.upper) if index.upper else ""
    if (lower, upper) == ("1", ""):
        yield "the wrong end cut off", parsed(f"({value})[:-1]")
    elif (lower, upper) == ("", "-1"):
        yield "the wrong end cut off", parsed(f"({value})[1:]")
    for step in (" - 1", " + 1"):
        if lower:
            yield "a slice that is off by one", parsed(f"({value})[{lower}{step}:{upper}]")
        if upper:
            yield "a slice that is off by one", parsed(f"({value})[{lower}:{upper}{step}]")
