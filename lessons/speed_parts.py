"""Helpers of lesson 14: a clock that runs versions in turns, what it times, and plots."""

import os
import time

import numpy as np
from matplotlib import pyplot as plt
from threadpoolctl import threadpool_info, threadpool_limits

from numpy_attention import plotting
from numpy_attention.validation.arrays import as_rows

REPEATS = 10        # of a short product, to make it long enough for the clock

# The diagram of the first version
BOXES = {
    "x": ("xₜ = E[word]", 0, 1), "a": ("xₜ W + b", 2.4, 2, 0), "h": ("gates: cₜ, hₜ", 2.4, 1),
    "u": ("hₜ₋₁ U", 2.4, 0, 0), "z": ("hₜ Sᵀ + d", 5.1, 2, 0), "L": ("softmax, loss", 5.1, 1),
    "dz": ("dzₜ S,  dzₜᵀ hₜ", 5.1, 0, 0), "dh": ("gates, backward: daₜ", 8.4, 1),
    "du": ("daₜ Uᵀ", 8.4, 0, 0), "da": ("daₜ Wᵀ,  xₜᵀ daₜ,  hₜ₋₁ᵀ daₜ", 8.4, 2, 0),
    "w": ("update", 11.2, 1),
}
ARROWS = [("x", "a"), ("a", "h"), ("u", "h", "", -0.3, True), ("h", "u", "", -0.3, True),
          ("h", "z"), ("z", "L"), ("L", "dz"), ("dz", "dh"), ("dh", "du", "", -0.3, True),
          ("du", "dh", "", -0.3, True), ("dh", "da"), ("da", "w")]

# Milliseconds on one core of an AMD EPYC with OpenBLAS's SkylakeX kernels: the mean of three runs.
RECORDED_MS = {"FirstWritten": 47.9, "WeightsAtOnce": 45.0, "WordsAtOnce": 34.7,
               "CompiledGates": 33.1, "OnePass": 30.0, "UInPanels": 28.1, "the floor": 23.8}

# The processor's time of this thread does not contain that of other programs. Windows counts it too
# coarsely, so the time of day has to do there.
clock = time.thread_time if time.get_clock_info("thread_time").resolution < 1e-5 \
    else time.perf_counter


def blas_in_use():
    """The BLAS of NumPy's products and its kernels, in words."""
    found = [f"{each['internal_api']} {each['version']}, kernels {each.get('architecture')}"
             for each in threadpool_info() if each["user_api"] == "blas"]
    forced = os.environ.get("OPENBLAS_CORETYPE")
    return ("BLAS: " + ("; ".join(found) or "none that threadpoolctl knows")
            + (f" (forced: OPENBLAS_CORETYPE={forced})" if forced else ""))


def in_turns(sides, rounds, rng):
    """{name: function} → {name: its seconds, one number a round}.

    Each side first runs once without being timed. In every round all sides run once, in a random
    order, so a machine that is busy for a while slows all of them alike. BLAS has one thread.
    """
    seconds = {name: np.empty(rounds) for name in sides}
    names = list(sides)
    with threadpool_limits(1, user_api="blas"):
        for run in sides.values():
            run()
        for n in range(rounds):
            for place in rng.permutation(len(names)):
                name = names[place]
                start = clock()
                sides[name]()
                seconds[name][n] = clock() - start
    return seconds


def print_profile(model, inputs, targets, rounds):
    """Print the time of the model's training step, and the share of each part."""
    seconds = dict.fromkeys(("forward", "predict", "backward", "loss_and_grad", "train_step"), 0.0)
    grads = model.zeros_like()

    def timed(name, method):
        def call(*arguments):
            start = clock()
            result = method(*arguments)
            seconds[name] += clock() - start
            return result
        return call

    with threadpool_limits(1, user_api="blas"):
        model.train_step(inputs, targets, grads)
        for name in seconds:
            object.__setattr__(model, name, timed(name, getattr(model, name)))
        for _ in range(rounds):
            model.train_step(inputs, targets, grads)
    whole = seconds.pop("train_step")
    rows_and_parts = seconds.pop("loss_and_grad")
    seconds["rows of E"] = rows_and_parts - sum(seconds.values())
    seconds["update"] = whole - rows_and_parts
    print(f"{type(model).__name__} takes {1000 * whole / rounds:.1f} ms per training step:")
    for name, part in seconds.items():
        print(f"    {name:<10} {100 * part / whole:5.1f}%")


