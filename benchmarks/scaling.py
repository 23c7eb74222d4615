"""What a training step would cost on many hosts: a model, not a measurement, fitted to some.

    python benchmarks/ranks.py --output measured.jsonl
    python benchmarks/ranks.py --gigabits 1 10 --output measured.jsonl
    python benchmarks/scaling.py measured.jsonl

    step(R) = compute(rows / R) + 2 (R − 1)/R · bytes(R) / bandwidth + rounds(R) · latency

R hosts of one thread. compute(rows) = fixed + rows · each, fitted to steps of fewer rows on one
host (the optimizer's update is in what is fixed). A sum sends (R − 1)/R of its bytes to the others
and gets as much back, in 2 (R − 1) rounds; an agreement takes 2 log₂ R. Bandwidth and latency are
fitted to sums by size over each link and to messages of 8 bytes, so the copying and adding of a
host are in them. Of an embedding the touched rows alone are sent, while they are at most
`row_sums.MOST` of it.

Left out: hosts that are slower at times, a switch that is shared, sums of unlike sizes. One model
stands for large ones: (a) with other sizes, its rows computed at the floating-point rate of (a).
Strong scaling: the batch keeps its rows; weak: each host has a batch's rows.
"""

import argparse
import json
import math
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from ranks import MEMORY, table
from sides import MODELS

from numpy_attention.training.distributed.row_sums import MOST

HOSTS = 256
HALF = 0.5                      # the efficiency below which scaling is said to break
FLOAT = 4                       # bytes
LARGE = {"vocabulary": 100_000, "hidden": 1024, "layers": 2, "steps": 35, "batch": 64}


class Embeddings(NamedTuple):
    """Tables of which a batch touches the rows of its words."""

    count: int
    rows: int
    columns: int
    words: float                # drawn from each table's rows by a row of the batch

    def bytes(self, batch):
        """Of what is sent for a batch of so many rows, on all hosts together."""
        touched = self.rows * (1 - (1 - 1 / self.rows) ** (batch * self.words))
        sent = touched if touched <= MOST * self.rows else self.rows
        return self.count * sent * self.columns * FLOAT

    @property
    def size(self):
        return self.count * self.rows * self.columns


class Cost(NamedTuple):
    """The cost of a model; times in seconds."""

    rows: int                   # of a batch
    parameters: int
    embeddings: Embeddings
    fixed: float                # of a step
    each: float                 # row
    sums: int = 2
    agreements: int = 3

    def compute(self, rows):
        return self.fixed + rows * self.each

    def bytes(self, batch):
        """Of the gradient, as it is sent."""
        return FLOAT * (self.parameters - self.embeddings.size) + self.embeddings.bytes(batch)


class Link(NamedTuple):
    """Between hosts: seconds a byte, and a round."""

    name: str
    byte: float
    round: float


def moved(hosts, size):
    """Bytes that a host sends, to sum so many; it gets as many."""
    return 2 * (hosts - 1) / hosts * size


def rounds(hosts, sums, agreements=0):
    """Messages that wait for one another."""
    return 2 * (hosts - 1) * sums + 2 * math.ceil(math.log2(hosts)) * agreements


def step(cost, link, hosts, batch):
    """Seconds of a step of so many rows, on all hosts together."""
    sending = (moved(hosts, cost.bytes(batch)) * link.byte
               + rounds(hosts, cost.sums, cost.agreements) * link.round)
    return cost.compute(math.ceil(batch / hosts)) + sending


def strong(cost, link, hosts):
    """Efficiency: how much of the time of one host, shared out, a step of one batch takes."""
    return step(cost, link, 1, cost.rows) / (hosts * step(cost, link, hosts, cost.rows))


def weak(cost, link, hosts):
    """Efficiency where each host has a batch's rows."""
    return step(cost, link, 1, cost.rows) / step(cost, link, hosts, hosts * cost.rows)


def breaks(efficiency, cost, link):
    """The first number of hosts whose efficiency is below HALF; None: there is none."""
    return next((hosts for hosts in range(1, HOSTS + 1) if efficiency(cost, link, hosts) < HALF),
                None)


# ---- the fit -------------------------------------------------------------------------------------


