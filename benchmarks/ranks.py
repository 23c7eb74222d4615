"""Training steps shared among ranks on this machine: times, ratios, and where the time goes.

    python benchmarks/ranks.py [--models a,c,f] [--ranks 1,2,4] [--rounds 15] [--output FILE]

A batch has the same rows however many ranks share it. The ways to run it take turns, one step each,
and a ratio is of two steps of one round; tables show medians over the rounds, and min–max. Every
way ends with a digest of the parameters: ranks × 1 thread and 1 × 2 threads must agree, bit for
bit, where both have two shares. After the steps: sums alone by size, a table's touched rows, and
steps of fewer rows, from which scaling.py takes what a row costs. --output appends all of it to a
file of JSON lines. The models are described in sides.py; more ranks than processors take turns
with each other.
"""

import argparse
import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sides import MODELS
from versus_pytorch import names_of

HERE = Path(__file__).resolve().parent
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
MEMORY = "shared memory"        # the link between ranks of one host
ENDING = 30                     # seconds in which a way that was told to end has ended
RESET = "\x1b[0m"               # mpirun writes it where no terminal is
PARTS = ("computing", "waiting", "summing", "agreeing", "update", "rest")


class Way(NamedTuple):
    """How a training step runs: by so many ranks of so many threads, started by these words."""

    name: str
    ranks: int = 1
    threads: int = 1
    words: tuple[str, ...] = ()
    link: str = MEMORY


SINGLE_PROCESS = Way("no MPI")


def here(ranks, threads):
    """Ranks on this machine."""
    return Way(f"{ranks} × {threads}", ranks, threads, (*MPIRUN, "-n", str(ranks)))


# ---- processes that take turns -------------------------------------------------------------------


