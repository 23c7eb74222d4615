"""Check the hand-written backward pass of any Module or function against central differences.

    L     = Σ upstream · output,  upstream random
    ∂L/∂x ≈ (8 (L(x + ε) − L(x − ε)) − (L(x + 2ε) − L(x − 2ε))) / 12ε

The error of this four-point difference is O(ε⁴). The error of (L(x + ε) − L(x − ε)) / 2ε is O(ε²).
So the four-point difference allows an ε that is ten times larger, which makes the rounding error
(proportional to 1/ε) ten times smaller. The small gradients of a whole model need this precision.

A layer passes when every element of every gradient has a relative error

    |a − n| / max(|a|, |n|, 1e-3 · max|n|) < 1e-6        a analytic, n numeric

An absolute error up to the rounding error of the difference, about 1e-15 |L| / ε, is also allowed.
All gradients are compared. If some are wrong, `locate.search` looks for the line that causes the
error. Both passes must also obey the laws in `laws`, which central differences cannot test.
"""

import contextlib
import linecache
import warnings
from dataclasses import dataclass, field

import numpy as np

from numpy_attention.cells.cell import Cell
from numpy_attention.gradcheck import differences
from numpy_attention.gradcheck.arrays import copy_arrays, dot, float_arrays, outputs_of, random_like
from numpy_attention.gradcheck.differences import EPSILON, ROUNDING, TOLERANCE, check_epsilon
from numpy_attention.gradcheck.errors import GradientError, NotChecked, NotFloat32
from numpy_attention.gradcheck.faults import (
    check_elements,
    check_inputs,
    check_passes,
    gradients_of_inputs,
    warn_of_numbers,
)
from numpy_attention.gradcheck.harness import check_sequence, protocol
from numpy_attention.gradcheck.kinks import low_precision, resolve
from numpy_attention.gradcheck.laws import broken_conditions, broken_laws
from numpy_attention.gradcheck.laws.masking import check_causal
from numpy_attention.gradcheck.laws.no_mutation import first_not_finite
from numpy_attention.gradcheck.laws.precision import float32_inputs, float32_kept
from numpy_attention.gradcheck.locate.rewriting import failing_place
from numpy_attention.gradcheck.locate.watching import Watch, arrays_within
from numpy_attention.gradcheck.passes import describe_place, source_line
from numpy_attention.gradcheck.report.report import Report, explain, explain_forward, stop_error
from numpy_attention.module import Module
from numpy_attention.validation.arguments import check_generator, check_number


