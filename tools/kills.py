"""Kills trainings at random moments, resumes them, and holds the end against the unbroken run.

    python tools/kills.py                               1,000 kills
    python tools/kills.py --kills 100 --seed 7          others
    python tools/kills.py --only "two threads"          of one training
    python tools/kills.py --resume FILE                 FILE keeps what was tried

The trainings stand in trainings.py: recurrent state and memory carried from batch to batch, early
stopping, warm-up and the other schedules, dropout, subwords, two threads, own text, through the
library and through the command line. Each is killed (SIGKILL) several times before it ends: at any
time, while a checkpoint is written, between its write and its rename, right after it. It must go on
from the last checkpoint whose rename had happened, and end with the arrays, history and counts of
the run that was never killed, bit for bit, with nothing left over in its folder. Times alone are
left out.

Exit status 1 where anything differs. A kill by time does not come at the same instant again; which
kills are tried does not change with the same --seed.
"""

import argparse
import contextlib
import hashlib
import io
import json
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path

import numpy as np
import tqdm
from killing import MOMENTS, Whole
from trainings import TRAININGS, warmed, write_texts

import numpy_attention


def digest():
    """Of the code that trains, and of the code that kills."""
    found = hashlib.sha256()
    tools = Path(__file__).parent
    own = [tools / name for name in ("kills.py", "killing.py", "trainings.py")]
    for file in sorted(Path(numpy_attention.__file__).parent.rglob("*.py")) + own:
        found.update(file.read_bytes())
    return found.hexdigest()[:16]


class Record:
    """The lives that were tried, by number; kept in a file, if there is one."""

    def __init__(self, path, seed):
        self.path = path
        self.of = {"seed": seed, "digest": digest()}
        self.lives = {}
        if path and Path(path).exists():
            for line in Path(path).read_text().splitlines():
                life = json.loads(line)
                if {name: life[name] for name in self.of} == self.of:
                    self.lives[life["life"]] = life

    def add(self, life):
        self.lives[life["life"]] = life
        if self.path:
            with open(self.path, "a") as file:
                file.write(json.dumps(self.of | life) + "\n")

    @property
    def kills(self):
        return sum(sum(life["kills"].values()) for life in self.lives.values())


def warm_up(folder):
    """Write the texts, and train everything once, so that a child has nothing to compile."""
    tqdm.tqdm.monitor_interval = 0              # its thread would not survive a fork
    tqdm.tqdm.set_lock(threading.RLock())       # its own is shared with all children: one that is
    #                                             killed while it holds it would stop the others
    write_texts(folder)
    quiet = io.StringIO()
    with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
        warmed(folder)


def campaign(names, kills, record):
    """Train and kill, each training once at least, until so many kills have come; → the lives."""
    wholes = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        life = 0
        while record.kills < kills or life < len(names):
            name = names[life % len(names)]
            if life not in record.lives:
                if not wholes:
                    warm_up(folder)
                if name not in wholes:
                    wholes[name] = Whole(name, folder, folder)
                rng = np.random.default_rng([record.of["seed"], life])
                with tempfile.TemporaryDirectory(dir=place) as own:
                    came, wrong = wholes[name].live(rng, Path(own))
                record.add({"life": life, "name": name, "wrong": wrong,
                            "kills": Counter(kill.moment for kill in came)})
                if wrong:
                    print(f"life {life}, {name}, killed {', '.join(map(str, came))}:", *wrong,
                          sep="\n    ", flush=True)
            life += 1
    return list(record.lives.values())


def table(lives):
    """A Markdown table: kills of each training, by moment, and what was found."""
    rows = [("training", "runs", "kills", *MOMENTS, "differ")]
    for name in [*dict.fromkeys(life["name"] for life in lives), "all"]:
        own = [life for life in lives if name in (life["name"], "all")]
        counts = sum((Counter(life["kills"]) for life in own), Counter())
        differ = sum(bool(life["wrong"]) for life in own)
        rows.append((name, len(own), counts.total(), *(counts[one] for one in MOMENTS), differ))
    rows.insert(1, ("---", *["---:"] * (len(rows[0]) - 1)))
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--kills", type=int, default=1000, help="so many at least (1000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", choices=TRAININGS, help="of this training")
    parser.add_argument("--resume", metavar="FILE", help="keeps what was tried")
    options = parser.parse_args(words)
    record = Record(options.resume, options.seed)
    lives = campaign(options.only or list(TRAININGS), options.kills, record)
    print(table(lives))
    wrong = sum(bool(life["wrong"]) for life in lives)
    print(f"{record.kills:,} kills in {len(lives):,} runs; "
          + (f"{wrong} runs differ" if wrong else
             "nothing lost beyond the last checkpoint, every run bit-identical to the unbroken"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
