"""Helpers of lesson 12: comparisons, the task of pairs, the recorded runs, figures."""

import numpy as np
from matplotlib import pyplot as plt

from numpy_attention import plotting
from numpy_attention.attention.key_value import KeyValueReadout
from numpy_attention.data.batching import TextBatch
from numpy_attention.training.optimizers import Adam
from numpy_attention.training.schedules import LinearDecay
from numpy_attention.training.trainer import Trainer

FIRST = 4                                                       # ids below are special
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX"  # in the order of their ids
KNOWN = 5       # pairs in a sequence
ASKED = 3       # questions in a sequence, one per pair
GUESSING = 100 * np.mean([1 / (KNOWN - known) for known in range(ASKED)])  # in %, see `Pairs`


class Pairs:
    """Batches of the task: five pairs of ten different letters; then, three times, the first
    letter of a pair, after which the model must predict the second. It then reads that letter,
    so GUESSING is to guess among the second letters of the pairs that have not been asked for.
    """

    def __init__(self, rng, batches, size=32):
        n = batches * size
        letters = rng.permuted(np.tile(np.arange(len(LETTERS)), (n, 1)), axis=1) + FIRST
        pairs = letters[:, :2 * KNOWN].reshape(n, KNOWN, 2)
        asked = rng.permuted(np.tile(np.arange(KNOWN), (n, 1)), axis=1)[:, :ASKED]
        again = np.take_along_axis(pairs, asked[:, :, None], 1)
        ids = np.concatenate([pairs, again], 1).reshape(batches, size, -1)
        targets = np.zeros_like(ids[:, :, 1:])                  # <pad>: nothing to predict
        targets[:, :, 2 * KNOWN::2] = ids[:, :, 2 * KNOWN + 1::2]
        self.inputs = ids[:, :, :-1].transpose(0, 2, 1).copy()  # (batches, T, B)
        self.targets = targets.transpose(0, 2, 1).copy()

    def order(self, rng=None):
        return range(len(self.inputs))

    def batch(self, i):
        return TextBatch(self.inputs[i], self.targets[i], np.arange(self.inputs.shape[2]))

    def carried(self, position):
        return False


def text_of(ids):
    """The letters of a column of ids."""
    return [LETTERS[number - FIRST] for number in ids]


def answered(model, batch):
    """The share of the questions in a batch of Pairs that the model answers right."""
    y, _, _ = model.forward(batch)
    asked = batch.targets > 0
    return (model.output.logits(y[asked]).argmax(1) == batch.targets[asked]).mean()


class WithoutPredict(KeyValueReadout):
    """A reader whose W_x never changes."""

    def roles_backward(self, dy, dweights, cache, grads):
        terms = super().roles_backward(dy, dweights, cache, grads)
        grads.W_x[...] = 0
        return terms


def without_predict(model):
    """An untrained model with one part, changed to predict from c alone: W_x is and stays 0."""
    reader = model.reader
    model.reader = WithoutPredict(reader.attention, np.zeros_like(reader.W_x), reader.W_r, None)
    return model


class WithoutPredictGradient(KeyValueReadout):
    """A reader that predicts from h, but passes no gradient of predict back to h."""

    def roles_backward(self, dy, dweights, cache, grads):
        terms = super().roles_backward(dy, dweights, cache, grads)
        return terms._replace(predict=np.zeros_like(terms.predict))


def train_pairs(model, seed, steps=800):
    """Train a model on Pairs."""
    rng = np.random.default_rng([seed, 1])
    Trainer(model, Adam(0.02), Pairs(rng, steps), rng=rng, average="token", clip=1.0, threads=1,
            progress=False, schedule=LinearDecay(steps, 0.05)).fit(1)


def terms_of(model, batch):
    """{role: ∂L/∂h by that role, (T · B, n)} of a trained model on a batch of Pairs."""
    grads = model.zeros_like()
    y, _, cache = model.forward(batch)
    _, dy = model.predict_and_grad(y, batch.targets, 1.0, grads)
    terms = model.reader.roles_backward(dy, None, cache.reader, grads.reader)._asdict()
    return {role: term.reshape(-1, term.shape[-1]) for role, term in terms.items()}


