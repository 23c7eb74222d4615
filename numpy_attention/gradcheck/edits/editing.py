"""Small edits of a function's statements, all in one code, each to be made on its own."""

import ast
from dataclasses import dataclass
from functools import cached_property

from numpy_attention.gradcheck.edits.expressions import ExpressionEdits
from numpy_attention.gradcheck.edits.statements import StatementEdits
from numpy_attention.gradcheck.edits.values import ValueEdits
from numpy_attention.gradcheck.edits.variants import altered, copied, with_argument, written
from numpy_attention.gradcheck.locate.rewriting import (
    GRADS,
    LISTENER,
    Place,
    is_gradient,
    path_of,
    targets_of,
)


@dataclass(frozen=True)
class Edit:
    """One edit. kind: of the mistake that it takes back; before, after: the trees it exchanges."""

    place: Place
    kind: str
    before: ast.AST
    after: ast.AST

    @cached_property
    def old(self):
        return written(self.before)

    @cached_property
    def new(self):
        return written(self.after)

    @cached_property
    def behind(self):
        """The statement that is to follow, where the one that is there stays; or None."""
        body = getattr(self.after, "body", None)
        stays = isinstance(body, list) and len(body) == 2 and (
            ast.dump(body[0]) == ast.dump(self.before))
        return body[1] if stays else None

    @property
    def is_apart(self):
        """Whether it can have to do with other gradients than those its statement has a part in:
        another one follows, or what is called adds to parameters' gradients itself."""
        handed = isinstance(self.before, ast.Call) and any(
            path_of(one).partition(".")[0] in GRADS for one in self.before.args)
        return handed or self.behind is not None

    @property
    def adds(self):
        """Whether it adds to what is there."""
        return self.old in self.new and self.new != f"~{self.old}"


class Editing(StatementEdits, ValueEdits, ExpressionEdits):
    """All edits of a function in one code; the listener's `edit` says which of them is made."""

    def __init__(self, function, places, edits, names, masks, numbers, written):
        super().__init__(function, places, names, masks, numbers, written)
        self.edits = edits
        self.at = None          # the Place of the statement
        self.tree = None

    def visit_FunctionDef(self, node):
        if self.depth:
            return node
        self.tree = copied(node)
        self.depth += 1
        node.body = self.block(node.body)
        if not any(isinstance(one, ast.Return) for one in ast.walk(node)):
            node.body += self.returns(node)
        self.depth -= 1
        return node

    # ---- statements ----------------------------------------------------------------------------

    def block(self, statements):
        kept = copied(statements)
        made = [[self.with_edits(one)] for one in statements]
        for i, (one, other) in enumerate(zip(kept, kept[1:])):
            if swappable(one, other):
                first, second = altered(one, value=other.value), altered(other, value=one.value)
                number = self.number(one, "exchanged", [one, other], [first, second])
                made[i] = [self.either(number, [first], made[i])]
                made[i + 1] = [self.either(number, [second], made[i + 1])]
        for i, one in enumerate(kept):
            if isinstance(one, ast.For):
                made[i] += self.taken_out(one, made[i])
        return [one for part in made for one in part]

    def taken_out(self, loop, made):
        """What a loop adds at every step may have been meant to be added once, after it."""
        behind = []
        for i, one in enumerate(loop.body):
            if isinstance(one, ast.AugAssign):
                number = self.number(one, "double", one, one)
                body = made[0].body if isinstance(made[0], ast.For) else made[0].orelse[0].body
                body[i] = self.either(number, [ast.Pass()], [body[i]])
                behind.append(ast.copy_location(
                    ast.If(self.is_made(number), [copied(one)], []), loop))
        return behind

    def with_edits(self, statement):
        original = copied(statement)
        made = self.changed(statement)
        for kind, variant in self.statement_variants(original):
            number = self.number(original, kind, original, variant)
            made = self.either(number, variant or [ast.Pass()], [made])
        return made

    def either(self, number, variant, statements):
        """`if listener.edit == number: variant … else: statements`."""
        made = ast.If(self.is_made(number), variant, statements)
        return ast.copy_location(made, statements[0])

    def changed(self, statement):
        """The statement, with the edits of its parts."""
        before, self.statement = self.statement, copied(statement)
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
            self.scattered(statement)
        self.statement = before
        return statement

    def scattered(self, statement):
        """np.add.at(grads.E, ids, value), with the edits of a whole value."""
        call = self.statement.value
        if isinstance(call, ast.Call) and path_of(call.func) == "np.add.at" and len(call.args) == 3:
            for kind, variant in self.value_variants(call.args[2], (), ()):
                other = with_argument(call, 2, variant)
                number = self.number(self.statement, kind, call, other)
                statement.value = ast.IfExp(self.is_made(number), other, statement.value)

    def returns(self, node):
        """A function that returns nothing may have been meant to return one of its gradients."""
        place = ast.copy_location(ast.Pass(), node.body[-1])
        place.lineno = node.end_lineno
        names = {target.id for one in ast.walk(node) if isinstance(one, ast.Assign)
                 for whole in one.targets for target in targets_of(whole)
                 if isinstance(target, ast.Name) and is_gradient(target.id)}
        for name in sorted(names):
            variant = [ast.Return(ast.Name(name, ast.Load()))]
            number = self.number(place, "no return", place, variant)
            made = ast.If(self.is_made(number), variant, [])
            yield ast.copy_location(made, place)

    # ---- expressions ---------------------------------------------------------------------------

    def visit(self, node):
        if isinstance(node, ast.expr) and not isinstance(getattr(node, "ctx", None), ast.Store):
            return self.with_variants(node, ())
        return super().visit(node)

    def with_variants(self, node, more):
        original = copied(node)
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


def swappable(node, other):
    """Whether the values of two assignments may be exchanged: both to a part, or both to a name;
    or of two that add."""
    if isinstance(node, ast.AugAssign) and isinstance(other, ast.AugAssign):
        return type(node.op) is type(other.op)
    targets = [one.targets[0] for one in (node, other)
               if isinstance(one, ast.Assign) and len(one.targets) == 1]
    kinds = {type(one) for one in targets}
    return len(targets) == 2 and kinds in ({ast.Subscript}, {ast.Name})
