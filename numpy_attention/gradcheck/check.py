"""Central differences against a hand-written backward pass, for any Module or function.

    L     = Σ upstream · output,  upstream random
    ∂L/∂x ≈ (8 (L(x + ε) − L(x − ε)) − (L(x + 2ε) − L(x − 2ε))) / 12ε

The four-point difference errs by O(ε⁴) where (L(x + ε) − L(x − ε)) / 2ε errs by O(ε²), so ε may be
ten times larger and rounding, which is divided by ε, ten times smaller: a whole model's small
gradients need that.

A layer passes when every element of every gradient has relative error

    |a − n| / max(|a|, |n|, 1e-3 · max|n|) < 1e-6        a analytic, n numeric

What rounding alone can do to the difference, about 1e-15 |L| / ε, is not held against it.
"""

from dataclasses import dataclass, field

import numpy as np

from numpy_attention.arguments import expect_function, expect_generator, expect_kind, expect_number
from numpy_attention.messages import given
from numpy_attention.module import Module

EPSILON = 1e-4
ROUNDING = 1e-15
TOLERANCE = 1e-6


class GradientError(AssertionError):
    """A backward pass disagrees with central differences.

    The message says where, by how much, and what to suspect.
    """


@dataclass
class Report:
    """Largest relative error of each gradient, by name."""

    title: str
    errors: dict = field(default_factory=dict)

    @property
    def worst(self):
        return max(self.errors.values())

    def __repr__(self):
        width = max(map(len, self.errors))
        lines = [f"{self.title}: {len(self.errors)} gradients, "
                 f"largest relative error {self.worst:.1e}"]
        for name, error in self.errors.items():
            lines.append(f"  {name:<{width}}  {error:.1e}")
        return "\n".join(lines)


def gradcheck(target, *inputs, rng, forward=None, backward=None, tolerance=TOLERANCE,
              epsilon=EPSILON, title=None):
    """Check the gradients of all parameters of a Module and of all float inputs; → Report.

    target: a Module (float64), or None for a function without parameters.
    inputs: what `forward` takes; float64 arrays, also in tuples, are checked, anything else is
    passed on.
    forward(*inputs) → (output, …, cache): outputs are arrays, tuples of them, or None; default
    target.forward.
    backward(doutput, …, cache, grad) → the inputs' gradients, one, or a tuple in the order of the
    inputs, None for an input that is no float array; default target.backward.
    Both must draw the same random numbers at every call.

    Raises GradientError where a gradient is wrong, with the parameter, the element, both values,
    the inputs and the usual suspects; TypeError for anything that is not float64; ValueError for
    outputs that are not finite.
    """
    expect_generator(rng)
    expect_number("tolerance", tolerance, np.nextafter(0, 1), expected="a positive number")
    expect_epsilon(epsilon)
    forward = getattr(target, "forward", None) if forward is None else forward
    backward = getattr(target, "backward", None) if backward is None else backward
    expect_function("forward", forward, "a function, or a target that has one")
    expect_function("backward", backward, "a function, or a target that has one")
    if title is None and target is None:
        title = getattr(forward, "__name__", "function")
    title = title or type(target).__name__
    model = target if isinstance(target, Module) else None
    parameters = {} if model is None else dict(model.named_parameters())
    inputs = [_copied(value) for value in inputs]
    checked = dict(_float_arrays(inputs, "input"))
    for name, array in (parameters | checked).items():
        if array.dtype != np.float64:
            raise TypeError(f"{name} is {array.dtype}, a gradient check needs float64: "
                            "use astype(np.float64)")

    *outputs, cache = _outputs_of(forward, inputs)
    upstream = [_random_like(output, rng) for output in outputs]
    grad = None if model is None else model.zeros_like()
    dinputs = backward(*upstream, cache, grad)
    if len(inputs) == 1 or not isinstance(dinputs, tuple):
        dinputs = (dinputs,)
    analytic = {} if model is None else dict(grad.named_parameters())
    analytic |= _input_gradients(inputs, dinputs)

    def loss():
        *outputs, _ = forward(*inputs)
        return sum(_dot(output, up) for output, up in zip(outputs, upstream))

    noise = ROUNDING * abs(loss()) / epsilon
    if not np.isfinite(noise):
        raise ValueError(f"{title}: the outputs are not finite, so no difference can be taken: "
                         "give inputs on which they are")
    report = Report(title)
    for name, array in (parameters | checked).items():
        numeric = numeric_gradient(loss, array, epsilon)
        report.errors[name] = _compare(title, name, analytic[name], numeric, tolerance, noise,
                                       checked)
    return report


