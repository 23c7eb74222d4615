"""Laws of forward and backward passes that central differences cannot test.

    arguments unchanged     inputs, weights, upstream and cache stay identical    `no_mutation`
    repeatable forward      the same inputs give the same outputs again           `no_mutation`
    backward accumulates    a second call doubles grads and returns the same input gradients
    independent caches      a forward on other inputs does not affect an earlier cache
    linear                  backward(a u + b v) = a backward(u) + b backward(v)   `linear`
    initialized memory      memory from np.empty is filled before it is read      `uninitialized`
    masked words            have weight 0, change nothing and are not counted     `masking`
    the future              changes no earlier output, if `causal` is given       `masking`
    float32                 parameters and inputs give float32 results            `precision`

The last column is the module of the law; laws without an entry are in this module. Each law is a
function that returns a list of Broken, which is empty if the law holds. Most functions take a
Check, or a First (one run of forward and backward). `softmax` tests only wrong gradients.
"""

import numpy as np

from numpy_attention.gradcheck.arrays import copy_arrays, float_arrays
from numpy_attention.gradcheck.laws.linear import linear_in_upstream
from numpy_attention.gradcheck.laws.masking import (
    future_unused,
    masked_values_unused,
    padding_ignored,
)
from numpy_attention.gradcheck.laws.no_mutation import (
    arguments_unchanged,
    repeatable,
    variables_unchanged,
)
from numpy_attention.gradcheck.laws.uninitialized import all_initialized
from numpy_attention.gradcheck.locate.rewriting import failing_place
from numpy_attention.gradcheck.locate.watching import lines_of, with_text
from numpy_attention.gradcheck.passes import (
    Broken,
    First,
    Unjudged,
    backward_of,
    differing,
    forward_of,
    join_words,
    named_gradients,
    new_grads,
)

# ---- backward twice doubles ---------------------------------------------------------------------


def backward_accumulates(first):
    """Check that a second call of backward doubles grads and returns the same gradients."""
    check = first.check
    once = first.parameter_gradients
    try:
        second = backward_of(check, copy_arrays(check.upstream), first.cache, first.grad)
    except Unjudged as why:
        place = failing_place(why.__cause__)
        return [Broken("cache", "backward can be called only once with a cache; the second call "
                       f"raises {type(why.__cause__).__name__}: {why.__cause__}"
                       "\n  do not change the cache", place and with_text(place))]
    twice = named_gradients(first.grad)
    wrong = differing(twice, {name: 2 * array for name, array in once.items()}, check.tolerance)
    # a second backward doubles each block that is added to, and leaves an assigned one unchanged
    nearer = {name: np.where(abs(twice[name] - array) < abs(twice[name] - 2 * array), twice[name],
                             twice[name] - array) for name, array in once.items()}
    assigned = [name for name in wrong if name not in differing(nearer, once, check.tolerance)]
    others = [name for name in wrong if name not in assigned]
    others += differing(second, first.input_gradients, check.tolerance)
    found = assigned_laws(check, assigned)
    if others:
        found.append(Broken("cache", "backward gives a different result when it is called again "
                            f"with the same cache: {join_words(others)}"
                            "\n  keep no state between calls, neither in self nor in the cache"))
    return found


def assigned_laws(check, names):
    """Return a Broken for each of the parameters `names`, whose gradients are assigned with =."""
    if not names:
        return []
    _, cache = forward_of(check, copy_arrays(check.inputs))
    grads = new_grads(check)
    for _, array in grads.named_parameters():
        array[...] = np.nan             # += keeps NaN, = replaces it

    def written(*_):
        return [name for name, array in grads.named_parameters() if not np.isnan(array).all()]

    places = lines_of(lambda: backward_of(check, copy_arrays(check.upstream), cache, grads),
                      written)
    return [Broken("assigned", f"called twice, backward does not double grads.{name}: use +=, "
                   "not =\n  grads already holds gradients of other calls; add to it",
                   places.get(name))
            for name in names]


# ---- independent caches -------------------------------------------------------------------------


def caches_are_independent(first):
    """Check that a forward on other inputs does not change the gradients from an earlier cache."""
    check = first.check
    _, cache = forward_of(check, copy_arrays(check.inputs))
    others = copy_arrays(check.inputs)
    for _, array in float_arrays(others, "input"):
        array *= 0.9
    forward_of(check, others)
    wrong = differing(first.again(check.upstream, cache), first.gradients, check.tolerance)
    if not wrong:
        return []
    return [Broken("cache", "another call of forward changes the gradients from an earlier "
                   f"cache: {join_words(wrong)}"
                   "\n  put new arrays in the cache, and keep none in self")]


# ---- all of them --------------------------------------------------------------------------------

# laws without which central differences cannot be computed
CONDITIONS = (variables_unchanged, repeatable)
# laws of the backward pass, in order: a later one may be broken only because an earlier one is
BACKWARD_LAWS = (lambda first: all_initialized(first.check), arguments_unchanged,
                 backward_accumulates, caches_are_independent, linear_in_upstream)
FORWARD_LAWS = (masked_values_unused, padding_ignored, future_unused)


def broken_conditions(check):
    """Return a list of Broken if central differences cannot be computed, otherwise []."""
    found = first_broken(CONDITIONS, check)
    if found and found[0].kind == "random":
        return judged(all_initialized, check) or found
    return found


def broken_laws(check):
    """Return [Broken, …] for the first broken law of backward and all broken laws of forward."""
    of_backward = judged(lambda check: first_broken(BACKWARD_LAWS, First(check)), check)
    if any(one.kind == "unwritten" for one in of_backward):
        return of_backward              # two forwards may differ
    return of_backward + [one for law in FORWARD_LAWS for one in judged(law, check)]


def first_broken(laws, given):
    """Return law(given) for the first law that is broken, or []. given: a `Check` or `First`."""
    for law in laws:
        found = judged(law, given)
        if found:
            return found
    return []


def judged(law, given):
    """Return law(given), or [] if user code raises, so that the law cannot be tested."""
    try:
        with np.errstate(all="ignore"):
            return law(given)
    except Unjudged:
        return []
