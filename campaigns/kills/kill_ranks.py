"""Kill one rank of a training at a random moment, resume it, and compare the result with threads.

    python campaigns/kills/kill_ranks.py                    50 kills
    python campaigns/kills/kill_ranks.py --kills 10 --seed 7    10 other kills

mpirun starts two or three ranks, and a random one gets SIGKILL. All ranks must end within PATIENCE
seconds and name the killed rank. When started again, the training must resume from the last
checkpoint and give bit for bit the arrays, history and counts of an uninterrupted process with the
same total number of threads. Needs the extra `cluster`. Exits with status 1 if it does not.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import trainings
from killed_training import differences, log_checkpoints, logged, step_of

from numpy_attention.experiments.runs.saved import CHECKPOINT

PATIENCE = 20       # seconds for mpirun to end all ranks after one was killed
LONGEST = 300       # most seconds of a training that is not killed
RANKS = (2, 3)
TRAININGS = {
    "dropout, early stopping": (trainings.translator, {"patience": 3}),
    "memory carried": (trainings.writer, {"settings": trainings.SMALL | {
        "attention": "key-value", "window": 3}, "state": "carried"}),
}


def train(name, folder, threads=1, **more):
    make, how = TRAININGS[name]
    return make(folder, threads=threads, epochs=40, **how, **more)


def rank(name, folder, logs):
    """Train as one rank, and write its process id to a file. Rank 0 also writes a log."""
    from numpy_attention.training.distributed.ranks import world
    ranks = world()
    if ranks.is_first:
        log_checkpoints(logs / "log")
    (logs / f"{ranks.rank}.pid").write_text(str(os.getpid()))
    ranks.allgather(None)
    train(name, folder, ranks=ranks)


def started(name, folder, logs, count):
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir()
    mpirun = shutil.which("mpirun", path=str(Path(sys.executable).parent)) or "mpirun"
    command = [mpirun, "--oversubscribe", "--bind-to", "none", "-n", str(count), sys.executable,
               __file__, "--rank", name, str(folder), str(logs)]
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return subprocess.Popen(command, env={**os.environ, **allowed}, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            errors="replace", start_new_session=True)


def killed(job, logs, count, rng, longest):
    """Kill a rank during training. Return its number, the job's output, and what is wrong."""
    end = time.monotonic() + LONGEST
    while len(list(logs.glob("*.pid"))) < count:
        if job.poll() is not None or time.monotonic() > end:
            return None, job.communicate()[0], ["it did not begin"]
        time.sleep(0.01)
    time.sleep(rng.uniform(0, longest))
    which = int(rng.integers(count))
    if job.poll() is not None:
        return None, job.communicate()[0], []           # it ended before
    try:
        os.kill(int((logs / f"{which}.pid").read_text()), signal.SIGKILL)
    except ProcessLookupError:
        return None, job.communicate()[0], []
    begin = time.monotonic()
    try:
        output = job.communicate(timeout=PATIENCE)[0]
    except subprocess.TimeoutExpired:
        os.killpg(job.pid, signal.SIGKILL)
        return which, job.communicate()[0], [f"no end {PATIENCE} s after rank {which} was killed"]
    print(f"    rank {which} of {count} killed, all ended after {time.monotonic() - begin:.1f} s",
          flush=True)
    wrong = []
    if job.returncode == 0 or f"rank {which}" not in output:
        wrong.append(f"rank {which} is not named: {output[-300:]}")
    return which, output, wrong


def killed_run(name, count, whole, rng, place, kills):
    """Kill a training `kills` times, or until it ends. Return (number of kills, what is wrong)."""
    folder, logs = place / "run", place / "logs"
    came, wrong = 0, []
    while came < kills:
        before = step_of(folder / CHECKPOINT)
        job = started(name, folder, logs, count)
        which, _, found = killed(job, logs, count, rng, longest=2.0)
        saved = [int(step) for step in logged(logs / "log", "saved")]
        resumed = [int(step) for step in logged(logs / "log", "resumed")]
        after = step_of(folder / CHECKPOINT)
        wrong += found
        if after < max([before, *saved]):
            wrong.append(f"step {after} in the checkpoint, before {before}, saved {saved}")
        if resumed and resumed[0] != before:
            wrong.append(f"resumed after step {resumed[0]}, saved was step {before}")
        if which is None or wrong:
            break
        came += 1
    job = started(name, folder, logs, count)
    output = job.communicate(timeout=LONGEST)[0]
    if job.returncode:
        wrong.append(f"does not resume: {output[-300:]}")
    return came, wrong or differences(whole, folder / CHECKPOINT)


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--kills", type=int, default=50, help="number of kills (50)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rank", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    if options.rank:
        name, folder, logs = options.rank
        rank(name, Path(folder), Path(logs))
        return 0
    rng = np.random.default_rng(options.seed)
    kills, runs, wrong = 0, 0, []
    with tempfile.TemporaryDirectory() as place:
        while kills < options.kills:
            name = list(TRAININGS)[runs % len(TRAININGS)]
            count = RANKS[runs // len(TRAININGS) % len(RANKS)]
            whole = Path(place) / "unbroken" / f"{name} {count}" / CHECKPOINT
            if not whole.exists():
                train(name, whole.parent, threads=count)
            own = Path(place) / str(runs)
            own.mkdir()
            print(f"{name}, {count} ranks", flush=True)
            came, found = killed_run(name, count, whole, rng, own, min(8, options.kills - kills))
            wrong += [f"{name}, {count} ranks: {one}" for one in found]
            kills += came
            runs += 1
    print(*wrong, sep="\n")
    print(f"{kills} kills in {runs} runs; " + (f"{len(wrong)} things wrong" if wrong else
          "nothing lost beyond the last checkpoint, every run bit-identical to as many threads"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
