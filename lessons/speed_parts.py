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

GAP = 30            # between the matrices in `draw_product`, in rows or columns

# The Xeon's numbers: recorded by this lesson on one core of an Intel Xeon with OpenBLAS's SkylakeX
# kernels. Each is the mean of two runs of `python lessons/14_how_fast.py`.

# Percent of a training step, by `print_profile`
PROFILES_ON_XEON = {
    "FirstWritten": {"forward": 10, "predict": 58, "backward": 23, "rows of E": 2, "update": 7},
    "WordsAtOnce": {"forward": 13, "predict": 50, "backward": 22, "rows of E": 3, "update": 12},
}

# GFLOP/s of h @ U, by rows
ROWS_ON_XEON = {1: 43, 5: 104, 10: 52, 12: 80, 20: 90, 50: 118, 200: 142, 1000: 146}

# GFLOP/s of ten rows and a matrix of 200 rows, by its columns
COLUMNS_ON_XEON = {64: 80, 128: 100, 256: 119, 384: 122, 448: 123, 496: 120, 512: 50, 576: 48,
                   640: 50, 800: 48}

# Speed with panels ÷ speed without, for U and for U.T, by rows
PANELS_ON_XEON = {1: (0.58, 0.67), 5: (0.81, 0.62), 10: (1.93, 3.85), 20: (1.37, 2.10),
                  50: (1.11, 1.25), 200: (0.58, 0.62)}