def readable(numbers, ids):
    """How often a linear classifier reads the letters from the numbers.   (N, n), (N,) → share

    Linear discriminant analysis (Fisher 1936): the letter whose mean is nearest, with distances
    measured in units of the spread around the means. The first half is for the means and the
    spread, and the second half is the test.
    """
    half = len(ids) // 2
    letters, place = np.unique(ids[:half], return_inverse=True)
    means = np.stack([numbers[:half][place == k].mean(0) for k in range(len(letters))])
    away = numbers[:half] - means[place]
    weights = np.linalg.solve(away.T @ away / half + 1e-9 * np.eye(len(away.T)), means.T)
    scores = numbers[half:] @ weights - (means.T * weights).sum(0) / 2
    return (letters[scores.argmax(1)] == ids[half:]).mean()


def letters_in(model, role, batch):
    """How well *before* and *now* can be read from the part of a role at the second letters."""
    h = model.read(batch)[0].astype(float)                          # (T, B, H)
    n = len(model.reader.W_x)
    start = n * model.reader.read_by[role]
    second = np.arange(1, 2 * KNOWN, 2)
    numbers = h[second, :, start:start + n].reshape(-1, n)
    return [readable(numbers, batch.inputs[second - back].ravel()) for back in (1, 0)]


def probed(models, right, batch):
    """Read *before* and *now* from the key's part of each model that has attention.

    → its name (N,), [before, now] (N, 2), its right answers (N,)
    """
    names = []
    points = []
    shares = []
    for name, of_seeds in models.items():
        if name != "tanh layer":
            names += [name] * len(of_seeds)
            points += [letters_in(model, "key", batch) for model in of_seeds]
            shares += list(right[name])
    return names, np.array(points), np.array(shares)


# ---- recorded on a Xeon, with the loops of answers 3 and 4 --------------------------------------

# A cut is named by its roles, with a bar between parts of 8.
RECORDED = {        # right answers in % after 800 steps, seeds 1 to 40
    "q k v | p": (
        8, 7, 7, 8, 8, 8, 10, 6, 6, 6, 8, 8, 7, 6, 5, 7, 7, 9, 7, 6,
        6, 7, 7, 7, 7, 8, 6, 7, 8, 8, 8, 9, 8, 7, 12, 7, 8, 8, 8, 6),
    "k v p | q": (
        13, 81, 90, 78, 9, 56, 30, 27, 39, 32, 23, 96, 66, 12, 22, 16, 12, 75, 72, 62,
        61, 64, 47, 94, 10, 7, 37, 34, 12, 8, 44, 10, 12, 14, 60, 55, 9, 53, 34, 15),
    "q p | k v": (
        54, 20, 99, 98, 76, 37, 67, 95, 7, 74, 64, 49, 92, 11, 32, 38, 10, 82, 77, 8,
        75, 71, 82, 98, 70, 92, 75, 97, 69, 32, 56, 37, 8, 44, 39, 51, 64, 45, 52, 73),
    "q k | v p": (
        92, 82, 81, 95, 22, 83, 95, 99, 94, 91, 91, 77, 96, 89, 99, 91, 80, 99, 99, 98,
        89, 86, 52, 97, 98, 94, 96, 85, 87, 93, 96, 99, 82, 99, 79, 77, 97, 94, 97, 83),
    "q k | v | p": (
        98, 96, 88, 98, 98, 84, 81, 67, 95, 86, 82, 78, 66, 97, 96, 87, 99, 88, 8, 96,
        99, 82, 86, 78, 72, 98, 75, 98, 64, 84, 80, 83, 100, 92, 72, 85, 94, 88, 81, 100),
    "q k p | v": (
        83, 90, 93, 96, 80, 97, 98, 98, 98, 94, 97, 99, 74, 89, 97, 97, 73, 100, 97, 95,
        98, 98, 99, 97, 99, 99, 96, 88, 97, 97, 77, 99, 83, 97, 67, 92, 95, 100, 99, 94),
    "q v | k p": (
        100, 99, 100, 100, 96, 100, 99, 100, 100, 35, 19, 98, 100, 100, 98, 100, 18, 100, 100, 42,
        99, 99, 100, 92, 96, 99, 99, 100, 92, 44, 100, 100, 100, 100, 100, 66, 90, 10, 99, 88),
    "q v p | k": (
        99, 65, 100, 15, 98, 98, 95, 99, 50, 99, 100, 90, 100, 100, 70, 99, 100, 100, 86, 99,
        100, 100, 96, 100, 99, 95, 13, 100, 9, 73, 100, 99, 97, 92, 10, 98, 6, 100, 96, 98),
    "one vector of 8": (
        34, 28, 33, 9, 6, 12, 56, 44, 31, 25, 23, 34, 46, 40, 7, 31, 39, 40, 15, 35,
        67, 9, 15, 33, 42, 41, 9, 20, 16, 39, 45, 18, 37, 32, 43, 31, 25, 13, 31, 36),
    "one vector of 13": (
        94, 96, 100, 99, 99, 98, 99, 98, 100, 98, 99, 99, 99, 100, 98, 100, 96, 99, 99, 98,
        99, 96, 99, 99, 100, 100, 100, 98, 97, 99, 98, 99, 100, 96, 100, 100, 99, 98, 100, 100),
}
# on an EPYC, which differs from the Xeon by at most two points in all models with seeds 1 to 4:
RECORDED["one vector of 16"] = (
    100, 100, 100, 100, 100, 99, 100, 100, 100, 100, 100, 100, 99, 100, 99, 100, 100, 100, 100, 99,
    100, 99, 100, 100, 99, 100, 100, 100, 100, 99, 100, 100, 100, 100, 99, 100, 99, 100, 99, 100)
