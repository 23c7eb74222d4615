"""Kill a training again and again, then let it finish.

Run by test_kill.py in a process of its own, for it forks:

    python tests/training/kill.py FOLDER KILLS
"""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parent))
from small import trainer, translator_model  # noqa: E402

from numpy_attention.training import checkpoint  # noqa: E402

EPOCHS = 12


def train(path, slow):
    """Train to the end, or until killed; slow: checkpoints take time, so that a kill hits one."""
    if slow:
        sync = os.fsync

        def slow_sync(number):
            time.sleep(0.05)
            sync(number)
        os.fsync = slow_sync
    run = trainer(translator_model(), path, count=160, threads=2, save_steps=5)
    run.resume()
    run.fit(EPOCHS)


def forked(path, slow):
    child = os.fork()
    if child == 0:
        # tqdm's own is shared with all forks: one killed while it holds it would stop the others
        tqdm.set_lock(threading.RLock())
        try:
            train(path, slow)
            os._exit(0)
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)
    return child


def main(folder, kills):
    folder = Path(folder)
    rng = np.random.default_rng(0)
    trainer(count=16).fit(1)                                # compile before the first fork
    assert os.waitpid(forked(folder / "whole.npz", False), 0)[1] == 0
    path = folder / "killed.npz"
    killed = 0
    in_write = 0
    finished = 0
    while killed < kills:
        slow = killed % 2 == 1
        step_before = -1
        if path.exists():
            step_before = checkpoint.load(path)[1]["trainer"]["step"]
            if step_before >= EPOCHS * 20:
                path.unlink()                               # this one came through: start another
                finished += 1
                step_before = -1
        child = forked(path, slow)
        partial = path.with_name(f"{path.name}.{child}.partial")
        if slow:                                            # wait for a write to be under way
            while not partial.exists() and os.waitpid(child, os.WNOHANG)[0] == 0:
                time.sleep(0.001)
        else:
            time.sleep(rng.uniform(0.0, 0.3))
        in_write += partial.exists()
        try:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        except (ProcessLookupError, ChildProcessError):
            continue                                        # it had finished before the kill
        killed += 1
        if path.exists():                                   # whole, and never behind the last one
            assert checkpoint.load(path)[1]["trainer"]["step"] >= step_before
    assert os.waitpid(forked(path, False), 0)[1] == 0
    whole, _ = checkpoint.load(folder / "whole.npz")
    after, _ = checkpoint.load(path)
    assert whole.keys() == after.keys()
    for name, array in whole.items():
        assert np.array_equal(array, after[name]), name
    print(f"{killed} kills, {in_write} of them while a checkpoint was being written, "
          f"{finished} runs finished between; "
          f"{len(whole)} arrays of the final checkpoint bit-identical")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
