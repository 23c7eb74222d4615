"""Check a user's file in a separate process, with limits of time and output."""

import faulthandler
import json
import os
import signal
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from numpy_attention.course.exercises.catalogue import ADDED, EXERCISES, add
from numpy_attention.course.exercises.checking import Verdict, check
from numpy_attention.course.exercises.exercise import Exercise
from numpy_attention.custom.processes import KILLED, ended, where
from numpy_attention.validation.paths import existing_file, path_errors

try:
    import resource
except ImportError:                                     # Windows
    resource = None                                     # type: ignore[assignment]

SECONDS = 30
LATER = 20          # seconds from the time limit until the process is killed
MEMORY = 4 * 2**30  # largest address space of the process, in bytes
WRITTEN = 2**20     # largest size of a file that the process writes, in bytes
SHOWN = 2_000       # largest number of bytes of the user's output that are shown
ROOM = 2**17        # bytes that are kept free for a Verdict
START = ("import os, sys; sys.path[:] = sys.argv.pop().split(os.pathsep); "
         f"from {__name__} import child; sys.exit(child(*sys.argv[1:]))")


def checked(exercise: Exercise, path: str | Path, seconds: float = SECONDS) -> tuple[Verdict, str]:
    """Check a file in a separate process; return the Verdict and what the user's code printed.

    seconds: the time limit. Raises OSError if the file cannot be read or the disk is full, and
    ValueError if the path is a pipe or a device.
    """
    file = existing_file(path)
    with tempfile.TemporaryDirectory() as folder:
        result, place, printed = (Path(folder) / name for name in ("result", "place", "printed"))
        command = [sys.executable, "-c", START, exercise.name, str(file.resolve()), str(seconds),
                   str(result), str(place), *map(str, ADDED), os.pathsep.join(sys.path)]
        with path_errors(folder, "written"):
            result.write_bytes(b" " * ROOM)
        with open(printed, "wb") as out:
            status = ended(command, seconds + LATER, stdout=out, stderr=out)
        output = beginning_of(printed)
        if printed.stat().st_size >= WRITTEN:
            return Verdict("runs", "it prints more than 1 MB; print less"), output
        found = result.read_text(encoding="utf-8").strip()
        if found:
            return Verdict(**json.loads(found)), output
        if place.exists() and place.stat().st_size:
            trace = place.read_text(errors="replace")
            return Verdict("runs", f"it took longer than {seconds:g} seconds and was ended"
                           f"{where(trace, file)}; is there an endless loop?"), output
    return Verdict("runs", why_ended(status)), output


def why_ended(status: int) -> str:
    """Describe why a process ended without a Verdict. status: the exit status of the process."""
    if status == KILLED:
        return "it did not end; is there an endless loop?"
    if status < 0:
        return f"it was ended by signal {-status} ({signal.Signals(-status).name})"
    return f"it exits its process with status {status}; remove sys.exit()"


def beginning_of(path: Path) -> str:
    """Return the beginning of an output file as text, with a note on how much is left out."""
    with open(path, "rb") as file:
        text = file.read(SHOWN + 1).decode("utf-8", errors="replace")
    more = path.stat().st_size - len(text.encode("utf-8", errors="replace"))
    return text if more <= 0 else f"{text}\n… and {more:,} bytes more"


# ---- within the process -------------------------------------------------------------------------


def child(name: str, path: str, seconds: str, result: str, place: str, *added: str) -> int:
    """Check a file within the separate process, and write the Verdict to the file `result` as JSON.

    place: a file for a traceback, if time runs out. added: files that define further exercises.
    """
    for file_added in added:
        add(file_added)
    with open(place, "w") as file:
        faulthandler.dump_traceback_later(float(seconds), exit=True, file=file)
        if resource is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (WRITTEN, WRITTEN))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        try:
            verdict = check(EXERCISES[name], path)
        except (MemoryError, OSError, KeyboardInterrupt) as error:
            words = f"{type(error).__name__}: {error}".rstrip(": ")
            verdict = Verdict("runs", f"it raises {words}")
        faulthandler.cancel_dump_traceback_later()
    with open(result, "r+b") as whole:              # in the room that is kept for it
        whole.write(json.dumps(asdict(verdict)).encode())
        whole.truncate()
    sys.stdout.flush()
    return 0
