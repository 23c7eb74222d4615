"""Configuration of a decoder's attention: a score and a window, chosen by name."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.initializers import glorot
from numpy_attention.module import Module
from numpy_attention.registry import SCORES, WINDOWS, build, resolve
from numpy_attention.validation.arguments import check_flags
from numpy_attention.validation.arrays import at_least, check_sizes

NO_CHOICE = ("location scores depend only on the query, not on the words in a window. "
             "Choose window = 'global', or attention = 'dot' or 'general'")
SEVERAL_SUMS = ("local-p needs one set of weights, but multi-head attention has one per head. "
                "Choose window = 'global' or 'local-m'")
# (score, window): why they cannot be combined
REFUSED = {
    ("location", "local-m"): NO_CHOICE,
    ("location", "local-p"): NO_CHOICE,
    ("multi-head", "local-p"): SEVERAL_SUMS,
}


@dataclass(frozen=True)
class AttentionConfig:
    """Configuration of a decoder's attention; `create` builds the attention.

    attention: a name in `registry.SCORES` or `registry.ALIASES`, or a class that has `create` and
        the methods of `protocol.Attention`
    window: a name in `registry.WINDOWS`
    width: a window has 2 · width + 1 positions
    backwards: whether source sentences are reversed. If so, local-m starts just before </s>
    alignment: the hidden size of the score and of local-p, or the total size of the heads of
        "multi-head"; by default, the size of the query
    longest: the largest number of source positions, with </s>, that "location" supports
    heads: the number of heads of "multi-head"

    Raises ValueError for a size below 1, an unknown name, "location" with a window other than
    "global", or "multi-head" with "local-p".
    """

    attention: str | type = "dot"
    window: str = "global"
    width: int = 10
    backwards: bool = False
    alignment: int | None = None
    longest: int = 64
    heads: int = 4

    def __post_init__(self):
        resolve("attention", self.attention, SCORES)
        resolve("window", self.window, WINDOWS)
        check_sizes(width=self.width, longest=self.longest, heads=self.heads)
        at_least(1, alignment=self.alignment)
        check_flags(backwards=self.backwards)
        if (self.attention, self.window) in REFUSED:
            why = REFUSED[self.attention, self.window]
            raise ValueError(f"attention = {self.attention!r} cannot be combined with window = "
                             f"{self.window!r}: {why}")

    def create(self, rng, query_size, value_size, init=glorot, dtype=np.float32, **others):
        """Build an attention for queries (B, query_size) and values (B, S, value_size).

        init: the initializer of the weights. others: more arguments for the `create` methods of
        score and window. Both methods receive only the arguments in their signatures. Raises
        ValueError if a size is below 1, if "dot" gets different query_size and value_size, or if
        "multi-head" gets an alignment size that `heads` does not divide.
        """
        score = resolve("attention", self.attention, SCORES)
        window = resolve("window", self.window, WINDOWS)
        known = {
            "query_size": query_size, "value_size": value_size, "outputs": value_size,
            "size": self.alignment or query_size, "longest": self.longest, "heads": self.heads,
            "width": self.width, "backwards": self.backwards, "init": init, "dtype": dtype,
            **others,
        }
        attention = build(score, rng, **known)
        if window is None:
            return attention
        return build(window, rng, attention=attention, **known)


def attention_of(attention, rng, query_size, value_size, *, dtype, settings, **initial):
    """Build a decoder's attention from a name or class, or return `attention` if it is a Module.

    attention: a name of `registry.SCORES`, a class, or a Module that follows `protocol.Attention`.
    settings: a dict with other fields of AttentionConfig, empty for a Module. initial: extra
    arguments of `AttentionConfig.create`, such as the initializers init and init_v.

    Raises the errors of AttentionConfig and its `create`, and ValueError if settings are given
    together with a Module.
    """
    if not isinstance(attention, Module):
        choice = AttentionConfig(attention, **settings)
        return choice.create(rng, query_size, value_size, dtype=dtype, **initial)
    if given := ", ".join(settings):
        raise ValueError(f"attention is already built (a {type(attention).__name__}), so {given} "
                         f"cannot be set; omit {given}, or pass attention as a name or a class")
    return attention