WITHOUT = {         # one vector of 8, seeds 1 to 40
    "without predict (W_x stays 0)": (
        21, 6, 5, 7, 5, 33, 5, 5, 6, 7, 7, 8, 6, 6, 5, 6, 7, 5, 4, 23,
        15, 6, 7, 5, 6, 11, 6, 6, 6, 5, 6, 6, 6, 5, 6, 6, 5, 6, 6, 7),
    "without predict's gradient": (
        37, 32, 27, 35, 8, 38, 9, 23, 33, 6, 29, 32, 36, 30, 42, 63, 27, 44, 7, 38,
        29, 69, 19, 15, 48, 33, 40, 31, 8, 11, 17, 8, 8, 35, 16, 17, 28, 32, 32, 12),
}
LONGER = (100, 99, 100)     # one vector of 8, after 3,200 steps, seeds 1 to 3
GROUPS = {
    "key and value apart": ("q k | v p", "q v | k p", "q k p | v", "q v p | k"),
    "key and value together": ("q p | k v", "k v p | q", "q k v | p"),
    "other models": ("q k | v | p", "one vector of 8", "one vector of 13", "one vector of 16"),
}
CUTS = GROUPS["key and value apart"] + GROUPS["key and value together"]


def is_apart(name, pair):
    """Whether the cut `name` separates a pair of roles."""
    first, _ = name.split(" | ")
    return (pair[0][0] in first) != (pair[1][0] in first)


def difference(names, others):
    """The mean of some models in RECORDED minus that of others, and its standard error."""
    return mean_and_error(np.mean([RECORDED[name] for name in names], 0)
                          - np.mean([RECORDED[name] for name in others], 0))


def mean_and_error(by_seed):
    """The mean of one difference per seed, and its standard error."""
    return by_seed.mean(), by_seed.std(ddof=1) / len(by_seed) ** 0.5


def print_means():
    """Print the mean and the median of each model in RECORDED."""
    print(f"\n{'right answers, forty seeds':<28}  mean   median")
    for heading, names in GROUPS.items():
        print(heading)
        for name in names:
            shares = RECORDED[name]
            print(f"  {name:<24} {np.mean(shares):5.1f}%  {np.median(shares):5.1f}%")


def print_differences():
    """Print differences between the means of models in RECORDED."""
    apart, together, _ = GROUPS.values()
    rows = {
        "key and value apart minus together": (apart, together),
        "three parts minus q k | v p": (["q k | v | p"], ["q k | v p"]),
        "q k v | p minus one vector of 8": (["q k v | p"], ["one vector of 8"]),
        "one vector of 13 minus the best cut, q k p | v": (["one vector of 13"], ["q k p | v"]),
    }
    for pair in (("query", "predict"), ("query", "key")):
        separate = [name for name in apart if is_apart(name, pair)]
        rows[f"{' and '.join(pair)} apart minus together*"] = (
            separate, [name for name in apart if name not in separate])
    print("\ndifferences of means in points, ± standard error")
    for label, models in rows.items():
        mean, error = difference(*models)
        print(f"  {label:<48} {mean:+5.1f} ± {error:.1f}")
    print("  * in the four cuts with key and value apart")


