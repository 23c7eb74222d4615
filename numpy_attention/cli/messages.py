"""Rewrite error messages of the library: replace the names of Python arguments with flags."""

import re
import sys
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from numpy_attention.cli.parser import Option, joined
from numpy_attention.validation.messages import EXPECTED, format_error

# {option: its names in the library}, if they differ
ARGUMENTS = {"hidden": ("size",), "pairs": ("count",), "examples": ("count",),
             "next": ("following",)}
# {advice on Python arguments in a library message: the same advice on options}
ADVICE = {
    "it is for language models": "it is for numpy-attention train lm",
    "it is for translators": "it is for numpy-attention train",
    "files as source and target": "files with --source and --target",
    "files as text": "files with --text",
    "pass force=True to overwrite": "use --force to overwrite",
    "skip_blank=True": "--skip-blank",
    "or set tied = False": "or add --no-tied",
    "epochs and minutes to give": "--epochs and --minutes to give",
    "allow more seconds": "allow more with --seconds",
    "reduce `words`": "reduce --words",
    "reduce `past` or `following`": "reduce --past or --next",
    "pass `columns`": "use --columns",
    "punctuation with tokenize": "punctuation with --tokenize",
    "pieces with subwords": "pieces with --subwords 4000",
    "pieces with characters": "characters with --characters",
    "leave out subwords": "leave out --subwords",
    "leave out tokenize": "leave out --tokenize",
    "leave long ones out with max_length": "leave long ones out with --max-length",
    "with a lower min_count": "with a lower --min-count",
    "with a larger max_vocabulary": "with a larger --max-vocabulary",
    "train again in another folder": "train again in another folder with --run",
    "tokenize (into words) and characters (into":
        "--tokenize (into words) and --characters (into",
}
# options that reduce the size of arrays, the most effective ones first
SMALLER = ("batch_size", "hidden", "embedding", "max_vocabulary", "max_length", "steps", "pairs",
           "beam", "length", "number", "threads")
MOST_FLAGS = 3
LEAST_FACTOR = 8
LARGEST_MULTIPLE = 1000     # largest factor: gates, heads or steps
CALL = re.compile(r"(\w+\([^()]*=[^()]*\))")     # Adam(learning_rate=0.1) stays as it is


def in_flags(message: str, options: Sequence[Option]) -> str:
    """Return a message of the library, with the flags of a command in place of argument names.

    max_length becomes --max-length. A name without an underscore may be an ordinary word, so it is
    replaced only before a value: `hidden = 9` becomes --hidden 9.
    """
    for library, command_line in ADVICE.items():
        message = message.replace(library, command_line)
    parts = CALL.split(message)
    for option in options:
        names = (option.name, *ARGUMENTS.get(option.name, ()))
        for name in names if option.kind != "positional" else ():
            end = "( = |=| (?=\\(\\d)" + r"|(?![\w/'\"-]|\.\w)" * ("_" in name) + ")"
            argument = re.compile(rf"(?<![\w/.'\"-]){name}{end}")
            parts[::2] = [argument.sub(lambda found: option.flag + " " * bool(found[1]), part)
                          for part in parts[::2]]
    return "".join(parts)


def memory_message(error: BaseException, options: Sequence[Option],
                   values: Mapping[str, Any]) -> str:
    """Return a message that says what did not fit in memory, and which options to reduce."""
    reason = str(error) or f"the process holds {held():.1f} GB"
    shape, dtype = getattr(error, "shape", ()), getattr(error, "dtype", None)
    if dtype is not None:                               # NumPy's error
        size = prod(shape) * dtype.itemsize / 1e9
        reason = f"an array of shape {shape} and type {dtype} takes {size:.3g} GB"
    flags = {option.name: option.flag for option in options if option.kind != "positional"}
    sizes = {name: factors(values.get(name), shape) for name in SMALLER if name in flags}
    if "max_vocabulary" in sizes and len(shape) > 1:    # a size without another option
        sizes["max_vocabulary"] = set(shape).difference(*sizes.values())
    # first the options whose value divides the length of an axis
    names = sorted(sizes, key=lambda name: -(values.get(name) or 1) if sizes[name] else 0)
    names = names[:MOST_FLAGS]
    if "threads" in reason:
        names = ["threads"]
    elif len(shape) == 1 and "hidden" not in flags:     # parameters are one vector
        names = []
    found = joined([flags[name] for name in names], "or")
    advice = f"choose a smaller {found}" if found else "use a smaller model or text"
    return f"not enough memory: {reason}; {advice}"


def factors(value: Any, shape: Sequence[int]) -> set[int]:
    """Return the lengths in `shape` that are multiples of an option's value, such as 4 × hidden."""
    if not isinstance(value, int) or value < LEAST_FACTOR:
        return set()
    return {size for size in shape if size % value == 0 and size // value <= LARGEST_MULTIPLE}


def held() -> float:
    """Return the peak memory of the process in GB, or 0 if it is unknown."""
    try:
        from resource import RUSAGE_SELF, getrusage
    except ImportError:                                 # Windows
        return 0.0
    unit = 1 if sys.platform == "darwin" else 1024
    return getrusage(RUSAGE_SELF).ru_maxrss * unit / 1e9


def text_of(error: Exception) -> str:
    """Return the message of an error that a user can cause. Raises any other error again.

    If user-defined code raised the error, the message names the line of this code.
    """
    custom = sys.modules.get("numpy_attention.custom.code")     # not imported if no code was run
    if custom:
        return custom.text_of(error)
    if not isinstance(error, EXPECTED):
        raise error
    return format_error(error)
