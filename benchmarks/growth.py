"""Measure how the time of a training step grows, here and in PyTorch eager, on one and two threads.

    python benchmarks/growth.py --json growth.jsonl --output growth.png
    python benchmarks/growth.py --measured growth.jsonl --output growth.png     only plot
    python benchmarks/growth.py --quick     two points per curve; the times are meaningless
    python benchmarks/growth.py --curves hidden --batch 4 --against PATH    before, after a change

Each of the four curves varies one size: batch, hidden states or vocabulary of (a), Zaremba's small
language model; or the source length of (c), RNNsearch, whose targets have 15 words and whose
sentences all have the same length here. The models are described in sides.py. At each point both
libraries run on the same number of threads, in turns of 0.2 s (worker.py), PyTorch with an
allocator that keeps freed memory. The plot shows medians and quartiles over the rounds, and the
ratio of the two turns of a round, ours / PyTorch's.
"""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
from machine import check_recordable, machine, names_in, parser_of, record, restart_clean
from sides import MODELS
from turns import TUNED, Side, measure, medians, ratio

from numpy_attention.plotting.base import curve_style, new_figure, save

SIDES = [Side("ours", "sides.ours"), Side("theirs", "sides.theirs", environment=TUNED)]
NAMES = {"ours": "numpy_attention", "theirs": "PyTorch, or PATH"}
THREADS = (1, 2)
WRITTEN = 15                    # words of a target, for any length of the source
QUARTILES = (0.25, 0.5, 0.75)


class Curve(NamedTuple):
    """A curve: a model, and the size that grows."""

    model: str
    label: str
    fields: tuple[str, ...]     # names in the size that get the value
    values: tuple[int, ...]

    def size(self, value):
        size = MODELS[self.model] | dict.fromkeys(self.fields, value)
        return size | {"written": WRITTEN} if "low" in size else size


CURVES = {
    "batch": Curve("a", "rows of a batch", ("batch",), (1, 4, 16, 64, 256)),
    "hidden": Curve("a", "hidden states", ("hidden",), (64, 128, 256, 512, 1024, 1500)),
    "vocabulary": Curve("a", "words of the vocabulary", ("vocabulary",),
                        (1000, 3000, 10_000, 30_000, 100_000)),
    "source": Curve("c", "words of a source", ("low", "high"), (10, 25, 50, 100, 200, 400)),
}


# ---- measurements --------------------------------------------------------------------------------


def measured(names, options):
    """Measure, print and record a line per point, with the seconds of each round on both sides."""
    lines = []
    other = Side("theirs", "sides.ours", options.against.resolve()) if options.against else SIDES[1]
    for name in names:
        values = CURVES[name].values
        batch = {"batch": options.batch} if options.batch and name != "batch" else {}
        for value in values[:2] if options.quick else values:
            for threads in THREADS:
                _, seconds = measure([SIDES[0], other], CURVES[name].size(value) | batch,
                                     options.rounds, threads)
                lines.append({"curve": name, "value": value, "threads": threads}
                             | {side: times.tolist() for side, times in seconds.items()})
                low, middle, high = ratio(seconds["ours"], seconds["theirs"])
                print(f"{name} {value:,}, {threads} threads: {medians(seconds)}, "
                      f"ours / theirs {middle:.3f} ({low:.3f}–{high:.3f})", flush=True)
                record(options.json, lines[-1])
    return lines


# ---- figure --------------------------------------------------------------------------------------


def draw(lines):
    """Draw one column per curve: the time of a step at the top, the ratio at the bottom."""
    names = [name for name in CURVES if any(line["curve"] == name for line in lines)]
    figure = new_figure(4.2 * len(names), 7)
    panels = figure.subplots(2, len(names), sharex="col", sharey="row", squeeze=False)
    for (above, beneath), name in zip(panels.T, names):
        for threads in THREADS:
            some = sorted((line for line in lines
                           if (line["curve"], line["threads"]) == (name, threads)),
                          key=lambda line: line["value"])
            values = [line["value"] for line in some]
            for n, side in enumerate(SIDES):
                quartiles = [1e3 * np.quantile(line[side.name], QUARTILES) for line in some]
                plot(above, values, quartiles, n, threads, NAMES[side.name])
            ratios = [ratio(*(np.array(line[side.name]) for side in SIDES)) for line in some]
            plot(beneath, values, ratios, 2, threads, "ratio")
        label(above, beneath, CURVES[name])
    panels[0, 0].set_ylabel("a training step, ms (log scale)")
    panels[1, 0].set_ylabel("ours / PyTorch's")
    panels[1, 0].set_ylim(0)                       # for all columns, once all are drawn
    panels[0, 0].legend(fontsize=8)
    panels[1, 0].legend(fontsize=8, loc="lower left")
    return figure


def plot(ax, values, quartiles, n, threads, name):
    """Draw medians as a line, dashed for one thread, and quartiles as a band."""
    low, middle, high = np.array(quartiles).T
    style = curve_style(n) | {"linestyle": "--" if threads == 1 else "-"}
    text = f"{name}, {threads} thread{'s' * (threads > 1)}"
    ax.plot(values, middle, label=text, markersize=5, linewidth=1.2, **style)
    ax.fill_between(values, low, high, color=style["color"], alpha=0.15, linewidth=0)


def label(above, beneath, curve):
    above.set_title(f"({curve.model}): {curve.label}", fontsize=10)
    above.set(xscale="log", yscale="log")
    above.yaxis.set_major_formatter("{x:,g}")
    beneath.axhline(1, color="0.5", linewidth=1)
    beneath.set(xlabel=f"{curve.label} (log scale)")
    beneath.set_xticks(curve.values, [f"{value:,}" for value in curve.values], fontsize=8)
    beneath.minorticks_off()
    for ax in (above, beneath):
        ax.grid(alpha=0.3)


def main(arguments=None):
    parser = parser_of(__doc__, rounds=9)
    parser.add_argument("--curves", default=",".join(CURVES),
                        help=f"comma-separated: {', '.join(CURVES)}")
    parser.add_argument("--quick", action="store_true", help="two points per curve, two rounds")
    parser.add_argument("--json", help="append one JSON line per point to this file")
    parser.add_argument("--batch", type=int, metavar="B", help="rows, except in the curve batch")
    parser.add_argument("--against", type=Path, metavar="PATH",
                        help="time another checkout of this package instead of PyTorch")
    parser.add_argument("--measured", type=Path, metavar="FILE",
                        help="only plot the results in this file")
    parser.add_argument("--output", type=Path, default=Path("growth.png"), metavar="PNG")
    options = parser.parse_args(arguments)
    names = names_in(options.curves, CURVES, "curve", parser.error)
    check_recordable(options.json, parser.error)
    if options.quick:
        options.rounds = 2
    if options.measured:
        lines = [json.loads(line) for line in options.measured.read_text().splitlines()]
    else:
        print(machine("1 and 2", "torch"))
        lines = measured(names, options)
    figure = draw([line for line in lines if line["curve"] in names])
    print(f"drawn to {save(figure, options.output)}")


if __name__ == "__main__":
    restart_clean()
    main()
