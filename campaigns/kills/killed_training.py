"""A training in forked processes that are killed, and checks of its checkpoint.

A child writes a line to a log for each event:

    resumed 12              it continues after step 12
    saved 15                the checkpoint of step 15 is renamed
    ended a1b2…             it reached the end; a digest of its parameters
"""

import hashlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from trainings import TRAININGS, command

from numpy_attention.experiments.runs.saved import CHECKPOINT
from numpy_attention.training import checkpoint, snapshot

# seconds for the rest of a training after the last kill
PATIENCE = 300
# moments of a kill: any time, or while the child writes a checkpoint, in which case it kills itself
ANY_TIME = "any time"
IN_WRITE = "in the write"
BEFORE_RENAME = "before the rename"
AFTER_RENAME = "after the rename"
MOMENTS = (ANY_TIME, IN_WRITE, BEFORE_RENAME, AFTER_RENAME)


@dataclass(frozen=True)
class Kill:
    """The moment of a kill: after some seconds, or in a save, after a share of its bytes."""

    moment: str
    seconds: float = 0.0
    save: int = 0
    share: float = 0.0

    def __str__(self):
        if self.moment == ANY_TIME:
            return f"after {self.seconds:.3f} s"
        return f"{self.moment} of save {self.save}"


# ---- in the child -------------------------------------------------------------------------------


def log_checkpoints(log):
    """Let this process log what it resumes and saves. Return the descriptor of the log."""
    number = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    read, write = snapshot.read, snapshot.write

    def logged_read(trainer, path):
        read(trainer, path)
        os.write(number, f"resumed {trainer.step}\n".encode())

    def logged_write(trainer, path):
        write(trainer, path)
        os.write(number, f"saved {trainer.step}\n".encode())

    snapshot.read, snapshot.write = logged_read, logged_write
    return number


def die():
    os.kill(os.getpid(), signal.SIGKILL)


class DyingFile:
    """A file that kills its process once `space` bytes have been written to it."""

    def __init__(self, file, space):
        self.file, self.space = file, space

    def __getattr__(self, name):
        return getattr(self.file, name)

    def write(self, data):
        self.space -= len(data)
        if self.space <= 0:
            self.file.flush()
            die()
        return self.file.write(data)


def die_at(kill):
    """Let this process kill itself in the save that `kill` names."""
    savez, sync, replace = np.savez, os.fsync, os.replace
    saves = 0

    def dying_savez(file, **arrays):
        nonlocal saves
        saves += 1
        if saves == kill.save and kill.moment == IN_WRITE:
            size = sum(array.nbytes for array in arrays.values())
            file = DyingFile(file, kill.share * size)
        savez(file, **arrays)

    def dying_sync(number):
        sync(number)
        if saves == kill.save and kill.moment == BEFORE_RENAME:
            die()

    def dying_replace(partial, path):
        replace(partial, path)
        if saves == kill.save and kill.moment == AFTER_RENAME:
            die()

    np.savez, os.fsync, os.replace = dying_savez, dying_sync, dying_replace


def start(name, folder, texts, log, kill=None):
    """Train in a child whose output goes to files next to the log. Return its process id."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        os.setpgid(0, 0)                                # its own children are killed too
        words = os.open(f"{log}.err", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(words, 1)
        os.dup2(words, 2)
        number = log_checkpoints(log)
        if kill and kill.moment != ANY_TIME:
            die_at(kill)
        trained = TRAININGS[name](folder, texts)
        kept = b"" if trained is None else trained.model.vector.tobytes()
        os.write(number, f"ended {hashlib.sha256(kept).hexdigest()[:16]}\n".encode())
        status = 0
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", flush=True)
    os._exit(status)


# ---- in the parent ------------------------------------------------------------------------------


def killed(child, kill):
    """Wait for a child, and kill it if it does not kill itself. Return its exit status."""
    if kill.moment == ANY_TIME:
        end = time.monotonic() + kill.seconds
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return status
            time.sleep(0.001)
        for kill_it in (os.killpg, os.kill):            # also its group, once it has one
            try:
                kill_it(child, signal.SIGKILL)
            except ProcessLookupError:
                pass
    return os.waitpid(child, 0)[1]


def step_of(path):
    """Return the step of a checkpoint, which must be complete, or 0 if there is none."""
    return checkpoint.load(path)[1]["trainer"]["step"] if path.exists() else 0


def logged(log, word):
    """Return the values of all lines of a log that begin with this word."""
    lines = log.read_text().splitlines() if log.exists() else []
    return [line.partition(" ")[2] for line in lines if line.startswith(f"{word} ")]


def without_time(value):
    """Return a part of a checkpoint's JSON without times and the number of ranks."""
    if isinstance(value, dict):
        return {name: without_time(item) for name, item in value.items()
                if "second" not in name and name != "ranks"}
    return [without_time(item) for item in value] if isinstance(value, list) else value


