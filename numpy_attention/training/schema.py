"""Check the JSON text of a checkpoint against a schema, before the checkpoint is used.

A schema is made of

    Values                       the values that satisfy a test: texts, numbers, choices
    Maybe(schema)                a value that fits the schema, or None
    Every(schema)                a list of values that fit the schema
    Fields({name: schema}, …)    a dict that has these names

Two more arguments of Fields describe names that the dict may have. `optional` is a dict {name:
schema}. `others` is one schema for the values of all other names, or None to accept any value.

The dict `about` of every checkpoint fits HEADER. If a trainer wrote it, it also fits TRAINING.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Union

from numpy_attention.registry import AVERAGES
from numpy_attention.training.settings import FLAG, NORM, SEEDS, THREADS, Values, choice, whole
from numpy_attention.validation.messages import cut

DEEPEST = 16        # nested lists and dicts
SHOWN = 30          # characters of a value in a message
LARGEST = 1e300     # JSON has integers that no float can hold


class Maybe(NamedTuple):
    one: "Schema"


class Every(NamedTuple):
    one: "Schema"


class Fields(NamedTuple):
    known: Mapping[str, "Schema"] = {}
    optional: Mapping[str, "Schema"] = {}
    others: "Schema | None" = None


Schema = Union[Values, Maybe, Every, Fields]

# ---- values -------------------------------------------------------------------------------------


def Kind(expected: str, holds: Callable[[Any], bool]) -> Values:
    """Return the Values, of any type, for which holds(value) is true. expected: for messages."""
    return Values(object, expected, holds)


def is_number(value: Any) -> bool:
    """Return whether a value is a float, or an integer that a float can hold."""
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < LARGEST)


def is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, str) or is_number(value)


def is_plain(value: Any) -> bool:
    return all(map(is_scalar, value)) if isinstance(value, list) else is_scalar(value)


def is_tree(value: Any) -> bool:
    """Return whether `trees.rebuild` accepts a value as the structure of a state."""
    if isinstance(value, list):
        return all(map(is_tree, value))
    return value is None or (type(value) is int and value == 0)


TEXT = Values(str, "a string", lambda value: True)
NUMBER = Kind("a number below 10³⁰⁰", is_number)
FINITE = Values(float, "a finite number", lambda value: abs(value) < LARGEST)
DURATION = Values(float, "a finite number of at least 0", lambda value: 0 <= value < LARGEST)
SCALAR = Kind("a string, a number, true, false or null", is_scalar)
PLAIN = Kind("a string, a number, true, false, null or a flat list of these", is_plain)
TREE = Kind("0, null or nested lists of these", is_tree)

# ---- the schema ---------------------------------------------------------------------------------

HEADER = Fields(optional={"version": TEXT, "about": Fields(optional={"kind": TEXT})})
HISTORY = Every(Fields({"epoch": whole(1), "seconds": DURATION, "train_perplexity": NUMBER},
                       others=NUMBER))
TRAINER: dict[str, "Schema"] = {
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
}
TRAINING = Fields({
    "optimizer": TEXT,
    "best_loss": Maybe(FINITE),
    "state": TREE,
    "trainer": Fields(TRAINER, optional={
        "ranks": THREADS, "average_parameters_from": Maybe(whole(1))}),
})

# ---- the check ----------------------------------------------------------------------------------


def check(value: Any, schema: Schema, where: str = "") -> None:
    """Raise ValueError unless a value fits a schema. where: the path of the value, for messages."""
    if isinstance(schema, Maybe):
        if value is not None:
            check(value, schema.one, where)
    elif isinstance(schema, Every):
        _expect(isinstance(value, list), value, "a list", where)
        for n, item in enumerate(value):
            check(item, schema.one, f"{where}[{n}]")
    elif isinstance(schema, Fields):
        _expect(isinstance(value, dict), value, "a dict", where)
        before = f"{where}." if where else ""
        for name in schema.known:
            if name not in value:
                raise ValueError(f"'{before}{name}' is missing")
        named = {**schema.optional, **schema.known}
        for name, item in value.items():
            one = named.get(name, schema.others)
            if one is not None:
                check(item, one, before + name)
    else:
        _expect(value in schema, value, schema.expected, where)


def _expect(holds: bool, value: Any, expected: str, where: str) -> None:
    if not holds:
        raise ValueError(
            f"{where or 'about'!r} is {short_json(value)}; expected {expected}")


def short_json(value: Any) -> str:
    """Return a JSON value as text, with … after SHOWN characters if it is longer."""
    return cut(json.dumps(value, ensure_ascii=False), SHOWN)


def too_deep(value: Any, depth: int = 0) -> bool:
    """Return whether more than DEEPEST lists and dicts are nested in a value."""
    if not isinstance(value, (list, dict)):
        return False
    items = value.values() if isinstance(value, dict) else value
    return depth == DEEPEST or any(too_deep(item, depth + 1) for item in items)