def gradcheck(target, *inputs, rng, forward=None, backward=None, tolerance=TOLERANCE,
              epsilon=EPSILON, title=None, causal=None):
    """Check the gradients of all parameters of a Module and of all float inputs; return a Report.

    target: a Module with float64 parameters, or None for a function without parameters
    inputs: the arguments of `forward`; float64 arrays are checked, also within tuples
    rng: the random generator that draws the upstream gradients
    forward: forward(*inputs) returns (output, …, cache). An output is an array, a tuple of arrays,
        or None. The default is target.forward
    backward: backward(doutput, …, cache, grads) adds the gradients of parameters to grads. It
        returns the gradient of the input or, for several inputs, a tuple with one item per input.
        The item is None for an input that is not a float array. The default is target.backward
    tolerance: the largest relative error that is allowed
    epsilon: the step of the differences
    title: the name of the check in messages
    causal: the time axis, to test that no step of an output depends on a later step of the first
        input. Only outputs with as many steps as this input are tested. None omits the test

    Both passes must draw the same random numbers at every call. If the target is an attention with
    `read` and `step`, the inputs may be queries (T, B, Q) and unpadded values (B, S, D). Both
    passes then come from `gradcheck.protocol`, unless forward or backward is given.

    Elements at a kink of the loss, such as 0 for max(x, 0), cannot be compared with differences,
    and a warning (NotChecked) reports them. The gradient of such an element must still lie between
    the slopes of the loss on the left and on the right.

    Raises GradientError if gradients are wrong. The message lists the correct and the wrong
    gradients, the first wrong line if the source can be traced, and the likely kind of mistake.
    GradientError is also raised if user code raises an exception, or if a pass breaks a law that
    central differences cannot test, such as that no pass changes its inputs. The error's attribute
    report.laws has the broken laws and their lines.
    Raises TypeError if `forward` or `backward` is missing, if `forward` computes in float32, or if
    a parameter or float input is not float64. Raises ValueError if a parameter or input is empty or
    has NaN, or if every element has a numeric gradient of about 0 or is at a kink. Outputs that are
    not finite raise GradientError if the check finds a correction of `forward`, else ValueError.
    Warns (NotAParameter) if `forward` of a user-defined Module computes with a float field. Warns
    (NotFloat32) if a Module's passes return float64 for float32 parameters and inputs.
    """
    check_generator(rng)
    check_number("tolerance", tolerance, np.nextafter(0, 1), expected="a positive number")
    check_epsilon(epsilon)
    driven = forward is backward is None and hasattr(target, "read") and (
        hasattr(target, "step") and len(inputs) == 2 and np.ndim(inputs[1]) == 3)
    if driven:
        forward, backward = protocol(target, np.ones(inputs[1].shape[:2], bool))
    forward = getattr(target, "forward", None) if forward is None else forward
    backward = getattr(target, "backward", None) if backward is None else backward
    check_passes(target, forward, backward)
    linecache.checkcache()              # a file may have been changed since an earlier check
    if title is None and target is None:
        title = getattr(forward, "__name__", "function")
    check = Check(target, [copy_arrays(value) for value in inputs], forward, backward,
                  title or type(target).__name__, tolerance, epsilon, causal)
    check.draw(rng)
    check_causal(check)
    warn_of_numbers(check, 3)
    report = check.compare()
    own = [getattr(one, "__self__", None) is target for one in (forward, backward)]
    if driven or all(own):
        for law in float32_laws(check, driven):
            warnings.warn(f"{check.title}: {law}", NotFloat32, 2)
    for line in report.left_out:
        warnings.warn(f"{check.title}: {line}", NotChecked, 2)
    return report


def float32_laws(check, driven):
    """Return [Broken] if the passes of a Module return float64 for float32 arrays, otherwise [].

    driven: whether the passes come from `protocol`.
    """
    if check.model is None:
        return []
    single = check.target.astype(np.float32)
    if driven:
        passes = protocol(single, np.ones(check.inputs[1].shape[:2], bool))
    else:
        passes = (getattr(single, check.forward.__name__), getattr(single, check.backward.__name__))
    return float32_kept(single, float32_inputs(check.inputs), *passes)


# kinds of broken laws that are reported even if gradients are wrong too
ALONE = "argument changed", "mask forward", "future", "unwritten"


