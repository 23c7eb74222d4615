"""Helpers of lesson 14: a clock that runs versions in turns, what it times, and plots."""

import os
import time

import numpy as np
from matplotlib import pyplot as plt
from threadpoolctl import threadpool_info, threadpool_limits

from numpy_attention import plotting
from numpy_attention.kernels.gates import lstm, lstm_backward
from numpy_attention.kernels.softmax import cross_entropy
from numpy_attention.kernels.updates import sgd, squared_norm

# Of a curve: its colour, one for each product, its line and its marker
STYLES = {"h @ U": (0, "-", 0), "h @ panels": (0, "--", 1),
          "da @ U.T": (1, "-", 2), "da @ panels": (1, "--", 3)}

COLOURS = {"faster": plotting.COLOURS[2], "slower": plotting.COLOURS[1],
           "too close to tell": "0.75"}

# Speed with panels ÷ speed without, for U and for U.T, on the Xeon: {(H, rows): …}
PANELS_ON_XEON = {(200, 10): "1.63 and 3.82", (200, 20): "1.23 and 1.74",
                  (1024, 10): "1.80 and 2.19", (1024, 20): "1.16 and 1.38"}

# Milliseconds per training step on the Xeon
MS_ON_XEON = {"FirstWritten": 47.1, "InputsAtOnce": 46.7, "WeightsAtOnce": 42.3,
              "WordsAtOnce": 30.4, "UInPanels": 29.1, "CompiledGates": 27.5,
              "OnePassSoftmax": 22.8, "OnePassUpdate": 20.1, "the library": 20.3}

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
    """Print which share of the model's training step each of its parts takes."""
    seconds = dict.fromkeys(("predict", "forward", "backward", "loss_and_grad", "train_step"), 0.0)
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
    print("of its time:", ", ".join(f"{name} {each / whole:.0%}"
                                    for name, each in seconds.items()))


