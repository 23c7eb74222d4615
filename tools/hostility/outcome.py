"""What an attempt ends in, and how an exception is judged."""

import linecache
import traceback
from pathlib import Path
from typing import Callable, NamedTuple

import numpy_attention

PACKAGE = Path(numpy_attention.__file__).parent
LONGEST = 300       # characters of a clear line

RIGHT, REFUSED = "right", "refused"     # refused: in one clear line of the project's own
UNTRIED = "not tried"   # this machine cannot do so
# crash: of the process; hang; traceback: another library's words, or a traceback on the command
# line; silence: what is wrong was accepted; code: code of the input was executed
FINDINGS = ("crash", "hang", "traceback", "silence", "code")


class Outcome(NamedTuple):
    verdict: str        # RIGHT, REFUSED, UNTRIED or one of FINDINGS
    text: str           # the message, what is wrong, or why it was not tried


class Attempt(NamedTuple):
    what: str           # one line that names the input, so that it can be repeated
    run: Callable[[], Outcome]      # what it raises is judged by `judged`


def judged(error):
    """→ Outcome of an exception: REFUSED where the package itself raised it, in one clear line.

    A MemoryError may be anybody's: the allocation that fails says in a line what it asked for.
    """
    text = str(error)
    name = type(error).__name__
    where, line = raised_at(error)
    if not text or "\n" in text.strip() or len(text) > LONGEST:
        return Outcome("traceback", f"{name} at {where}, not one clear line: {shortened(text)}")
    own = Path(where.rpartition(":")[0]).is_relative_to(PACKAGE) and line.startswith("raise ")
    if own or isinstance(error, MemoryError):
        return Outcome(REFUSED, f"{name}: {text}")
    return Outcome("traceback", f"{name} at {where} ({line}): {shortened(text)}")


def raised_at(error):
    """→ "file:line" of the innermost frame of a traceback, and the line."""
    steps = list(traceback.walk_tb(error.__traceback__))
    if not steps:
        return "nowhere:0", ""
    frame, number = steps[-1]
    file = frame.f_code.co_filename
    return f"{file}:{number}", linecache.getline(file, number).strip()


def shortened(text):
    """A text as one line of at most 200 characters."""
    line = " ".join(text.split())
    return line if len(line) <= 200 else line[:199] + "…"
