"""Build alternatives to an expression from its syntax tree, each with a kind of mistake."""

import ast

from numpy_attention.gradcheck.edits.syntax import (
    PRODUCTS,
    by_pattern,
    calling,
    changed,
    children,
    exchanged,
    function_name,
    parsed,
    with_axis,
    with_item,
)
from numpy_attention.gradcheck.locate.rewriting import path_of

AXES = ("0", "1", "2", "None", "(0, 1)", "(1, 2)")
REDUCTIONS = ("sum", "mean", "max")

# instead of an operation on {0} and {1}, by operator: (kind, expression)
OPERATIONS = {
    ast.Add: [("sign", "({0}) - ({1})"), ("extra term", "{0}"), ("extra term", "{1}")],
    ast.Sub: [("sign", "({0}) + ({1})"), ("sign", "({1}) - ({0})"), ("extra term", "{0}"),
              ("derivative", "({0}) - ({1})**2")],
    ast.Mult: [("factor", "{0}"), ("factor", "{1}"), ("factor", "({0}) / ({1})")],
    ast.Div: [("factor", "{0}"), ("factor", "({0}) * ({1})")],
    ast.Pow: [("derivative", "{0}")],
    ast.MatMult: [("transpose", pattern) for pattern in (
        *PRODUCTS, "({1}).T @ ({0})", "({0}).swapaxes(-1, -2) @ ({1})",
        "({0}) @ ({1}).swapaxes(-1, -2)")],
}


def operator_variants(node):
    """Yield (kind, expression) to replace an operation, such as ("sign", x - y) for x + y."""
    yield from by_pattern(node, OPERATIONS)
    right = ast.unparse(node.right)
    if isinstance(node.op, ast.Sub) and ast.unparse(node.left) == "1":
        base = right.removesuffix("**2").removesuffix(" ** 2")
        for other in (base, f"1 - ({base})", f"({base}) * (1 - ({base}))"):
            yield "derivative", parsed(other)
    difference = node.left
    if isinstance(node.op, ast.Pow) and isinstance(getattr(difference, "op", None), ast.Sub):
        one, other = ast.unparse(difference.left), ast.unparse(difference.right)
        yield "derivative", parsed(f"({one}) - ({other})**{right}")


def call_variants(node):
    """Yield (kind, expression) to replace a call, such as ("axis", x.sum(1)) for x.sum(0)."""
    name = function_name(node)
    if name in REDUCTIONS and isinstance(node.func, ast.Attribute):
        yield from reduction_variants(node, name)
    elif name == "where" and len(node.args) == 3:
        yield "mask backward", changed(node, args=exchanged(node.args, 1, 2))
        yield "mask backward", node.args[1]
        yield "mask backward", node.args[2]
    elif name == "einsum":
        yield from einsum_variants(node)
    elif name in ("empty", "empty_like"):
        yield "unwritten", calling(node, name.replace("empty", "zeros"))
    elif name == "transpose":
        yield "transpose", node.func.value
    elif name == "outer":
        one, other = (ast.unparse(part).removesuffix("[0]") for part in node.args)
        yield "batch sum", parsed(f"({one}).T @ ({other})")
    elif name in ("dot", "matmul") and len(node.args) == 2:
        yield "shape", ast.BinOp(node.args[0], ast.MatMult(), node.args[1])
    if name in ("range", "slice", "tril", "triu"):
        yield from (("wrong step", other) for other in moved(node))
    if name in ("zeros", "empty", "zeros_like") and len(node.args) == 2:
        yield "dtype", changed(node, args=node.args[:1])
    if name == "append" and len(node.args) == 1:
        args = [ast.Constant(0), *node.args]
        yield "exchanged", changed(calling(node, "insert"), args=args)
    if len(node.args) > 1 and name not in ("einsum", "where"):
        for args in swapped(ast.Tuple(node.args, ast.Load())):
            yield "exchanged", changed(node, args=args.elts)