def print_predict():
    """Print what one vector of 8 learns without predict, and how much less that is."""
    whole = np.array(RECORDED["one vector of 8"])
    print(f"\nrecorded: one vector of 8, forty seeds: mean {whole.mean():.1f}%")
    for label, shares in WITHOUT.items():
        mean, error = mean_and_error(shares - whole)
        print(f"  {label:<30} {np.mean(shares):4.1f}%   difference {mean:+5.1f} ± {error:.1f}")


# ---- figures of Pairs ----------------------------------------------------------------------------

PART_COLOURS = ["0.85", "0.72", "0.92"]     # greys of a first, second, third part
NOTES = {"q k | v p": "the paper's", "q k | v | p": "the paper's"}
STRIP = 31      # where strips of parts start
INITIALS = "q query, k key,\nv value, p predict"


def parts_of(name):
    """[(initials of the roles of a part, how many numbers it has)] for a name in RECORDED."""
    if " | " in name:
        return [(part, 8) for part in name.split(" | ")]
    return [("q k v p", int(name.removeprefix("one vector of ")))]


def check_verdict():
    """Check what the figure's title and the lesson say about the means."""
    mean = {name: np.mean(shares) for name, shares in RECORDED.items()}
    apart, together, _ = ([mean[name] for name in names] for names in GROUPS.values())
    assert min(apart) > 80 > 65 > max(together)
    assert max(apart) < mean["one vector of 13"]
    gain, error = difference(CUTS[:2], CUTS[2:4])       # query and predict
    assert abs(gain) < error
    assert mean["q k | v | p"] < mean["q k | v p"]
    assert max(apart) == mean["q k p | v"]


def draw_recorded():
    """Plot RECORDED, one row per model, with a strip that shows who reads which part; → Figure."""
    check_verdict()
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5.6), layout="constrained",
                                         sharey=True, width_ratios=(5, 6))
    figure.suptitle("Parts of 8 do best with key and value apart, "
                    "but one vector of 13 needs no cut")
    of_seed = {"color": plotting.COLOURS[0], "alpha": 0.35}
    of_median = {"color": plotting.COLOURS[1], "markersize": 16, "markeredgewidth": 3,
                 "zorder": 2.5}
    of_mean = {"color": "black", "markersize": 8, "markeredgecolor": "white", "zorder": 3}
    spread = np.random.default_rng(0).uniform(-0.25, 0.25, 40)
    row = 0
    for heading, names in GROUPS.items():
        left.text(0, row, heading, weight="bold", va="center")
        for name in names:
            row += 1
            left.text(0, row, "" if "|" in name else name, va="center")
            end = _draw_parts(left, row, parts_of(name))
            left.text(end + 1, row, NOTES.get(name, ""), va="center", color="0.4")
            right.plot(RECORDED[name], row + spread, "o", **of_seed)
            right.plot(np.median(RECORDED[name]), row, "|", **of_median)
            right.plot(np.mean(RECORDED[name]), row, "D", **of_mean)
        row += 1.5
    left.set(xlim=(0, 70), ylim=(row - 0.8, -0.6))
    left.set_axis_off()
    left.text(STRIP, -0.2, INITIALS, va="center")
    right.plot([], [], "o", **of_seed, label="one seed")
    right.plot([], [], "D", **of_mean, label="mean")
    right.plot([], [], "|", **of_median, label="median")
    right.axvline(GUESSING, color="grey", linestyle="--", label="guessing", zorder=0)
    right.set(xlabel="right answers in %, after 800 steps", xlim=(0, 104))
    right.tick_params(left=False, labelleft=False)
    right.legend(loc="lower left", ncols=4, bbox_to_anchor=(0, 1))
    return figure