def repeats(rows):
    """How often to repeat a product of that many rows, to make it long enough for the clock."""
    return max(1, 100 // rows)


def products_of(x, W):
    """A function that computes x W, several times if x has few rows."""
    def run():
        for _ in range(repeats(len(x))):
            x @ W
    return run


def rate(seconds, rows, entries):
    """GFLOP/s of `products_of` that many rows and a matrix of `entries` numbers."""
    return 2 * rows * entries * repeats(rows) / np.median(seconds) / 1e9


def listed(rates):
    """{rows or columns: GFLOP/s} in one line."""
    return "   ".join(f"{n}: {each:.0f}" for n, each in rates.items())


def with_and_without(matrix, h, da, few, panels_of):
    """{(name, rows): seconds} of products with U and U.T as they are, and in panels.

    few: the numbers of rows; panels_of(W, rows): W laid out in panels.
    """
    sides = {}
    for n in few:
        sides["h @ U", n] = products_of(h[:n], matrix)
        sides["h @ panels", n] = products_of(h[:n], panels_of(matrix, n))
        sides["da @ U.T", n] = products_of(da[:n], matrix.T)
        sides["da @ panels", n] = products_of(da[:n], panels_of(matrix.T, n))
    return in_turns(sides, 5, np.random.default_rng(8))


def curves_of(size, seconds, few):
    """{name: {rows: GFLOP/s}} from what `with_and_without` measured for H = size."""
    return {name: {n: rate(seconds[name, n], n, 4 * size**2) for n in few} for name in STYLES}


def panel_rates(size, seconds, few):
    """Print the speeds that `with_and_without` measured for H = size, and compare them."""
    for name, curve in curves_of(size, seconds, few).items():
        print(f"H = {size}, {name}, rows: GFLOP/s   ", listed(curve))
    for n in (5, 10, 20):
        print(f"H = {size}, {n} rows, speed with panels ÷ speed without:",
              ratio(seconds["h @ panels", n], seconds["h @ U", n]), "for U,",
              ratio(seconds["da @ panels", n], seconds["da @ U.T", n]), "for U.T",
              f"(Xeon {PANELS_ON_XEON.get((size, n), 'not recorded')})")


def kernels_of(T, B, H, V, w):
    """{name: function} that run the kernels of a training step by themselves, with weights w."""
    z = np.zeros((T * B, V), np.float32)
    losses = np.empty(T * B)
    wanted = np.zeros(T * B, int)
    d = np.zeros(V, np.float32)
    g = np.zeros_like(w)
    a, u, kept, da = np.zeros((4, B, 4 * H), np.float32)
    h, c, c_next, dh, dc, dc_before = np.zeros((6, B, H), np.float32)

    def gates():
        for _ in range(T):
            lstm(a, u, c, kept, h, c_next)
            lstm_backward(h, dh, dc, kept, c, c_next, da, dc_before)
    return {"softmax": lambda: cross_entropy(z, d, wanted, np.float32(1 / B), losses),
            "update": lambda: sgd(w, g, np.float32(squared_norm(g))), "gates": gates}


def medians(seconds):
    """{name: seconds of each round} → {name: milliseconds in the middle round}"""
    return {name: 1000 * float(np.median(each)) for name, each in seconds.items()}


def ratio(one, other):
    """`other` divided by `one`, round by round: "median [range of the middle half]"."""
    low, middle, high = np.quantile(other / one, (0.25, 0.5, 0.75))
    return f"{middle:.2f} [{low:.2f} to {high:.2f}]"


def verdict(one, other):
    """Whether `one` is faster than `other` in the middle half of the rounds, in words.

    The ends of that range are rounded as `ratio` prints them.
    """
    low, high = np.round(np.quantile(other / one, (0.25, 0.75)), 2)
    if low > 1:
        return "faster"
    return "slower" if high < 1 else "too close to tell"


def falls(milliseconds, names):
    """How much less time each version takes than the previous one: {name: ms}.

    Together with the time of the last version they add up to that of the first.
    """
    return {name: milliseconds[before] - milliseconds[name]
            for before, name in zip(names, names[1:])}


def print_savings(seconds, versions):
    """Print each version's time and, compared with the previous one, what it saves.

    seconds: {version: seconds of each round}. The numbers in round brackets are the Xeon's.
    """
    ms = medians(seconds)
    for before, name in zip([None, *versions], versions):
        line = f"{name:<14} {ms[name]:5.1f} ms (Xeon {MS_ON_XEON[name]})"
        if before:
            saved = round(ms[before] - ms[name], 1) + 0.0           # not -0.0
            line += (f"   saves {saved:4.1f} ({MS_ON_XEON[before] - MS_ON_XEON[name]:.1f})   "
                     f"{ratio(seconds[name], seconds[before])} times as fast: "
                     f"{verdict(seconds[name], seconds[before])}")
        print(line, flush=True)


def rest_of(shares):
    """1 minus all shares of {name: share}."""
    return 1 - sum(shares.values())


def check_parts_add_up(whole, parts):
    """AssertionError: the parts do not add up to the whole."""
    assert np.isclose(whole, sum(parts)), f"{sum(parts)} is not {whole}"


def draw_waterfall(seconds, names, floor, title):
    """Bars that fall from one version to the next, and the floor as a line; → Axes.

    seconds: {name: seconds of each round}, of the versions in the order of `names`; floor: ms.
    """
    milliseconds = medians({name: seconds[name] for name in names})
    taken = falls(milliseconds, names)
    _, ax = plt.subplots(figsize=(10, 5.2), layout="constrained")
    first = milliseconds[names[0]]
    ax.barh(0, first, color=plotting.COLOURS[0])
    ax.plot([first, first], [-0.4, 1.4], color="0.5", linewidth=0.8)
    label(ax, 0, first, f"{first:.1f} ms")
    for row, (name, fall) in enumerate(taken.items(), 1):
        after = milliseconds[name]
        words = verdict(seconds[name], seconds[names[row - 1]])
        ax.barh(row, fall, left=after, color=COLOURS[words])
        ax.plot([after, after], [row - 0.4, row + 1.4], color="0.5", linewidth=0.8)
        label(ax, row, max(after, after + fall), f"{-fall:+.1f} ms".replace("-", "−"))
    last = milliseconds[names[-1]]
    ax.barh(len(names), last, color=plotting.COLOURS[0])
    label(ax, len(names), max(last, floor), f"{last:.1f} ms")
    ax.axvline(floor, color=plotting.COLOURS[5], linestyle="--",
               label=f"the floor: {floor:.1f} ms")
    for words, colour in COLOURS.items():
        ax.barh(0, 0, color=colour, label=words)
    ax.set_yticks(range(len(names) + 1), [*names, "what is left"])
    ax.invert_yaxis()
    ax.set(xlim=(0, 1.12 * max(milliseconds.values())), xlabel="milliseconds per training step",
           title=title)
    ax.legend(loc="center left")
    return ax


def label(ax, row, right, text):
    """Write a text to the right of a bar."""
    ax.annotate(text, (right, row), (4, 0), textcoords="offset points", va="center")


def draw_rates(rates, title, xlabel, ax=None):
    """Curves {name: {rows: GFLOP/s}}; → Axes."""
    if ax is None:
        _, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
    for name, curve in rates.items():
        colour, line, marker = STYLES[name]
        ax.plot(curve.keys(), curve.values(), label=name, linestyle=line,
                marker=plotting.MARKERS[marker], color=plotting.COLOURS[colour])
    ax.set_xscale("log")
    ax.set_xticks(list(curve), list(curve))
    ax.minorticks_off()
    ax.set_ylim(0, None)
    ax.set(xlabel=xlabel, ylabel="GFLOP/s", title=title)
    ax.grid(alpha=0.3)
    ax.legend()
    return ax


def draw_panels(measured, few):
    """draw_rates of each {H: seconds}, next to each other on one scale; → Figure."""
    figure, axes = plt.subplots(1, len(measured), figsize=(11, 4), layout="constrained",
                                sharey=True)
    curves = {size: curves_of(size, seconds, few) for size, seconds in measured.items()}
    for ax, (size, seconds) in zip(axes, measured.items()):
        gain = ratio(seconds["h @ panels", 10], seconds["h @ U", 10])
        draw_rates(curves[size], f"H = {size:,}, 10 rows: panels make h @ U {gain.split()[0]} "
                   "times as fast", "rows of the product", ax)
    highest = max(max(curve.values()) for rates in curves.values() for curve in rates.values())
    axes[0].set_ylim(0, 1.05 * highest)         # of all axes, which share it
    return figure
