"""Helpers of lesson 14: a clock that runs versions in turns, what it times, and plots."""

import os
import time

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle
from threadpoolctl import threadpool_info, threadpool_limits

from numpy_attention import plotting
from numpy_attention.kernels.gates import lstm_backward

# Of a curve: its colour, one for each product, its line and its marker
STYLES = {"h @ U": (0, "-", 0), "h @ panels": (0, "--", 1),
          "da @ U.T": (1, "-", 2), "da @ panels": (1, "--", 3)}

COLOURS = {"faster": plotting.COLOURS[2], "slower": plotting.COLOURS[1],
           "too close to tell": "0.75"}

# The recorded machine's numbers: from this lesson on one core of an Intel Xeon with OpenBLAS's
# SkylakeX kernels. Each is the mean of two runs of `python lessons/14_how_fast.py`.

# GFLOP/s of h @ U, by rows
RECORDED_ROWS = {1: 43, 5: 104, 10: 52, 12: 80, 20: 90, 50: 118, 200: 142, 1000: 146}

# GFLOP/s of ten rows and a matrix of 200 rows, by its columns
RECORDED_COLUMNS = {64: 80, 128: 100, 256: 119, 384: 122, 448: 123, 496: 120, 512: 50, 576: 48,
                    640: 50, 800: 48}

# Speed with panels ÷ speed without, for U and for U.T, by rows
RECORDED_PANELS = {1: (0.58, 0.67), 5: (0.81, 0.62), 10: (1.93, 3.85), 20: (1.37, 2.10),
                   50: (1.11, 1.25), 200: (0.58, 0.62)}

# Milliseconds in the waterfall: each version, then the parts of the last one
RECORDED_MS = {"FirstWritten": 56.2, "InputsAtOnce": 54.4, "WeightsAtOnce": 50.1,
               "WordsAtOnce": 35.6, "CompiledGates": 32.9, "OnePassSoftmax": 27.9,
               "OnePassUpdate": 24.6, "UInPanels": 22.8, "the library": 22.5, "products": 18.1,
               "softmax": 1.17, "update": 1.27, "gates": 0.55}

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
    print_shares(type(model).__name__, {name: each / whole for name, each in seconds.items()})


def print_shares(version, shares):
    """Print {part: its share of the version's time}."""
    print(f"of the time of {version}:")
    for name, share in shares.items():
        print(f"    {name:<10} {100 * share:5.1f}%")


def shares_of(milliseconds, parts):
    """{part: its share of the time of UInPanels, measured alone}, and the rest."""
    shares = {name: milliseconds[name] / milliseconds["UInPanels"] for name in parts}
    return shares | {"the rest": rest_of(shares)}


def print_rest(shares):
    """Print whether the rest is larger than the three kernels together."""
    kernels = sum(shares[name] for name in ("softmax", "update", "gates"))
    print("the rest is", "larger" if shares["the rest"] > kernels else "not larger",
          "than the three kernels together")


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


def print_few_rows(rates, micros, line):
    """Print a product's speed, its time and the time on the line, and what few rows show.

    Each is {rows: number}: GFLOP/s, µs and µs.
    """
    print("rows   GFLOP/s   measured   the line")
    for n in rates:
        digits = int(n < 100)
        print(f"{n:>4}   {rates[n]:7.0f}   {micros[n]:5.{digits}f} µs   {line[n]:5.{digits}f} µs")
    times = line[5] / micros[5]
    print(f"five rows are {times:.1f} times as fast as the line predicts:",
          "they seem to save the packing" if times > 1.25 else
          "no sign that they save the packing")
    longer = "longer" if micros[10] > 1.05 * micros[12] else "no longer"
    print(f"ten rows take {longer} than twelve")


def print_columns(rates):
    """Print {columns: GFLOP/s}, and whether the speed drops between 496 and 512 columns."""
    print("ten rows, columns: GFLOP/s   ", listed(rates))
    drop = rates[496] / rates[512]
    print(f"496 columns are {drop:.1f} times as fast as 512:",
          "your BLAS has small-matrix kernels" if drop > 1.5 else "no sign of small-matrix kernels")


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
    return in_turns(sides, 15, np.random.default_rng(8))


def panel_rates(entries, seconds, few):
    """Compare the speeds that `with_and_without` measured; entries: the numbers in U.

    Returns {name: {rows: GFLOP/s}}.
    """
    print("rows: speed with panels ÷ speed without")
    for n in few:
        print(f"{n:>4}:", ratio(seconds["h @ panels", n], seconds["h @ U", n]), "for U  ",
              ratio(seconds["da @ panels", n], seconds["da @ U.T", n]), "for U.T")
    return {name: {n: rate(seconds[name, n], n, entries) for n in few} for name in STYLES}


