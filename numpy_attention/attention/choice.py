"""An attention by the names of its score and its window."""

from dataclasses import dataclass
from inspect import signature

import numpy as np

from numpy_attention.attention.local import SEVERAL_SUMS
from numpy_attention.initializers import glorot
from numpy_attention.names import SCORES, WINDOWS, find
from numpy_attention.shapes import at_least

NO_CHOICE = ("location scores absolute places and does not look at the words, so there is nothing "
             "for a window to choose from (Luong et al. 2015 pair local windows with dot and "
             "general): choose window 'global', or another score")
# (score, window): why they do not go together
REFUSED = {
    ("location", "local-m"): NO_CHOICE,
    ("location", "local-p"): NO_CHOICE,
    ("multi-head", "local-p"): SEVERAL_SUMS,
}


@dataclass(frozen=True)
class AttentionChoice:
    """What may be chosen of a decoder's attention; `create` makes it.

    attention, window: names of `names.SCORES` and `names.WINDOWS`; width: a window has
    2 · width + 1 positions; backwards: the sources are reversed, so local-m starts at their end;
    alignment: the size of hidden layers, local-p's too, by default the query's; longest: the source
    positions that location knows, </s> included; heads: multi-head's. A class gets what its own
    `create` names.

    ValueError: an unknown name, a score and a window that do not go together, an alignment below 1.
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

    def create(self, rng, query_size, value_size, init=glorot, dtype=np.float32):
        """An attention whose queries (B, query_size) ask for values (B, S, value_size).

        ValueError: sizes below 1, or that the score does not allow.
        """
        score = find("attention", self.attention, SCORES)
        window = find("window", self.window, WINDOWS)
        known = {
            "query_size": query_size, "value_size": value_size, "outputs": value_size,
            "size": self.alignment or query_size, "longest": self.longest, "heads": self.heads,
            "width": self.width, "backwards": self.backwards, "init": init, "dtype": dtype,
        }
        attention = _created(score, rng, known)
        if window is None:
            return attention
        return _created(window, rng, known | {"attention": attention})


def _created(kind, rng, known):
    """kind.create(rng, …) with what its parameters name."""
    wanted = {name: known[name] for name in signature(kind.create).parameters if name in known}
    return kind.create(rng, **wanted)