@dataclass
class Check:
    """One gradient check: forward and backward, the inputs, and the gradients of the outputs."""

    target: object
    inputs: list
    forward: object
    backward: object
    title: str
    tolerance: float = TOLERANCE
    epsilon: float = EPSILON
    causal: int | None = None
    upstream: list = field(default_factory=list)
    grads_names: dict = field(default_factory=dict)     # {id of a part of grads: its name}

    @property
    def model(self):
        return self.target if isinstance(self.target, Module) else None

    @property
    def parameters(self):
        return {} if self.model is None else dict(self.model.named_parameters())

    @property
    def variables(self):
        """Parameters and float inputs as {name: array}. Raises TypeError unless all are float64."""
        found = self.parameters | dict(float_arrays(self.inputs, "input"))
        for name, array in found.items():
            if array.dtype != np.float64:
                raise TypeError(f"{name} is {array.dtype}, but a gradient check needs float64; "
                                "convert it with astype(np.float64)")
        return found

    @property
    def flags(self):
        """The boolean arrays, which may be masks, among forward's inputs and closure variables."""
        cells = getattr(self.forward, "__closure__", None) or ()
        around = [cell.cell_contents for cell in cells]
        return [one for one in [*self.inputs, *around]
                if isinstance(one, np.ndarray) and one.dtype == bool]

    def draw(self, rng):
        """Check the inputs, and draw a random upstream gradient for each output."""
        check_inputs(self.inputs, self.variables)
        check_elements({**self.variables, **dict(arrays_within(self.inputs, "input"))}.items())
        held = Watch({**self.parameters, **dict(arrays_within(self.inputs, "input"))})
        try:
            with self.named("forward"):
                *outputs, cache = outputs_of(self.forward, self.inputs)
                if isinstance(self.target, Cell) and self.forward == self.target.forward:
                    check_sequence(self.forward, (*outputs, cache), self.inputs[0])
        except GradientError as error:
            held.restore()
            raise stop_error(str(error), self) from error
        held.restore()
        self.upstream = [random_like(output, rng) for output in outputs]
        if not any(array.size for _, array in arrays_within(self.upstream, "output")):
            raise ValueError(f"{self.title}: the outputs of forward are empty or None, so there is "
                             "nothing to check; return non-empty arrays")

    def loss(self):
        *outputs, _ = self.forward(*self.inputs)
        return sum(map(dot, outputs, self.upstream))

    def gradients(self, upstream=None):
        """Run both passes; return ({name: gradient}, grads). grads is None without a Module.

        upstream: the gradients of the outputs, by default those from `draw`.
        """
        *_, cache = outputs_of(self.forward, self.inputs)
        grads = None if self.model is None else self.model.zeros_like()
        self.grads_names = {} if grads is None else {id(one): name for name, one in grads.modules()}
        with self.named("backward"):
            given = self.upstream if upstream is None else upstream
            dinputs = self.backward(*map(copy_arrays, given), cache, grads)
        found = {} if self.model is None else dict(grads.named_parameters())
        return found | gradients_of_inputs(dinputs, self.inputs), grads

    @contextlib.contextmanager
    def named(self, what):
        """Context manager that turns a user's exceptions into GradientError. what: its name."""
        try:
            yield
        except Exception as error:
            place = failing_place(error)
            if place is None:
                raise
            raise GradientError(
                f"{self.title}: {what} raises {type(error).__name__} at {describe_place(place)}: "
                f"{error}\n    {source_line(place)}") from error

    def compare(self):
        """Return the Report if all gradients are correct and laws hold, or raise GradientError."""
        broken = broken_conditions(self)
        if broken:
            raise GradientError(Report(self.title, laws=broken))
        middle = self.loss()
        noise = ROUNDING * abs(middle) / self.epsilon
        if not np.isfinite(noise):
            where = first_not_finite(self)
            text = (f"{self.title}: the outputs are not finite, so no difference can be taken; "
                    f"pass other inputs, or correct forward{where}")
            error = stop_error(text, self)
            raise error if error.report.findings else ValueError(text)
        analytic, stops = {}, ""
        try:
            analytic, _ = self.gradients()
        except GradientError as error:
            stops = str(error)
        bends = {}
        report = Report(self.title, {}, self.tolerance, noise, stops=stops)
        for name, array in self.variables.items():
            numeric, bends[name] = differences.gradient_and_bends(
                self.loss, array, self.epsilon, middle)
            report.add(name, analytic.get(name), numeric)
        if report.wrong:
            self.check_precision()
        resolve(self, report, bends, middle)
        if report.wrong:
            explain(report, self)
        report.laws = [one for one in [*broken_laws(self), *report.laws]
                       if one.kind in ALONE or not report.is_explained]
        explain_forward(report, self)
        if report.wrong or report.laws:
            raise GradientError(report)
        report.check_measured()
        return report

    def check_precision(self):
        """Raise TypeError if `forward` is less precise than float64, or is not deterministic."""
        problem = low_precision(self)
        if problem:
            raise TypeError(f"{self.title}: {problem}")