def differences(unbroken, after):
    """Describe the differences of two final checkpoints."""
    arrays, about = checkpoint.load(unbroken)
    others, about_other = checkpoint.load(after)
    found = [f"array {name} is only in one of them" for name in arrays.keys() ^ others.keys()]
    for name in arrays.keys() & others.keys():
        one, other = arrays[name], others[name]
        if one.dtype != other.dtype or one.shape != other.shape or one.tobytes() != other.tobytes():
            found.append(f"array {name} differs")
    one, other = without_time(about), without_time(about_other)
    return found + [f"{name} is {one.get(name)}, and after kills {other.get(name)}"
                    for name in one.keys() | other.keys() if one.get(name) != other.get(name)]


class Unbroken:
    """An uninterrupted training: its seconds, its number of saves, its final state."""

    def __init__(self, name, folder, texts):
        self.name, self.texts = name, texts
        self.folder = folder / "unbroken" / name
        log = folder / f"unbroken {name}.log"
        begin = time.monotonic()
        status = os.waitpid(start(name, self.folder, texts, log), 0)[1]
        self.seconds = time.monotonic() - begin
        if status:
            raise RuntimeError(f"{name} fails without a kill: {Path(f'{log}.err').read_text()}")
        self.path = self.folder / CHECKPOINT
        self.saves = len(logged(log, "saved"))
        self.ended = logged(log, "ended")

    def next_kill(self, rng, kills):
        """Choose the moment of the next kill at random. kills: the number planned."""
        moment = MOMENTS[rng.integers(len(MOMENTS))]
        if moment == ANY_TIME or TRAININGS[self.name] is command:
            return Kill(ANY_TIME, seconds=float(rng.uniform(0, 2 * self.seconds / kills)))
        save = int(rng.integers(1, max(2, 2 * self.saves // kills)))
        return Kill(moment, save=save, share=float(rng.uniform(0, 1)))

    def killed_run(self, rng, folder):
        """Train again with several kills. Return the Kills that happened, and what is wrong."""
        run, log = folder / "run", folder / "log"
        path = run / CHECKPOINT
        planned = int(rng.integers(4, 13))
        came, wrong = [], []
        for last in [False] * planned + [True]:
            before = step_of(path)
            kill = Kill(ANY_TIME, PATIENCE) if last else self.next_kill(rng, planned)
            log.unlink(missing_ok=True)
            status = killed(start(self.name, run, self.texts, log, kill), kill)
            wrong += self.lost(before, step_of(path), log, kill)
            if os.WIFSIGNALED(status) and not last:
                came.append(kill)
                continue
            if os.WIFSIGNALED(status):
                wrong.append(f"hangs: killed {kill}, with nothing left to do")
            elif status:
                wrong.append(f"failed: {Path(f'{log}.err').read_text().strip()[-300:]}")
            break
        if not wrong:
            wrong = differences(self.path, path) + self.at_the_end(run, log)
        return came, wrong

    def lost(self, before, after, log, kill):
        """Describe what was lost between a start and a kill."""
        saved = [int(step) for step in logged(log, "saved")]
        resumed = [int(step) for step in logged(log, "resumed")]
        wrong = []
        if after < max([before, *saved]):
            wrong.append(f"{kill}: the checkpoint went back to step {after} from {before}, {saved}")
        if resumed and resumed[0] != before:
            wrong.append(f"{kill}: resumed after step {resumed[0]}, saved was step {before}")
        return wrong

    def at_the_end(self, run, log):
        """Describe files that a finished training must not leave, and differing parameters."""
        wrong = [f"{file.name} is left over" for file in run.iterdir()
                 if file.suffix in (".partial", ".lock")]
        if logged(log, "ended") != self.ended:
            wrong.append("the final parameters differ")
        return wrong
