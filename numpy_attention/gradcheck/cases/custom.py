"""Gradient checks of a user-defined class, with sizes that all differ.

Its kind (attention, score, cell, model or layer) determines the test cases.
"""

import warnings
from functools import partial

import numpy as np

from numpy_attention.attention.softmax_attention import SoftmaxAttention
from numpy_attention.custom.kinds import ATTENTION, CELL, MODEL, SCORE, mechanism_kind, required
from numpy_attention.gradcheck import GradientError, gradcheck, randomize
from numpy_attention.gradcheck.cases import attention, cells, models
from numpy_attention.gradcheck.cases.case import A, B, D, H, T, V, array, plain
from numpy_attention.gradcheck.cases.models import PAIRS, TEXT
from numpy_attention.gradcheck.errors import NotFloat32
from numpy_attention.gradcheck.laws.precision import float32_kept
from numpy_attention.registry import WINDOWS, build

# names of a layer's size arguments: INPUTS for the size of the input, OTHERS for any other size
INPUTS = ("inputs", "input_size", "in_features", "size", "features", "width", "D", "I")
OTHERS = {"outputs": H, "output_size": H, "out_features": H, "hidden": H, "hidden_size": H, "H": H,
          "O": H, "inner": A, "K": A, "A": A}
MODELS = {"source_vocabulary": 8, "target_vocabulary": V, "vocabulary": V, "embedding": 2,
          "hidden": 4, "layers": 2, "dropout": 0.2}
ONE_SIZE = ("the code works if queries and keys have the same size. If it requires this, as "
            "q · h_j does, raise ValueError in `create` for other sizes, which are not checked")
A_CASE = ("write a function case(rng) that returns (target, inputs, forward, backward), and "
          "run `numpy-attention gradcheck FILE.py:case`")


def checks_of(one):
    """Return {title: check} for `one`: a user's class, or a function that is called with rng.

    check(rng) returns a Report, or raises GradientError. Raises ValueError for an unsuitable class.
    """
    if isinstance(one, type):
        how = check_score if mechanism_kind(one) in (ATTENTION, SCORE) else check
        return {title: partial(how, title, build) for title, build in cases_of(one).items()}
    return {one.__name__: partial(check_as_it_is, one)}


def check(title, build, rng):
    case = build(rng, np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotFloat32)             # an error here, see below
        report = gradcheck(case.target, *case.inputs, rng=rng, forward=case.forward,
                           backward=case.backward, title=title)
    single = build(rng, np.float32)
    report.laws = float32_kept(single.target, single.inputs, single.forward, single.backward)
    if report.laws:
        raise GradientError(report)
    return report


def check_score(title, build, rng):
    """Run `check` on an attention or score; add advice to an error that is due to unequal sizes."""
    try:
        return check(title, build, rng)
    except GradientError as error:
        report = error.report
        unexplained = getattr(report, "stops", "") and not report.findings
        if unexplained and not runs(build) and runs(partial(build, queries=D)):
            report.stops += f"\n  {ONE_SIZE}"
            raise GradientError(report) from error
        raise


def runs(build):
    """Return whether build(rng, dtype), and the `forward` of its Case, run without an exception."""
    try:
        case = build(np.random.default_rng(0), np.float64)
        case.forward(*case.inputs)
    except Exception:                               # user code may raise anything
        return False
    return True


def check_as_it_is(function, rng):
    """Run a gradient check with the arguments that a user's function returns.

    Raises TypeError unless function(rng) returns a tuple (target, inputs, forward, backward).
    """
    given = function(rng)
    if not isinstance(given, tuple) or len(given) != 4 or not isinstance(given[1], (tuple, list)):
        kinds = [type(one).__name__ for one in (given if isinstance(given, tuple) else [given])]
        raise TypeError(f"{function.__name__} returns values of type {', '.join(kinds)}; "
                        "expected (target, inputs, forward, backward), where inputs is a tuple")
    target, inputs, forward, backward = given
    return gradcheck(target, *inputs, rng=rng, forward=forward, backward=backward,
                     title=function.__name__)


def cases_of(one):
    """Return {title: build} for `one`, a user-defined class. build(rng, dtype) returns a Case."""
    kind = mechanism_kind(one)
    if kind == ATTENTION:
        return attentions(one)
    if kind == SCORE:
        return {one.__name__: partial(attention.history, score=one)}
    if kind == CELL:
        return cells.cases_of(one)
    if kind == MODEL:
        return {one.__name__: partial(model, one)}
    return {one.__name__: partial(layer, one)}


def attentions(one):
    """Return {title: build} for an attention class; for a SoftmaxAttention, one item per window."""
    windows = WINDOWS if issubclass(one, SoftmaxAttention) else ["global"]
    return {one.__name__ if window == "global" else f"{one.__name__} {window}":
            partial(attention.chosen, one, window) for window in windows}


def layer(one, rng, dtype):
    """Return the Case of a layer of class `one` with input size D, on an input x (T, B, D)."""
    create = getattr(one, "create", one)
    asked = required(create, first=int(create is not one))
    sizes = {name: D if name in INPUTS else OTHERS.get(name) for name in asked}
    if asked and asked[0] not in INPUTS:
        sizes[asked[0]] = None
    unknown = [name for name, size in sizes.items() if size is None]
    if unknown:
        raise ValueError(f"{one.__name__} requires {', '.join(unknown)}, whose value cannot be "
                         f"guessed; {A_CASE}")
    further = required(one.forward, first=2)
    if further:
        raise ValueError(f"{one.__name__}.forward requires {', '.join(further)} in addition to "
                         f"its input, and the value cannot be guessed; {A_CASE}")
    built = one() if create is one else build(one, rng, dtype=dtype, **sizes)
    return plain(randomize(built, rng), array(rng, dtype, T, B, D))


def model(one, rng, dtype):
    """Return the Case of a user-defined model: the loss of class `one` on a few sentences."""
    create = getattr(one, "create", None)
    if create is None:
        raise ValueError(f"{one.__name__} has no `create`, so it cannot be built; {A_CASE}")
    asked = required(create)
    unknown = [name for name in asked if name not in MODELS]
    if unknown:
        raise ValueError(f"{one.__name__} requires {', '.join(unknown)}, whose value cannot be "
                         f"guessed; {A_CASE}")
    batch = PAIRS if "source_vocabulary" in asked else TEXT

    def randomized(rng, dtype):
        return randomize(build(one, rng, dtype=dtype, **MODELS), rng)

    return models.loss(rng, dtype, randomized, batch)
