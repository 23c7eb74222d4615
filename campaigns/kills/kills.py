"""Kill trainings at random moments, resume them, and compare the results with uninterrupted runs.

    python campaigns/kills/kills.py                         1,000 kills
    python campaigns/kills/kills.py --kills 100 --seed 7    100 other kills
    python campaigns/kills/kills.py --only "two threads"    one training

The trainings are in trainings.py: state and memory carried from batch to batch, early stopping,
warm-up and the other schedules, dropout, subwords, two threads, the user's own text, through the
library and through the command line. Each is killed (SIGKILL) several times before it ends: at any
time, while a checkpoint is written, before it is renamed, and right after that. It must resume from
the last renamed checkpoint and give bit for bit the arrays, history and counts of the uninterrupted
run, with no extra files in its folder. Only times may differ.

Exits with status 1 if anything differs. The moment of a kill is not reproducible, but the sequence
of kills depends only on --seed.
"""

import argparse
import contextlib
import io
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path

import numpy as np
import tqdm
from killed_training import MOMENTS, Unbroken
from trainings import TRAININGS, train_all, write_texts


def warm_up(folder):
    """Write the texts, and train everything once, so that children need not compile anything."""
    tqdm.tqdm.monitor_interval = 0              # its thread would not survive a fork
    # tqdm's default lock is shared with all children: one that is killed while it holds the lock
    # would block the others
    tqdm.tqdm.set_lock(threading.RLock())
    write_texts(folder)
    quiet = io.StringIO()
    with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
        train_all(folder)


def campaign(names, kills, seed):
    """Run trainings with kills, each at least once, until there were enough kills.

    Return [(name, kills by moment, what is wrong)] for every run.
    """
    unbroken, runs, total = {}, [], 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        warm_up(folder)
        while total < kills or len(runs) < len(names):
            name = names[len(runs) % len(names)]
            if name not in unbroken:
                unbroken[name] = Unbroken(name, folder, folder)
            rng = np.random.default_rng([seed, len(runs)])
            with tempfile.TemporaryDirectory(dir=place) as own:
                came, wrong = unbroken[name].killed_run(rng, Path(own))
            if wrong:
                print(f"run {len(runs)}, {name}, killed {', '.join(map(str, came))}:", *wrong,
                      sep="\n    ", flush=True)
            runs.append((name, Counter(kill.moment for kill in came), wrong))
            total += len(came)
    return runs


def table(runs):
    """Format a Markdown table of the kills of each training by moment, and of differences."""
    rows = [("training", "runs", "kills", *MOMENTS, "differ")]
    for training in [*dict.fromkeys(name for name, _, _ in runs), "all"]:
        own = [run for run in runs if training in (run[0], "all")]
        counts = sum((kills for _, kills, _ in own), Counter())
        differ = sum(bool(wrong) for _, _, wrong in own)
        rows.append((training, len(own), counts.total(), *(counts[one] for one in MOMENTS), differ))
    rows.insert(1, ("---", *["---:"] * (len(rows[0]) - 1)))
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


def main(words=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000, help="minimum number of kills (1000)",
                        metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", choices=TRAININGS, help="only this training")
    options = parser.parse_args(words)
    runs = campaign(options.only or list(TRAININGS), options.kills, options.seed)
    print(table(runs))
    wrong = sum(bool(wrong) for _, _, wrong in runs)
    print(f"{sum(kills.total() for _, kills, _ in runs):,} kills in {len(runs):,} runs; "
          + (f"{wrong} runs differ" if wrong else
             "nothing lost beyond the last checkpoint, every run bit-identical to the unbroken"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
