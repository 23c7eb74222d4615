"""Laws of forward and backward passes that central differences cannot see.

    what is given stays     inputs, weights, upstream and cache, bit for bit      `no_mutation`
    backward twice doubles  each parameter's gradient is added to the twin, and the inputs' come out
                            the same
    each cache is its own   a forward on other inputs changes nothing for the backward of the first
    linear                  backward(a u + b v) = a backward(u) + b backward(v)   `linear`
    nothing unwritten       what np.empty gave is filled before it is read        `uninitialized`
    masked words            have weight 0, change nothing, and are not counted    `masking`
    the future              changes nothing, where time runs along an axis        `masking`

A difference calls backward once, with gradients of zero and its own arguments, so it cannot see any
of these.
"""

import numpy as np

from numpy_attention.gradcheck.arrays import copy_arrays, float_arrays
from numpy_attention.gradcheck.laws.linear import linear_in_upstream
from numpy_attention.gradcheck.laws.masking import future_unread, masked_unread, padding_uncounted
from numpy_attention.gradcheck.laws.no_mutation import (
    arguments_stay,
    differentiated_stays,
    repeatable,
)
from numpy_attention.gradcheck.laws.uninitialized import all_written
from numpy_attention.gradcheck.locate.rewriting import failing_place
from numpy_attention.gradcheck.locate.watching import lines_of, with_text
from numpy_attention.gradcheck.passes import (
    Broken,
    First,
    Unjudged,
    backward_of,
    differing,
    forward_of,
    in_twin,
    listed,
    twin,
)

# ---- backward twice doubles ---------------------------------------------------------------------


def twice_doubles(first):
    """Called again with the same cache and twin, backward adds the same once more."""
    check = first.check
    once = first.parameter_gradients
    try:
        second = backward_of(check, copy_arrays(check.upstream), first.cache, first.grad)
    except Unjudged as why:
        place = failing_place(why.__cause__)
        return [Broken("cache", "backward can be called only once with a cache: then it stops with "
                       f"{type(why.__cause__).__name__}: {why.__cause__}"
                       "\n  leave in the cache what is there", place and with_text(place))]
    twice = in_twin(first.grad)
    wrong = differing(twice, {name: 2 * array for name, array in once.items()}, check.tolerance)
    # of a block that is assigned every element is as before, of the others doubled
    nearer = {name: np.where(abs(twice[name] - array) < abs(twice[name] - 2 * array), twice[name],
                             twice[name] - array) for name, array in once.items()}
    assigned = [name for name in wrong if name not in differing(nearer, once, check.tolerance)]
    others = [name for name in wrong if name not in assigned]
    others += differing(second, first.input_gradients, check.tolerance)
    found = assigned_laws(check, assigned)
    if others:
        found.append(Broken("cache", "backward gives something else when it is called again with "
                            f"the same cache: {listed(others)}"
                            "\n  keep nothing between calls: neither in self nor in the cache"))
    return found


def assigned_laws(check, names):
    """A Broken for each parameter whose gradient is assigned, not added."""
    if not names:
        return []
    _, cache = forward_of(check, copy_arrays(check.inputs))
    grads = twin(check)
    for _, array in grads.named_parameters():
        array[...] = np.nan             # += leaves it

    def written(*_):
        return [name for name, array in grads.named_parameters() if not np.isnan(array).all()]

    places = lines_of(lambda: backward_of(check, copy_arrays(check.upstream), cache, grads),
                      written)
    return [Broken("assigned", f"called twice, backward does not double grads.{name}: = for +="
                   "\n  what a gradient twin holds already is of other calls: add to it",
                   places.get(name))
            for name in names]


# ---- each cache is its own ----------------------------------------------------------------------


def caches_are_their_own(first):
    """Between a forward and its backward, another forward changes nothing."""
    check = first.check
    _, cache = forward_of(check, copy_arrays(check.inputs))
    others = copy_arrays(check.inputs)
    for _, array in float_arrays(others, "input"):
        array *= 0.9
    forward_of(check, others)
    wrong = differing(first.again(check.upstream, cache), first.gradients, check.tolerance)
    if not wrong:
        return []
    return [Broken("cache", "a forward on other inputs changes what backward makes of an earlier "
                   f"cache: {listed(wrong)}"
                   "\n  return the cache from forward, in arrays of its own, and keep none in "
                   "self")]


# ---- all of them --------------------------------------------------------------------------------

# without these no difference can be taken
CONDITIONS = (differentiated_stays, repeatable)
# of the backward pass: where one is broken, the next ones only say the same again
BACKWARD_LAWS = (lambda first: all_written(first.check), arguments_stay, twice_doubles,
                 caches_are_their_own, linear_in_upstream)
FORWARD_LAWS = (masked_unread, padding_uncounted, future_unread)


def broken_conditions(check):
    """→ [Broken]: what makes central differences impossible."""
    found = first_of(CONDITIONS, check)
    if found and found[0].kind == "random":
        return judged(all_written, check) or found
    return found


def broken_laws(check):
    """→ [Broken]: the laws that a check's passes break, at most one of the backward pass alone.

    Where memory is read that nobody wrote, two forwards may differ in it: no more is asked then.
    """
    of_backward = judged(lambda check: first_of(BACKWARD_LAWS, First(check)), check)
    if any(one.kind == "unwritten" for one in of_backward):
        return of_backward
    return of_backward + [one for law in FORWARD_LAWS for one in judged(law, check)]


def first_of(laws, given):
    """What the first of some laws finds that is broken; given: what a law asks for."""
    for law in laws:
        found = judged(law, given)
        if found:
            return found
    return []


def judged(law, given):
    """What a law finds. Warnings of NumPy's are of its own making."""
    try:
        with np.errstate(all="ignore"):
            return law(given)
    except Unjudged:
        return []
