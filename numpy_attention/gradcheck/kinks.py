"""Kinks: values of an element at which the loss has different slopes on the left and on the right.

The central difference at a kink is the mean of the two slopes, for instance 0.5 for max(x, 0) at 0.
This mean is not a gradient: a backward pass may return any number between the two slopes. An
element whose gradient disagrees with the central difference is therefore measured again with
smaller steps. If the kink is only near the element, a small enough step does not cross it, and the
two slopes then agree. At the kink itself, the slopes differ at every step, and the gradient must
lie between them. A jump of the loss is recognized by differences that grow as 1/ε.
"""

from dataclasses import dataclass

import numpy as np

from numpy_attention.gradcheck.differences import ROUNDING, bend, central, losses_around
from numpy_attention.gradcheck.locate.watching import first_line_with
from numpy_attention.gradcheck.passes import describe_place, forward_of

FACTORS = 1, 1e-1, 1e-2, 1e-3       # of ε
FELT = 0.1                          # a smaller ratio bend / disagreement rules out a kink
BENT = 1e-2                         # a larger ratio bend / largest gradient may mean a kink
CELL = 5e-6                         # step between two losses of a scan over several kinks
MOST = 200                          # largest number of elements that are scanned
STILL = 1.37e-8                     # below float32's precision, far above float64's
WHAT = {"kink": "the function has a kink", "jump": "the function jumps",
        "steep": "the slope of the function is infinite",
        "edge": "the function is defined on one side only"}


@dataclass(frozen=True)
class Kink:
    """The kind of kink at an element, and the slopes of the loss on the left and on the right."""

    what: str       # "kink", "jump", "steep" or "edge", explained in WHAT
    left: float
    right: float


def resolve(check, report, bends, middle):
    """Repeat the differences with smaller steps where there may be kinks; update the report.

    bends: {name: array} of the `bend` at each element. middle: the loss without a step.
    """
    variables = {name: array.reshape(-1) for name, array in check.variables.items()
                 if np.shape(report.analytic[name]) == array.shape}
    found = {name: {} for name in variables}
    for name, flat in variables.items():
        wrong = report.is_wrong(name).flat
        for i in np.flatnonzero(doubtful(report, name, bends[name])):
            result = measured(check, flat, i, report.analytic[name].flat[i], middle, wrong[i])
            if result is not None:
                report.numeric[name].flat[i], kink = result
                found[name] |= {i: kink} if kink else {}
    if any(found.values()):
        for name, flat in variables.items():
            for i in np.flatnonzero(report.is_wrong(name))[:MOST]:
                analytic, kink = report.analytic[name].flat[i], found[name].get(i)
                if kink is None or kink.what == "kink":
                    kink = among_kinks(check, flat, i, analytic, middle)
                    if kink:
                        report.numeric[name].flat[i], found[name][i] = analytic, kink
    for name, kinks in found.items():
        report.add(name, report.analytic[name], report.numeric[name])
        wrong = report.is_wrong(name)
        for which, stored in ((~wrong, report.kinks), (wrong, report.wrong_kinks)):
            stored[name] = {np.unravel_index(i, wrong.shape): kinks[i] for i in sorted(kinks)
                            if which.flat[i]}


def doubtful(report, name, bends):
    """Return a boolean array, True for elements that may be at a kink or near a kink.

    bends: the `bend` at each element of the gradient `name`.
    """
    analytic, numeric = report.analytic[name], report.numeric[name]
    wrong = report.is_wrong(name)
    with np.errstate(invalid="ignore"):
        smooth = np.isfinite(analytic) & (bends < FELT * np.abs(analytic - numeric))
        # a correct gradient may be at a kink: for |x| at 0, the difference and sign(0) are 0
        largest = max(BENT * np.nanmax(np.abs(numeric), initial=0), 1e4 * report.noise)
        return np.where(wrong, ~smooth & ~np.isnan(analytic), bends > largest)


def measured(check, flat, i, analytic, middle, wrong):
    """Measure element i again with smaller steps; return (gradient, kink), or None for no kink.

    kink is a Kink at the element, or None if the element is near a kink but not at it. flat: the
    variable, flattened. analytic: the gradient from backward. middle: the loss without a step.
    wrong: whether `analytic` differs from the gradient of the full step.
    """
    found = []
    for factor in FACTORS:
        step = factor * check.epsilon
        around = losses_around(check.loss, flat, i, step)
        slope, bent = central(around, step), bend(around, middle, step)
        off = abs(analytic - slope)
        found.append((step, around, bent))
        allowed = max(check.tolerance * abs(slope), ROUNDING * abs(middle) / step)
        if factor < 1 and wrong and np.isfinite(off) and (off < allowed or bent < FELT * off):
            return slope, None
        if bent < 0.1 * found[0][-1] and not wrong:
            return None
    return at_kink(found[:3], analytic, middle)