def expect_epsilon(epsilon):
    """Refuse a step that is no positive number. ValueError."""
    expect_number("epsilon", epsilon, np.nextafter(0, 1), expected="a positive number")


def numeric_gradient(loss, array, epsilon=EPSILON):
    """∂loss/∂array by central differences.

    loss() reads the array, which is changed in place and restored. TypeError: no array of floats,
    or a loss that is no number; ValueError: an array that is not contiguous.
    """
    expect_function("loss", loss, "a function without arguments")
    expect_epsilon(epsilon)
    if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
        raise TypeError(f"array is {given(array)}: expected an array of floats")
    numeric = np.empty_like(array)
    flat = array.reshape(-1)
    if array.size and not np.shares_memory(flat, array):
        raise ValueError("the array must be contiguous, so that its elements can be changed "
                         "in place: copy it first")
    for i in range(array.size):
        kept = flat[i]
        around = {}
        for step in (-2, -1, 1, 2):
            flat[i] = kept + step * epsilon
            around[step] = _number(loss())
        flat[i] = kept
        near = around[1] - around[-1]
        far = around[2] - around[-2]
        numeric.flat[i] = (8 * near - far) / (12 * epsilon)
    return numeric


def relative_errors(analytic, numeric, smallest=1e-9):
    """|a − n| / max(|a|, |n|, 1e-3 · max|n|, smallest), elementwise; NaN counts as infinite."""
    largest = np.maximum(np.abs(analytic), np.abs(numeric))
    floor = 1e-3 * np.abs(numeric).max(initial=0)
    errors = np.abs(analytic - numeric) / np.maximum(largest, max(floor, smallest))
    return np.where(np.isnan(errors), np.inf, errors)


def randomize(module, rng, scale=0.5):
    """Fill every parameter with N(0, scale²), biases too, so that no gradient is 0 by accident.

    → the module. TypeError: no Module, or no Generator.
    """
    expect_kind("module", module, Module, "a Module")
    expect_generator(rng)
    expect_number("scale", scale)
    for _, array in module.named_parameters():
        array[...] = scale * rng.standard_normal(array.shape)
    return module


def protocol(attention, mask):
    """(forward, backward) that drive an attention's read and steps, for gradcheck; mask (B, S)."""
    def forward(queries, values):
        """queries (T, B, Q), values (B, S, D) → contexts (T, B, D), weights (T, B, S), cache."""
        memory = attention.read(values, mask)
        steps = [attention.step(query, memory, t) for t, query in enumerate(queries)]
        contexts, weights, caches = zip(*steps)
        return np.stack(contexts), np.stack(weights), (memory, caches)

    def backward(dcontexts, dweights, cache, grad):
        memory, caches = cache
        dmemory = memory.gradient()
        dqueries = [attention.step_backward(dcontexts[t], dweights[t], caches[t], dmemory, grad)
                    for t in reversed(range(len(caches)))]
        dvalues = attention.read_backward(memory, dmemory, grad)
        if dqueries[0] is None:
            return np.zeros(dcontexts.shape[:2] + (0,), dcontexts.dtype), dvalues
        return np.stack(dqueries[::-1]), dvalues

    return forward, backward


# ---- the report of a failure ---------------------------------------------------------------------


def _compare(title, name, analytic, numeric, tolerance, noise, inputs):
    """→ the largest relative error; GradientError where it is not below the tolerance."""
    if np.shape(analytic) != numeric.shape:
        raise GradientError(f"{title}: the gradient of {name} has shape {np.shape(analytic)}, "
                            f"expected {numeric.shape}: "
                            "a gradient has the shape of what it belongs to")
    errors = relative_errors(analytic, numeric, max(noise / tolerance, 1e-9))
    worst = errors.max(initial=0.0)
    if worst < tolerance:
        return float(worst)
    wrong = errors >= tolerance
    at = tuple(int(i) for i in np.unravel_index(errors.argmax(), errors.shape))
    with np.printoptions(precision=5, suppress=True, threshold=60, edgeitems=2):
        raise GradientError(
            f"{title}: wrong gradient for {name} at {at}: backward gives {analytic[at]:.8g}, "
            f"central differences give {numeric[at]:.8g} (relative error {worst:.1e}, "
            f"allowed {tolerance:.0e}; {int(wrong.sum())} of {errors.size} elements are wrong)\n"
            f"  suspect: {'; '.join(_suspects(analytic, numeric, wrong))}\n"
            f"backward:\n{analytic}\n"
            f"central differences:\n{numeric}\n"
            f"inputs:\n{_shown(inputs)}")


