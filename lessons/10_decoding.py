# %% [markdown]
# # Lesson 10: decoding
#
# A trained translator tells, for any words written so far, how probable each next word is. It does
# not tell which *sentence* to write. V words make V^T sentences of T words; the model can score any
# of them, but never all. Decoding is the search for a good one, or a fair draw.
#
# No parameter changes here, so there is hardly a gradient, and no gradient check. What can go wrong
# is bookkeeping, and it goes wrong silently: words still come out. Later you meet a beam search
# with one wrong word in its code. It mixes up what it has written, and claims probabilities that no
# model ever gave. Guess now: does BLEU find it?
#
# | from the package | what it is |
# |---|---|
# | `metrics` | BLEU |
# | `plotting` | diagrams, colours |
# | `pair_batch` | sentences as one array of ids |
# | `load_parallel` | sentence pairs of a corpus |
# | `BOS` | the id of `<s>` |
# | `EOS` | the id of `</s>` |
# | `PAD` | the id of `<pad>` |
# | `UNK` | the id of `<unk>`, which stands for every word outside of the vocabulary |
# | `beam_search` | the library's beam search, for comparison |
# | `greedy` | its greedy search |
# | `choose` | draws one word |
# | `numeric_gradient` | central differences |
# | `Translator` | a model with its two vocabularies |
# | `TranslatorTraining` | its training's settings |
# | `Adam` | the optimizer |
# | `LinearDecay` | a learning rate that falls in a straight line |
# | `Trainer` | the training loop |

# %%
print("Lesson 10: decoding", flush=True)

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from course import show
from decoding_parts import draw_all, draw_tree, with_bug
from matplotlib import pyplot as plt

from numpy_attention import metrics, plotting
from numpy_attention.data.batching import pair_batch
from numpy_attention.data.corpora import load_parallel
from numpy_attention.data.vocabulary import BOS, EOS, PAD, UNK
from numpy_attention.decoding.beam import beam_search
from numpy_attention.decoding.greedy import greedy
from numpy_attention.decoding.sampling import choose
from numpy_attention.gradcheck import numeric_gradient
from numpy_attention.runs.translator import Translator, TranslatorTraining
from numpy_attention.training.optimizers import Adam
from numpy_attention.training.schedules import LinearDecay
from numpy_attention.training.trainer import Trainer

np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## The best first word may begin a bad sentence
#
# The probability of a sentence is a product, so its logarithm is a sum. The end, `</s>`, is a word
# like the others and has its factor too:
#
#     log p(y | x) = Σ_t log p(y_t | y_1 … y_{t−1}, x)
#
# | symbol | shape | what it is |
# |---|---|---|
# | x | (S, 1) | ids of the source sentence |
# | y, its words y_t | (T,) | the sentence that is written, `</s>` last |
# | log p | (k, V) | of each next word, for each of the k prefixes that are kept |
# | totals | (k, V) | Σ log p of each prefix with each next word |
# | a | | how much length counts, from 0: not at all |
# | τ | | temperature of a draw |
#
# Here is a whole translator that you can read. It translates *the old house*, and this is all that
# it knows: after what has been written, the next words and their p. It hesitates at first; after
# *la* it is nearly sure how to go on, after *el* it is not.

# %%
words = ["<pad>", "<s>", "</s>", "<unk>",
         "el", "la", "casa", "vieja", "viejo", "hogar", "edificio"]
next_words = {
    "": {"el": 0.55, "la": 0.45},
    "el": {"viejo": 0.4, "hogar": 0.3, "edificio": 0.3},
    "la": {"casa": 0.8, "vieja": 0.2},
    "el viejo": {"hogar": 0.5, "edificio": 0.5},
    "el hogar": {"viejo": 1.0},
    "el edificio": {"viejo": 1.0},
    "la casa": {"vieja": 0.9, "</s>": 0.1},
    "la vieja": {"casa": 1.0},
}


def text(ids):
    """The words of ids (T + 1,), without <s>."""
    return " ".join(words[id] for id in ids[1:])


# %% [markdown]
# All that a search asks of a model is `start`, which reads the source, and `next`, which takes the
# word just written and gives log p of the next one, the attention weights (we need none here), and
# the state after it. A batch is several rows. The state of a `Small` translator is simply what it
# has written. Remember `take`: it picks rows of the state.


# %%
@dataclass
class Written:
    """A state that is all that was written, ids in each row."""

    rows: list

    def take(self, rows):
        return Written([self.rows[row] for row in rows])


class Small:
    """A translator whose p (V,) is a function of all that it has written."""

    def __init__(self, p):
        self.p = p

    def start(self, source, mask):
        return Written([()])

    def next(self, tokens, state):
        rows = [row + (int(token),) for row, token in zip(state.rows, tokens)]
        with np.errstate(divide="ignore"):
            log_p = np.log([self.p(row) for row in rows])
        return log_p, np.ones((len(rows), 1)), Written(rows)


# %%
def p_of_house(ids):
    p = np.zeros(len(words))
    for word, one in next_words.get(text(ids), {"</s>": 1.0}).items():
        p[words.index(word)] = one
    return p


