"""Central differences against a hand-written backward pass, for any Module or function.

    L     = Σ upstream · output,  upstream random
    ∂L/∂x ≈ (8 (L(x + ε) − L(x − ε)) − (L(x + 2ε) − L(x − 2ε))) / 12ε

The four-point difference errs by O(ε⁴) where (L(x + ε) − L(x − ε)) / 2ε errs by O(ε²), so ε may be
ten times larger and rounding, which is divided by ε, ten times smaller: a whole model's small
gradients need that.

A layer passes when every element of every gradient has relative error

    |a − n| / max(|a|, |n|, 1e-3 · max|n|) < 1e-6        a analytic, n numeric

What rounding alone can do to the difference, about 1e-15 |L| / ε, is not held against it. All
gradients are compared before anything is said; where some are wrong, `search` looks for the line.
Right gradients must keep the laws of `laws` too, which cost a dozen passes, not one an element.
"""

import contextlib
import linecache
from dataclasses import dataclass, field

import numpy as np

from numpy_attention.validation.arguments import check_generator, check_number
from numpy_attention.gradcheck import differences
from numpy_attention.gradcheck.arrays import copied, dot, float_arrays, outputs_of, random_like
from numpy_attention.gradcheck.differences import (EPSILON, ROUNDING, TOLERANCE, check_epsilon,
                                                   relative_errors)
from numpy_attention.gradcheck.faults import (check_elements, check_passes, gradients_of_inputs,
                                              warn_of_numbers)
from numpy_attention.gradcheck.given import first_nan
from numpy_attention.gradcheck.hidden import check_causal
from numpy_attention.gradcheck.laws import broken_conditions, broken_laws
from numpy_attention.gradcheck.passes import told_of
from numpy_attention.gradcheck.report import (GradientError, Report, line_of, of_stop, told,
                                              told_of_forward)
from numpy_attention.gradcheck.rewriting import line_that_stops
from numpy_attention.gradcheck.watching import Watch, arrays_within
from numpy_attention.module import Module


def gradcheck(target, *inputs, rng, forward=None, backward=None, tolerance=TOLERANCE,
              epsilon=EPSILON, title=None, causal=None):
    """Check the gradients of all parameters of a Module and of all float inputs; → Report.

    target: a Module (float64), or None for a function without parameters.
    inputs: what `forward` takes; float64 arrays, also in tuples, are checked, anything else is
    passed on.
    forward(*inputs) → (output, …, cache): outputs are arrays, tuples of them, or None; default
    target.forward.
    backward(doutput, …, cache, grads) → the inputs' gradients, one, or a tuple in the order of the
    inputs, None for an input that is no float array; default target.backward.
    Both must draw the same random numbers at every call.
    causal: the axis of time in the first input and in outputs of as many steps, none of which may
    read a later step of that input; None: nothing is known of time.

    Raises GradientError where gradients are wrong: which are right and which wrong, the first line
    that goes wrong where the source can be traced, and what kind of mistake it looks like; and
    where a law is broken that no difference shows (`laws`): its report.laws say which, and the
    line. TypeError for anything that is not float64, and for a target without the two passes;
    ValueError for arrays without elements, NaN, and outputs that are not finite.
    Warns (NotAParameter) of a float in a reader's own Module that the forward computes with.
    """
    check_generator(rng)
    check_number("tolerance", tolerance, np.nextafter(0, 1), expected="a positive number")
    check_epsilon(epsilon)
    forward = getattr(target, "forward", None) if forward is None else forward
    backward = getattr(target, "backward", None) if backward is None else backward
    check_passes(target, forward, backward)
    linecache.checkcache()              # a file may have been changed since a check before
    if title is None and target is None:
        title = getattr(forward, "__name__", "function")
    check = Check(target, [copied(value) for value in inputs], forward, backward,
                  title or type(target).__name__, tolerance, epsilon, causal)
    check.draw(rng)
    check_causal(check)
    warn_of_numbers(check, 3)
    return check.compare()


# kinds of laws that are broken for themselves, whatever else is wrong
ALONE = "argument changed", "mask forward", "future", "unwritten"


