"""Run user code in a separate process that can be killed, and find the last line that ran."""

import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from numpy_attention.custom.code import within

KILLED = -9         # the exit status of a process that was killed
FRAME = re.compile(r'File "(?P<file>.*)", line (?P<line>\d+) in (?P<function>.*)')


def ended(command: list[str], seconds: float, **how: Any) -> int:
    """Run a command for at most `seconds`; return its exit status, or KILLED if it took longer.

    Child processes that still run are killed. how: further arguments of `subprocess.Popen`.
    """
    sys.stdout.flush()
    environment = {**os.environ, "PYTHONIOENCODING": f"{sys.stdout.encoding or 'utf-8'}:replace"}
    process = subprocess.Popen(command, start_new_session=True, stdin=subprocess.DEVNULL,
                               env=environment, **how)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return KILLED
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):      # it has ended
            if hasattr(os, "killpg"):
                os.killpg(process.pid, -KILLED)
            else:                           # Windows
                process.kill()
        process.wait()


def where(trace: str, file: Path) -> str:
    """Describe the last line of `file` that ran, as in ", in line 12 of mine.py, in step".

    Return "" if none ran. trace: the traceback by `faulthandler`, the innermost frame first.
    """
    for line in trace.splitlines():                 # the innermost comes first
        found = FRAME.search(line)
        if found and Path(found["file"]).name == file.name:
            return f", in line {found['line']} of {file.name}{within(found['function'])}"
    return ""