class Worker:
    """The ranks of ranks_worker.py that run a model in some way; a context manager."""

    def __init__(self, way, model, rows=None):
        words = [*way.words, sys.executable, HERE / "ranks_worker.py", model, way.threads]
        if rows:
            words += ["--rows", rows]
        self.way = way
        self.process = subprocess.Popen(
            [*map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | {"OMP_NUM_THREADS": str(way.threads)})

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.stdin.close()
        ends = [self.process.terminate, self.process.kill]
        patience = 0 if any(error) else ENDING
        while self.process.poll() is None:
            try:
                self.process.wait(patience)
            except subprocess.TimeoutExpired:
                ends.pop(0)()
                patience = ENDING
        self.process.stdout.close()

    def answer(self):
        """What rank 0 says next. RuntimeError: it has ended, for a reason that it printed."""
        line = self.process.stdout.readline().replace(RESET, "")
        if not line.strip():
            raise RuntimeError(f"the ranks of {self.way.name} ended: their error stands above")
        return json.loads(line)

    def ask(self, order):
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()
        return self.answer()


def measure(model, ways, rounds, rows=None):
    """A dict a way: what it is, the seconds of each round, and where they went."""
    with ExitStack() as stack:
        workers = []
        for way in ways:
            workers.append(stack.enter_context(Worker(way, model, rows)))
            workers[-1].answer()
        seconds = {worker: [] for worker in workers}
        parts = {worker: [] for worker in workers}
        for n in range(rounds):
            for worker in workers[::-1 if n % 2 else 1]:
                seconds[worker].append(worker.ask("step"))
        for _ in range(max(3, rounds // 3)):
            for worker in workers:
                parts[worker].append(worker.ask("parts"))
        return [line_of(worker, model, seconds[worker], parts[worker]) for worker in workers]


def line_of(worker, model, seconds, parts):
    """What is known of a worker's steps, which is the last that it is asked."""
    sent = {name: parts[-1].get(name, 0) for name in ("bytes", "sums", "agreements")}
    medians = {name: float(np.median([one["parts"].get(name, 0.0) for one in parts]))
               for name in PARTS}
    way = {"way": worker.way.name, "link": worker.way.link, "ranks": worker.way.ranks,
           "threads": worker.way.threads}
    return ({"kind": "step", "model": model} | way | worker.ask("end") | sent
            | {"seconds": seconds, "parts": medians})


def sums_of(way, rounds, tables):
    """The lines of ranks_sums.py, run in this way."""
    words = [*way.words, sys.executable, HERE / "ranks_sums.py", "--rounds", rounds]
    if tables:
        words.append("--tables")
    with subprocess.Popen([*map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}) as process:
        try:
            said = process.communicate()[0].replace(RESET, "").splitlines()
        except BaseException:
            process.terminate()                     # mpirun then ends its ranks
            raise
    if process.returncode:
        raise RuntimeError(f"the ranks of {way.name} ended: their error stands above")
    return [json.loads(line) | {"link": way.link} for line in said if line]


# ---- tables --------------------------------------------------------------------------------------


def table(head, rows):
    """Print a Markdown table."""
    print(f"\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |")
    sys.stdout.flush()


def told(values, scale=1.0, digits=2):
    """Median (min–max)."""
    low, middle, high = scale * np.quantile(values, (0, 0.5, 1))
    return f"{middle:.{digits}f} ({low:.{digits}f}–{high:.{digits}f})"


def steps_table(lines):
    """Times of steps; the first line of a model is its plain step, that of one thread."""
    rows = []
    for line in lines:
        alike = [one for one in lines if one["model"] == line["model"]]
        plain = np.array(alike[0]["seconds"])
        threads = next(one for one in alike if (one["ranks"], one["threads"]) == (1, 2))
        seconds = np.array(line["seconds"])
        shares = line["ranks"] * line["threads"]
        same = {True: "yes", False: "NO"}[line["digest"] == threads["digest"]]
        rows.append([
            line["model"], line["way"], line["link"] if line["ranks"] > 1 else "–",
            told(seconds, 1e3, 1), told(seconds / plain), told(seconds / threads["seconds"]),
            told(plain / seconds / shares), same if shares == 2 else "–"])
    table(["model", "ranks × threads", "link", "ms a step", "time / no MPI", "time / 1 × 2",
           "efficiency", "same bits as 1 × 2"], rows)


def parts_table(lines):
    """Where the time of rank 0 went."""
    table(["model", "ranks × threads", "link", *(f"{part}, ms" for part in PARTS), "MB summed",
           "sums", "agreements"],
          [[line["model"], line["way"], line["link"] if line["ranks"] > 1 else "–",
            *(f"{1e3 * line['parts'][part]:.2f}" for part in PARTS), f"{line['bytes'] / 1e6:.1f}",
            line["sums"], line["agreements"]] for line in lines])


def rows_table(lines):
    """What fewer rows of a batch cost, without MPI."""
    table(["model", "rows", "ms a step", "computing, ms"],
          [[line["model"], line["rows"], told(line["seconds"], 1e3, 1),
            f"{1e3 * line['parts']['computing']:.1f}"] for line in lines])


def sums_tables(lines):
    """Messages, sums by size, and tables by the share of their rows that is touched."""
    def of(kind):
        return [line for line in lines if line["kind"] == kind]

    table(["link", "ranks", "a message of 8 bytes, µs"],
          [[line["link"], line["ranks"], told(line["seconds"], 1e6, 1)] for line in of("ping")])
    table(["link", "ranks", "MB", "Ranks.add, ms", "Allreduce, ms", "add / Allreduce"],
          [[line["link"], line["ranks"], f"{line['bytes'] / 1e6:g}", told(line["seconds"], 1e3),
            told(line["plain"], 1e3), told(np.divide(line["seconds"], line["plain"]))]
           for line in of("sum")])
    if of("table"):
        table(["link", "ranks", "rows touched", "those rows, ms", "the whole table, ms", "ratio"],
              [[line["link"], line["ranks"], line["share"], told(line["seconds"], 1e3, 1),
                told(line["whole"], 1e3, 1), told(np.divide(line["seconds"], line["whole"]))]
               for line in of("table")])


def keep(lines, output):
    """Append lines of JSON to a file, if there is one."""
    if output:
        with output.open("a") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
    return lines


# ---- the command ---------------------------------------------------------------------------------


def options_of(description):
    """A parser with the options that two_hosts.py has too."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="a,c,f", help="comma-separated (a,c,f)")
    parser.add_argument("--rounds", type=int, default=15, help="(15)")
    parser.add_argument("--output", type=Path, metavar="FILE",
                        help="append what was measured, as JSON lines")
    return parser


def steps(models, ways, options):
    """Measure and print the steps of models."""
    lines = []
    for model in models:
        lines += keep(measure(model, ways, options.rounds), options.output)
        print(f"{model}: measured", file=sys.stderr, flush=True)
    steps_table(lines)
    parts_table(lines)


def fewer_rows(model, rounds):
    """Lines of kind "rows": a plain step of the batch's rows, and of half and less of them."""
    most = MODELS[model]["batch"]
    found = [measure(model, [SINGLE_PROCESS], rounds, most // part) for part in (1, 2, 4, 8)]
    return [line | {"kind": "rows"} for line in sum(found, [])]


def main():
    parser = options_of(__doc__)
    parser.add_argument("--ranks", default="1,2,4", help="comma-separated (1,2,4)")
    options = parser.parse_args()
    counts = [int(count) for count in options.ranks.split(",")]
    models = names_of(options.models, parser.error)
    cores = len(os.sched_getaffinity(0))
    print(f"{cores} processors; median (min–max) of {options.rounds} rounds")
    steps(models, [SINGLE_PROCESS, here(1, 2), *(here(count, 1) for count in counts)], options)
    found = [fewer_rows(model, options.rounds) for model in models]
    rows_table(keep(sum(found, []), options.output))
    found = [sums_of(here(count, 1), max(3, options.rounds // 2), count == 2)
             for count in counts if count > 1]
    sums_tables(keep(sum(found, []), options.output))


if __name__ == "__main__":
    main()