# Milliseconds in the waterfall: each version, then the parts of the last one
MS_ON_XEON = {"FirstWritten": 56.2, "InputsAtOnce": 54.4, "WeightsAtOnce": 50.1,
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
    version = type(model).__name__
    recorded = {name: each / 100 for name, each in PROFILES_ON_XEON[version].items()}
    print_shares(version, {name: each / whole for name, each in seconds.items()}, recorded)


def print_shares(version, shares, recorded):
    """Print {part: its share of the version's time}, and the recorded shares in round brackets."""
    print(f"of the time of {version}:")
    for name, share in shares.items():
        print(f"    {name:<10} {100 * share:5.1f}%   (Xeon {100 * recorded[name]:.0f}%)")


def shares_of(milliseconds, parts):
    """{part: its share of the time of UInPanels, measured alone}, and the rest."""
    shares = {name: milliseconds[name] / milliseconds["UInPanels"] for name in parts}
    return shares | {"the rest": rest_of(shares)}


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


def line_through(rates, entries):
    """{rows: GFLOP/s} → µs per row, µs of packing, by the times of 20 and 1,000 rows."""
    time_of = {n: 2 * n * entries / rates[n] / 1e3 for n in (20, 1000)}
    of_row = (time_of[1000] - time_of[20]) / (1000 - 20)
    return of_row, time_of[20] - 20 * of_row


def predicted(rates, entries, n):
    """GFLOP/s of n rows, as `line_through` predicts."""
    of_row, packing = line_through(rates, entries)
    return 2 * n * entries / (packing + n * of_row) / 1e3


def print_line(rates, entries):
    """Print the line through the times of 20 and 1,000 rows, and the speeds that it predicts."""
    of_row, packing = line_through(rates, entries)
    xeon = ROWS_ON_XEON
    print(f"a row takes {of_row:.2f} µs, packing {packing:.0f} µs "
          "(Xeon {:.2f}, {:.0f})".format(*line_through(xeon, entries)))
    for n in (200, 50, 12, 10, 5):
        print(f"{n:>3} rows: the line predicts {predicted(rates, entries, n):.0f} GFLOP/s, "
              f"measured {rates[n]:.0f}   (Xeon {predicted(xeon, entries, n):.0f}, {xeon[n]})")
    for n in (10, 12):
        of_all, on_xeon = (2 * n * entries / each[n] / 1e3 for each in (rates, xeon))
        print(f"{n} rows take {of_all:.0f} µs in all (Xeon {on_xeon:.0f})")
    times, on_xeon = (each[5] / predicted(each, entries, 5) for each in (rates, xeon))
    print(f"five rows are {times:.1f} times as fast as predicted (Xeon {on_xeon:.1f}):",
          "they seem to save the packing" if times > 1.25 else
          "no sign that they save the packing")


def print_columns(rates):
    """Print {columns: GFLOP/s}, and whether the speed drops between 496 and 512 columns."""
    print("ten rows, columns: GFLOP/s   ", listed(rates))
    print("                     (Xeon)  ", listed(COLUMNS_ON_XEON))
    drop, on_xeon = (each[496] / each[512] for each in (rates, COLUMNS_ON_XEON))
    print(f"496 columns are {drop:.1f} times as fast as 512 (Xeon {on_xeon:.1f}):",
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
        of_U, of_U_T = PANELS_ON_XEON[n]
        print(f"{n:>4}:", ratio(seconds["h @ panels", n], seconds["h @ U", n]),
              f"for U (Xeon {of_U:.2f})  ",
              ratio(seconds["da @ panels", n], seconds["da @ U.T", n]),
              f"for U.T (Xeon {of_U_T:.2f})")
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

    seconds: {version: seconds of each round}. The numbers in round brackets are the Xeon's.
    """
    ms = medians(seconds)
    for before, name in zip([None, *versions], versions):
        line = f"{name:<14} {ms[name]:5.1f} ms (Xeon {MS_ON_XEON[name]})"
        if before:
            saved = round(ms[before] - ms[name], 1) + 0.0           # not -0.0
            xeon = round(MS_ON_XEON[before] - MS_ON_XEON[name], 1) + 0.0
            line += (f"   saves {saved:4.1f} (Xeon {xeon})   "
                     f"{ratio(seconds[name], seconds[before])} times as fast: "
                     f"{verdict(seconds[name], seconds[before])}")
        print(line, flush=True)


def print_distance(milliseconds):
    """Print how far the first version and the library are from the floor, and the best guess."""
    own, xeon = ([each[name] / each["products"] for name in ("FirstWritten", "the library")]
                 for each in (milliseconds, MS_ON_XEON))
    print(f"the first version takes {own[0]:.1f} times as long as the floor, the library's version "
          f"{own[1]:.2f} times (Xeon {xeon[0]:.1f}, {xeon[1]:.2f})")
    closest = min(("twice", 2), ("three times", 3), ("five times", 5), ("ten times", 10),
                  key=lambda guess: abs(np.log(own[0] / guess[1])))
    print(f"closest first guess: {closest[0]}")


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
        print(f"{number} {name:<17} {ratio(seconds[name], seconds[before])}   "
              f"(Xeon {MS_ON_XEON[before] / MS_ON_XEON[name]:.2f})", flush=True)


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


def draw_rates(rates, title, xlabel):
    """Curves {name: {rows: GFLOP/s}}; → Axes."""
    _, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
    for name, curve in rates.items():
        colour, line, marker = STYLES[name]
        ax.plot(curve.keys(), curve.values(), label=name, linestyle=line,
                marker=plotting.MARKERS[marker], color=plotting.COLOURS[colour])
    ax.set_xscale("log")
    labels = [f"\n{n}" if n == 12 else n for n in curve]         # 10 and 12 are close
    ax.set_xticks(list(curve), labels)
    ax.minorticks_off()
    ax.set_ylim(0, None)
    ax.set(xlabel=xlabel, ylabel="GFLOP/s", title=title)
    ax.grid(alpha=0.3)
    ax.legend()
    return ax


def draw_panel_layout():
    """The two products of the loop in panels of 64 columns, for 20 rows and H = 200; → Axes."""
    first, second, result = (tint(plotting.COLOURS[n]) for n in (0, 4, 2))
    _, ax = plt.subplots(figsize=(8, 5.2), layout="constrained")
    draw_product(ax, 0, 600, (200, 800), [first], {5}, result)
    write(ax, 400, 845, "W = U (200 × 800): 12 panels + 32 columns", "bottom")
    write(ax, 352, 730, "Wₚ", "center")
    write(ax, -130, 565, "x = h (20 × 200)", "top")
    write(ax, 352, 565, "x Wₚ", "top")
    draw_product(ax, 930, 0, (800, 200), [first, second], {0, 1, 2}, result)
    write(ax, 1030, 845, "W = Uᵀ (800 × 200):\n3 panels + 8 columns", "bottom")
    write(ax, 1026, 630, "W′", "center")
    write(ax, 1026, 230, "W″", "center")
    write(ax, 500, 15, "x = da (20 × 800)", "bottom")
    write(ax, 300, -35, "x′", "top")
    write(ax, 700, -35, "x″", "top")
    write(ax, 1030, -35, "x′ W′ + x″ W″", "top")
    ax.set(xlim=(-240, 1190), ylim=(-85, 945), aspect="equal",
           title="A panel of W gives the columns of x W below it; a tall panel is cut in two")
    ax.axis("off")
    return ax


def draw_product(ax, left, top, shape, colours, coloured, result):
    """Draw x, W and x W to scale: x has 20 rows, W is above x W and cut into panels.

    left, top: the upper left corner of x W. shape: of W. colours: one for each part of x.
    coloured: the numbers of the panels in these colours; the others are white. result: the colour
    of their columns of x W.
    """
    inner, columns = shape
    part = inner // len(colours)
    for n, colour in enumerate(colours):
        draw_rectangle(ax, left - GAP - inner + n * part, top - 20, part, 20, colour)
    for p, start in enumerate(range(0, columns, 64)):
        x = left + start
        width = min(64, columns - start)
        draw_rectangle(ax, x, top + GAP, width, inner, "white")
        draw_rectangle(ax, x, top - 20, width, 20, result if p in coloured else "white")
        for n, colour in enumerate(colours if p in coloured else ()):
            bottom = top + GAP + inner - (n + 1) * part
            draw_rectangle(ax, x, bottom, width, part, colour)


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
