"""Measure training steps on several ranks, on this machine or over two simulated hosts.

    python benchmarks/ranks.py [--models a,c,f] [--ranks 1,2,4] [--rounds 15] [--output FILE]
    python benchmarks/ranks.py --gigabits 1 10 [--delay MS]         two hosts; needs root on Linux

A batch has the same rows for any number of ranks. The configurations take turns, one step each. A
ratio compares two steps of the same round, and tables show medians over the rounds, with min–max.
At the end each configuration prints a digest of the parameters: configurations with two shares must
agree bit for bit. Then sums are measured alone, by size, and for a table with some rows touched.
--output appends the results to a file of JSON lines. The models are described in sides.py. If there
are more ranks than processors, they take turns.

--gigabits simulates two hosts with two network namespaces, joined by a virtual cable whose
bandwidth tc limits in each direction. --delay delays packets with the kernel's netem. mpirun runs
on the first host and starts its daemon on the second. Each host has one rank with one thread, and
they communicate over TCP. Both use this machine's processors and memory, so this measures only the
link. Everything is removed at the end, also after Ctrl-C or SIGTERM.
"""

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from shutil import which
from typing import NamedTuple

import numpy as np
from machine import check_recordable, machine, parser_of, record, restart_clean
from sides import MODELS, models_in
from turns import Process

RANK = Path(__file__).resolve().with_name("rank.py")
MPIRUN = ("mpirun", "--allow-run-as-root", "--bind-to", "none")
MEMORY = "shared memory"        # the link between ranks of one host
PARTS = ("computing", "waiting", "summing", "agreeing", "update", "rest")
NEEDED = ("ip", "tc", "unshare", "mpirun")
NETWORK = "10.213.77"
BURST = 128_000                 # bytes that may pass at once per Gbit/s, about a millisecond's
NAMED = 'hostname "$0"; exec "$@"'
# mpirun starts its daemon with this script; arguments: a host and a command for the host's shell
AGENT = """#!/bin/sh
host=$1
shift
exec ip netns exec "$host" unshare --uts sh -c 'hostname "$0"; exec sh -c "$1"' "$host" "$*"
"""


class Way(NamedTuple):
    """How a training step runs: the numbers of ranks and threads, and the words of mpirun."""

    name: str
    ranks: int = 1
    threads: int = 1
    words: tuple[str, ...] = ()
    link: str = MEMORY

    def process(self, *order):
        return Process(self.name, [*self.words, sys.executable, RANK, *order], self.threads)

    @property
    def shown_link(self):
        return self.link if self.ranks > 1 else "–"


SINGLE_PROCESS = Way("no MPI")


def here(ranks, threads):
    """Return the Way for ranks on this machine."""
    words = (*MPIRUN, "--oversubscribe", "-n", str(ranks))
    return Way(f"{ranks} × {threads}", ranks, threads, words)


# ---- processes that take turns -------------------------------------------------------------------


