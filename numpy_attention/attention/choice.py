"""An attention by the names of its score and its window."""

from dataclasses import dataclass, fields
from inspect import signature

import numpy as np

from numpy_attention.attention.local import SEVERAL_SUMS
from numpy_attention.initializers import glorot
from numpy_attention.module import Module
from numpy_attention.names import SCORES, WINDOWS, find
from numpy_attention.shapes import at_least

NO_CHOICE = ("location scores absolute places and does not look at the words, so there is nothing for a window to choose "
             "from (Luong et al. 2015 pair local windows with dot and general): choose window 'global', or another score")
# (score, window): why they do not go together
REFUSED = {
    ("location", "local-m"): NO_CHOICE,
    ("location", "local-p"): NO_CHOICE,
    ("multi-head", "local-p"): SEVERAL_SUMS,
}


@dataclass(frozen=True)
class AttentionChoice:
    """What may be chosen of a decoder's attention; `create` makes it.

    attention, window: names of `names.SCORES` and `names.WINDOWS`; width, backwards: of the window, 2 · width + 1
    positions wide, over sources that are reversed; alignment: the size of hidden layers, of local-p's too (default:
    the query's); longest: the source positions that location knows, </s> included; heads: of multi-head.

    Who needs what is said by the parameters of the classes' own `create`. ValueError: an unknown name, a score and a window
    that do not go together, an alignment below 1.
    """

    attention: str = "dot"
    window: str = "global"
    width: int = 10
    backwards: bool = False
    alignment: int | None = None
    longest: int = 64
    heads: int = 4

    def __post_init__(self):
        find("attention", self.attention, SCORES)
        find("window", self.window, WINDOWS)
        at_least(1, alignment=self.alignment)
        if (self.attention, self.window) in REFUSED:
            why = REFUSED[self.attention, self.window]
            raise ValueError(f"{self.attention} with {self.window}: {why}")

    def create(self, rng, query_size, value_size, init=glorot, dtype=np.float32, **others):
        """An attention on the protocol, whose queries (B, query_size) ask for values (B, S, value_size).

        ValueError: sizes below 1, or that the score does not allow.
        """
        score = find("attention", self.attention, SCORES)
        window = find("window", self.window, WINDOWS)
        known = {
            "query_size": query_size, "value_size": value_size, "outputs": value_size,
            "size": self.alignment or query_size, "longest": self.longest, "heads": self.heads,
            "width": self.width, "backwards": self.backwards, "init": init, "dtype": dtype,
            **others,
        }
        attention = _created(score, rng, known)
        return attention if window is None else _created(window, rng, known | {"attention": attention})


def _created(kind, rng, known):
    """kind.create(rng, …) with what its parameters name."""
    wanted = {name: known[name] for name in signature(kind.create).parameters if name in known}
    return kind.create(rng, **wanted)


def attention_of(attention, rng, query_size, value_size, *, dtype, settings, **initial):
    """What a decoder asks: an attention of these settings, or one that is made already.

    attention: a name of `names.SCORES`, or a Module on the protocol; settings: what else an
    AttentionChoice takes; initial: initial values by the names that a score's `create` has for them.

    ValueError: a name, sizes or settings that do not fit.
    """
    if not isinstance(attention, Module):
        try:
            choice = AttentionChoice(attention, **settings)
        except TypeError:
            known = ", ".join(field.name for field in fields(AttentionChoice))
            raise ValueError(f"{', '.join(settings)}: expected settings of an attention, which are "
                             f"{known}") from None
        return choice.create(rng, query_size, value_size, dtype=dtype, **initial)
    if settings:
        raise ValueError(f"{', '.join(settings)} belongs to an attention chosen by its name, and a "
                         f"{type(attention).__name__} is given: leave it out")
    return attention
