"""What the text of a checkpoint may say: one schema, held against it before any of it is used.

A schema is made of

    Values, Kind                 what holds, in a test and in words: texts, numbers, choices
    Maybe(schema)                the same, or None
    Every(schema)                a list of such entries
    Fields({name: schema}, …)    a dict with these names; others are as `others` says

HEADER is that of every checkpoint, TRAINING a trainer's own part of it. What a run adds stands in
`runs.saved`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Union

from numpy_attention.registry import AVERAGES
from numpy_attention.validation.messages import cut
from numpy_attention.training.settings import FLAG, NORM, SEEDS, THREADS, Values, choice, whole

DEEPEST = 16        # lists and dicts within each other
SHOWN = 30          # characters of a value in a message
LARGEST = 1e300     # JSON has whole numbers that no float can hold


@dataclass(frozen=True)
class Kind:
    """The values that `holds` accepts; `expected` names them."""

    expected: str
    holds: Callable[[Any], bool]

    def __contains__(self, value: object) -> bool:
        return self.holds(value)


@dataclass(frozen=True)
class Maybe:
    """The same, or None."""

    one: "Schema"


@dataclass(frozen=True)
class Every:
    """A list of such entries."""

    one: "Schema"


@dataclass(frozen=True)
class Fields:
    """A dict with the names of `known`, and perhaps of `optional`; others: None: whatever."""

    known: Mapping[str, "Schema"] = field(default_factory=dict)
    optional: Mapping[str, "Schema"] = field(default_factory=dict)
    others: "Schema | None" = None


Schema = Union[Values, Kind, Maybe, Every, Fields]

# ---- values -------------------------------------------------------------------------------------


def is_number(value: Any) -> bool:
    """A float, or a whole number that a float can hold."""
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < LARGEST)


def is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, str) or is_number(value)


def is_plain(value: Any) -> bool:
    return all(map(is_scalar, value)) if isinstance(value, list) else is_scalar(value)


def is_tree(value: Any) -> bool:
    """Whether `trees.rebuild` can make a state of it."""
    if isinstance(value, list):
        return all(map(is_tree, value))
    return value is None or (type(value) is int and value == 0)


TEXT = Values(str, "a text", lambda value: True)
NUMBER = Kind("a number", is_number)
FINITE = Values(float, "a finite number", lambda value: abs(value) < LARGEST)
DURATION = Values(float, "a finite number of at least 0", lambda value: 0 <= value < LARGEST)
SCALAR = Kind("a text, a number, true, false or null", is_scalar)
PLAIN = Kind("a text, a number, true, false, null or a list of these", is_plain)
TREE = Kind("the shape of a state, lists of 0 and null", is_tree)

# ---- the schema ---------------------------------------------------------------------------------

HEADER = Fields(optional={"version": TEXT, "about": Fields(optional={"kind": TEXT})})
HISTORY = Every(Fields({"epoch": whole(1), "seconds": DURATION, "train_perplexity": NUMBER},
                       others=NUMBER))
TRAINING = Fields({
    "optimizer": TEXT,
    "best_loss": Maybe(FINITE),
    "state": TREE,
    "trainer": Fields({
        "seed": SEEDS,
        "threads": THREADS,
        "average": choice(*AVERAGES),
        "clip": NORM,
        "epoch": whole(0),
        "position": whole(0),
        "step": whole(0),
        "seconds": DURATION,
        "history": HISTORY,
        "bad_epochs": whole(0),
        "stopped": FLAG,
        "epoch_loss": FINITE,
        "epoch_tokens": whole(0),
        "epoch_seconds": DURATION,
    }, optional={"ranks": THREADS}),
})

# ---- the check ----------------------------------------------------------------------------------


def check(value: Any, schema: Schema, where: str = "") -> None:
    """ValueError: a value is not as the schema says; it names the entry, by its way from the top"""
    if isinstance(schema, Maybe):
        if value is not None:
            check(value, schema.one, where)
    elif isinstance(schema, Every):
        _expect(isinstance(value, list), value, "a list", where)
        for n, item in enumerate(value):
            check(item, schema.one, f"{where}[{n}]")
    elif isinstance(schema, Fields):
        _expect(isinstance(value, dict), value, "a dict", where)
        _check_fields(value, schema, where)
    else:
        _expect(value in schema, value, schema.expected, where)


def _check_fields(value: dict[str, Any], schema: Fields, where: str) -> None:
    before = f"{where}." if where else ""
    for name, one in schema.known.items():
        if name not in value:
            raise ValueError(f"it has no '{before}{name}'")
        check(value[name], one, before + name)
    for name in value.keys() - schema.known.keys():
        other = schema.optional.get(name, schema.others)
        if other is not None:
            check(value[name], other, before + name)


def _expect(holds: bool, value: Any, expected: str, where: str) -> None:
    if not holds:
        raise ValueError(f"its entry {where or 'about'!r} is {shown(value)}, expected {expected}")


def shown(value: Any) -> str:
    """A value of JSON as it stands there, cut to SHOWN characters."""
    return cut(json.dumps(value, ensure_ascii=False), SHOWN)


def too_deep(value: Any, depth: int = 0) -> bool:
    """Whether more than DEEPEST lists and dicts stand within each other."""
    if not isinstance(value, (list, dict)):
        return False
    items = value.values() if isinstance(value, dict) else value
    return depth == DEEPEST or any(too_deep(item, depth + 1) for item in items)