@dataclass
class Check:
    """One check: what is differentiated, and what the loss weighs its outputs with."""

    target: object
    inputs: list
    forward: object
    backward: object
    title: str
    tolerance: float = TOLERANCE
    epsilon: float = EPSILON
    causal: int | None = None
    upstream: list = field(default_factory=list)
    twins: dict = field(default_factory=dict)       # {id of a twin's part: its name}

    @property
    def model(self):
        return self.target if isinstance(self.target, Module) else None

    @property
    def parameters(self):
        return {} if self.model is None else dict(self.model.named_parameters())

    @property
    def variables(self):
        """{name: array} of all that is differentiated. TypeError: some is not float64."""
        found = self.parameters | dict(float_arrays(self.inputs, "input"))
        for name, array in found.items():
            if array.dtype != np.float64:
                raise TypeError(f"{name} is {array.dtype}, a gradient check needs float64: "
                                "use astype(np.float64)")
        return found

    @property
    def flags(self):
        """The arrays of True and False that the forward has: among its inputs, or around it."""
        cells = getattr(self.forward, "__closure__", None) or ()
        around = [cell.cell_contents for cell in cells]
        return [one for one in [*self.inputs, *around]
                if isinstance(one, np.ndarray) and one.dtype == bool]

    def draw(self, rng):
        """Draw what the outputs are weighed with."""
        check_elements({**self.variables, **dict(arrays_within(self.inputs, "input"))}.items())
        held = Watch({**self.parameters, **dict(arrays_within(self.inputs, "input"))})
        try:
            with self.named("forward"):
                *outputs, _ = outputs_of(self.forward, self.inputs)
        except GradientError as error:
            held.restore()
            raise of_stop(str(error), self) from error
        held.restore()
        self.upstream = [random_like(output, rng) for output in outputs]

    def loss(self):
        *outputs, _ = self.forward(*self.inputs)
        return sum(map(dot, outputs, self.upstream))

    def gradients(self, upstream=None):
        """→ {name: the gradient that backward gives}, the twin; upstream: that of the check."""
        *_, cache = outputs_of(self.forward, self.inputs)
        grads = None if self.model is None else self.model.zeros_like()
        self.twins = {} if grads is None else {id(one): name for name, one in grads.modules()}
        with self.named("backward"):
            given = self.upstream if upstream is None else upstream
            dinputs = self.backward(*map(copied, given), cache, grads)
        found = {} if self.model is None else dict(grads.named_parameters())
        return found | self.of_inputs(dinputs), grads

    @contextlib.contextmanager
    def named(self, what):
        """An exception of a reader's own code is told with the line of it, not with NumPy's."""
        try:
            yield
        except Exception as error:
            place = line_that_stops(error)
            if place is None:
                raise
            raise GradientError(
                f"{self.title}: {what} stops in {told_of(place)}, with {type(error).__name__}: "
                f"{error}\n"
                f"    {line_of(place)}") from error

    def of_inputs(self, dinputs):
        return gradients_of_inputs(dinputs, self.inputs)

    def compare(self):
        """→ the Report of a backward pass that is right. GradientError: it is not."""
        broken = broken_conditions(self)
        if broken:
            raise GradientError(Report(self.title, laws=broken))
        noise = ROUNDING * abs(self.loss()) / self.epsilon
        if not np.isfinite(noise):
            place = first_nan(self)
            where = f"; NaN comes first from {told_of(place)}" if place else ""
            text = (f"{self.title}: the outputs are not finite, so no difference can be taken: "
                    f"give inputs on which they are{where}")
            error = of_stop(text, self)
            raise error if error.report.findings else ValueError(text)
        analytic, stops = {}, ""
        try:
            analytic, _ = self.gradients()
        except GradientError as error:
            stops = str(error)
        numeric = {name: differences.numeric_gradient(self.loss, array, self.epsilon)
                   for name, array in self.variables.items()}
        report = Report(self.title, {}, self.tolerance, noise, stops=stops)
        for name in numeric:
            report.add(name, analytic.get(name), numeric[name])
        if report.wrong:
            told(report, self)
        report.laws = [one for one in [*broken_laws(self), *report.laws]
                       if one.kind in ALONE or not report.is_explained]
        told_of_forward(report, self)
        if report.wrong or report.laws:
            raise GradientError(report)
        return report


__all__ = ["Check", "GradientError", "Report", "gradcheck", "relative_errors"]