def not_negative(columns, seconds):
    """Least squares of relative errors: two coefficients, neither below 0."""
    terms = np.array(columns).T / np.array(seconds)[:, None]
    ones = np.ones(len(seconds))
    found = np.linalg.lstsq(terms, ones, rcond=None)[0]
    if (found >= 0).all():
        return tuple(map(float, found))
    alone = [float(term @ ones / (term @ term)) for term in terms.T]
    either = [(alone[0], 0.0), (0.0, alone[1])]
    return min(either, key=lambda pair: float(np.sum((terms @ pair - 1) ** 2)))


def fit_link(name, lines):
    """From lines of kind "sum", and of "ping", which is one round of no bytes to speak of."""
    columns = ([moved(line["ranks"], line.get("bytes", 0)) for line in lines],
               [rounds(line["ranks"], 1) if line["kind"] == "sum" else 1 for line in lines])
    return Link(name, *not_negative(columns, [np.median(line["seconds"]) for line in lines]))


def fit_cost(model, lines):
    """From lines of kind "rows"."""
    columns = [1.0] * len(lines), [line["rows"] for line in lines]
    fixed, each = not_negative(columns, [np.median(line["seconds"]) for line in lines])
    size = MODELS[model]
    return Cost(size["batch"], lines[0]["parameters"], embeddings_of(size), fixed, each)


def embeddings_of(size):
    """Those of a model of sides.py; the Transformer's target words are tied to its output."""
    if "steps" in size:
        return Embeddings(1, size["vocabulary"], size["hidden"], size["steps"])
    count = 1 if size["model"] == "transformer" else 2
    words = (size["low"] + size["high"]) / 2
    return Embeddings(count, size["vocabulary"], size["hidden"], words)


def row_operations(size):
    """Floating-point operations of a row of a language model: 2 a weight, thrice with backward."""
    H = size["hidden"]
    weights = size["layers"] * 8 * H * H + H * size["vocabulary"]
    return 6 * weights * size["steps"]


def large(small):
    """The large model, from the fitted cost of (a)."""
    V, H = LARGE["vocabulary"], LARGE["hidden"]
    parameters = 2 * V * H + V + LARGE["layers"] * (8 * H * H + 4 * H)
    rate = row_operations(MODELS["a"]) / small.each
    print(f"(large) is (a) with H {H:,}, V {V:,}, {LARGE['batch']} rows of {LARGE['steps']} words: "
          f"{parameters / 1e6:.0f} million parameters, estimated at {rate / 1e9:.1f} GFLOP/s, "
          "the rate of (a)")
    return Cost(LARGE["batch"], parameters, embeddings_of(LARGE),
                small.fixed * parameters / small.parameters, row_operations(LARGE) / rate)


# ---- what comes out ------------------------------------------------------------------------------


def print_breaks(costs, links):
    """Print where efficiency falls below HALF, and what it is at the end."""
    rows = []
    for name, cost in costs.items():
        for link in links:
            for kind, efficiency in (("strong", strong), ("weak", weak)):
                first = breaks(efficiency, cost, link)
                rows.append([name, link.name, kind, first or f"not up to {HOSTS}",
                             *(f"{efficiency(cost, link, hosts):.2f}" for hosts in (2, 16, 256))])
    table(["model", "link", "scaling", "hosts where efficiency < 0.5", "at 2", "at 16", "at 256"],
          rows)


def read(path):
    """(costs by name, links). ValueError: what is needed has not been measured."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]

    def of(kind, key, value):
        return [line for line in lines if line["kind"] == kind and line[key] == value]

    names = [name for name in MODELS if of("rows", "model", name)]
    links = dict.fromkeys(line["link"] for line in lines
                          if line["kind"] == "sum" and line["link"] != MEMORY)
    if "a" not in names or not links:
        raise ValueError(f"{path} needs the lines of ranks.py, model a among them, with and "
                         "without --gigabits: run both with --output")
    costs = {name: fit_cost(name, of("rows", "model", name)) for name in names}
    alone = {name: of("sum", "link", name) + of("ping", "link", name) for name in links}
    return costs, [fit_link(name, found) for name, found in alone.items()]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", type=Path, metavar="FILE")
    options = parser.parse_args()
    try:
        costs, links = read(options.measured)
    except (OSError, ValueError) as error:
        sys.exit(f"scaling.py: {error}")
    costs["large"] = large(costs["a"])
    table(["link", "Gbit/s, fitted", "µs a round"],
          [[link.name, f"{8e-9 / link.byte:.2f}", f"{1e6 * link.round:.1f}"] for link in links])
    print_breaks(costs, links)


if __name__ == "__main__":
    main()
