"""Alternatives to an expression, each with the kind of mistake that it fixes."""

import ast

from numpy_attention.gradcheck.edits.alternatives import Alternatives
from numpy_attention.gradcheck.edits.candidates import part_of
from numpy_attention.gradcheck.edits.syntax import changed, function_name, parsed, with_item
from numpy_attention.gradcheck.edits.variants import (
    call_variants,
    moved,
    operator_variants,
    sequence_variants,
    shifted,
    swapped,
    with_argument,
)
from numpy_attention.gradcheck.locate.rewriting import (
    is_gradient,
    is_of_parameter,
    path_of,
    reads_of,
)

FUNCTIONS = "np.exp", "np.log", "np.tanh"


class ExpressionEdits(Alternatives):
    """Mixin that yields alternatives to expressions."""

    def variants(self, node):
        """Yield (kind of mistake, expression) for each alternative to an expression."""
        if isinstance(node, ast.BinOp):
            yield from self.operation_variants(node)
        if path_of(node) and isinstance(getattr(node, "ctx", None), ast.Load):
            yield from self.name_variants(node, path_of(node))
        if isinstance(node, ast.Attribute) and node.attr == "T":
            yield "transpose", node.value
        if isinstance(node, ast.Attribute) and path_of(node).startswith("self.") and (
                path_of(node) not in self.names):
            yield "factor", parsed(f"(1 - {path_of(node)})")
        if isinstance(node, ast.Attribute) and node.attr == "shape":
            yield from (("factor", parsed(f"{name}.shape")) for name in self.names)
        if isinstance(node, ast.Subscript):
            yield from self.subscript_variants(node)
        if isinstance(node, ast.Call):
            yield from call_variants(node)
            yield from sequence_variants(node)
            yield from self.argument_variants(node)
            yield from self.weighted(node)
        yield from self.mask_variants(node)
        if isinstance(node, ast.Tuple):
            yield from (("exchanged", other) for other in swapped(node))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Invert)):
            yield "sign" if isinstance(node.op, ast.USub) else "mask backward", node.operand

    def operation_variants(self, node):
        for kind, other in operator_variants(node):
            if kind == "extra term":
                is_left = ast.unparse(other) == ast.unparse(node.left)
                dropped = node.right if is_left else node.left
                kind = "double" if self.stands_twice(dropped) else kind
            yield kind, other
        if isinstance(node.op, ast.Mult) and any(map(is_gradient, reads_of(node))):
            for more in ("0", "1", "0, keepdims=True", "1, keepdims=True", "2, keepdims=True"):
                yield "jacobian", parsed(f"({ast.unparse(node)}).sum({more})")

    def stands_twice(self, node):
        text = ast.unparse(node)
        every = [ast.unparse(one) for one in ast.walk(self.tree) if type(one) is type(node)]
        return isinstance(node, ast.BinOp) and every.count(text) > 1

    def name_variants(self, node, path):
        shapes = self.names.get(path)
        if shapes is None:
            return
        for name, others in self.names.items():
            if name != path and (shapes & others or self.may_be_meant(path, name)):
                yield "wrong variable", parsed(name)
                if not is_gradient(path) and not is_gradient(name):
                    yield "factor", parsed(f"({path} * {name})")
        if not is_gradient(path) and isinstance(node, ast.Name) and max(map(len, shapes)) > 1:
            for function in FUNCTIONS:
                yield "derivative", parsed(f"{function}({path})")
            for entry in self.written.entries:
                yield "wrong variable", parsed(entry)

    def argument_variants(self, node):
        """Yield (kind, expression) for alternatives to the call `node`, such as other arguments."""
        yield from self.parameter_variants(node)
        name = path_of(node.func)
        last = function_name(node)
        if last == "zeros_like" and node.args and is_gradient(path_of(node.args[0])):
            yield "output ignored", parsed(f"{ast.unparse(node.args[0])}.copy()")
        if last == "zeros_like":
            for other in filter(is_gradient, self.alike(self.statement)):
                yield "missing term", parsed(f"{other}.copy()")
        if last == "copy" and not node.args and isinstance(node.func, ast.Attribute):
            yield "assigned", node.func.value
        if name.startswith("np.") or isinstance(getattr(node.func, "value", None), ast.Call):
            return
        for i, one in enumerate(node.args):
            if is_gradient(path_of(one)) and "." not in path_of(one) and self.calls_known(node):
                yield "wrong step", with_argument(node, i, parsed(f"{path_of(one)}[::-1]"))
            for other in filter(is_gradient, self.names):
                if isinstance(one, ast.Constant) and one.value == 0:
                    yield "missing term", with_argument(node, i, parsed(other))
                elif path_of(one) != other and self.names.get(path_of(one), set()) & (
                        self.names[other]) and is_gradient(path_of(one)):
                    both = parsed(f"{ast.unparse(one)} + {other}")
                    yield "missing term", with_argument(node, i, both)

    def parameter_variants(self, node):
        """Yield ("exchanged", call) with gradients of other parameters as arguments."""
        handed = [path_of(one) for one in node.args if is_of_parameter(path_of(one))]
        ends = {one.attr.rpartition("_")[2] for one in ast.walk(self.tree)
                if isinstance(one, ast.Attribute) and "_" in one.attr}
        if len(handed) > 1 and len({name.rpartition("_")[2] for name in handed}) == 1:
            for end in sorted(ends):        # W_f and U_f become W_b and U_b
                args = [parsed(f"{path_of(one).rpartition('_')[0]}_{end}")
                        if path_of(one) in handed else one for one in node.args]
                yield "exchanged", changed(node, args=args)
        known = [*self.names, *map(path_of, ast.walk(self.tree))]
        others = {name.partition(".")[2] for name in known
                  if name.startswith(("self.", "p.")) or is_of_parameter(name)}
        for i, one in enumerate(node.args):
            if not is_of_parameter(path_of(one)):
                continue
            root, _, field = path_of(one).partition(".")
            for other in sorted(others - {field}):
                yield "exchanged", with_argument(node, i, parsed(f"{root}.{other}"))

    def mask_variants(self, node):
        """Yield ("mask backward", expression) with an inverted mask, such as x[~mask]."""
        if isinstance(node, ast.Call) and path_of(node.func) == "np.where":
            name, at = "args", node.args[0]
        elif isinstance(node, ast.Subscript):
            name, at = "slice", node.slice
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            name = "left" if self.reads_mask(node.left) else "right"
            at = getattr(node, name)
        else:
            return
        if not self.reads_mask(at) or isinstance(at, (ast.BinOp, ast.Tuple, ast.Call)):
            return
        flipped = at.operand if isinstance(at, ast.UnaryOp) else parsed(f"~({ast.unparse(at)})")
        whole = with_item(node.args, 0, flipped) if name == "args" else flipped
        yield "mask backward", changed(node, **{name: whole})

    def weighted(self, node):
        """Yield ("jacobian", (x * dx).sum()) to replace dx.sum(), for each x of the same shape."""
        base = path_of(getattr(node.func, "value", None))
        target = path_of(getattr(self.statement, "target", None))
        if getattr(node.func, "attr", "") not in ("sum", "mean") or not is_gradient(base) or (
                is_of_parameter(target)):
            return
        for name, shapes in self.names.items():
            if not is_gradient(name) and shapes & self.names.get(base, set()):
                yield "jacobian", changed(node, func=parsed(f"({name} * {base}).sum"))

    def subscript_variants(self, node):
        text = ast.unparse(node.value)
        for name in sorted(stepped(node.slice)):
            for step in (name, f"{name} - 1", f"{name} + 1"):
                if step != ast.unparse(node.slice):
                    yield "wrong step", parsed(f"{text}[{step}]")
        yield from (("wrong step", other) for other in [*moved(node), *shifted(node)])
        if ast.unparse(node.slice) == "::-1":
            yield "wrong step", node.value
        if isinstance(node.slice, (ast.Name, ast.Constant)):
            for name in self.written.indices:
                if name != ast.unparse(node.slice):
                    yield "wrong variable", parsed(f"{text}[{name}]")
        if not any(map(is_gradient, reads_of(self.statement))):
            return
        parts = {part_of(shape, node.slice) for shape in self.names.get(path_of(node.value), ())}
        for name in self.with_shapes(parts - {None}) if is_gradient(path_of(node.value)) else ():
            if is_gradient(name):
                yield "wrong variable", parsed(name)
        for axis in (0, 1):
            yield "axis", parsed(f"{text}.sum({axis})")
        for name, shapes in self.names.items():
            if name != text and not is_gradient(name) and max(map(len, shapes)) > 1:
                yield "wrong variable", parsed(name)
        for other in self.written.slices:
            if ast.dump(other) == ast.dump(node.slice) or type(other) is not type(node.slice):
                continue
            if isinstance(other, ast.Tuple):
                yield "exchanged", changed(node, slice=other)
            elif isinstance(other, ast.Constant) and isinstance(other.value, str):
                yield "wrong variable", changed(node, slice=other)


def stepped(node):
    """Return {"t"} for an index such as t, t + 1 or t - 1, and an empty set for other indices."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.BinOp) and isinstance(node.left, ast.Name):
        return {node.left.id}
    return set()
