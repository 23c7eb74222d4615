"""Base of the classes that yield alternatives to a statement or an expression."""

import ast

from numpy_attention.gradcheck.edits.candidates import CUTS, fits, part_of
from numpy_attention.gradcheck.edits.syntax import function_name
from numpy_attention.gradcheck.edits.variants import target_of
from numpy_attention.gradcheck.locate.rewriting import (
    is_gradient,
    is_of_parameter,
    path_of,
    reads_of,
    tree_of,
)

NUDGE = "nudge"         # not a mistake: it shows which gradients depend on a statement


class Alternatives:
    """Base class of mixins that yield alternatives to parts of a function.

    names and masks: {name: set of shapes} for the float arrays and for the boolean arrays
    numbers: the names of the function's scalars
    written: a Written with parts of user code, from which edits are built
    """

    def __init__(self, function, names, masks, numbers, written):
        self.function = function
        self.tree = tree_of(function)
        self.names = names
        self.masks = masks
        self.numbers = numbers
        self.written = written
        self.statement = None
        self.stored = None      # (line, name) of each name that the function stores

    def calls_known(self, node):
        """Return whether a node is a call to one of the functions that may be edited."""
        return isinstance(node, ast.Call) and function_name(node) in self.written.names

    def had_before(self, node):
        """Return the names of gradients that are arguments, or are assigned before `node`."""
        if self.stored is None:
            self.stored = [(one.lineno, one.id) for one in ast.walk(self.tree)
                           if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
        stored = {name for line, name in self.stored if line < node.lineno}
        return set(filter(is_gradient, stored | {one.arg for one in self.tree.args.args}))

    def fitting(self, wholes):
        """Return mask expressions, such as "mask[:, None]", that broadcast to a shape in `wholes`.

        If `wholes` is empty, return all mask expressions.
        """
        return [f"{mask}{cut}" for mask, shapes in self.masks.items() for cut in CUTS
                if not wholes or any(fits(one, cut, whole) for one in shapes for whole in wholes)]

    def shapes_of(self, statement):
        """Return the set of known shapes of the value that a statement assigns or returns."""
        if isinstance(statement, ast.Return):
            return self.shapes_of_value(statement.value)
        target = target_of(statement)
        is_part = isinstance(target, ast.Subscript)
        path = path_of(target.value if is_part else target)
        if is_of_parameter(path):
            path = f"self.{path.partition('.')[2]}"
        shapes = self.names.get(path, ())
        if is_part:
            return {part_of(shape, target.slice) for shape in shapes} - {None}
        return set(shapes)

    def shapes_of_value(self, value):
        """Return the set of known shapes of the expression `value`."""
        if isinstance(value, ast.BinOp) and not isinstance(value.op, ast.MatMult):
            # an elementwise operation is assumed to have the shapes of the gradient
            for path in sorted(filter(is_gradient, reads_of(value))):
                if path in self.names:
                    return set(self.names[path])
        return set(self.names.get(path_of(value), ()))

    def alike(self, statement):
        """Return the names of other arrays with the shape of the value that `statement` assigns."""
        return self.with_shapes(self.shapes_of(statement), path_of(target_of(statement)))

    def with_shapes(self, shapes, but=""):
        return [name for name, others in self.names.items() if name != but and others & shapes]

    def may_be_meant(self, path, other):
        """Return whether both paths name parameters of self with the same number of axes."""
        both = path.startswith("self.") and other.startswith("self.")
        return both and {*map(len, self.names[path])} == {*map(len, self.names[other])}

    def reads_mask(self, node):
        return not isinstance(node, ast.Constant) and bool(reads_of(node) & self.masks.keys())