house = Small(p_of_house)
source = pair_batch([[4]], [[4]]).source        # it does not read it


def every_sentence(p, written=(BOS,)):
    """{ids: probability} of all that can be written after what has been written."""
    found = {}
    for id in np.flatnonzero(p(written)):
        longer = written + (int(id),)
        rest = {longer: 1.0} if id == EOS else every_sentence(p, longer)
        for ids, more in rest.items():
            found[ids] = p(written)[id] * more
    return found


# %% [markdown]
# **Greedy search** writes the most probable word each time. Follow it by hand in the dictionary
# above. Then look for the most probable *sentence*.

# %%
sentences = every_sentence(p_of_house)
for ids, p in sorted(sentences.items(), key=lambda item: -item[1]):
    print(f"  {p:.3f}  {text(ids)}")
print(f"  all together {sum(sentences.values()):.3f}")
greedy_ids = (BOS,)
while greedy_ids[-1] != EOS:
    greedy_ids += (int(p_of_house(greedy_ids).argmax()),)
better = sum(p > sentences[greedy_ids] + 1e-9 for p in sentences.values())
print(f"greedy writes {text(greedy_ids)}: p = {sentences[greedy_ids]:.3f}; "
      f"{better} sentences are more probable")

# %% [markdown]
# Greedy took the largest factor each time, and the product is among the smallest. Once *el* is
# written there is no way back.
#
# ## A beam of two, by hand
#
# Keep not one prefix but two. First word: *el* with 0.55 and *la* with 0.45. Now both may go on
# with any word: 2 · V sums of log p, here products of p. Which two of them are the largest?

# %%
kept = [(BOS, words.index("el")), (BOS, words.index("la"))]
p_kept = np.array([0.55, 0.45])                                     # (k,)
p_next = np.array([p_of_house(ids) for ids in kept])                # (k, V)
products = p_kept[:, None] * p_next                                 # (k, V)
order = np.argsort(-products, axis=None)[:4]
for place in order:
    row, id = divmod(int(place), len(words))
    print(f"  {products[row, id]:.3f}  {text(kept[row])} {words[id]:<9} from row {row}")
