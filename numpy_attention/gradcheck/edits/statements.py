"""Alternatives to a statement, each with the kind of mistake that it fixes."""

import ast

from numpy_attention.gradcheck.edits.alternatives import Alternatives
from numpy_attention.gradcheck.edits.syntax import (
    SIGN,
    changed,
    opposite_sign,
    parsed,
    with_item,
)
from numpy_attention.gradcheck.edits.variants import (
    moved,
    retargeted,
    shifted,
    swapped,
    target_of,
)
from numpy_attention.gradcheck.locate.rewriting import is_gradient, path_of


class StatementEdits(Alternatives):
    """Mixin that yields alternatives to statements."""

    def statement_variants(self, node):
        """Yield (kind, statements that replace `node`), such as ("sign", [x -= y]) for x += y."""
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            yield from self.assignment_variants(node, node.targets[0])
        if isinstance(node, ast.AugAssign) and type(node.op) in SIGN:
            yield "sign", [opposite_sign(node)]
            yield "double", []
            if isinstance(node.target, ast.Subscript) and isinstance(node.target.slice, ast.Name):
                text = (f"np.add.at({ast.unparse(node.target.value)}, "
                        f"{ast.unparse(node.target.slice)}, {ast.unparse(node.value)})")
                yield "repeated ids", ast.parse(text).body
        if isinstance(node, (ast.Assign, ast.AugAssign)):
            yield from self.place_variants(node)
            yield from self.following_terms(node)
            for kind, place in self.mask_variants(target_of(node)):
                yield kind, [retargeted(node, place)]
        if isinstance(node, ast.If) and not node.orelse:
            yield "wrong step", node.body
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            for name in filter(is_gradient, self.names):
                if "." not in name:
                    yield "missing term", adding(name, node.value)

    def following_terms(self, node):
        """Yield ("missing term", [node, new]), where `new` adds a term, such as dx += dy @ W.T."""
        made = path_of(target_of(node))
        if not is_gradient(made) or "." in made:
            return
        for shape in [one for one in self.names.get(made, ()) if len(one) > 1]:
            for name, others in self.names.items():
                if name == made or name not in self.had_before(node):
                    continue
                for other in others:
                    for value in self.products_of(made, shape, other):
                        yield "missing term", [node, *adding(name, parsed(value))]

    def products_of(self, name, shape, wanted):
        """Yield code such as "dy @ W.T" that multiplies `name` by arrays to get shape `wanted`."""
        if len(wanted) == 2 == len(shape) and wanted[0] == shape[1]:
            arrays = [one for one, shapes in self.names.items() if not is_gradient(one)
                      and (shape[0], wanted[1]) in shapes]
            for one in [*arrays, *self.written.entries]:
                yield f"{name}.T @ {one}"
        if wanted[:-1] == shape[:-1]:
            for one, shapes in self.names.items():
                if not is_gradient(one) and (wanted[-1], shape[-1]) in shapes:
                    yield f"{name} @ {one}.T"

    def assignment_variants(self, node, target):
        if isinstance(target, (ast.Subscript, ast.Attribute, ast.Name)):
            yield "assigned", adding(ast.unparse(target), node.value)
            if isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.Add):
                if ast.unparse(node.value.left) == ast.unparse(target):
                    yield "assigned", adding(ast.unparse(target), node.value.right)
        elif isinstance(node.value, ast.Tuple):
            for value in [*swapped(node.value), *cut_from_behind(node.value)]:
                yield "exchanged", [changed(node, value=value)]
        elif isinstance(target, ast.Tuple) and not self.calls_known(node.value):
            for other in swapped(target):
                yield "exchanged", [retargeted(node, other)]

    def place_variants(self, node):
        """Yield ("axis", [statement]) with another index on the left: x[j] = y for x[i] = y."""
        target = target_of(node)
        parts = target.elts if isinstance(target, ast.Tuple) else [target]
        for number, part in enumerate(parts):
            near = []
            if isinstance(part, ast.Subscript):
                near = [one.slice for one in [*moved(part), *shifted(part)]]
            for other in [*near, *self.written.slices]:
                value = node.value
                if isinstance(part, ast.Subscript) and ast.dump(other) != ast.dump(part.slice):
                    whole = part.value
                elif isinstance(node, ast.AugAssign) and isinstance(part, ast.Name):
                    whole = ast.Name(part.id, ast.Load())
                    value = value.value if isinstance(value, ast.Subscript) else value
                else:
                    continue
                place = ast.Subscript(whole, other, ast.Store())
                if isinstance(target, ast.Tuple):
                    place = changed(target, elts=with_item(parts, number, place))
                yield "axis", [changed(retargeted(node, place), value=value)]


def cut_from_behind(node):
    """For a tuple `(x[:, :n], x[:, n:])`, yield `(x[:, -n:], x[:, :-n])`."""
    if len(node.elts) != 2 or not all(isinstance(one, ast.Subscript) for one in node.elts):
        return
    first, second = (ast.unparse(one) for one in node.elts)
    slices = [getattr(one.slice, "elts", [one.slice])[-1] for one in node.elts]
    if not all(isinstance(one, ast.Slice) for one in slices) or slices[0].upper is None:
        return
    n = ast.unparse(slices[0].upper)
    if slices[0].lower is None and first.replace(f":{n}]", f"{n}:]") == second:
        yield parsed(f"{first.replace(f':{n}]', f'-{n}:]')}, {first.replace(f':{n}]', f':-{n}]')}")


def adding(target, value):
    """Return [target += value], a list of one statement."""
    return ast.parse(f"{target} += {ast.unparse(value)}").body