def _suspects(analytic, numeric, wrong):
    """What usually makes a gradient look like this one."""
    if not np.isfinite(analytic).all():
        return ["not finite: a division by 0 or an overflow, or memory from np.empty that was "
                "never written"]
    if not analytic.any():
        return ["all 0: the statement that adds this gradient to the twin is missing, "
                "or adds to a copy"]
    found = []
    large = np.abs(numeric) > 1e-3 * np.abs(numeric).max()
    ratios = analytic[large] / numeric[large]
    scaled = len(ratios) and np.allclose(ratios, ratios[0], rtol=1e-4)
    if scaled and not np.isclose(ratios[0], 1, rtol=1e-4):
        why = "a factor, or a term counted more than once"
        if np.isclose(ratios[0], -1):
            why = "a sign"
        found.append(f"every element is {ratios[0]:.4g} times the right one: {why}")
    square = analytic.ndim == 2 and len(set(analytic.shape)) == 1
    if square and np.allclose(analytic.T, numeric, rtol=1e-4):
        found.append("right after a transpose: the factors of a matrix product are exchanged")
    for axis in range(wrong.ndim):
        others = tuple(other for other in range(wrong.ndim) if other != axis)
        bad = np.flatnonzero(wrong.any(axis=others))
        if 0 < len(bad) < wrong.shape[axis]:
            found.append(f"only {bad[:6].tolist()} along axis {axis} of {wrong.shape}: a mask, "
                         "the first or last step, a gate's block of columns, "
                         "or ids that occur twice")
    if not found:
        found.append("a missing or extra term: walk the forward's lines in reverse, "
                     "one dX for every X")
    return found


def _shown(arrays):
    if not arrays:
        return "none"
    return "\n".join(f"{name} {array.shape} =\n{array}" for name, array in arrays.items())


# ---- trees of arrays: inputs and outputs may be tuples, an LSTM's state for one ------------------


def _float_arrays(value, name):
    """Yield (name, array) for the float arrays of a list or tuple, nested or not."""
    if isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from _float_arrays(item, f"{name}[{i}]")
    elif isinstance(value, np.ndarray) and value.dtype.kind == "f":
        yield name, value


def _outputs_of(forward, inputs):
    """What forward gives. TypeError: not (output, …, cache), outputs being arrays, tuples, None."""
    found = forward(*inputs)
    if not isinstance(found, tuple) or len(found) < 2:
        raise TypeError(f"forward gives {given(found)}: expected a tuple (output, …, cache)")
    for output in found[:-1]:
        if not _is_tree(output):
            raise TypeError(f"forward gives {given(output)}: expected arrays of numbers, tuples of "
                            "them, or None")
    return found


def _is_tree(value):
    if isinstance(value, tuple):
        return all(map(_is_tree, value))
    return value is None or np.asarray(value).dtype.kind in "fiub"


def _number(loss):
    """A loss. TypeError: it is no number."""
    if np.ndim(loss) or np.asarray(loss).dtype.kind not in "fiu":
        raise TypeError(f"the loss is {given(loss)}: expected a number")
    return loss


def _input_gradients(inputs, dinputs):
    given = dict(_float_arrays(list(dinputs), "input"))
    expected = dict(_float_arrays(inputs, "input"))
    if expected.keys() != given.keys():
        raise GradientError(f"backward returns gradients for {sorted(given)}, "
                            f"expected {sorted(expected)}: "
                            "one for each float input, in order, None for the others")
    return given


def _copied(value):
    if isinstance(value, (list, tuple)):
        return type(value)(_copied(item) for item in value)
    if isinstance(value, np.ndarray):
        return np.array(value, order="C")
    return value


def _random_like(value, rng):
    if isinstance(value, tuple):
        return tuple(_random_like(item, rng) for item in value)
    return None if value is None else rng.standard_normal(np.shape(value))


def _dot(value, upstream):
    if isinstance(value, tuple):
        return sum(_dot(item, up) for item, up in zip(value, upstream))
    return 0.0 if value is None else float(np.sum(value * upstream))
