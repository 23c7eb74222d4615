"""What may have been meant by a line of a backward pass: small edits of its tree, by kind."""

import ast
import copy
from dataclasses import dataclass

from numpy_attention.gradcheck.kinds import LOCAL
from numpy_attention.gradcheck.rewriting import (LISTENER, Declined, Place, Rewriter, is_gradient,
                                                 path_of, reads_of, targets_of, tree_of)
from numpy_attention.gradcheck.variants import (moved, of_call, of_operator, parsed, subscript,
                                                swapped, written)

NUDGE = "nudge"         # no mistake: it shows which gradients a statement has a part in


class Written:
    """What stands in some functions: paths self.X that are no methods; slices; names of indices."""

    def __init__(self, functions):
        paths, slices, indices = {}, {}, {}
        for function in functions:
            try:
                tree = tree_of(function)
            except Declined:
                continue
            methods = {id(one.func) for one in ast.walk(tree) if isinstance(one, ast.Call)}
            for one in ast.walk(tree):
                if isinstance(one, ast.Attribute) and id(one) not in methods:
                    paths[path_of(one)] = None
                if isinstance(one, ast.Subscript):
                    slices[ast.dump(one.slice)] = one.slice
                    if isinstance(one.slice, ast.Name):
                        indices[one.slice.id] = None
        self.paths = [path for path in paths if path.startswith("self.") and path.count(".") == 1]
        self.slices = list(slices.values())
        self.indices = list(indices)


@dataclass(frozen=True)
class Edit:
    """One edit. kind: of the mistake that it takes back; before, after: the trees it exchanges."""

    place: Place
    kind: str
    before: ast.AST
    after: ast.AST

    @property
    def old(self):
        return written(self.before)

    @property
    def new(self):
        return written(self.after)