def sequence_variants(node):
    """Yield (kind, call), such as ("wrong step", zip(xs, hs[::-1])) for zip(xs, hs)."""
    if function_name(node) not in ("zip", "stack", "array", "concatenate", "hstack", "enumerate"):
        return
    for i, one in enumerate(node.args):
        if isinstance(one, ast.Name):
            yield "wrong step", reversed_in(node, [i])
        if isinstance(one, (ast.List, ast.Tuple)):
            yield from (("exchanged", with_argument(node, i, other)) for other in swapped(one))
    named = [i for i, one in enumerate(node.args) if isinstance(one, ast.Name)]
    if len(named) > 1:
        yield "wrong step", reversed_in(node, named)


def reversed_in(node, numbers):
    for i in numbers:
        node = with_argument(node, i, parsed(f"{ast.unparse(node.args[i])}[::-1]"))
    return node


def reduction_variants(node, name):
    """Yield (kind, expression) to replace a reduction, such as ("axis", x.sum(1)) for x.sum(0)."""
    for axis in AXES:
        other = with_axis(node, axis)
        if ast.unparse(other) != ast.unparse(node):
            yield "axis", other
    for method in REDUCTIONS:
        if method != name:
            yield "factor", calling(node, method)
    if path_of(node.func.value) != "np":
        yield "axis", node.func.value


def einsum_variants(node):
    """Yield ("axis", call) with one input letter changed or two adjacent output letters swapped."""
    if not node.args or not isinstance(node.args[0], ast.Constant):
        return
    letters, arrow, out = str(node.args[0].value).partition("->")
    known = sorted(set(letters) & set("abcdefghijklmnopqrstuvwxyz"))
    found = [letters[:i] + other + letters[i + 1:] + arrow + out
             for i, letter in enumerate(letters) if letter in known
             for other in known if other != letter]
    found += [letters + arrow + out[:i] + out[i + 1] + out[i] + out[i + 2:]
              for i in range(len(out) - 1)]
    yield from (("axis", with_argument(node, 0, ast.Constant(text))) for text in found)


def moved(node):
    """Yield copies of a node, each with one integer increased or decreased by 1."""
    for slot, one in [pair for inside in ast.walk(node) for pair in children(inside)]:
        if isinstance(one, ast.Constant) and type(one.value) is int:
            for step in (-1, 1):
                with slot.holding(ast.Constant(one.value + step)):
                    other = parsed(ast.unparse(node))
                yield other


def shifted(node):
    """If `node` is x[:t], yield x[1:t + 1]. If `node` is x[1:t + 1], yield x[:t]."""
    at = node.slice
    if not isinstance(at, ast.Slice) or at.upper is None or at.step is not None:
        return
    upper = ast.unparse(at.upper)
    if at.lower is None:
        yield changed(node, slice=ast.Slice(ast.Constant(1), parsed(f"{upper} + 1")))
    elif ast.unparse(at.lower) == "1" and upper.endswith(" + 1"):
        yield changed(node, slice=ast.Slice(None, parsed(upper.removesuffix(" + 1"))))


def swapped(node):
    """Yield copies of a tuple or list, each with two of the elements swapped."""
    for i in range(len(node.elts)):
        for k in range(i):
            yield changed(node, elts=exchanged(node.elts, i, k))


# ---- syntax trees -------------------------------------------------------------------------------


def with_argument(call, i, value):
    """Return a copy of a call with `value` as the i-th argument."""
    return changed(call, args=with_item(call.args, i, value))


def target_of(statement):
    """Return the first target of an assignment, or a new `pass` node for any other statement."""
    targets = getattr(statement, "targets", [ast.Pass()])
    return getattr(statement, "target", None) or targets[0]


def retargeted(statement, target):
    """Return a copy of an assignment that assigns to `target` instead."""
    if isinstance(statement, ast.Assign):
        return changed(statement, targets=[target])
    return changed(statement, target=target)


def written(node):
    return "; ".join(" ".join(line.split()) for line in ast.unparse(node).splitlines())
