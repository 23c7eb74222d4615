"""Gradient checks on the command line; of a reader's own code in a process that can be ended.

An endless loop, a call of sys.exit and a crash of compiled code are told in a line, as what a check
finds is: the process says by its status that it came to an end of its own, which no other has.
"""

import faulthandler
import os
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from numpy_attention.cli import streams
from numpy_attention.cli.errors import words_for
from numpy_attention.gradcheck import TOLERANCE, GradientError
from numpy_attention.registry import is_custom_code
from numpy_attention.custom.code import parted, read
from numpy_attention.custom.processes import ended, where

# the statuses of a process that has come to its end, and what the command gives for them
ENDS = {40: 0, 41: 1, 42: 2, 43: streams.LEFT}
LATER = 60          # seconds in which a process that was told to end must have done so
# with this process's own paths: a random.py that lies in the reader's folder is not Python's
START = ("import os, sys; sys.path[:] = sys.argv.pop().split(os.pathsep); "
         f"from {__name__} import child; sys.exit(child(*sys.argv[1:]))")


def show_checks(checks: Mapping[str, Callable], seed: int, until_one_fails: bool = False,
                full: bool = False) -> int:
    """Run gradient checks and print a line for each, and of those that fail the report, or the
    full one; → 0, or 1 where one fails."""
    width = max(map(len, checks))
    head = f"{'':{width}}  gradients  largest relative error (allowed {TOLERANCE:.0e})"
    failures = []
    passed = 0
    for name, check in checks.items():
        try:
            report = check(np.random.default_rng(seed))
        except GradientError as error:
            failures.append(error)
            line = f"{'':9}  FAILED"
        else:
            passed += 1
            worst = max(report.errors, key=report.errors.__getitem__)
            line = f"{len(report.errors):9}  {report.worst:.1e}  {worst}"
        print(*filter(None, [head, f"{name:<{width}}  {line}"]), sep="\n", flush=True)
        head = ""
        if failures and until_one_fails:
            break
    for failure in failures:
        print(f"\n{failure.full if full else failure}")
    left = len(checks) - passed - len(failures)
    print(f"{passed} of {len(checks)} passed" + (f", {left} not checked" if left else ""))
    return 1 if failures else 0


# ---- a reader's own code ------------------------------------------------------------------------


def in_a_child(options: Namespace) -> int:
    """Check a class of a reader's own in a process of its own; → the exit status.

    ValueError: other names beside it, no such file; TimeoutError: it took longer than --seconds;
    ChildProcessError: its code has ended the process.
    """
    if len(options.names) > 1 or not all(map(is_custom_code, options.names)):
        raise ValueError(f"{' '.join(options.names)}: check code of your own by itself, one "
                         "FILE.py:CLASS at a time")
    name = options.names[0]
    file, _ = parted(name)
    read(file)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "place"
        words = [name, str(options.seed), str(options.seconds), str(place),
                 *(["full"] if options.full else [])]
        paths = os.pathsep.join(sys.path)
        command = [sys.executable, "-c", START, *words, paths]
        status = ended(command, options.seconds + LATER)
        if place.exists() and place.stat().st_size:
            raise TimeoutError(f"{name} took longer than {options.seconds:g} seconds and was ended"
                               f"{where(place.read_text(errors='replace'), Path(file))}; give more "
                               "with --seconds, if it is no endless loop")
    if status not in ENDS:
        how = f"signal {-status}" if status < 0 else f"exit status {status}"
        raise ChildProcessError(f"{name} has ended its process, with {how}: nothing was checked")
    return ENDS[status]


# ---- within the process -------------------------------------------------------------------------


def child(name: str, seed: str, seconds: str, place: str, full: str = "") -> int:
    """Run the code and check it; → one of ENDS."""
    from numpy_attention.gradcheck.cases.custom import checks_of
    from numpy_attention.cli.main import tell
    with open(place, "w") as file:
        faulthandler.dump_traceback_later(float(seconds), exit=True, file=file)
        try:
            checks = checks_of(chosen(name))
            status = show_checks(checks, int(seed), until_one_fails=True, full=bool(full))
        except BrokenPipeError:                     # the reader of our output has left
            status = streams.LEFT
        except BaseException as error:              # sys.exit() among others
            status = tell(words_for(error, name), [])
        finally:
            faulthandler.cancel_dump_traceback_later()
    streams.abandon_if_broken(sys.stdout)
    return next(mine for mine, told in ENDS.items() if told == status)


def chosen(name: str) -> Any:
    """The class, or the function case(rng), of FILE.py:NAME; of FILE.py the only one."""
    from numpy_attention.custom.kinds import cases, class_in
    file, inside = parted(name)
    code = read(file)
    functions = cases(code)
    if not inside and len(functions) == 1:
        inside = functions[0]
    return code.found(inside) if inside in functions else class_in(code, inside)
