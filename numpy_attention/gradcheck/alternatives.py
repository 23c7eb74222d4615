"""What may have been meant instead of a statement or an expression, by kind of mistake."""

import ast
import copy

import numpy as np

from numpy_attention.gradcheck.kinds import LOCAL
from numpy_attention.gradcheck.rewriting import (Declined, Rewriter, is_gradient, path_of, reads_of,
                                                 tree_of)
from numpy_attention.gradcheck.variants import (moved, of_call, of_operator, of_sequence, parsed,
                                                subscript, swapped)

NUDGE = "nudge"         # no mistake: it shows which gradients a statement has a part in
FUNCTIONS = "np.exp", "np.log", "np.tanh"
# what a mask, or one step of it, is cut to, so that it fits a value
CUTS = {
    "": lambda mask: mask,
    "[:, None]": lambda mask: mask[:, None],
    "[:, :, None]": lambda mask: mask[:, :, None],
    "[:, None, :]": lambda mask: mask[:, None, :],
    "[:, None, None, :]": lambda mask: mask[:, None, None, :],
    "[t]": lambda mask: mask[0],
    "[t][:, None]": lambda mask: mask[0][:, None],
}


class Written:
    """What stands in some functions, and others: slices; names of indices; entries: step["c"].

    names: of the functions. is_softmax: whether there is what may be one.
    """

    def __init__(self, functions, others=()):
        self.names = {one.__name__ for one in functions}
        self.is_softmax = False
        slices, indices = {}, {}
        bases, dicts = {}, []
        for function in [*functions, *others]:
            try:
                tree = tree_of(function)
            except Declined:
                continue
            text = ast.unparse(tree)
            self.is_softmax |= "softmax" in text or "exp(" in text and "max(" in text
            for one in ast.walk(tree):
                if isinstance(one, ast.Subscript):
                    slices[ast.dump(one.slice)] = one.slice
                    if isinstance(one.slice, ast.Name):
                        indices[one.slice.id] = None
                    if isinstance(getattr(one.slice, "value", None), str) and path_of(one.value):
                        bases.setdefault(path_of(one.value), {})[one.slice.value] = None
                dicts.append(keys_of(one))
        self.slices = list(slices.values())
        self.indices = list(indices)
        for keys in bases.values():
            for others in dicts:
                if keys.keys() & others.keys():
                    keys.update(others)
        self.entries = [f"{base}[{key!r}]" for base, keys in bases.items() for key in keys]


def keys_of(node):
    """Those of a dict that is written as dict(c=c) or {"c": c}."""
    if isinstance(node, ast.Call) and path_of(node.func) == "dict":
        return {one.arg: None for one in node.keywords if one.arg}
    if isinstance(node, ast.Dict):
        return {one.value: None for one in node.keys if isinstance(one, ast.Constant)}
    return {}


