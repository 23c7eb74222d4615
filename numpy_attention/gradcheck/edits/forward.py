"""Find a small edit of a forward pass that makes the backward pass correct."""

import ast

import numpy as np

from numpy_attention.gradcheck.arrays import dot, outputs_of, random_like
from numpy_attention.gradcheck.edits.alternatives import NUDGE
from numpy_attention.gradcheck.edits.candidates import CUTS
from numpy_attention.gradcheck.edits.editing import Editing
from numpy_attention.gradcheck.edits.repairs import Repairs, line_of, quiet
from numpy_attention.gradcheck.edits.syntax import changed, parsed, without_keyword
from numpy_attention.gradcheck.edits.variants import with_argument
from numpy_attention.gradcheck.locate.rewriting import path_of, targets_of

DIRECTIONS = 3
STEP = 1e-5
CLOSE = 1e-6            # largest error of a directional derivative, relative to the gradient's size
NEARER = 1e-2           # largest error, relative to the error before the edit
ROUNDING = 1e-9
LEAST = 1e-2            # the least factor by which an edit may scale the gradients
SEED = 13


def norm(gradients):
    return np.sqrt(sum(np.sum(np.square(one)) for one in gradients.values() if one is not None))


class EditingForward(Editing):
    """The edits of a forward pass, except edits that remove a term or a factor."""

    # if `backward` forgets a term, removing the term here would hide the mistake in `backward`
    taken = ("wrong step", "shape", "axis", "transpose", "exchanged", "unwritten", "dtype", "sign",
             "wrong variable")

    def statement_variants(self, node):
        for kind, variant in super().statement_variants(node):
            if kind in ("assigned", "exchanged"):
                yield kind, variant
            elif kind in ("axis", "mask backward"):
                yield "buffer" if kind == "axis" else "mask forward", variant
        if isinstance(node, ast.Assign) and not isinstance(node.value, ast.Constant):
            for one in targets_of(node.targets[0]):
                if getattr(one, "id", None) in self.names:
                    flipped = ast.parse(f"{one.id} = {one.id}[::-1]").body
                    yield "wrong step", [node, *flipped]
        if isinstance(node, ast.Assign) and is_constant(node.value):
            yield "mask forward", [changed(node, value=parsed("-np.inf"))]
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            name = ast.Name(node.target.id, ast.Load())
            plain = ast.Assign([node.target], ast.BinOp(name, node.op, node.value))
            yield "buffer", [ast.copy_location(plain, node)]

    def whole(self, statement):
        text = f"({ast.unparse(statement.value)})"
        yield NUDGE, parsed(f"1.001 * {text}")
        if isinstance(statement.value, ast.Tuple) or is_constant(statement.value):
            return
        shapes = self.shapes_of(statement)
        for mask in self.fitting(shapes) if shapes else ():
            is_score = self.written.is_softmax and "exp(" not in text
            hidden = ["-np.inf"] if is_score else []
            for other in [*hidden, *self.alike(statement)]:
                yield "mask forward", parsed(f"np.where({mask}, {text}, {other})")
            yield "mask forward", parsed(f"{mask} * {text}")

    def variants(self, node):
        for kind, variant in super().variants(node):
            if kind == "wrong variable" and isinstance(self.statement, ast.Return):
                yield "cache", variant
            elif kind == "mask backward" and not self.takes_out(node, variant):
                yield "mask forward", variant
            elif kind in self.taken and not self.takes_out(node, variant):
                yield kind, variant
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            for other in self.written.slices:
                if ast.dump(other) != ast.dump(node.slice):
                    yield "wrong step", changed(node, slice=other)
            if path_of(node.value) in self.masks:
                for cut in filter(None, CUTS):
                    yield "mask forward", parsed(f"{ast.unparse(node.value)}{cut}")
        if isinstance(node, ast.Name) and path_of(node) in {*self.names, *self.masks}:
            kind = "mask forward" if node.id in self.masks else "wrong step"
            yield kind, parsed(f"{node.id}[::-1]")
        if isinstance(node, ast.Call):
            yield from self.fill_variants(node)
            yield from self.causal_variants(node)
            yield from self.buffer_variants(node)

    def takes_out(self, node, variant):
        """Return whether `node` is a call that `variant` removes, or any call to append."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return False
        # `backward` also reads the list to which append adds
        return node.func.attr == "append" or any(variant is one for one in (node.func.value,
                                                                            *node.args))

    def fill_variants(self, node):
        """Yield ("mask forward", np.where(mask, x, z)) to replace np.where(mask, x, y)."""
        if path_of(node.func) != "np.where" or len(node.args) != 3 or (
                "inf" in ast.unparse(node.args[2])):
            return
        for other in ("-np.inf", "0", *self.names):
            if other != ast.unparse(node.args[1]):
                yield "mask forward", with_argument(node, 2, parsed(other))

    def causal_variants(self, node):
        """Yield ("mask forward", np.tril(np.ones(…, bool))) to replace np.ones(…, bool)."""
        if path_of(node.func) == "np.ones" and "bool" in ast.unparse(node):
            yield "mask forward", parsed(f"np.tril({ast.unparse(node)})")

    def buffer_variants(self, node):
        """If a call has the argument `out`, yield ("buffer", the call without this argument)."""
        if any(one.arg == "out" for one in node.keywords):
            yield "buffer", without_keyword(node, "out")


def is_constant(node):
    """Return whether a node is a constant, with or without a sign."""
    return isinstance(getattr(node, "operand", node), ast.Constant)


class ForwardRepairs(Repairs):
    """Tries up to `most` edits of a forward pass, one at a time, until all gradients are correct.

    laws: functions law(check) that should return []. accused: the Place to edit first, or None.
    """

    kinds = ("cache", "buffer", "mask forward", "wrong step", "shape", "axis", "transpose",
             "exchanged", "unwritten", "dtype", "sign", "assigned", "wrong variable")
    editing = EditingForward
    most = 1500

    def __init__(self, check, functions, laws=(), accused=None):
        self.check = check
        self.accused = accused
        self.laws = laws
        self.answers = {}               # {edit: the result of `tried`}
        super().__init__(functions, [], self.run, lambda _: [], check.variables)
        self.length = self.size = 0.0
        rng = np.random.default_rng(SEED)
        self.directions = [self.direction(rng) for _ in range(DIRECTIONS)]
        self.before_edit = [] if laws else self.off_before()
        size = norm(self.gradients_before())
        self.size = size if np.isfinite(size) else 0.0

    def direction(self, rng):
        """Return a random direction {name: array} of length 1 in the space of all variables."""
        drawn = {name: rng.standard_normal(array.shape) for name, array in self.kept.items()}
        return {name: array / norm(drawn) for name, array in drawn.items()}

    def run(self):
        """Run the forward pass; return {}, because it computes no gradients."""
        self.check.forward(*self.check.inputs)
        return {}

    def off_before(self):
        """Return off() for the unedited code, or [] if the code raises or a value is not finite."""
        with quiet():
            try:
                found = self.off()
                return found if np.isfinite(found).all() else []
            except Exception:           # `forward` or `backward` raises
                return []
            finally:
                self.mend()

    def gradients_before(self):
        """Return {name: gradient} of unedited code, or {} if it raises or `upstream` is empty."""
        with quiet():
            try:
                return self.check.gradients()[0] if self.check.upstream else {}
            except Exception:           # `forward` or `backward` raises
                return {}

    def best(self, kinds, keep_laws=False):
        """Return the first Edit of these kinds that makes all gradients correct, or None.

        Prefer an edit after which the laws hold. With keep_laws, return only such an edit.
        """
        order = self.sorted(edit for edit in self.edits if edit.kind in kinds)
        order.sort(key=lambda edit: (not self.is_accused(edit), *self.mask_order(edit)))
        without = None
        for edit in order:
            if edit not in self.answers:
                if self.budget.is_spent:
                    break
                self.budget.take()
                self.answers[edit] = self.tried(edit)
            right, lawful = self.answers[edit]
            if right and lawful:
                return edit
            if right and without is None and not keep_laws:
                without = edit
        return without

    def is_accused(self, edit):
        return self.accused is not None and line_of(edit) == (
            self.accused.file, self.accused.line)

    def mask_order(self, edit):
        """Return a sort key: edits of existing masks first, edits that add a mask last."""
        is_mask = edit.kind == "mask forward"
        return is_mask and edit.adds, -edit.place.line if is_mask else 0

    def tried(self, edit):
        """Return whether the gradients are correct after an edit, and whether the laws hold too."""
        with quiet():
            try:
                with self.edited(edit):
                    right = self.agrees()
                    return right, right and not any(law(self.check) for law in self.laws)
            except Exception:           # edited code may raise anything
                return False, False
            finally:
                self.mend()

    def agrees(self):
        """Return whether the gradients are correct, and were much less accurate before the edit."""
        found = self.off()
        if not found or self.size and not LEAST < self.length / self.size < 1 / LEAST:
            return False
        before = self.before_edit or [1.0] * len(found)
        return all(one <= min(CLOSE, max(NEARER * other, ROUNDING))
                   for one, other in zip(found, before))

    def off(self):
        """Return the relative errors of the gradients along some random directions.

        Return [] if a gradient has the wrong shape or is 0 everywhere.
        """
        *outputs, _ = outputs_of(self.check.forward, self.check.inputs)
        rng = np.random.default_rng(SEED)
        upstream = [random_like(output, rng) for output in outputs]
        gradients = self.check.gradients(upstream)[0]
        if any(np.shape(gradients.get(name)) != array.shape or not np.any(gradients[name])
               for name, array in self.kept.items()):
            return []
        self.length = norm(gradients)
        found = []
        for direction in self.directions:
            along = sum(np.sum(gradients[name] * one) for name, one in direction.items())
            above, below = (self.loss_at(direction, step, upstream) for step in (STEP, -STEP))
            found.append(abs(along - (above - below) / (2 * STEP)) / self.length)
            if found[-1] > CLOSE and self.size:
                break
        return found

    def loss_at(self, direction, step, upstream):
        for name, array in self.variables.items():
            array += step * direction[name]
        *outputs, _ = self.check.forward(*self.check.inputs)
        self.mend()
        return sum(dot(output, up) for output, up in zip(outputs, upstream))