def now_needed(names):
    """Whether query or value reads the key's part, so that it must show *now*.   → (N,)"""
    return ~np.isin(names, ["q v | k p", "q v p | k"])


def draw_readable(points, shares, names):
    """Plot right answers against how well *before* and *now* can be read from the key's part.

    points: [before, now] of each model (N, 2). shares: its right answers (N,). names: its name.
    → Figure
    """
    figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.8), layout="constrained", sharey=True)
    worst = np.array(names) == "q k v | p"
    needed = now_needed(names)
    groups = {"other models": needed & ~worst, "q v | k p and q v p | k": ~needed,
              "q k v | p": worst}
    titles = {"before": "The more of “before”, the more right answers",
              "now": "“Now” alone is not enough"}
    for ax, read, (letter, title) in zip(axes, points.T, titles.items()):
        for (label, of), colour in zip(groups.items(), plotting.COLOURS):
            ax.plot(100 * read[of], 100 * shares[of], "o", color=colour, alpha=0.6, label=label)
        ax.set(xlabel=f"share of “{letter}” that can be read from the key's part, in %",
               title=title, xlim=(-3, 103), ylim=(-3, 103))
        ax.grid(alpha=0.3)
        crowd = (np.minimum(read, shares) > 0.975).sum()
        ax.annotate(f"{crowd} models", (99.5, 98), (90, 62), ha="center",
                    arrowprops={"arrowstyle": "->", "color": "0.4"})
    axes[0].set(ylabel="right answers in %, one dot per model")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def _draw_parts(ax, row, parts):
    """Draw a state as a strip: one cell per part, as wide as it has numbers; → its right end."""
    start = STRIP
    for (roles, size), colour in zip(parts, PART_COLOURS):
        ax.barh(row, size, left=start, height=0.7, color=colour, edgecolor="white")
        ax.text(start + size / 2, row, roles, ha="center", va="center", fontsize=8, weight="bold")
        start += size
    return start


# ---- WikiText-2: results/wikitext-*.jsonl --------------------------------------------------------

WIKITEXT = {    # test perplexity of the seeds 0, 1, 2
    "LSTM": (214.2, 193.2, 195.4),
    "tanh layer": (235.5, 228.2, 220.5),
    "one vector": (231.6, 220.6, 229.9),
    "two parts": (231.6, 217.8, 216.4),
    "three parts": (220.2, 203.0, 209.6),
    "4-gram": (213.7, 198.0, 227.7),
}
STATES = {"LSTM": 103, "tanh layer": 103, "one vector": 102, "two parts": 200, "three parts": 291,
          "4-gram": 291}


def print_wikitext():
    """Print WIKITEXT, one row per model."""
    print("\ntest perplexity, seeds 0, 1 and 2 (numpy-attention reproduce wikitext-…)")
    print(f"  {'':<13} state  {'perplexity':<21} mean")
    for name, values in WIKITEXT.items():
        print(f"  {name:<13} {STATES[name]:>5}  {', '.join(f'{one:.1f}' for one in values):<20} "
              f"{np.mean(values):.1f}")


# ---- comparisons with the library ----------------------------------------------------------------


def check_same(plain, package, h):
    """Compare a plain reader of one text with the library's of a batch: h (T, B, H).

    AssertionError: y, dh or the gradient of a parameter differs.
    """
    rng = np.random.default_rng(9)
    theirs = package.zeros_like()
    y, _, _, cache = package.forward(h, np.ones(h.shape[:2], bool))
    dy = rng.standard_normal(y.shape)
    dh = package.backward(dy, None, cache, theirs)
    ours = plain.zeros_like()
    for row in range(h.shape[1]):
        mine, alpha, kept = plain.forward(h[:, row])
        _check_equal("y", mine, y[:, row])
        our_dh = plain.backward(dy[:, row], np.zeros_like(alpha), kept, ours)
        _check_equal("dh", our_dh, dh[:, row])
    known = {name.split(".")[-1]: array for name, array in theirs.named_parameters()}
    known["w"] = known.pop("v")                                 # the library calls our w v
    for name, array in ours.named_parameters():
        _check_equal(name, array, known[name])


def _check_equal(name, mine, theirs):
    assert np.allclose(mine, theirs, rtol=1e-10, atol=1e-12), f"{name} differs"