def at_kink(found, analytic, middle):
    """Return (gradient, Kink) for an element at a kink, or None if no kink is recognized.

    The gradient is `analytic`, clipped to lie between the one-sided slopes unless one is infinite.
    found: [(step, `losses_around`, `bend`)] for decreasing steps. middle: the loss without a step.
    """
    steps, around, bends = zip(*found)
    left, right = zip(*(one_sided(losses, middle, step) for losses, step in zip(around, steps)))
    with np.errstate(invalid="ignore", divide="ignore"):
        growth = np.divide(bends[1:], bends[:-1])
    low, high = slopes = left[-1], right[-1]
    noise = ROUNDING * abs(middle) / np.array(steps)
    slack = 10 * noise[-1]
    if np.isnan(low) != np.isnan(high):
        side = right if np.isnan(low) else left
        low = high = side[-1]
        what = "edge" if abs(side[-1] - side[-2]) < BENT * abs(side[-1]) else "steep"
    elif not np.all(bends > 100 * noise):
        return None
    elif np.all((0.3 < growth) & (growth < 1.7)):
        what = "kink"
    elif np.all((9 < growth) & (growth < 11)):
        what = "jump"
        losses = around[-1]
        slopes = (losses[-1] - losses[-2]) / steps[-1], (losses[2] - losses[1]) / steps[-1]
        low, high = slopes
        slack += 1e-4 * max(abs(low), abs(high))
    elif np.all((1.7 < growth) & (growth < 9)):
        what = "steep"
    else:
        return None
    tiny = 1e-6 * max(abs(low), abs(high))
    kink = Kink(what, *(0.0 if abs(slope) < tiny else slope for slope in slopes))
    if what == "steep":
        return analytic, kink
    return np.clip(analytic, min(low, high) - slack, max(low, high) + slack), kink


def among_kinks(check, flat, i, analytic, middle):
    """Return a Kink if several kinks at or near flat[i] may explain `analytic`, otherwise None.

    A correct gradient may use the left slope of one kink and the right slope of another. analytic:
    the gradient from backward. middle: the loss without a step.
    """
    left, right = one_sided(losses_around(check.loss, flat, i, CELL), middle, CELL)
    rng = np.random.default_rng(0)
    kept = {name: array.copy() for name, array in check.variables.items()}
    rises, falls = 0.0, 0.0
    for _ in range(3):                  # a random change of all variables separates the kinks
        for name, array in check.variables.items():
            array[...] = kept[name] + 4 * CELL * rng.standard_normal(array.shape)
        start = flat[i]
        losses = []
        for k in range(-40, 41):
            flat[i] = start + k * CELL
            losses.append(check.loss())
        changes = np.diff(losses, 2) / CELL
        changes[np.abs(changes) < 10 * np.median(np.abs(changes)) + CELL * abs(analytic)] = 0
        rises = max(rises, changes[changes > 0].sum())
        falls = min(falls, changes[changes < 0].sum())
    for name, array in check.variables.items():
        array[...] = kept[name]
    if rises - falls < 1.001 * abs(right - left):         # all to one side: between the slopes
        return None
    slack = (rises - falls) / 2         # kinks behind kinks
    if not left + falls - slack < analytic < left + rises + slack:
        return None
    return Kink("kink", left, right)


def one_sided(losses, middle, step):
    """Return the left and right slope. losses: from `losses_around`. middle: the loss at step 0."""
    return ((3 * middle - 4 * losses[-1] + losses[-2]) / (2 * step),
            (4 * losses[1] - 3 * middle - losses[2]) / (2 * step))


def lines_of_kinks(kinks, variables, wrong=False):
    """Yield one line of text for each variable and each kind of kink that it has.

    kinks: {name: {index: Kink}}. wrong: whether the gradients are not between the slopes.
    """
    for name, found in kinks.items():
        for what, text in WHAT.items():
            places = [at for at, kink in found.items() if kink.what == what]
            if not places:
                continue
            first = found[places[0]]
            size = np.size(variables[name])
            advice = (": a gradient there must be between these slopes" if wrong else "; gradients "
                      f"cannot be compared there. Change {name}, for instance by adding 0.1 to it")
            yield (f"{text} at {len(places)} of {size} elements of {name}, the first at "
                   f"{[int(n) for n in places[0]]} (slope {first.left:.3g} on the left, "
                   f"{first.right:.3g} on the right){advice}")


# ---- numbers with too few digits ----------------------------------------------------------------


def low_precision(check):
    """Describe why differences of the loss are too imprecise. Return "" if they are precise."""
    variables = check.variables.values()
    kept = [array.copy() for array in variables]
    ragged = []             # in such small steps, a float64 loss is linear; a float32 loss jumps
    for sign in (1, -1):
        losses = []
        for k in range(1, 13):
            for array, before in zip(variables, kept):
                array[...] = before + sign * k * STILL * (np.abs(before) + 1)
            losses.append(check.loss())
        bends = np.diff(losses, 2)
        least = 1e-13 * np.abs(losses).max()
        ragged.append(bends.max() > least and bends.min() < -least)
    for array, before in zip(variables, kept):
        array[...] = before
    if not all(ragged):
        return ""
    if check.loss() != check.loss():
        return "the forward pass is not deterministic; fix its random numbers"
    place = first_line_with(lambda: forward_of(check, check.inputs),
                            lambda _, array: array.dtype in (np.float32, np.float16))
    if place is not None:
        return (f"{describe_place(place)} computes in float32; finite differences need "
                "float64")
    return "forward has only float32 precision. Use float64 throughout; look for float32 or astype"
