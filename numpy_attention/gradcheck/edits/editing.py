"""Small edits of the statements of a function. Each edit is tried by itself."""

import ast
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType

from numpy_attention.gradcheck.edits.expressions import ExpressionEdits
from numpy_attention.gradcheck.edits.statements import StatementEdits
from numpy_attention.gradcheck.edits.syntax import Slot, changed, children, one_line, with_item
from numpy_attention.gradcheck.edits.values import ValueEdits
from numpy_attention.gradcheck.edits.variants import with_argument, written
from numpy_attention.gradcheck.locate.rewriting import (
    GRADS,
    Place,
    compiled,
    is_gradient,
    path_of,
    targets_of,
)


@dataclass(frozen=True, eq=False)
class Edit:
    """One edit of a function, which replaces the syntax tree `before` with `after`."""

    place: Place            # the edited statement
    kind: str               # the kind of mistake that the edit fixes, such as "sign"
    before: ast.AST
    after: ast.AST
    function: FunctionType
    tree: ast.FunctionDef   # the unedited syntax tree of the function
    slot: Slot              # the position in `tree` that the edit changes
    nodes: tuple            # the nodes in the slot after the edit

    def code(self):
        """Return the code object of the edited function. May raise Declined."""
        ast.fix_missing_locations(self.after)
        with self.slot.holding(*self.nodes):
            return compiled(self.function, self.tree)

    @cached_property
    def old(self):
        return written(self.before)

    @cached_property
    def new(self):
        return written(self.after)

    @cached_property
    def behind(self):
        """The statement that the edit adds after the old statement, or None."""
        body = getattr(self.after, "body", None)
        stays = isinstance(body, list) and len(body) == 2 and body[0] is self.before
        return body[1] if stays else None

    @property
    def is_apart(self):
        """Whether the edit may change gradients that do not depend on the old statement."""
        handed = isinstance(self.before, ast.Call) and any(
            path_of(one).partition(".")[0] in GRADS for one in self.before.args)
        return handed or self.behind is not None

    @property
    def adds(self):
        """Whether the new code contains the old code, and adds more than a ~ to it."""
        return self.old in self.new and self.new != f"~{self.old}"


class Editing(StatementEdits, ValueEdits, ExpressionEdits):
    """Collects all edits of one function in the list `edits`."""

    def __init__(self, function, names, masks, numbers, written):
        super().__init__(function, names, masks, numbers, written)
        self.edits = []
        self.at = None          # the Place of the statement
        self.block(self.tree, "body")
        if not any(isinstance(one, ast.Return) for one in ast.walk(self.tree)):
            self.returns()

    # ---- statements ----------------------------------------------------------------------------

    def block(self, parent, field):
        statements = getattr(parent, field)
        slots = [Slot(parent, field, i) for i in range(len(statements))]
        for one, slot in zip(statements, slots):
            self.parts_of(one)
            for kind, variant in self.statement_variants(one):
                empty = ast.copy_location(ast.Pass(), one)
                self.add(one, kind, one, variant, slot, *(variant or [empty]))
        for i, (one, other) in enumerate(zip(statements, statements[1:])):
            if swappable(one, other):
                both = [changed(one, value=other.value), changed(other, value=one.value)]
                made = [*statements[:i], *both, *statements[i + 2:]]
                self.add(one, "exchanged", [one, other], both, Slot(parent, field), made)
        for one, slot in zip(statements, slots):
            if isinstance(one, ast.For):
                self.taken_out(one, slot)

    def taken_out(self, loop, slot):
        """Add edits that move a statement such as dx += … out of `loop`, to the line after it."""
        for i, one in enumerate(loop.body):
            if isinstance(one, ast.AugAssign):
                empty = ast.copy_location(ast.Pass(), one)
                rest = changed(loop, body=with_item(loop.body, i, empty))
                self.add(one, "double", one, one, slot, rest, one)

    def parts_of(self, statement):
        """Add edits of the expressions in a statement and of the statements in its blocks."""
        before, self.statement = self.statement, statement
        if isinstance(statement, (ast.For, ast.While, ast.If, ast.With)):
            for name in ("iter", "test"):
                if hasattr(statement, name):
                    self.expression(Slot(statement, name), getattr(statement, name))
            self.block(statement, "body")
            if getattr(statement, "orelse", None):
                self.block(statement, "orelse")
        elif isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return)):
            if statement.value is not None:
                whole = self.whole(statement)
                self.expression(Slot(statement, "value"), statement.value, whole)
            for target in getattr(statement, "targets", []) or [getattr(statement, "target", None)]:
                if isinstance(target, ast.Subscript):
                    self.expression(Slot(target, "slice"), target.slice)
        elif isinstance(statement, ast.Expr):
            self.expression(Slot(statement, "value"), statement.value)
            self.scattered(statement)
        self.statement = before

    def scattered(self, statement):
        """Add the edits of `value` in a statement np.add.at(grads.E, ids, value)."""
        call = statement.value
        if isinstance(call, ast.Call) and path_of(call.func) == "np.add.at" and len(call.args) == 3:
            for kind, variant in self.value_variants(call.args[2], (), ()):
                other = with_argument(call, 2, variant)
                self.add(statement, kind, call, other, Slot(statement, "value"), other)

    def returns(self):
        """Add edits that append `return dX`, for each gradient dX that the function assigns."""
        end = ast.copy_location(ast.Pass(), self.tree.body[-1])
        end.lineno = self.tree.end_lineno
        names = {target.id for one in ast.walk(self.tree) if isinstance(one, ast.Assign)
                 for whole in one.targets for target in targets_of(whole)
                 if isinstance(target, ast.Name) and is_gradient(target.id)}
        for name in sorted(names):
            variant = [ast.Return(ast.Name(name, ast.Load()))]
            made = [*self.tree.body, *variant]
            self.add(end, "no return", end, variant, Slot(self.tree, "body"), made)

    # ---- expressions ---------------------------------------------------------------------------

    def expression(self, slot, node, more=()):
        """Add the edits of `node` and of its parts, and the further alternatives `more`."""
        variants = []
        if isinstance(node, ast.expr) and not isinstance(getattr(node, "ctx", None), ast.Store):
            variants = [*self.variants(node), *more]
        for inside, child in () if isinstance(node, ast.Lambda) else children(node):
            self.expression(inside, child)
        for kind, variant in variants:
            self.add(self.statement, kind, node, variant, slot, variant)

    def add(self, statement, kind, old, new, slot, *nodes):
        """Append to `edits` an Edit that replaces `old`, a part of `statement`, with `new`."""
        if self.at is None or self.at.line != statement.lineno:
            qualname = self.function.__qualname__.replace("<locals>.", "")
            self.at = Place(qualname, self.function.__code__.co_filename, statement.lineno, "edit",
                            "", one_line(statement), statement.col_offset)
        old, new = (ast.Module(one, []) if isinstance(one, list) else one for one in (old, new))
        self.edits.append(Edit(self.at, kind, old, new, self.function, self.tree, slot, nodes))


def swappable(node, other):
    """Return whether an edit may swap the right sides of two statements."""
    if isinstance(node, ast.AugAssign) and isinstance(other, ast.AugAssign):
        return type(node.op) is type(other.op)
    targets = [one.targets[0] for one in (node, other)
               if isinstance(one, ast.Assign) and len(one.targets) == 1]
    kinds = {type(one) for one in targets}
    return len(targets) == 2 and kinds in ({ast.Subscript}, {ast.Name})
