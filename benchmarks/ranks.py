"""Training steps shared among ranks, on this machine or over two hosts: times and where they go.

    python benchmarks/ranks.py [--models a,c,f] [--ranks 1,2,4] [--rounds 15] [--output FILE]
    python benchmarks/ranks.py --gigabits 1 10 [--delay MS]         two hosts; needs root on Linux

A batch has the same rows however many ranks share it. The ways to run it take turns, one step each,
and a ratio is of two steps of one round; tables show medians over the rounds, and min–max. Every
way ends with a digest of the parameters: ranks × 1 thread and 1 × 2 threads must agree, bit for
bit, if both have two shares. After the steps: sums alone by size, a table's touched rows, and steps
of fewer rows, from which scaling.py takes the cost of a row. --output appends all of it to a file
of JSON lines. The models are described in sides.py; more ranks than processors take turns.

With --gigabits, two network namespaces stand in for two hosts, joined by a virtual cable whose
bandwidth tc limits each way; --delay holds packets back by the kernel's netem. mpirun runs on the
first and starts its daemon on the second; one rank of one thread is on each, and they speak TCP.
Both use this machine's processors and memory, so what is measured is the link. Everything is
removed at the end, also after Ctrl-C or SIGTERM.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from shutil import which
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from sides import MODELS, our_step, our_trainer
from versus_pytorch import names_of
from worker import warm

from numpy_attention.training import trainer as loop
from numpy_attention.training.distributed import row_sums
from numpy_attention.training.distributed.ranks import world

MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
MEMORY = "shared memory"        # the link between ranks of one host
ENDING = 30                     # seconds in which a way that was told to end has ended
RESET = "\x1b[0m"               # mpirun writes it where no terminal is
PARTS = ("computing", "waiting", "summing", "agreeing", "update", "rest")
SIZES = (100_000, 1_000_000, 10_000_000, 100_000_000)       # bytes of a sum
TABLE = (100_000, 256)
SHARES = (0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)    # of the table's rows
PINGS = 1000
PAUSE = 0.01                    # seconds between two looks of a sleeping rank
NEEDED = ("ip", "tc", "unshare", "mpirun")
NETWORK = "10.213.77"
BURST = 128_000                 # bytes that may pass at once, for each Gbit/s: a millisecond's
NAMED = 'hostname "$0"; exec "$@"'
# what mpirun starts its daemon with: a host, and the words of a command for that host's shell
AGENT = """#!/bin/sh
host=$1
shift
exec ip netns exec "$host" unshare --uts sh -c 'hostname "$0"; exec sh -c "$1"' "$host" "$*"
"""


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
    """The ranks that run a model in some way; a context manager."""

    def __init__(self, way, model, rows=None):
        words = [*way.words, sys.executable, __file__, "--rank", model, way.threads]
        words.append(rows or MODELS.get(model, {}).get("batch", 0))
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
    """The lines of `print_sums`, run in this way."""
    words = [*way.words, sys.executable, __file__, "--sums", rounds, int(tables)]
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


# ---- in a rank: a training step for every line that rank 0 reads ---------------------------------


class Clock:
    """Seconds by the part of a step that they went to; a part within a part is not in the outer."""

    def __init__(self):
        self.seconds = Counter()
        self.part = "rest"
        self._since = time.perf_counter()

    def turn(self, part):
        now = time.perf_counter()
        self.seconds[self.part] += now - self._since
        self.part, self._since = part, now

    @contextmanager
    def of(self, part):
        outer = self.part
        self.turn(part)
        yield
        self.turn(outer)

    def timed(self, part, function):
        def within(*arguments):
            with self.of(part):
                return function(*arguments)
        return within


def barrier(ranks):
    """Where all ranks wait for each other, busily."""
    if ranks.count > 1:
        ranks.comm.Barrier()


def order_of(ranks):
    """The next line that rank 0 reads, on every rank; until it comes the others sleep."""
    line = sys.stdin.readline() if ranks.is_first else None
    if ranks.count > 1:
        arrived = ranks.comm.Ibarrier()
        while not arrived.Test():
            time.sleep(PAUSE)
    return ranks.broadcast(line).strip()


def seconds_of(do, ranks):
    """Seconds of what all ranks do together, on the slowest rank."""
    barrier(ranks)
    start = time.perf_counter()
    do()
    return max(ranks.allgather(time.perf_counter() - start))


def parts_of(step, ranks):
    """{"parts": {part: seconds} on rank 0, "bytes" and "sums": what `add` got, "agreements"}.

    All ranks meet before each sum and agreement; the time until they do is part "waiting".
    """
    clock = Clock()
    sent = Counter()
    allgather, add, add_rows = ranks.allgather, ranks.add, row_sums.add

    def agreed(value):
        sent["agreements"] += 1
        if clock.part == "summing":                 # which rows it is about
            return allgather(value)
        clock.timed("waiting", barrier)(ranks)
        with clock.of("agreeing"):
            return allgather(value)

    def added(vector):
        sent["bytes"] += vector.nbytes
        sent["sums"] += 1
        add(vector)

    def summed(*arguments):
        clock.timed("waiting", barrier)(ranks)
        with clock.of("summing"):
            add_rows(*arguments)

    barrier(ranks)
    with patch.multiple(ranks, allgather=agreed, add=added), \
            patch.object(row_sums, "add", summed), \
            patch.multiple(loop, shared=clock.timed("computing", loop.shared),
                           update=clock.timed("update", loop.update)):
        clock.turn("rest")
        clock.seconds.clear()
        step()
        clock.turn("rest")
    return {"parts": clock.seconds, **sent}


def work(model, threads, rows):
    """Run as one rank; rank 0 answers in lines of JSON.

    "ready" after three steps, in which everything is compiled; to "step" the seconds of a step, on
    the slowest rank; to "parts" where the seconds of a step went on rank 0, and what was sent; to
    "end" a digest of the parameters. Between two steps the ranks sleep, so that other processes can
    be measured in turn.
    """
    ranks = world()

    def answer(what):
        if ranks.is_first:
            print(json.dumps(what), flush=True)

    trainer, batch = our_trainer(MODELS[model] | {"batch": rows}, threads * ranks.count,
                                 lambda: None, ranks=ranks)
    step = our_step(trainer, batch)
    warm(step)
    answer("ready")
    while (order := order_of(ranks)) != "end":
        answer({"step": seconds_of, "parts": parts_of}[order](step, ranks))
    digests = set(ranks.allgather(sha256(trainer.model.vector).hexdigest()))
    assert len(digests) == 1, "ranks have come to different parameters"
    answer({"digest": digests.pop(), "parameters": trainer.model.size, "rows": batch.size})


# ---- in a rank: sums alone -----------------------------------------------------------------------


class Table:
    """A gradient twin that is one table."""

    def __init__(self, rows, columns):
        self.vector = np.zeros(rows * columns, np.float32)
        self.rows = self.vector.reshape(rows, columns)

    def named_parameters(self):
        yield "E", self.rows

    def touch(self, share):
        """Leave something in a share of the rows, drawn alike on every rank, and 0 elsewhere."""
        self.vector[:] = 0
        chosen = np.random.default_rng(0).permutation(len(self.rows))
        self.rows[chosen[:round(share * len(self.rows))]] = 1


def ping(ranks):
    """Seconds of PINGS messages from rank 0 to rank 1, and of the answers."""
    comm, message = ranks.comm, np.zeros(1)
    seconds = []
    for _ in range(PINGS):
        comm.Barrier()
        start = time.perf_counter()
        if ranks.rank == 0:
            comm.Send(message, 1)
            comm.Recv(message, 1)
        elif ranks.rank == 1:
            comm.Recv(message, 0)
            comm.Send(message, 0)
        seconds.append((time.perf_counter() - start) / 2)
    return seconds


def sums(ranks, size, rounds):
    """(seconds of `add`, seconds of Allreduce), in turn; the first round of each is left out."""
    vector = np.empty(size // 4, np.float32)
    total = np.empty_like(vector)
    ours, plain = [], []
    for _ in range(1 + rounds):
        vector[:] = 1
        plain.append(seconds_of(lambda: ranks.comm.Allreduce(vector, total), ranks))
        ours.append(seconds_of(lambda: ranks.add(vector), ranks))
    assert (vector == total).all()
    return ours[1:], plain[1:]


def tables(ranks, rounds):
    """{share of touched rows: (seconds of those rows alone, seconds of the table whole)}."""
    table = Table(*TABLE)
    seconds = {share: ([], []) for share in SHARES}
    for _ in range(1 + rounds):
        for share, both in seconds.items():
            for most, times in zip((1.0, 0.0), both):
                table.touch(share)
                with patch.object(row_sums, "MOST", most):
                    times.append(seconds_of(lambda: row_sums.add(ranks, table), ranks))
    return {share: (rows[1:], whole[1:]) for share, (rows, whole) in seconds.items()}


def print_sums(rounds, with_tables):
    """Rank 0 prints JSON lines, each with the seconds of every round, on the slowest rank.

    ping: a message of 8 bytes, one way (half of there and back). sum: `Ranks.add` of some bytes,
    and "plain", MPI's Allreduce of the same. table: `row_sums.add` of a table of which a share of
    the rows is touched, the same on every rank; "whole": the same table sent whole.
    """
    ranks = world()

    def answer(kind, **figures):
        if ranks.is_first:
            print(json.dumps({"kind": kind, "ranks": ranks.count} | figures), flush=True)

    answer("ping", seconds=ping(ranks))
    for size in SIZES:
        ours, plain = sums(ranks, size, rounds)
        answer("sum", bytes=size, seconds=ours, plain=plain)
    if with_tables:
        for share, (rows, whole) in tables(ranks, rounds).items():
            answer("table", share=share, seconds=rows, whole=whole)


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


# ---- two hosts -----------------------------------------------------------------------------------


def run(*words):
    """RuntimeError: the command failed, with what it said."""
    done = subprocess.run([*map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.stderr.strip()}")


class Link:
    """Two hosts and the cable between them; a context manager, which removes them.

    gigabits: a second, each way; delay: milliseconds, each way.
    """

    def __init__(self, gigabits, delay=None):
        self.gigabits, self.delay = gigabits, delay
        self.hosts = [f"host{os.getpid()}{end}" for end in "ab"]        # and their namespaces
        self.cables = [f"cable{os.getpid()}{end}" for end in "ab"]
        self.name = f"{gigabits:g} Gbit/s" + (f", {delay:g} ms" if delay else "")

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory()
        try:
            self._make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error):
        for host in self.hosts:
            subprocess.run(["ip", "netns", "del", host], stderr=subprocess.DEVNULL)
        self._folder.cleanup()

    def _make(self):
        for host in self.hosts:
            run("ip", "netns", "add", host)
        (host, other), (cable, end) = self.hosts, self.cables
        run("ip", "link", "add", cable, "netns", host, "type", "veth",
            "peer", "name", end, "netns", other)
        for n, (host, cable) in enumerate(zip(self.hosts, self.cables), 1):
            run("ip", "-n", host, "address", "add", f"{NETWORK}.{n}/24", "dev", cable)
            run("ip", "-n", host, "link", "set", "lo", "up")
            run("ip", "-n", host, "link", "set", cable, "up")
            burst = round(BURST * max(1, self.gigabits))
            run("tc", "-n", host, "qdisc", "add", "dev", cable, "root", "handle", "1:", "tbf",
                "rate", f"{self.gigabits:g}gbit", "burst", burst, "latency", "50ms")
            if self.delay:
                run("tc", "-n", host, "qdisc", "add", "dev", cable, "parent", "1:1", "netem",
                    "delay", f"{self.delay:g}ms", "limit", 100_000)
        self._write()

    def _write(self):
        """What mpirun reads and calls."""
        folder = Path(self._folder.name)
        self._agent, self._hostfile = folder / "agent", folder / "hosts"
        self._agent.write_text(AGENT)
        self._agent.chmod(0o700)
        self._hostfile.write_text("".join(f"{host} slots=1\n" for host in self.hosts))

    @property
    def way(self):
        """One rank of one thread on each host."""
        first = self.hosts[0]
        words = ["ip", "netns", "exec", first, "unshare", "--uts", "sh", "-c", NAMED, first,
                 "mpirun", "--allow-run-as-root", "--bind-to", "none", "-n", "2",
                 "--hostfile", self._hostfile, "--prtemca", "plm_ssh_agent", self._agent,
                 "--mca", "pml", "ob1", "--mca", "btl", "tcp,self",
                 "--mca", "btl_tcp_if_include", f"{NETWORK}.0/24"]
        return Way("2 hosts × 1", 2, 1, tuple(words), self.name)


@contextmanager
def ended_by_signals():
    """Within it, SIGTERM and SIGHUP end the program as Ctrl-C does, so that all is removed."""
    def end(number, frame):
        raise KeyboardInterrupt

    kept = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def missing():
    """Why this cannot run here; None: it can."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "needs root, to make network namespaces: run it as root on Linux"
    without = [name for name in NEEDED if not which(name)]
    if without:
        return f"needs {', '.join(without)}: install iproute2, util-linux and '.[cluster]'"
    return None


