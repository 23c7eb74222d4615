"""Calls of the layers, cells, attentions and optimizers with one argument, or two, made hostile.

A right call comes from the catalogue, once as it is and once with the hostile arguments. Then

    the same numbers in another memory order    give the same result, or are refused
    what is right in the argument's place       is taken, and its NaN shows in the result
    anything else                               is refused in one clear line of the package's own
"""

import warnings

import numpy as np

from hostility import catalogue, values
from hostility.outcome import REFUSED, RIGHT, Attempt, Outcome, judged
from hostility.right_calls import Sizes, has_nan, numbers, other, same

# so many of the arguments that are no arrays are taken from a call of other sizes, or other kind
FROM_OTHERS = 0.7


def attempt(rng, folder):
    """One of the catalogue's calls with one or two arguments made hostile."""
    makers = list(catalogue.MAKERS)
    maker = makers[rng.integers(len(makers))]
    seed = int(rng.integers(2**32))
    count = len(made(maker, seed))
    which = int(rng.integers(count))
    call, plain = made(maker, seed)[which], made(maker, seed)[which]
    names = list(call.arguments)
    rng.shuffle(names)
    mutants = {name: mutant(rng, call, name, maker, seed, which)
               for name in names[:1 if rng.random() < 0.9 else 2]}
    what = f"{call.what}({', '.join(f'{name}={m.name}' for name, m in mutants.items())})"
    return Attempt(what, lambda: tried(call, plain, mutants))


def made(maker, seed, sizes=Sizes()):
    """The calls of a maker, with arguments of their own each time, the same for the same seed."""
    return catalogue.MAKERS[maker](np.random.default_rng(seed), sizes)


def mutant(rng, call, name, maker, seed, which):
    """A Mutant for an argument."""
    value = call.arguments[name]
    if callable(value):
        return values.chosen(rng, [thing for thing in values.THINGS if not callable(thing)])
    if name == "dtype":
        return values.chosen(rng, catalogue.DTYPES)
    if isinstance(value, catalogue.SIMPLE) and not hasattr(value, "_fields"):
        return values.mutant(rng, value)
    if rng.random() < FROM_OTHERS:
        if rng.random() < 0.6:
            sizes = other(rng, Sizes())
            title = ", ".join(f"{letter} {size}" for letter, size in sizes._asdict().items()
                              if size != getattr(Sizes(), letter))
            twin = made(maker, seed, sizes)[which]
            return values.Mutant(f"one with {title}", twin.arguments[name], values.THING)
        makers = list(catalogue.MAKERS)
        strange = makers[rng.integers(len(makers))]
        for one in made(strange, seed):
            if name in one.arguments:
                return values.Mutant(f"that of {one.what}", one.arguments[name], values.THING)
    return values.things(rng, None)


def tried(call, plain, mutants):
    """→ Outcome."""
    wanted = dict(call.arguments)
    for name, one in mutants.items():
        call.arguments[name] = one.value
    wrong = [name for name, one in mutants.items()
             if one.kind != values.SAME and not call.fits(name, one.value, wanted[name])]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result = numbers(call())
        except Exception as error:
            outcome = judged(error)
            harmless = all(one.kind == values.CONTENT for one in mutants.values())
            if outcome.verdict == REFUSED and not wrong and harmless:
                return Outcome("silence", f"refused although it is right: {outcome.text}")
            return outcome
        if wrong:
            return Outcome("silence", f"accepted with a wrong {' and '.join(wrong)}")
        if all(one.kind == values.SAME for one in mutants.values()):
            if not same(result, numbers(plain())):
                return Outcome("silence", "other numbers than in the plain order of memory")
        for name, one in mutants.items():
            if shows_nowhere(call, name, one, result):
                return Outcome("silence", f"the NaN of {name} is hidden")
    return Outcome(RIGHT, "taken")


def shows_nowhere(call, name, mutant, result):
    """Whether a NaN was put where it is read, and the result has none."""
    if mutant.kind != values.CONTENT or not mutant.name.startswith("nan at"):
        return False
    place = int(mutant.name.rpartition(" ")[2])
    return not call.hides(name, place) and not has_nan(result)
