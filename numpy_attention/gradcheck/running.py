"""Run named gradient checks and print a line for each; user code runs in a separate process.

If user code loops endlessly, calls sys.exit or crashes, one line reports it. The process ends
with an exit status from 40 to 43, unless user code or a time limit ends it.
"""

import faulthandler
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from numpy_attention.custom.code import parted, read, text_of
from numpy_attention.custom.kinds import cases, class_in
from numpy_attention.custom.processes import ended, where
from numpy_attention.gradcheck import GradientError, NotAParameter, NotChecked
from numpy_attention.gradcheck.differences import TOLERANCE

PASSED, FAILED, STOPPED, LEFT = 40, 41, 42, 43     # exit statuses of the process
PATIENCE = 60       # seconds after the time limit until the process is killed
# with the paths of this process: a random.py in the user's folder must not replace Python's
START = ("import os, sys; sys.path[:] = sys.argv.pop().split(os.pathsep); "
         f"from {__name__} import child; sys.exit(child(*sys.argv[1:]))")


def show_checks(checks: Mapping[str, Callable], seed: int, until_one_fails: bool = False,
                full: bool = False) -> int:
    """Run gradient checks and print a line for each, then the reports of the checks that fail.

    Return 0, or 1 if a check fails. Each check gets a new random generator with this seed.
    """
    width = max(map(len, checks))
    head = f"{'':{width}}  gradients  largest relative error (allowed {TOLERANCE:.0e})\n"
    failures = []
    passed = 0
    for name, check in checks.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NotChecked)     # printed below, from the report
                # only the first check warns, because all check the same class
                warnings.simplefilter("default" if head else "ignore", NotAParameter)
                report = check(np.random.default_rng(seed))
        except GradientError as error:
            failures.append(error)
            line = f"{'':9}  FAILED"
        else:
            passed += 1
            worst = max(report.errors, key=report.errors.__getitem__)
            line = f"{len(report.errors):9}  {report.worst:.1e}  {worst}"
            line = "\n  ".join([line, *report.left_out])
        print(f"{head}{name:<{width}}  {line}", flush=True)
        head = ""
        if failures and until_one_fails:
            break
    for failure in failures:
        print(f"\n{failure.full if full else failure}")
    left = len(checks) - passed - len(failures)
    print(f"{passed} of {len(checks)} passed" + (f", {left} not checked" if left else ""))
    return 1 if failures else 0


def check_in_process(name: str, seed: int, seconds: float, full: bool = False) -> int:
    """Check `name`, such as "mine.py:Mine", in a separate process; return 0, or 1 if a check fails.

    Raises OSError if the file cannot be read, and ValueError if it is not a Python file, or if its
    code raises or calls sys.exit. Raises TimeoutError if the code takes longer than `seconds`,
    ChildProcessError if it ends the process in another way, or BrokenPipeError if stdout is closed.
    """
    file, _ = parted(name)
    read(file)                                      # raises before a process is started
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "place"
        words = [name, str(seed), str(seconds), str(place), *(["full"] if full else []),
                 os.pathsep.join(sys.path)]
        status = ended([sys.executable, "-c", START, *words], seconds + PATIENCE)
        text = place.read_text("utf-8", errors="replace") if place.exists() else ""
    if status == STOPPED:
        raise ValueError(text)
    if text:
        raise TimeoutError(f"{name} took longer than {seconds:g} seconds and was ended"
                           f"{where(text, Path(file))}; allow more seconds, unless the code "
                           "loops forever")
    if status == LEFT:
        raise BrokenPipeError
    if status not in (PASSED, FAILED):
        how = f"signal {-status}" if status < 0 else f"exit status {status}"
        raise ChildProcessError(f"{name} ended its process with {how}: nothing was checked")
    return status - PASSED


# ---- within the process -------------------------------------------------------------------------


def child(name: str, seed: str, seconds: str, place: str, full: str = "") -> int:
    """Check `name`, such as "mine.py:Mine", in this process; return the exit status.

    place: the path of a file for error messages. full: "" for short reports.
    """
    from numpy_attention.gradcheck.cases.custom import checks_of
    with open(place, "w", encoding="utf-8", errors="replace") as file:
        faulthandler.dump_traceback_later(float(seconds), exit=True, file=file)
        usual = warnings.formatwarning
        warnings.formatwarning = lambda message, category, *place: (
            f"numpy-attention: {message}\n" if category is NotAParameter
            else usual(message, category, *place))
        try:
            status = PASSED + show_checks(checks_of(target_of(name)), int(seed),
                                          until_one_fails=True, full=bool(full))
            sys.stdout.flush()
        except BrokenPipeError:
            status = LEFT
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except BaseException as error:              # sys.exit() among others
            status = STOPPED
            file.write(text_of(error, name))
        finally:
            faulthandler.cancel_dump_traceback_later()
            warnings.formatwarning = usual
    return status


def target_of(name: str) -> Any:
    """Return the class, or the function case(rng), that FILE.py:NAME refers to.

    For FILE.py alone, return the only case function of the file, or else the only suitable class.
    """
    file, inside = parted(name)
    code = read(file)
    functions = cases(code)
    if not inside and len(functions) == 1:
        inside = functions[0]
    return code.found(inside) if inside in functions else class_in(code, inside)