def products_of(x, W):
    """A function that computes x W several times."""
    def run():
        for _ in range(REPEATS):
            x @ W
    return run


def rate(seconds, rows, entries):
    """GFLOP/s of `products_of` that many rows and a matrix of `entries` numbers.

    A multiplication and its addition count as two operations.
    """
    return 2 * rows * entries * REPEATS / np.median(seconds) / 1e9


def medians(seconds):
    """{name: seconds of each round} → {name: milliseconds in the middle round}"""
    return {name: 1000 * float(np.median(each)) for name, each in seconds.items()}


def range_of(ratios):
    """The lowest and the highest ratio, without a tenth of the rounds at either end."""
    return np.quantile(ratios, (0.1, 0.9))


def ratio(one, other):
    """`other` divided by `one`, round by round: "median [range]"."""
    low, high = range_of(other / one)
    return f"{np.median(other / one):.2f} [{low:.2f} to {high:.2f}]"


def verdict(one, other):
    """Whether `one` is faster than `other` in the whole range of the ratios, in words.

    The ends of that range are rounded as `ratio` prints them.
    """
    low, high = np.round(range_of(other / one), 2)
    if low > 1:
        return "faster"
    return "slower" if high < 1 else "too close to tell"


def time_products(T, B, M, name, others=None):
    """Print the times of T products of B rows with M, and of one product of T · B rows.

    others: {text: function of B rows}, other ways to compute the T products.
    """
    rows = np.random.default_rng(8).standard_normal((T * B, len(M)), np.float32)

    def all_steps(function):
        return lambda: [function(x) for x in np.split(rows, T)]

    first = f"{T} products of {B} rows"
    ways = {first: lambda x: x @ M} | (others or {})
    sides = {text: all_steps(function) for text, function in ways.items()}
    sides[f"one of {T * B} rows"] = lambda: rows @ M
    ms = medians(in_turns(sides, 35, np.random.default_rng(9)))
    print(f"{name}: " + ", ".join(f"{text} {each:.1f} ms" for text, each in ms.items()))


def time_sums(T, B, K, C, name):
    """Print the times of T products (K, B) · (B, C) with their sum, without it, and at once."""
    rows = np.random.default_rng(8).standard_normal((T, B, K + C), np.float32)
    x, d = (part.copy() for part in np.split(rows, [K], axis=2))
    total = np.zeros((K, C), np.float32)

    def multiply():
        for t in range(T):
            x[t].T @ d[t]

    def multiply_and_add():
        for t in range(T):
            np.add(total, x[t].T @ d[t], out=total)

    ms = medians(in_turns({"sum": multiply_and_add, "no sum": multiply,
                           "one": lambda: as_rows(x).T @ as_rows(d)}, 35, np.random.default_rng(9)))
    print(f"{name}: {T} products with their sum {ms['sum']:.1f} ms, without {ms['no sum']:.1f} ms, "
          f"one product {ms['one']:.1f} ms")


def print_change(seconds, before, name):
    """Print what the second version saves, and how many times as fast it is."""
    saved = seconds[before] - seconds[name]
    share = round(100 * np.median(saved / seconds[before]))
    print(f"{before} → {name} saves {share}% ({1000 * np.median(saved):.1f} ms), ".replace("-", "−")
          + f"{ratio(seconds[name], seconds[before])} times as fast: "
          f"{verdict(seconds[name], seconds[before])}", flush=True)