# ---- the command ---------------------------------------------------------------------------------


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


def on_this_machine(models, options):
    counts = [int(count) for count in options.ranks.split(",")]
    cores = len(os.sched_getaffinity(0))
    print(f"{cores} processors; median (min–max) of {options.rounds} rounds")
    steps(models, [SINGLE_PROCESS, here(1, 2), *(here(count, 1) for count in counts)], options)
    found = [fewer_rows(model, options.rounds) for model in models]
    rows_table(keep(sum(found, []), options.output))
    found = [sums_of(here(count, 1), max(3, options.rounds // 2), count == 2)
             for count in counts if count > 1]
    sums_tables(keep(sum(found, []), options.output))


def over_two_hosts(models, options):
    lines = []
    for gigabits in options.gigabits:
        with Link(gigabits, options.delay) as link:
            print(f"\n## {link.name}", flush=True)
            steps(models, [SINGLE_PROCESS, here(1, 2), here(1, 1), here(2, 1), link.way], options)
            lines += keep(sums_of(link.way, max(3, options.rounds // 3), True), options.output)
    sums_tables(lines)


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="a,c,f", help="comma-separated (a,c,f)")
    parser.add_argument("--ranks", default="1,2,4", help="comma-separated (1,2,4)")
    parser.add_argument("--rounds", type=int, default=15, help="(15)")
    parser.add_argument("--gigabits", type=float, nargs="+", metavar="N",
                        help="two hosts, with this bandwidth of the link, each way")
    parser.add_argument("--delay", type=float, metavar="MS",
                        help="milliseconds for which each host holds its packets back")
    parser.add_argument("--output", type=Path, metavar="FILE",
                        help="append what was measured, as JSON lines")
    parser.add_argument("--rank", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--sums", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.rank:
        model, threads, rows = options.rank
        return work(model, int(threads), int(rows))
    if options.sums:
        return print_sums(*options.sums)
    models = names_of(options.models, parser.error)
    if not options.gigabits:
        return on_this_machine(models, options)
    if reason := missing():
        parser.error(f"--gigabits {reason}")
    with ended_by_signals():
        try:
            over_two_hosts(models, options)
        except KeyboardInterrupt:
            sys.exit(130)


if __name__ == "__main__":
    main()