def measure(model, ways, rounds):
    """Return a dict for each way: its name, the seconds of each round, and of its parts."""
    rows = MODELS[model]["batch"]
    with ExitStack() as stack:
        processes = []
        for way in ways:
            processes.append(stack.enter_context(way.process("step", model, way.threads, rows)))
            processes[-1].answer()
        seconds = [[] for _ in ways]
        for n in range(rounds):
            for times, process in list(zip(seconds, processes))[::-1 if n % 2 else 1]:
                times.append(process.ask("step"))
        parts = [[process.ask("parts") for process in processes]
                 for _ in range(max(3, rounds // 3))]
        return [line_of(model, way, process.ask("end"), times, found)
                for way, process, times, found in zip(ways, processes, seconds, zip(*parts))]


def line_of(model, way, end, seconds, found):
    """Return the results of one way as a dict."""
    sent = {name: found[-1].get(name, 0) for name in ("bytes", "sums", "agreements")}
    parts = {name: float(np.median([one["parts"].get(name, 0.0) for one in found]))
             for name in PARTS}
    return {"kind": "step", "model": model, "way": way.name, "link": way.shown_link,
            "ranks": way.ranks, "threads": way.threads, **end, **sent,
            "seconds": seconds, "parts": parts}


def sums_of(way, rounds, with_tables):
    """Return the lines of rank.py about sums alone."""
    with way.process("sums", rounds, int(with_tables)) as process:
        return [line | {"link": way.link} for line in iter(process.answer, None)]


# ---- tables --------------------------------------------------------------------------------------


def table(head, rows):
    """Print a Markdown table."""
    print(f"\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |")
    sys.stdout.flush()


def spread(values, scale=1.0, digits=2):
    """Format as median (min–max)."""
    low, middle, high = scale * np.quantile(values, (0, 0.5, 1))
    return f"{middle:.{digits}f} ({low:.{digits}f}–{high:.{digits}f})"


def steps_tables(lines):
    """Print the times of steps, and the parts of those of rank 0.

    The first line of a model must be its step in one process with one thread.
    """
    times = []
    parts = []
    for line in lines:
        alike = [one for one in lines if one["model"] == line["model"]]
        plain = np.array(alike[0]["seconds"])
        threads = next(one for one in alike if (one["ranks"], one["threads"]) == (1, 2))
        seconds = np.array(line["seconds"])
        shares = line["ranks"] * line["threads"]
        same = "yes" if line["digest"] == threads["digest"] else "NO"
        name = [line["model"], line["way"], line["link"]]
        times.append([
            *name, spread(seconds, 1e3, 1), spread(seconds / plain),
            spread(seconds / threads["seconds"]), spread(plain / seconds / shares),
            same if shares == 2 else "–"])
        parts.append([*name, *(f"{1e3 * line['parts'][part]:.2f}" for part in PARTS),
                      f"{line['bytes'] / 1e6:.1f}", line["sums"], line["agreements"]])
    head = ["model", "ranks × threads", "link"]
    table([*head, "ms a step", "time / no MPI", "time / 1 × 2", "efficiency",
           "same bits as 1 × 2"], times)
    table([*head, *(f"{part}, ms" for part in PARTS), "MB summed", "sums", "agreements"], parts)


def sums_tables(lines):
    """Print the times of messages, of sums by size, and of tables by the share of rows touched."""
    kinds = {"ping": [], "sum": [], "table": []}
    for line in lines:
        seconds = line["seconds"]
        cells = [line["link"], line["ranks"]]
        if line["kind"] == "ping":
            cells.append(spread(seconds, 1e6, 1))
        elif line["kind"] == "sum":
            cells += [f"{line['bytes'] / 1e6:g}", spread(seconds, 1e3), spread(line["plain"], 1e3),
                      spread(np.divide(seconds, line["plain"]))]
        else:
            cells += [line["share"], spread(seconds, 1e3, 1), spread(line["whole"], 1e3, 1),
                      spread(np.divide(seconds, line["whole"]))]
        kinds[line["kind"]].append(cells)
    table(["link", "ranks", "a message of 8 bytes, µs"], kinds["ping"])
    table(["link", "ranks", "MB", "Ranks.add, ms", "Allreduce, ms", "add / Allreduce"],
          kinds["sum"])
    table(["link", "ranks", "rows touched", "those rows, ms", "the whole table, ms", "ratio"],
          kinds["table"])


# ---- two hosts -----------------------------------------------------------------------------------


def run(*words):
    """Run a command. Raises RuntimeError with its error output if it fails."""
    done = subprocess.run([*map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.stderr.strip()}")


class Link:
    """Two simulated hosts and a cable, as a context manager that removes them.

    gigabits: the bandwidth in each direction, per second; delay: milliseconds in each direction
    """

    def __init__(self, gigabits, delay=None):
        self.gigabits, self.delay = gigabits, delay
        self.hosts = [f"host{os.getpid()}{end}" for end in "ab"]        # also their namespaces
        self.name = f"{gigabits:g} Gbit/s" + (f", {delay:g} ms" if delay else "")

    def __enter__(self):
        self.stack = ExitStack()
        try:
            self.folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
            self._make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error):
        self.stack.close()

    def _make(self):
        for host in self.hosts:
            run("ip", "netns", "add", host)
            self.stack.callback(run, "ip", "netns", "del", host)
        cables = [f"cable{os.getpid()}{end}" for end in "ab"]
        run("ip", "link", "add", cables[0], "netns", self.hosts[0], "type", "veth",
            "peer", "name", cables[1], "netns", self.hosts[1])
        for n, (host, cable) in enumerate(zip(self.hosts, cables), 1):
            run("ip", "-n", host, "address", "add", f"{NETWORK}.{n}/24", "dev", cable)
            run("ip", "-n", host, "link", "set", "lo", "up")
            run("ip", "-n", host, "link", "set", cable, "up")
            burst = round(BURST * max(1, self.gigabits))
            run("tc", "-n", host, "qdisc", "add", "dev", cable, "root", "handle", "1:", "tbf",
                "rate", f"{self.gigabits:g}gbit", "burst", burst, "latency", "50ms")
            if self.delay:
                run("tc", "-n", host, "qdisc", "add", "dev", cable, "parent", "1:1", "netem",
                    "delay", f"{self.delay:g}ms", "limit", 100_000)

    @property
    def way(self):
        """The Way with one rank of one thread on each host."""
        agent, hostfile = self.folder / "agent", self.folder / "hosts"
        agent.write_text(AGENT)
        agent.chmod(0o700)
        hostfile.write_text("".join(f"{host} slots=1\n" for host in self.hosts))
        first = self.hosts[0]
        words = ["ip", "netns", "exec", first, "unshare", "--uts", "sh", "-c", NAMED, first,
                 *MPIRUN, "-n", "2", "--hostfile", hostfile, "--prtemca", "plm_ssh_agent", agent,
                 "--mca", "pml", "ob1", "--mca", "btl", "tcp,self",
                 "--mca", "btl_tcp_if_include", f"{NETWORK}.0/24"]
        return Way("2 hosts × 1", 2, 1, tuple(words), self.name)


def missing():
    """Return why two hosts cannot be simulated here, or None if they can."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "needs root, to make network namespaces: run it as root on Linux"
    without = [name for name in NEEDED if not which(name)]
    if without:
        return f"needs {', '.join(without)}: install iproute2, util-linux and '.[cluster]'"
    return None


# ---- the command ---------------------------------------------------------------------------------


def steps(models, ways, options):
    """Measure and print the steps of these models."""
    lines = []
    for model in models:
        lines += measure(model, ways, options.rounds)
        record(options.output, *lines[-len(ways):])
        print(f"{model}: measured", file=sys.stderr, flush=True)
    steps_tables(lines)


def on_this_machine(models, options):
    counts = [int(count) for count in options.ranks.split(",")]
    steps(models, [SINGLE_PROCESS, here(1, 2), *(here(count, 1) for count in counts)], options)
    lines = []
    for count in counts:
        if count > 1:
            lines += sums_of(here(count, 1), max(3, options.rounds // 2), count == 2)
    sums_tables(lines)
    record(options.output, *lines)


def over_two_hosts(models, options):
    lines = []
    for gigabits in options.gigabits:
        with Link(gigabits, options.delay) as link:
            print(f"\n## {link.name}", flush=True)
            steps(models, [SINGLE_PROCESS, here(1, 2), here(1, 1), here(2, 1), link.way], options)
            lines += sums_of(link.way, max(3, options.rounds // 3), True)
    sums_tables(lines)
    record(options.output, *lines)


def main(arguments=None):
    parser = parser_of(__doc__, rounds=15)
    parser.add_argument("--models", default="a,c,f",
                        help="models of sides.py, comma-separated (a,c,f)")
    parser.add_argument("--ranks", default="1,2,4", help="numbers of ranks (1,2,4)")
    parser.add_argument("--gigabits", type=float, nargs="+", metavar="N",
                        help="simulate two hosts with this bandwidth in each direction")
    parser.add_argument("--delay", type=float, metavar="MS",
                        help="delay of the packets of each host, in milliseconds")
    parser.add_argument("--output", metavar="FILE", help="append the results as JSON lines")
    options = parser.parse_args(arguments)
    models = models_in(options.models, parser.error)
    check_recordable(options.output, parser.error)
    print(machine("those of each row"))
    if not options.gigabits:
        return on_this_machine(models, options)
    if reason := missing():
        parser.error(f"--gigabits {reason}")
    for number in (signal.SIGTERM, signal.SIGHUP):      # remove everything, as after Ctrl-C
        signal.signal(number, lambda *_: sys.exit(130))
    over_two_hosts(models, options)


if __name__ == "__main__":
    restart_clean()
    main()