def kernels_of(lstm, cross_entropy, sgd, T, B, H, V, w):
    """{name: function} that run the kernels of a training step by themselves, with weights w."""
    z = np.zeros((T * B, V), np.float32)
    losses = np.empty(T * B)
    wanted = np.zeros(T * B, int)
    d = np.zeros(V, np.float32)
    g = np.zeros_like(w)
    a, da = np.zeros((2, B, 4 * H), np.float32)
    h, c, c_next, dh, dc, dc_before = np.zeros((6, B, H), np.float32)

    def gates():
        for _ in range(T):
            lstm(a, c, h, c_next)
            lstm_backward(h, dh, dc, a, c, c_next, da, dc_before)
    return {"softmax": lambda: cross_entropy(z, d, wanted, np.float32(1 / B), losses),
            "update": lambda: sgd(w, g, np.float32(g @ g)), "gates": gates}


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

    seconds: {version: seconds of each round}.
    """
    ms = medians(seconds)
    for before, name in zip([None, *versions], versions):
        line = f"{name:<14} {ms[name]:5.1f} ms"
        if before:
            line += saving(seconds, before, name)
        print(line, flush=True)


def print_change(seconds, before, name):
    """Print the times of two versions, and what the second one saves."""
    ms = medians(seconds)
    print(f"{before} {ms[before]:.1f} ms → {name} {ms[name]:.1f} ms"
          f"{saving(seconds, before, name)}", flush=True)


def saving(seconds, before, name):
    """What the version `name` saves, compared with the version `before`, in words."""
    ms = medians(seconds)
    saved = round(ms[before] - ms[name], 1) + 0.0                   # not -0.0
    return (f"   saves {saved:4.1f}   {ratio(seconds[name], seconds[before])} times as fast: "
            f"{verdict(seconds[name], seconds[before])}")


def print_distance(milliseconds):
    """Print how far the first and the last version are from the floor, and the best guess."""
    first, last = (milliseconds[name] / milliseconds["products"]
                   for name in ("FirstWritten", "UInPanels"))
    print(f"the first version takes {first:.1f} times as long as the floor, version 7 {last:.2f} "
          "times")
    closest = min(("twice", 2), ("three times", 3), ("five times", 5), ("ten times", 10),
                  key=lambda guess: abs(np.log(first / guess[1])))
    print(f"closest first guess: {closest[0]}")


def print_recorded():
    """Print what the lesson measured on the recorded machine."""
    floor = RECORDED_MS["products"]
    print("recorded on one core of an Intel Xeon, with OpenBLAS's SkylakeX kernels:")
    print("                    ms   ÷ the floor   times as fast as the previous version")
    before = None
    for name in list(RECORDED_MS)[:-4]:
        milliseconds = RECORDED_MS[name]
        times = f"   {before / milliseconds:13.2f}" if before else ""
        print(f"{name:<16} {milliseconds:5.1f}   {milliseconds / floor:11.2f}{times}")
        before = milliseconds
    print(f"{'the floor':<16} {floor:5.1f}   {1:11.2f}")
    shares = shares_of(RECORDED_MS, ("products", "softmax", "update", "gates"))
    print("of the time of UInPanels:",
          ", ".join(f"{name} {100 * share:.0f}%" for name, share in shares.items()))
    print("h @ U, rows: GFLOP/s         ", listed(RECORDED_ROWS))
    print("ten rows, columns: GFLOP/s   ", listed(RECORDED_COLUMNS))
    for place, matrix in enumerate(("U", "U.T")):
        print(f"rows: speed with panels ÷ without, for {matrix:<4}",
              "   ".join(f"{n}: {both[place]:.2f}" for n, both in RECORDED_PANELS.items()))


def ranked(seconds, versions):
    """Versions that follow another, from the largest gain to the smallest.

    The gain is the median over the rounds of the previous version's time ÷ this version's time.
    """
    gains = {name: np.median(seconds[before] / seconds[name])
             for before, name in zip(versions, versions[1:])}
    return sorted(gains, key=gains.get, reverse=True)


def print_ranking(seconds, versions):
    """Print the changes as a table, from the largest gain to the smallest."""
    print("change              times as fast as the previous version")
    for name in ranked(seconds, versions):
        number = versions.index(name)
        before = versions[number - 1]
        print(f"{number} {name:<17} {ratio(seconds[name], seconds[before])}", flush=True)


def rest_of(shares):
    """1 minus all shares of {name: share}."""
    return 1 - sum(shares.values())


def check_parts_add_up(whole, parts):
    """AssertionError: the parts do not add up to the whole."""
    assert np.isclose(whole, sum(parts)), f"{sum(parts)} is not {whole}"


def draw_waterfall(seconds, names, library, floor, title):
    """Bars that fall from one version to the next, and the floor as a line; → Axes.

    seconds: {name: seconds of each round}, of the versions in the order of `names`. library, floor:
    milliseconds.
    """
    milliseconds = medians({name: seconds[name] for name in names})
    taken = falls(milliseconds, names)
    verdicts = {name: verdict(seconds[name], seconds[before])
                for before, name in zip(names, names[1:])}
    _, ax = plt.subplots(figsize=(10, 5.2), layout="constrained")
    first = milliseconds[names[0]]
    ax.barh(0, first, color=plotting.COLOURS[0])
    ax.plot([first, first], [-0.4, 1.4], color="0.5", linewidth=0.8)
    label(ax, 0, first, f"{first:.1f} ms")
    for row, (name, fall) in enumerate(taken.items(), 1):
        after = milliseconds[name]
        ax.barh(row, fall, left=after, color=COLOURS[verdicts[name]])
        ax.plot([after, after], [row - 0.4, row + 1.4], color="0.5", linewidth=0.8)
        label(ax, row, max(after, after + fall), f"{-fall:+.1f} ms".replace("-", "−"))
    last = milliseconds[names[-1]]
    for row, whole in enumerate((last, library), len(names)):
        ax.barh(row, whole, color=plotting.COLOURS[0])
        label(ax, row, max(whole, floor), f"{whole:.1f} ms")
    ax.axvline(floor, color=plotting.COLOURS[5], linestyle="--",
               label=f"the floor: {floor:.1f} ms")
    for words, colour in COLOURS.items():
        if words in verdicts.values():
            ax.barh(0, 0, color=colour, label=words)
    ax.set_yticks(range(len(names) + 2), [*names, "what is left", "the library"])
    ax.invert_yaxis()
    ax.set(xlim=(0, 1.12 * max(*milliseconds.values(), library)),
           xlabel="milliseconds per training step", title=title)
    ax.legend(loc="center left")
    return ax


def label(ax, row, right, text):
    """Write a text to the right of a bar."""
    ax.annotate(text, (right, row), (4, 0), textcoords="offset points", va="center")


def draw_rates(rates, title, xlabel):
    """Curves {name: {rows: GFLOP/s}}; → Axes."""
    _, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
    for name, curve in rates.items():
        colour, line, marker = STYLES[name]
        ax.plot(curve.keys(), curve.values(), label=name, linestyle=line,
                marker=plotting.MARKERS[marker], color=plotting.COLOURS[colour])
    ax.set_xscale("log")
    ax.set_xticks(list(curve), list(curve))
    if 12 in curve:                                         # close to 10
        for n, side in ((10, "right"), (12, "left")):
            ax.get_xticklabels()[list(curve).index(n)].set_horizontalalignment(side)
    ax.minorticks_off()
    ax.set_ylim(0, None)
    ax.set(xlabel=xlabel, ylabel="GFLOP/s", title=title)
    ax.grid(alpha=0.3)
    ax.legend()
    return ax


def draw_panel_layout():
    """The product y = r M with M = U in panels of 64 columns, for 20 rows and H = 200; → Axes."""
    of_r, of_panel = (tint(plotting.COLOURS[n]) for n in (0, 2))
    _, ax = plt.subplots(figsize=(8.8, 2.6), layout="constrained")
    draw_rectangle(ax, 0, 90, 200, 20, of_r)
    for left, bottom, height in ((290, 0, 200), (1180, 90, 20)):            # M and y
        for p, start in enumerate(range(0, 800, 64)):
            draw_rectangle(ax, left + start, bottom, min(64, 800 - start), height,
                           of_panel if p == 5 else "white")
    write(ax, 245, 100, "×", "center")
    write(ax, 1135, 100, "=", "center")
    write(ax, 100, 120, "r = h (20 × 200)", "bottom")
    write(ax, 690, 210, "M = U (200 × 800): 12 panels + 32 columns", "bottom")
    write(ax, 642, -10, "M₆ (200 × 64)", "top")
    write(ax, 1580, 120, "y = r M (20 × 800)", "bottom")
    write(ax, 1532, 80, "r M₆ (20 × 64)", "top")
    ax.set(xlim=(-40, 2000), ylim=(-50, 250), aspect=1.4,
           title="r times one panel of M gives 64 columns of y")
    ax.axis("off")
    return ax


def draw_rectangle(ax, left, bottom, width, height, colour):
    """Fill a rectangle and outline it."""
    ax.add_patch(Rectangle((left, bottom), width, height, facecolor=colour, edgecolor="0.3",
                           linewidth=0.8))


def tint(colour):
    """A paler colour, on which black text can be read."""
    return 0.55 + 0.45 * np.array(to_rgb(colour))


def write(ax, x, y, text, vertical):
    """Write a text centred at x. vertical: whether y is its top, its center or its bottom."""
    ax.text(x, y, text, ha="center", va=vertical)