rows = [int(place) // len(words) for place in order[:2]]
print("the two that are kept come from the rows", rows)
assert rows == [1, 0]

# %% [markdown]
# *la casa* has overtaken. And see the rows: 1, 0. The better prefix now is the child of the worse
# one before, so they have *crossed*. What the model remembers of each, its state, must cross too.
# That is what `take` is for.
#
# A prefix that writes `</s>` has *ended*. It leaves the beam and frees no place. When all places
# have ended, the best of them wins.

# %%
boxes = {
    "words": ("last words yₜ₋₁ (k,)", 0, 1.2, 0),
    "state": ("state, a row each", 0, 0, 2),
    "next": ("next", 2.3, 0.6),
    "totals": ("totals = so far + log p  (k, V)", 4.8, 0.6, 1),
    "best": ("the largest", 7.6, 0.6, 1),
    "ended": ("ended with </s>", 9.8, 1.2, 2),
    "running": ("running", 9.8, 0, 0),
}

# %%
arrows = [("words", "next"), ("state", "next"), ("next", "totals", "log p"), ("totals", "best"),
          ("best", "ended"), ("best", "running"),
          ("running", "state", "take(rows)", -0.22, True), ("best", "words", "", 0.28, True)]
show(plotting.diagram(boxes, arrows, title="A step of beam search: k prefixes, k · V ways to go on,"
                      " the largest are kept"), "10_beam_step")

# %% [markdown]
# ## Both searches, whole
#
# A `Prefix` holds its ids, the log p of each word, and the row it came from.


# %%
@dataclass(frozen=True)
class Prefix:
    """The beginning of a translation."""

    ids: tuple = (BOS,)
    terms: tuple = ()       # log p of each id but <s>
    row: int = 0            # of the state that it was written from

    @property
    def total(self):
        return sum(self.terms)

    def followed_by(self, id, log_p, row):
        return Prefix(self.ids + (int(id),), self.terms + (float(log_p),), row)

    def has_ended(self, limit):
        return self.ids[-1] == EOS or len(self.terms) == limit


# %% tags=["plain"]
def plain_greedy(model, source, never=(PAD, BOS)):
    """Translate one sentence, source (S, 1) → Prefix. The ids in never are not written."""
    state = model.start(source, source != PAD)
    limit = 2 * len(source) + 10
    prefix = Prefix()
    while not prefix.has_ended(limit):
        log_p, _, state = model.next(np.array(prefix.ids[-1:]), state)      # (1, V)
        log_p[:, never] = -np.inf
        best = log_p[0].argmax()
        prefix = prefix.followed_by(best, log_p[0, best], 0)
    return prefix


def plain_beam(model, source, width, never=(PAD, BOS), steps=None):
    """Translate one sentence, source (S, 1) → Prefixes that have ended, the most probable first.

    steps: a list that gets what was kept in each step.
    """
    state = model.start(source, source != PAD)
    limit = 2 * len(source) + 10
    running = [Prefix()]
    ended = []
    while running:
        last = np.array([prefix.ids[-1] for prefix in running])
        log_p, _, state = model.next(last, state)                           # (running, V)
        log_p[:, never] = -np.inf
        so_far = np.array([prefix.total for prefix in running])
        totals = so_far[:, None] + log_p                                    # (running, V)
        places = width - len(ended)
        kept = []
        for place in np.argsort(-totals, axis=None, kind="stable")[:places]:
            row, id = divmod(int(place), totals.shape[1])
            if np.isfinite(totals[row, id]):
                kept.append(running[row].followed_by(id, log_p[row, id], row))
        ended += [prefix for prefix in kept if prefix.has_ended(limit)]
        running = [prefix for prefix in kept if not prefix.has_ended(limit)]
        rows = [prefix.row for prefix in running]
        state = state.take(np.array(rows, int))
        if steps is not None:
            steps.append(kept)
    return sorted(ended, key=lambda prefix: -prefix.total)


# %%
for width in (1, 2, 3):
    best = plain_beam(house, source, width)[0]
    print(f"  width {width}: p = {np.exp(best.total):.3f}  {text(best.ids)}")
assert plain_greedy(house, source).ids == greedy_ids
assert text(plain_beam(house, source, 2)[0].ids) == "la casa vieja </s>"

# %% [markdown]
# ## Three laws
#
# How would you notice a mistake in these lines? Not by looking at translations. But a right search
# keeps three laws, and none of them needs a second search to compare with:
#
# 1. **A beam of width 1 is greedy.**
# 2. **What it claims is the model's own.** Tell the model to write the sentence that was found,
#    word for word. It gives each word the log p that the search has claimed.
# 3. **A beam that has room for everything finds the best of all.**
#
# The third needs a translator so small that all its sentences can be written down.


# %%
def own_terms(model, source, ids):
    """log p that the model gives each of ids (T + 1,) but <s>, when it is told to write them."""
    state = model.start(source, source != PAD)
    terms = []
    for before, id in pairwise(ids):
        log_p, _, state = model.next(np.array([before]), state)
        terms.append(float(log_p[0, id]))
    return terms


# %%
def width_1_is_greedy(search, model, source, never=(PAD, BOS)):
    return search(model, source, 1, never)[0].ids == plain_greedy(model, source, never).ids


def claims_are_the_models_own(search, model, source, width, never=(PAD, BOS)):
    return all(np.allclose(found.terms, own_terms(model, source, found.ids), atol=1e-3)
               for found in search(model, source, width, never))


def room_for_all_finds_the_best(search, model, source):
    sentences = every_sentence(model.p)
    found = search(model, source, len(sentences))[0]
    return np.isclose(np.exp(found.total), max(sentences.values()))


# %% [markdown]
# Our house is one case. To have many, we draw translators at random: three words, at most three of
# them in a sentence, and p after each prefix drawn anew. Each has 39 sentences.


# %%
def random_translator(seed):
    @lru_cache(None)
    def p(ids):
        rng = np.random.default_rng([seed, *ids])
        p = np.zeros(7)
        p[[EOS, 4, 5, 6]] = rng.dirichlet(np.ones(4))
        if len(ids) == 1:
            p[EOS] = 0              # a sentence has a word
        if len(ids) == 4:
            p[4:] = 0               # and three at most
        return p / p.sum()

    return Small(p)


randoms = [random_translator(seed) for seed in range(60)]
assert all(len(every_sentence(one.p)) == 39 for one in randoms)


# %%
def kept_laws(search):
    """For how many of the random translators a search keeps each law."""
    return [sum(width_1_is_greedy(search, one, source) for one in randoms),
            sum(claims_are_the_models_own(search, one, source, 3) for one in randoms),
            sum(room_for_all_finds_the_best(search, one, source) for one in randoms)]


print(f"right search: the laws hold in {kept_laws(plain_beam)} of {len(randoms)} translators")
assert kept_laws(plain_beam) == [len(randoms)] * 3

# %% [markdown]
# ### How bugs look
#
# Now four bugs, each in one line. `with_bug` exchanges a piece of the text of `plain_beam`. Which
# law will catch which? Two hints: the first is what a tidy hand might do to the rows; and one of
# the four passes all three laws.

# %%
bugs = {
    "rows put in order": with_bug(
        plain_beam, "[prefix.row for prefix in running]",
        "sorted(prefix.row for prefix in running)"),
    "the ended forgotten": with_bug(plain_beam, "ended += [", "ended = ["),
    "the worst first": with_bug(plain_beam, "key=lambda prefix: -prefix", "key=lambda prefix: prefix"),
    "the past not counted": with_bug(plain_beam, "so_far[:, None] + log_p", "0 * so_far[:, None] + log_p"),
}
print(f"{'the law holds in … of ' + str(len(randoms)):<27}   law 1   law 2   law 3")
for name, search in bugs.items():
    print(f"  {name:<25}" + "".join(f"{held:>8}" for held in kept_laws(search)), flush=True)
