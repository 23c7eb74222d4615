"""Alternatives to the right side of a gradient assignment, each with a kind of mistake."""

import ast

from numpy_attention.gradcheck.edits.alternatives import NUDGE, Alternatives
from numpy_attention.gradcheck.edits.candidates import lies_over
from numpy_attention.gradcheck.edits.syntax import changed, parsed, with_item
from numpy_attention.gradcheck.edits.variants import swapped
from numpy_attention.gradcheck.locate.rewriting import is_gradient, path_of, reads_of
from numpy_attention.gradcheck.report.kinds import LOCAL


class ValueEdits(Alternatives):
    """Mixin that yields alternatives to the whole value of a statement."""

    def whole(self, statement):
        """Yield (kind of mistake, expression) for each alternative to a statement's right side."""
        value = statement.value
        yield NUDGE, parsed(f"1.001 * ({ast.unparse(value)})")
        if isinstance(value, ast.Tuple):
            for other in swapped(value):
                yield "exchanged", other
            for i, part in enumerate(value.elts):
                shapes = self.shapes_of_value(part)
                for kind, other in self.value_variants(part, self.with_shapes(shapes), shapes):
                    yield kind, changed(value, elts=with_item(value.elts, i, other))
            return
        yield from self.value_variants(value, self.alike(statement), self.shapes_of(statement))

    def value_variants(self, value, alike, shapes=()):
        """Yield (kind of mistake, expression) for each alternative to the gradient `value`.

        shapes: possible shapes of the gradient. alike: names of arrays with one of these shapes.
        """
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
                    yield kind, changed(value, **{side: part})
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
        for name in sorted(self.numbers - reads):
            yield "factor", parsed(f"{text} * {name}")
            yield "factor", parsed(f"{text} / {name}")

    def with_alike(self, text, alike, reads):
        """Yield (kind, expression): the code `text` of a gradient, with one more term or factor.

        alike: the names of arrays with the gradient's shape. reads: the names in `text`.
        """
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
        """Yield code for products of this shape, such as "dy @ W.T", which is dx if y = x @ W."""
        for matrix, (one, *_) in self.names.items():
            if len(one) != 2 or one[:1] != shape[-1:] or is_gradient(matrix):
                continue
            for name, others in self.names.items():
                if is_gradient(name) and "." not in name and (*shape[:-1], one[1]) in others:
                    yield f"{name} @ {matrix}.T"

    def renamed(self, value):
        """Yield ("wrong variable", expression) with one name replaced, such as z * z for y * y."""
        names = [path_of(one) for one in ast.walk(value)
                 if path_of(one) in self.names and isinstance(one.ctx, ast.Load)]
        for name in sorted({one for one in names if names.count(one) > 1}):
            for other, shapes in self.names.items():
                if other != name and shapes & self.names[name]:
                    yield "wrong variable", Renaming(name, other).visit(
                        parsed(ast.unparse(value)))


def masked(value, masks):
    for mask in masks:
        yield "mask backward", parsed(f"{mask} * ({ast.unparse(value)})")
        yield "mask backward", parsed(f"~{mask} * ({ast.unparse(value)})")


class Renaming(ast.NodeTransformer):
    """Transformer that replaces one name or dotted path with another."""

    def __init__(self, old, new):
        self.old = old
        self.new = new

    def visit(self, node):
        if path_of(node) == self.old and isinstance(node.ctx, ast.Load):
            return parsed(self.new)
        return super().visit(node)