class Alternatives(Rewriter):
    """Knows what a function has, and so what one of its statements may have been meant to say.

    names: {name, or path: shapes}, the arrays that the function has; masks: likewise those of True
    and False; written: what all functions of the file have. statement: the one at hand.
    """

    def __init__(self, function, places, names, masks, written):
        super().__init__(function, places)
        self.names = names
        self.masks = masks
        self.written = written
        self.statement = None

    # ---- statements ----------------------------------------------------------------------------

    def of_statement(self, node):
        """(kind, statements) that may have been meant instead of one."""
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            yield from self.of_assignment(node, node.targets[0])
        if isinstance(node, ast.AugAssign) and isinstance(node.op, (ast.Add, ast.Sub)):
            other = copy.deepcopy(node)
            other.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
            yield "sign", [other]
            yield "double", []
            if isinstance(node.target, ast.Subscript) and isinstance(node.target.slice, ast.Name):
                text = (f"np.add.at({ast.unparse(node.target.value)}, "
                        f"{ast.unparse(node.target.slice)}, {ast.unparse(node.value)})")
                yield "repeated ids", ast.parse(text).body
        if isinstance(node, (ast.Assign, ast.AugAssign)):
            yield from self.of_place(node)
            yield from self.of_gap(node)
            target = getattr(node, "target", None) or node.targets[0]
            for kind, place in self.of_mask(target):
                made = copy.deepcopy(node)
                if isinstance(node, ast.Assign):
                    made.targets = [place]
                else:
                    made.target = place
                yield kind, [made]
        if isinstance(node, ast.If) and not node.orelse:
            yield "wrong step", copy.deepcopy(node.body)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            for name in filter(is_gradient, self.names):
                if "." not in name:
                    yield "missing term", [adding(ast.Name(name, ast.Load()), node.value)]

    def of_gap(self, node):
        """dX += dY @ W.T and dX += dY.T @ A behind the statement that makes dY."""
        target = getattr(node, "target", None) or node.targets[0]
        made = path_of(target)
        if not is_gradient(made) or "." in made:
            return
        for shape in [one for one in self.names.get(made, ()) if len(one) > 1]:
            for name, others in self.names.items():
                if name == made or name not in self.had_before(node):
                    continue
                for other in others:
                    for value in self.products_of(made, shape, other):
                        yield "missing term", [copy.deepcopy(node),
                                               *ast.parse(f"{name} += {value}").body]

    def had_before(self, node):
        """The gradients by a name that there are before a statement."""
        stored = {one.id for one in ast.walk(self.tree) if isinstance(one, ast.Name)
                  and isinstance(one.ctx, ast.Store) and one.lineno < node.lineno}
        return set(filter(is_gradient, stored | {one.arg for one in self.tree.args.args}))

    def products_of(self, name, shape, wanted):
        """The products with a gradient of some shape that have another one."""
        if len(wanted) == 2 == len(shape) and wanted[0] == shape[1]:
            arrays = [one for one, shapes in self.names.items() if not is_gradient(one)
                      and (shape[0], wanted[1]) in shapes]
            for one in [*arrays, *self.written.entries]:
                yield f"{name}.T @ {one}"
        if wanted[:-1] == shape[:-1]:
            for one, shapes in self.names.items():
                if not is_gradient(one) and (wanted[-1], shape[-1]) in shapes:
                    yield f"{name} @ {one}.T"

    def of_assignment(self, node, target):
        if isinstance(target, (ast.Subscript, ast.Attribute, ast.Name)):
            yield "assigned", [adding(target, node.value)]
            if isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.Add):
                if ast.unparse(node.value.left) == ast.unparse(target):
                    yield "assigned", [adding(target, node.value.right)]
        elif isinstance(node.value, ast.Tuple):
            for value in [*swapped(node.value), *cut_from_behind(node.value)]:
                yield "exchanged", [ast.Assign(copy.deepcopy(node.targets), value)]
        elif isinstance(target, ast.Tuple) and not self.calls_known(node.value):
            for other in swapped(target, ast.Store):
                yield "exchanged", [ast.Assign([other], copy.deepcopy(node.value))]

    def calls_known(self, node):
        """Whether a value is given by one of the functions, where it can be exchanged as well."""
        called = getattr(getattr(node, "func", None), "attr", getattr(
            getattr(node, "func", None), "id", ""))
        return called in self.written.names

    def of_place(self, node):
        """x[i] = y, or x[i] += y, at another i; x[i] += y for x += y[:, None]."""
        target = getattr(node, "target", None) or node.targets[0]
        parts = target.elts if isinstance(target, ast.Tuple) else [target]
        for number, part in enumerate(parts):
            for other in self.written.slices:
                made = copy.deepcopy(node)
                if isinstance(part, ast.Subscript) and ast.dump(other) != ast.dump(part.slice):
                    whole = part.value
                elif isinstance(node, ast.AugAssign) and isinstance(part, ast.Name):
                    whole = ast.Name(part.id, ast.Load())
                    if isinstance(made.value, ast.Subscript):
                        made.value = made.value.value
                else:
                    continue
                where = ast.Subscript(copy.deepcopy(whole), copy.deepcopy(other), ast.Store())
                if isinstance(target, ast.Tuple):
                    made.targets[0].elts[number] = where
                elif isinstance(made, ast.Assign):
                    made.targets = [where]
                else:
                    made.target = where
                yield "axis", [made]

    # ---- whole values --------------------------------------------------------------------------

    def whole(self, statement):
        """(kind, expression) that may have been meant instead of a statement's value."""
        value = statement.value
        yield NUDGE, parsed(f"1.001 * ({ast.unparse(value)})")
        if isinstance(value, ast.Tuple):
            for other in swapped(value):
                yield "exchanged", other
            for i, part in enumerate(value.elts):
                shapes = self.shapes_of_value(part)
                for kind, changed in self.of_value(part, self.of_shapes(shapes), shapes):
                    other = copy.deepcopy(value)
                    other.elts[i] = changed
                    yield kind, other
            return
        yield from self.of_value(value, self.alike(statement), self.shapes_of(statement))

    def of_value(self, value, alike, shapes=()):
        """(kind, expression) instead of a gradient; alike: names of arrays of its shape."""
        reads = reads_of(value)
        if not any(map(is_gradient, reads)):
            return
        text = f"({ast.unparse(value)})"
        yield "sign", parsed(f"-{text}")
        yield "transpose", parsed(f"{text}.T")
        for axis in ("0", "1", "(0, 1)"):
            yield "batch sum", parsed(f"{text}.sum({axis})")
        for number in ("2", "0.5"):
            yield "factor", parsed(f"{number} * {text}")
        masks = self.fitting(shapes)
        yield from masked(value, masks)
        if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub)):
            for side in ("left", "right"):
                for kind, part in masked(getattr(value, side), masks):
                    other = copy.deepcopy(value)
                    setattr(other, side, part)
                    yield kind, other
        yield from self.renamed(value)
        for axis in (0, 1, 2):
            yield "jacobian", parsed(f"{text} - {text}.mean({axis}, keepdims=True)")
        yield from self.with_alike(text, alike, reads)
        for shape in shapes:
            for term in self.products(shape):
                yield "missing term", parsed(f"{text} + {term}")
        for name, others in self.names.items():
            if not is_gradient(name) and any(lies_over(one, shape) for one in others
                                             for shape in shapes):
                yield "factor", parsed(f"{text} * {name}")
                yield "factor", parsed(f"{text} / {name}")
        for name in sorted(self.numbers() - reads):
            yield "factor", parsed(f"{text} * {name}")
            yield "factor", parsed(f"{text} / {name}")

    def numbers(self):
        """The names of a function that are no arrays, among them its numbers."""
        made = {one.id for one in ast.walk(self.tree)
                if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        given = {one.arg for one in self.tree.args.args}
        return {name for name in made | given if name not in self.names
                and not is_gradient(name)} - {"self", "grad", "cache", "_"}

    def with_alike(self, text, alike, reads):
        """A gradient and another of its shape; times a local derivative; less its mean."""
        for name in alike:
            if is_gradient(name):
                if name not in reads:
                    yield "missing term", parsed(f"{text} + {name}")
                continue
            if name.startswith("self."):
                continue
            for factor in list(LOCAL)[1:]:
                yield "derivative", parsed(f"{text} * ({factor.replace('{}', name)})")
            for axis in range(min(3, max(map(len, self.names[name])))):
                yield "jacobian", parsed(f"{text} - {name} * {text}.sum({axis}, keepdims=True)")
                for method in ("sum", "mean"):
                    yield "jacobian", parsed(
                        f"{text} - {name} * ({name} * {text}).{method}({axis}, keepdims=True)")

    def products(self, shape):
        """dY @ W.T of that shape, for all dY and W at hand: what y = x @ W gives to dx."""
        for matrix, (one, *_) in self.names.items():
            if len(one) != 2 or one[:1] != shape[-1:] or is_gradient(matrix):
                continue
            for name, others in self.names.items():
                if is_gradient(name) and "." not in name and (*shape[:-1], one[1]) in others:
                    yield f"{name} @ {matrix}.T"

    def fitting(self, wholes):
        """The masks, cut so that they can be laid over arrays of some shapes, or of any."""
        return [f"{mask}{cut}" for mask, shapes in self.masks.items() for cut in CUTS
                if not wholes or any(fits(one, cut, whole) for one in shapes for whole in wholes)]

    def renamed(self, value):
        """One array for another wherever it stands, where it stands more than once."""
        names = [path_of(one) for one in ast.walk(value)
                 if path_of(one) in self.names and isinstance(one.ctx, ast.Load)]
        for name in sorted({one for one in names if names.count(one) > 1}):
            for other, shapes in self.names.items():
                if other != name and shapes & self.names[name]:
                    yield "wrong variable", Renaming(name, other).visit(copy.deepcopy(value))

    def shapes_of(self, statement):
        """The shapes of what a statement makes, as far as they are known."""
        if isinstance(statement, ast.Return):
            return self.shapes_of_value(statement.value)
        target = getattr(statement, "target", None) or getattr(
            statement, "targets", [ast.Pass()])[0]
        is_part = isinstance(target, ast.Subscript)
        path = path_of(target.value if is_part else target)
        if path.startswith("grad."):
            path = path.replace("grad.", "self.", 1)
        shapes = self.names.get(path, ())
        if is_part:
            return {part_of(shape, target.slice) for shape in shapes} - {None}
        return set(shapes)

    def shapes_of_value(self, value):
        """Those of the first gradient that it reads, of which it is a product."""
        if isinstance(value, ast.BinOp) and not isinstance(value.op, ast.MatMult):
            for path in sorted(filter(is_gradient, reads_of(value))):
                if path in self.names:
                    return set(self.names[path])
        return set(self.names.get(path_of(value), ()))

    def alike(self, statement):
        """The names of arrays of the shape of what a statement makes, none where it is unknown."""
        target = getattr(statement, "target", None) or getattr(
            statement, "targets", [ast.Pass()])[0]
        return self.of_shapes(self.shapes_of(statement), path_of(target))

    def of_shapes(self, shapes, but=""):
        return [name for name, others in self.names.items() if name != but and others & shapes]

    # ---- expressions ---------------------------------------------------------------------------

    def variants(self, node):
        """(kind, expression) that may have been meant instead of one."""
        if isinstance(node, ast.BinOp):
            yield from self.of_operation(node)
        if path_of(node) and isinstance(getattr(node, "ctx", None), ast.Load):
            yield from self.of_name(node, path_of(node))
        if isinstance(node, ast.Attribute) and node.attr == "T":
            yield "transpose", node.value
        if isinstance(node, ast.Attribute) and path_of(node).startswith("self.") and (
                path_of(node) not in self.names):
            yield "factor", parsed(f"(1 - {path_of(node)})")
        if isinstance(node, ast.Attribute) and node.attr == "shape":
            yield from (("factor", parsed(f"{name}.shape")) for name in self.names)
        if isinstance(node, ast.Subscript):
            yield from self.of_subscript(node)
        if isinstance(node, ast.Call):
            yield from of_call(node)
            yield from of_sequence(node)
            yield from self.of_arguments(node)
            yield from self.weighted(node)
        yield from self.of_mask(node)
        if isinstance(node, ast.Tuple):
            yield from (("exchanged", other) for other in swapped(node))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Invert)):
            yield "sign" if isinstance(node.op, ast.USub) else "mask backward", node.operand

    def of_operation(self, node):
        for kind, other in of_operator(node):
            if kind == "extra term":
                dropped = node.right if other is node.left else node.left
                kind = "double" if self.stands_twice(dropped) else kind
            yield kind, other
        if isinstance(node.op, ast.Mult) and any(map(is_gradient, reads_of(node))):
            for more in ("0", "1", "0, keepdims=True", "1, keepdims=True", "2, keepdims=True"):
                yield "jacobian", parsed(f"({ast.unparse(node)}).sum({more})")

    def stands_twice(self, node):
        text = ast.unparse(node)
        every = [ast.unparse(one) for one in ast.walk(self.tree) if type(one) is type(node)]
        return isinstance(node, ast.BinOp) and every.count(text) > 1

    def of_name(self, node, path):
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

    def may_be_meant(self, path, other):
        """Whether both are parameters of as many axes."""
        both = path.startswith("self.") and other.startswith("self.")
        return both and {*map(len, self.names[path])} == {*map(len, self.names[other])}

    def of_arguments(self, node):
        """What is handed over: another gradient for 0, one more added; not its zeros, its copy."""
        yield from self.of_twins(node)
        name = path_of(node.func)
        last = name.rpartition(".")[2] or getattr(node.func, "attr", "")
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
            for other in filter(is_gradient, self.names):
                if isinstance(one, ast.Constant) and one.value == 0:
                    changed = parsed(other)
                elif path_of(one) != other and self.names.get(path_of(one), set()) & (
                        self.names[other]) and is_gradient(path_of(one)):
                    changed = parsed(f"{ast.unparse(one)} + {other}")
                else:
                    continue
                made = copy.deepcopy(node)
                made.args[i] = changed
                yield "missing term", made

    def of_twins(self, node):
        """Another parameter's gradient handed over, to be added to; or those of all parameters."""
        handed = [path_of(one) for one in node.args if path_of(one).startswith("grad.")]
        ends = {one.attr.rpartition("_")[2] for one in ast.walk(self.tree)
                if isinstance(one, ast.Attribute) and "_" in one.attr}
        if len(handed) > 1 and len({name.rpartition("_")[2] for name in handed}) == 1:
            for end in sorted(ends):
                made = copy.deepcopy(node)
                made.args = [parsed(f"{path_of(one).rpartition('_')[0]}_{end}")
                             if path_of(one) in handed else one for one in made.args]
                yield "exchanged", made
        for i, one in enumerate(node.args):
            if not path_of(one).startswith("grad."):
                continue
            for other in self.names:
                if other.startswith(("self.", "p.")) and other.partition(".")[2] != path_of(
                        one).partition(".")[2]:
                    made = copy.deepcopy(node)
                    made.args[i] = parsed(f"grad.{other.partition('.')[2]}")
                    yield "exchanged", made

    def reads_mask(self, node):
        return not isinstance(node, ast.Constant) and bool(reads_of(node) & self.masks.keys())

    def of_mask(self, node):
        """The mask of np.where, of x[mask] or of mask * x the other way round."""
        if isinstance(node, ast.Call) and path_of(node.func) == "np.where":
            names, at = "args", node.args[0]
        elif isinstance(node, ast.Subscript):
            names, at = "slice", node.slice
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            names = "left" if self.reads_mask(node.left) else "right"
            at = getattr(node, names)
        else:
            return
        if not self.reads_mask(at) or isinstance(at, (ast.BinOp, ast.Tuple, ast.Call)):
            return
        other = copy.deepcopy(node)
        flipped = parsed(f"~({ast.unparse(at)})")
        if isinstance(at, ast.UnaryOp):
            flipped = at.operand
        setattr(other, names, [flipped, *other.args[1:]] if names == "args" else flipped)
        yield "mask backward", other

    def weighted(self, node):
        """(x * dx).sum() for dx.sum() or dx.mean()."""
        base = path_of(getattr(node.func, "value", None))
        target = path_of(getattr(self.statement, "target", None))
        if getattr(node.func, "attr", "") not in ("sum", "mean") or not is_gradient(base) or (
                target.startswith("grad.")):
            return
        for name, shapes in self.names.items():
            if not is_gradient(name) and shapes & self.names.get(base, set()):
                other = copy.deepcopy(node)
                other.func = parsed(f"({name} * {base}).sum")
                yield "jacobian", other

    def of_subscript(self, node):
        text = ast.unparse(node.value)
        for name in sorted(stepped(node.slice)):
            for step in (name, f"{name} - 1", f"{name} + 1"):
                if step != ast.unparse(node.slice):
                    yield "wrong step", parsed(f"{text}[{step}]")
        yield from (("wrong step", other) for other in moved(node))
        if ast.unparse(node.slice) == "::-1":
            yield "wrong step", node.value
        if isinstance(node.slice, (ast.Name, ast.Constant)):
            for name in self.written.indices:
                if name != ast.unparse(node.slice):
                    yield "wrong variable", parsed(f"{text}[{name}]")
        if not any(map(is_gradient, reads_of(self.statement))):
            return
        for axis in (0, 1):
            yield "axis", parsed(f"{text}.sum({axis})")
        for name, shapes in self.names.items():
            if name != text and not is_gradient(name) and max(map(len, shapes)) > 1:
                yield "wrong variable", parsed(name)
        for other in self.written.slices:
            if ast.dump(other) == ast.dump(node.slice) or type(other) is not type(node.slice):
                continue
            if isinstance(other, ast.Tuple):
                yield "exchanged", subscript(node.value, other)
            elif isinstance(other, ast.Constant) and isinstance(other.value, str):
                yield "wrong variable", subscript(node.value, other)