class Editing(Rewriter):
    """All edits of a function in one code; the listener's `edit` says which of them is made.

    names: {name: shapes}, the arrays that the function has; flags: those of them that are bool;
    written: what all functions of the file have.
    """

    def __init__(self, function, places, edits, names, flags, written):
        super().__init__(function, places)
        self.edits = edits
        self.names = names
        self.flags = flags
        self.written = written
        self.statement = None
        self.at = None          # the Place of the statement

    def visit_FunctionDef(self, node):
        if self.depth:
            return node
        self.depth += 1
        node.body = self.block(node.body)
        if not any(isinstance(one, ast.Return) for one in ast.walk(node)):
            node.body += self.returns(node)
        self.depth -= 1
        return node

    # ---- statements ----------------------------------------------------------------------------

    def block(self, statements):
        kept = copy.deepcopy(statements)
        made = [self.with_edits(one) for one in statements]
        for i, (one, other) in enumerate(zip(kept, kept[1:])):
            if swappable(one) and swappable(other):
                first, second = copy.deepcopy(one), copy.deepcopy(other)
                first.value, second.value = second.value, first.value
                number = self.number(one, "exchanged", [one, other], [first, second])
                made[i] = self.either(number, [first], made[i])
                made[i + 1] = self.either(number, [second], made[i + 1])
        return made

    def with_edits(self, statement):
        original = copy.deepcopy(statement)
        made = self.changed(statement)
        for kind, variant in self.of_statement(original):
            number = self.number(original, kind, original, variant)
            made = self.either(number, variant or [ast.Pass()], made)
        return made

    def either(self, number, variant, statement):
        """`if listener.edit == number: variant … else: statement`."""
        made = ast.If(self.is_made(number), variant, [statement])
        return ast.copy_location(made, statement)

    def changed(self, statement):
        """The statement, with the edits of its parts."""
        before, self.statement = self.statement, copy.deepcopy(statement)
        if isinstance(statement, (ast.For, ast.While, ast.If, ast.With)):
            for name in ("iter", "test"):
                if hasattr(statement, name):
                    setattr(statement, name, self.visit(getattr(statement, name)))
            statement.body = self.block(statement.body)
            if getattr(statement, "orelse", None):
                statement.orelse = self.block(statement.orelse)
        elif isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return)):
            if statement.value is not None:
                statement.value = self.with_variants(statement.value, self.whole(statement))
            for target in getattr(statement, "targets", []) or [getattr(statement, "target", None)]:
                if isinstance(target, ast.Subscript):
                    target.slice = self.visit(target.slice)
        elif isinstance(statement, ast.Expr):
            statement.value = self.visit(statement.value)
        self.statement = before
        return statement

    def of_statement(self, node):
        """(kind, statements) that may have been meant instead of one."""
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, (ast.Subscript, ast.Attribute, ast.Name)):
                yield "assigned", [self.adding(target, node.value)]
            yield from self.unpacked(node)
        if isinstance(node, ast.AugAssign) and isinstance(node.op, (ast.Add, ast.Sub)):
            other = copy.deepcopy(node)
            other.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
            yield "sign", [other]
            yield "double", []
            if isinstance(node.target, ast.Subscript) and isinstance(node.target.slice, ast.Name):
                text = (f"np.add.at({ast.unparse(node.target.value)}, "
                        f"{ast.unparse(node.target.slice)}, {ast.unparse(node.value)})")
                yield "repeated ids", ast.parse(text).body
        if isinstance(node, ast.If) and not node.orelse:
            yield "wrong step", copy.deepcopy(node.body)

    def adding(self, target, value):
        return ast.AugAssign(copy.deepcopy(target), ast.Add(), copy.deepcopy(value))

    def unpacked(self, node):
        """a, b = x, y with two of the values exchanged."""
        if isinstance(node.value, ast.Tuple):
            for value in swapped(node.value):
                yield "exchanged", [ast.Assign(copy.deepcopy(node.targets), value)]

    def returns(self, node):
        """A function that returns nothing may have been meant to return one of its gradients."""
        place = ast.copy_location(ast.Pass(), node.body[-1])
        names = {target.id for one in ast.walk(node) if isinstance(one, ast.Assign)
                 for whole in one.targets for target in targets_of(whole)
                 if isinstance(target, ast.Name) and is_gradient(target.id)}
        for name in sorted(names):
            variant = [ast.Return(ast.Name(name, ast.Load()))]
            number = self.number(node.body[-1], "no return", place, variant)
            made = ast.If(self.is_made(number), variant, [])
            yield ast.copy_location(made, place)

    # ---- whole values --------------------------------------------------------------------------

    def whole(self, statement):
        """(kind, expression) that may have been meant instead of a statement's value."""
        value = statement.value
        text = f"({ast.unparse(value)})"
        yield NUDGE, parsed(f"1.001 * {text}")
        if isinstance(value, ast.Tuple):
            for other in swapped(value):
                yield "exchanged", other
            return
        reads = reads_of(value)
        if not any(map(is_gradient, reads)):
            return
        yield "sign", parsed(f"-{text}")
        yield "transpose", parsed(f"{text}.T")
        for axis in ("0", "1", "(0, 1)"):
            yield "batch sum", parsed(f"{text}.sum({axis})")
        for number in ("2", "0.5"):
            yield "factor", parsed(f"{number} * {text}")
        yield from self.masked(value)
        if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub)):
            for side in ("left", "right"):
                for kind, part in self.masked(getattr(value, side)):
                    other = copy.deepcopy(value)
                    setattr(other, side, part)
                    yield kind, other
        alike = self.alike(statement)
        for name in filter(is_gradient, alike):
            if name not in reads:
                yield "missing term", parsed(f"{text} + {name}")
        for name in alike:
            if is_gradient(name):
                continue
            for factor in list(LOCAL)[1:]:
                yield "derivative", parsed(f"{text} * ({factor.replace('{}', name)})")
            for axis in (0, 1, 2):
                yield "jacobian", parsed(f"{text} - {name} * {text}.sum({axis}, keepdims=True)")
                for method in ("sum", "mean"):
                    yield "jacobian", parsed(
                        f"{text} - {name} * ({name} * {text}).{method}({axis}, keepdims=True)")

    def masked(self, value):
        text = f"({ast.unparse(value)})"
        for flag in self.flags:
            for cut in ("", "[:, None]", "[:, :, None]", "[t][:, None]", "[..., None]"):
                yield "mask backward", parsed(f"{flag}{cut} * {text}")

    def alike(self, statement):
        """The names of arrays of the shape of what a statement makes, as far as that is known."""
        target = path_of(getattr(statement, "target", None) or getattr(
            statement, "targets", [ast.Pass()])[0])
        shapes = self.names.get(target)
        return [name for name, others in self.names.items() if name != target
                and (others & shapes if shapes else max(map(len, others), default=0) > 1)]

    # ---- expressions ---------------------------------------------------------------------------

    def visit(self, node):
        if isinstance(node, ast.expr) and not isinstance(getattr(node, "ctx", None), ast.Store):
            return self.with_variants(node, ())
        return super().visit(node)

    def with_variants(self, node, more):
        original = copy.deepcopy(node)
        variants = [*self.variants(original), *more]
        made = super().visit(node)
        if not variants:
            return made
        first = len(self.edits)
        chain = original
        for kind, variant in variants:
            number = self.number(self.statement or original, kind, original, variant)
            chain = ast.IfExp(self.is_made(number), variant, chain)
        test = ast.parse(f"{first} <= {LISTENER}.edit < {len(self.edits)}", mode="eval").body
        whole = ast.IfExp(test, chain, made)
        return ast.copy_location(whole, original)

    def variants(self, node):
        """(kind, expression) that may have been meant instead of one."""
        if isinstance(node, ast.BinOp):
            yield from of_operator(node)
        if isinstance(node, ast.Name):
            yield from self.of_name(node)
        if isinstance(node, ast.Attribute):
            yield from self.of_attribute(node)
        if isinstance(node, ast.Subscript):
            yield from self.of_subscript(node)
        if isinstance(node, ast.Call):
            yield from of_call(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Invert)):
            yield "sign", node.operand

    def of_name(self, node):
        shapes = self.names.get(node.id)
        if shapes is None:
            return
        for name, others in self.names.items():
            if name != node.id and shapes & others:
                yield "wrong variable", ast.Name(name, ast.Load())
                if not is_gradient(node.id) and not is_gradient(name):
                    yield "factor", parsed(f"({node.id} * {name})")

    def of_attribute(self, node):
        path = path_of(node)
        if node.attr == "T":
            yield "transpose", node.value
        elif path in self.written.paths and isinstance(node.ctx, ast.Load):
            for other in self.written.paths:
                if other != path:
                    yield "wrong variable", parsed(other)

    def of_subscript(self, node):
        text = ast.unparse(node.value)
        for name in sorted(self.stepped(node.slice)):
            for step in (name, f"{name} - 1", f"{name} + 1"):
                if step != ast.unparse(node.slice):
                    yield "wrong step", parsed(f"{text}[{step}]")
        yield from (("wrong step", other) for other in moved(node))
        if isinstance(node.slice, (ast.Name, ast.Constant)):
            for name in self.written.indices:
                if name != ast.unparse(node.slice):
                    yield "wrong variable", parsed(f"{text}[{name}]")
        if not any(map(is_gradient, reads_of(self.statement))):
            return
        for name, shapes in self.names.items():
            if name != text and not is_gradient(name) and max(map(len, shapes)) > 1:
                yield "wrong variable", ast.Name(name, ast.Load())
        for other in self.written.slices:
            if ast.dump(other) == ast.dump(node.slice) or type(other) is not type(node.slice):
                continue
            if isinstance(other, ast.Tuple):
                yield "exchanged", subscript(node.value, other)
            elif isinstance(other, ast.Constant) and isinstance(other.value, str):
                yield "wrong variable", subscript(node.value, other)

    def stepped(self, node):
        """The name of t in [t], [t + 1] and [t − 1]."""
        if isinstance(node, ast.Name):
            return {node.id}
        if isinstance(node, ast.BinOp) and isinstance(node.left, ast.Name):
            return {node.left.id}
        return set()

    # ---- numbers -------------------------------------------------------------------------------

    def number(self, node, kind, old, new):
        """The number of a new Edit."""
        if not hasattr(node, "lineno"):
            node = self.statement
        if self.at is None or self.at.line != node.lineno:
            self.at = self.places[self.place(node, "edit", "")]
        old, new = (ast.Module(one, []) if isinstance(one, list) else one for one in (old, new))
        self.edits.append(Edit(self.at, kind, old, new))
        return len(self.edits) - 1

    def is_made(self, number):
        edit = ast.Attribute(ast.Name(LISTENER, ast.Load()), "edit", ast.Load())
        return ast.Compare(edit, [ast.Eq()], [ast.Constant(number)])


def swappable(node):
    return isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(
        node.targets[0], ast.Subscript)