def print_table(seconds, versions):
    """Print each version's time, next to the floor and to the previous version.

    seconds: {version or "the floor": seconds of each round}.
    """
    ms = medians(seconds)
    floor = ms["the floor"]
    print("                     ms   ÷ the floor   times as fast   on the EPYC: ÷ the floor")
    for number, name in enumerate([*versions, "the floor"]):
        faster = ""
        if 0 < number < len(versions):
            faster = f"{np.median(seconds[versions[number - 1]] / seconds[name]):.2f}"
        recorded = RECORDED_MS[name] / RECORDED_MS["the floor"]
        print(f"{number if number < len(versions) else ' '} {name:<14} {ms[name]:6.1f}   "
              f"{ms[name] / floor:11.2f}   {faster:>13}   {recorded:24.2f}", flush=True)


def mark_loops(ax):
    """Draw a frame around each of the three loops in the diagram of the first version; → Axes."""
    for left, right, text in ((1.4, 3.4, "for t = 1 … T"), (4.1, 6.1, "for t = 1 … T"),
                              (6.8, 10.0, "for t = T … 1")):
        ax.add_patch(plt.Rectangle((left, -0.5), right - left, 3.2, fill=False, edgecolor="0.6",
                                   zorder=1))
        ax.annotate(text, (left, 2.7), (5, -4), textcoords="offset points", va="top", color="0.3")
    ax.set_ylim(-0.6, 2.8)
    return ax


def draw_waterfall(seconds, versions, title):
    """Bars that fall from one version to the next, and the floor as a line; → Axes.

    seconds: {version or "the floor": seconds of each round}.
    """
    _, ax = plt.subplots(figsize=(10, 4.6), layout="constrained")
    milliseconds = medians(seconds)
    times = [milliseconds[name] for name in versions]
    floor = milliseconds["the floor"]
    ax.barh(0, times[0], color=plotting.COLOURS[0])
    label(ax, 0, times[0], f"{times[0]:.1f} ms")
    colours = {"faster": plotting.COLOURS[2], "slower": plotting.COLOURS[1]}
    for row, (before, after) in enumerate(zip(times, times[1:]), 1):
        judged = verdict(seconds[versions[row]], seconds[versions[row - 1]])
        hidden = f"{abs(after - before):.1f}" == "0.0"
        ax.barh(row, before - after, left=after, color=colours.get(judged, "0.6"),
                edgecolor="0.6", linewidth=4 if hidden else 0)
        ax.plot([before, before], [row - 1.4, row + 0.4], color="0.5", linewidth=0.8)
        change = "about 0" if hidden else f"{after - before:+.1f} ms".replace("-", "−")
        label(ax, row, max(before, after), f"change {row}: {change}")
    ax.plot([after, after], [row - 0.4, row + 1.4], color="0.5", linewidth=0.8)
    ax.barh(row + 1, after, color=plotting.COLOURS[0])
    label(ax, row + 1, max(after, floor), f"{after:.1f} ms")
    ax.axvline(floor, color=plotting.COLOURS[5], linestyle="--")
    ax.annotate(f"the floor: {floor:.1f} ms", (floor, 2.5), (-6, 0), textcoords="offset points",
                ha="right", va="center")
    names = [f"{number} {name}" for number, name in enumerate(versions)]
    ax.set_yticks(range(len(versions) + 1), [*names, "what is left"])
    ax.invert_yaxis()
    ax.set(xlim=(0, 1.25 * max(times)), xlabel="milliseconds per training step", title=title)
    return ax


def label(ax, row, right, text):
    """Write a text to the right of a bar."""
    ax.annotate(text, (right, row), (4, 0), textcoords="offset points", va="center")


def draw_columns(rates, limit):
    """Speed {columns: GFLOP/s} of ten rows, and the predicted limit; → Axes."""
    below, above = (rates[n] for n in (496, 512))
    drop = f"{below / above:.1f} times as fast as" if below > above else "no faster than"
    _, ax = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
    ax.plot(rates.keys(), rates.values(), marker="o", color=plotting.COLOURS[0])
    ax.axvline(limit, color=plotting.COLOURS[5], linestyle="--")
    ax.annotate(f"the limit: {limit} columns", (limit, 0), (6, 12), textcoords="offset points")
    ax.set_ylim(0, None)
    ax.set(xlabel="columns", ylabel="GFLOP/s (10⁹ operations per second)",
           title=f"Ten rows: a product of 496 columns runs {drop} one of 512")
    ax.grid(alpha=0.3)
    return ax