def cut_from_behind(node):
    """x[:, -n:], x[:, :-n] for x[:, :n], x[:, n:]."""
    if len(node.elts) != 2 or not all(isinstance(one, ast.Subscript) for one in node.elts):
        return
    first, second = (ast.unparse(one) for one in node.elts)
    slices = [getattr(one.slice, "elts", [one.slice])[-1] for one in node.elts]
    if not all(isinstance(one, ast.Slice) for one in slices) or slices[0].upper is None:
        return
    n = ast.unparse(slices[0].upper)
    if slices[0].lower is None and first.replace(f":{n}]", f"{n}:]") == second:
        yield parsed(f"{first.replace(f':{n}]', f'-{n}:]')}, {first.replace(f':{n}]', f':-{n}]')}")


def masked(value, masks):
    for mask in masks:
        yield "mask backward", parsed(f"{mask} * ({ast.unparse(value)})")
        yield "mask backward", parsed(f"~{mask} * ({ast.unparse(value)})")


def fits(shape, cut, whole):
    """Whether a mask of some shape, cut, can be laid over an array as it is."""
    try:
        found = CUTS[cut](np.broadcast_to(True, shape)).shape
        return np.broadcast_shapes(found, whole) == whole
    except (IndexError, ValueError):
        return False


class Renaming(ast.NodeTransformer):
    """One name, or path, for another."""

    def __init__(self, old, new):
        self.old = old
        self.new = new

    def visit(self, node):
        if path_of(node) == self.old and isinstance(node.ctx, ast.Load):
            return parsed(self.new)
        return super().visit(node)


def part_of(shape, index):
    """The shape of x[index]; None: that cannot be told."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    if len(parts) > len(shape):
        return None
    left = list(shape[len(parts):])
    for part, length in reversed(list(zip(parts, shape))):
        if ast.unparse(part) == ":":
            left.insert(0, length)
        elif isinstance(part, ast.Slice):
            return None
    return tuple(left)


def adding(target, value):
    target = parsed(ast.unparse(target))
    target.ctx = ast.Store()
    return ast.AugAssign(target, ast.Add(), copy.deepcopy(value))


def stepped(node):
    """The name of t in [t], [t + 1] and [t − 1]."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.BinOp) and isinstance(node.left, ast.Name):
        return {node.left.id}
    return set()


def lies_over(shape, whole):
    """Whether an array of fewer axes than another broadcasts over it as it is."""
    try:
        return 0 < len(shape) < len(whole) and np.broadcast_shapes(shape, whole) == whole
    except ValueError:
        return False
