"""A process in which a reader's own code runs: it can be ended, and says where it was."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from numpy_attention.custom.code import within

FRAME = re.compile(r'File "(?P<file>.*)", line (?P<line>\d+) in (?P<function>.*)')


def ended(command: list[str], seconds: float, **how: Any) -> int:
    """The exit status of a command, which is ended with all that it has started, at the latest
    after so many seconds. how: what `subprocess.Popen` takes besides.
    """
    sys.stdout.flush()
    process = subprocess.Popen(command, start_new_session=True, stdin=subprocess.DEVNULL, **how)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return -signal.SIGKILL
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):      # it has ended
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def where(trace: str, file: Path) -> str:
    """", in line 12 of mine.py, in step": the innermost place in a file of faulthandler's trace."""
    for line in trace.splitlines():                 # the innermost stands first
        found = FRAME.search(line)
        if found and Path(found["file"]).name == file.name:
            return f", in line {found['line']} of {file.name}{within(found['function'])}"
    return ""
