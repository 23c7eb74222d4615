# %% [markdown]
# # Lesson 10: decoding
#
# **You will be able to** write greedy and beam search, and test them with laws. Part B adds
# sampling.
#
# **Needs:** lesson 06. **Time:** 55 minutes to read, about 15 of them for the optional part B;
# about a minute to run.
#
# A trained translator gives you the probability of each possible next word, given the words written
# so far. Which *sentence* should it write? With a vocabulary of V words there are V^T sentences of
# T words, too many to score. Choosing one of them is called decoding: you can search for a probable
# sentence, or you can sample one.
#
# Decoding changes no parameters, so it needs no gradient check. But its bookkeeping can go wrong,
# and you may not notice, because a search with a bug still writes sentences. So we will plant bugs
# in a beam search, each in one line of code. BLEU, from 0 to 100, measures how many runs of one to
# four words the translations share with those of the corpus. Guess now: does BLEU find such a bug?

# %%
print("Lesson 10: decoding", flush=True)

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from course import show, with_bug
from decoding_parts import clause_translator, draw_all, draw_cuts, draw_tree

from numpy_attention import metrics, plotting
from numpy_attention.data.batching import pair_batch
from numpy_attention.data.vocabulary import BOS, EOS, PAD, UNK
from numpy_attention.decoding.beam import beam_search
from numpy_attention.decoding.greedy import greedy
from numpy_attention.gradcheck import numeric_gradient

np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## The best first word may begin a bad sentence
#
# Why not simply write the most probable word at each step? To answer this, we need the probability
# of a whole sentence. It is a product with one factor per word, so its logarithm is a sum. The end
# of the sentence, `</s>`, counts as a word and has its own factor:
#
#     log p(y | x) = Σ_t log p(y_t | y_1 … y_{t−1}, x)
#
# A *prefix* is the beginning of a translation. A prefix that has *ended*, usually with `</s>`, is a
# **hypothesis**, and one that has not is *running*. The translation in the corpus is the
# **reference translation**, or the reference for short.
#
# | symbol | shape | what it is |
# |---|---|---|
# | x | (S, 1) | ids of the source sentence |
# | y, its words y_t | (T,) | the sentence written, with `</s>` at its end |
# | `width` | | **beam width**: how many prefixes beam search keeps (k or B in papers) |
# | n | | how many of these have not ended |
# | V | | size of the vocabulary |
# | log p | (n, V) | log-probability of each next word after each prefix; l for short |
# | totals | (n, V) | log p of each prefix + log p of each next word |
#
# We begin with a translator so small that you can read all of it: a dictionary that translates *the
# old house* into Spanish. For each prefix, it gives the possible next words and their p. (After a
# prefix that is not listed, `</s>` has p = 1.) The first word, *el* or *la*, is nearly a coin toss.
# After *la*, the model is fairly sure how to go on. After *el*, it is not.

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


# %%
def p_of_house(ids):
    p = np.zeros(len(words))
    for word, one in next_words.get(text(ids), {"</s>": 1.0}).items():
        p[words.index(word)] = one
    return p


def every_sentence(p, written=(BOS,)):
    """{ids: probability} of all sentences that begin with `written`."""
    found = {}
    for id in np.flatnonzero(p(written)):
        longer = written + (int(id),)
        rest = {longer: 1.0} if id == EOS else every_sentence(p, longer)
        for ids, more in rest.items():
            found[ids] = p(written)[id] * more
    return found


# %% [markdown]
# **Greedy search** writes the most probable word at each step. Follow it through the dictionary:
# which sentence does it write? (At a tie, take the word that is listed first.) Is that the most
# probable *sentence*? The next cell lists all sentences, the most probable first.

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
# Greedy took the largest factor at each step, but did not get the largest product: the word *el*
# looked best at first, and once it was written, there was no way back.
#
# ## A beam of two, by hand
#
# How can a search leave itself a way back? **Beam search** keeps several prefixes instead of one:
# it has `width` *slots*, each with room for one prefix. With a width of two, the first step keeps
# *el* with 0.55 (row 0) and *la* with 0.45 (row 1). Each can be followed by any of the V words,
# which gives 2 · V longer prefixes, each with p of the prefix times p of the next word. Which two
# products are the largest?

# %%
kept = [(BOS, words.index("el")), (BOS, words.index("la"))]
p_kept = np.array([0.55, 0.45])                                     # (width,)
p_next = np.array([p_of_house(ids) for ids in kept])                # (width, V)
products = p_kept[:, None] * p_next                                 # (width, V)
order = np.argsort(-products, axis=None)[:4]
for place in order:
    row, id = divmod(int(place), len(words))
    print(f"  {products[row, id]:.3f}  {text(kept[row])} {words[id]:<9} from row {row}")
rows = [int(place) // len(words) for place in order[:2]]
print("the two that are kept come from rows", rows)

# %% [markdown]
# *la* was behind *el*, but now *la casa* leads. The new row 0, *la casa*, comes from the old row 1,
# and the new row 1, *el viejo*, comes from the old row 0: the prefixes have *crossed*. The model
# has one state per row, so the states must cross, too.
#
# > **Exercise.** Put the states into the new order, for several sentences at once:
# > `numpy-attention exercise start reorder-states`.
#
# A prefix that writes `</s>` has ended. It is set aside, and no other prefix gets its slot: once
# one of five prefixes has ended, the next step keeps only four. When all five have ended, the most
# probable one wins. (Some libraries, such as fairseq, give the slot to another prefix: question 1.)
#
# The diagram shows one step. Dashed arrows lead to the next. `next` asks the model for log p of
# each next word, and `take` puts the states into the new order:

# %%
boxes = {
    "before": ("last words yₜ₋₁  (n,)\ntheir states, one row each", 0, 0.6, 0),
    "next": ("next: log p", 2.3, 0.6),
    "totals": ("totals = so far + log p\n(n, V)", 4.2, 0.6, 1),
    "best": ("the largest, as many\nas slots are left", 6.4, 0.6, 1),
    "ended": ("ended with </s>:\nits slot is gone", 8.5, 0.6, 2),
    "running": ("running", 6.4, -0.8, 0),
    "take": ("take(rows): the states of\nthe rows they come from", 2.9, -0.8, 2),
}

# %%
arrows = [("before", "next"), ("next", "totals"), ("totals", "best"), ("best", "ended"),
          ("best", "running"), ("running", "take", "", 0, True), ("take", "before", "", 0, True)]
show(plotting.diagram(boxes, arrows, title="One step of beam search: extend every prefix by "
                      "every word, keep the best"), "10_beam_step")

# %% [markdown]
# ## Both searches in full
#
# In code, a search calls two methods of a model. `start` reads the source and returns the first
# state. `next` takes the last word of each prefix and the state, which has one row per prefix. It
# returns log p of every possible next word, the attention weights (which we do not need), and the
# new state. The state's own method `take` puts its rows into the new order. The class `Small` turns
# a function like `p_of_house` into such a model. Each row of its state is just the list of all
# words written so far.
#
# > **Exercise.** Write a beam search yourself, then compare it with the one below:
# > `numpy-attention exercise start beam`.


# %%
@dataclass
class Written:
    """A state that holds all that was written: the ids of one prefix per row."""

    rows: list

    def take(self, rows):
        return Written([self.rows[row] for row in rows])


class Small:
    """A translator whose next-word probabilities p (V,) are a function of all words so far."""

    def __init__(self, p):
        self.p = p

    def start(self, source, mask):
        return Written([()])

    def next(self, tokens, state):
        rows = [row + (int(token),) for row, token in zip(state.rows, tokens)]
        with np.errstate(divide="ignore"):
            log_p = np.log([self.p(row) for row in rows])
        return log_p, np.ones((len(rows), 1)), Written(rows)


# %% [markdown]
# In the step by hand, `take` swaps the states, so *casa* and *viejo* meet the right ones:

# %%
house = Small(p_of_house)
source = pair_batch([[4]], [[4]]).source        # any source (S, 1): this model does not read it
state = Written([(BOS,), (BOS,)])
_, _, state = house.next([words.index("el"), words.index("la")], state)
print("states after", [text(row) for row in state.rows])
state = state.take([1, 0])
print("take([1, 0]):", [text(row) for row in state.rows])
log_p, _, _ = house.next([words.index("casa"), words.index("viejo")], state)
for ids, p in zip(("la casa", "el viejo"), np.exp(log_p)):
    print(f"  p after {ids}:", ", ".join(f"{words[id]} {p[id]:.2f}" for id in np.flatnonzero(p)))

# %% [markdown]
# A `Prefix` holds its ids, the log p of each word, and the row of the prefix that it extends. A
# prefix that reaches a length limit counts as ended, even without `</s>`, because otherwise a
# search might never stop.


# %%
@dataclass(frozen=True)
class Prefix:
    """The beginning of a translation."""

    ids: tuple = (BOS,)
    terms: tuple = ()       # log p of each id except <s>
    row: int = 0            # of the prefix that it extends, and of that prefix's state

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

    steps: a list that receives the prefixes kept in each step.
    """
    state = model.start(source, source != PAD)
    limit = 2 * len(source) + 10
    running = [Prefix()]
    ended = []
    while running:
        last = np.array([prefix.ids[-1] for prefix in running])
        log_p, _, state = model.next(last, state)                           # (n, V)
        log_p[:, never] = -np.inf
        so_far = np.array([prefix.total for prefix in running])
        totals = so_far[:, None] + log_p                                    # (n, V)
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
assert rows == [1, 0]                           # in the step by hand
assert plain_greedy(house, source).ids == greedy_ids
assert text(plain_beam(house, source, 2)[0].ids) == "la casa vieja </s>"

# %% [markdown]
# ## Three laws
#
# One more slot was enough to find *la casa vieja*. But how would you notice a mistake in this code?
# Not by reading translations, because a wrong search can write good sentences, too. A correct
# search, however, obeys three laws that a program can test:
#
# 1. **A beam of width 1 is greedy search.** Both write the same sentence.
# 2. **The claims of a search are the model's own.** A search returns a sentence and claims a log p
#    for each of its words. Feed this sentence to the model, word by word: the model must give each
#    word the log p that the search claimed.
# 3. **A beam with room for everything finds the best sentence.** If the beam has a slot for every
#    possible sentence, it drops no prefix, so it cannot miss the most probable sentence.


# %%
def own_terms(model, source, ids):
    """log p that the model gives each of ids (T + 1,) except <s>, when forced to write them."""
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
# Law 3 can be tested only on translators so small that we can list all their sentences, so we draw
# 60 of them at random. Each knows three words, writes sentences of one to three words, and has a
# new random p after each prefix, so it can write 3 + 9 + 27 = 39 sentences. For law 2, the width is
# three, so that rows can cross.


# %%
def random_translator(seed, known=3, longest=3):
    @lru_cache(None)
    def p(ids):
        rng = np.random.default_rng([seed, *ids])
        p = np.zeros(4 + known)
        p[[EOS, *range(4, 4 + known)]] = rng.dirichlet(np.ones(1 + known))
        if len(ids) == 1:
            p[EOS] = 0              # a sentence has at least one word
        if len(ids) == 1 + longest:
            p[4:] = 0               # and not more than longest
        return p / p.sum()

    return Small(p)


randoms = [random_translator(seed) for seed in range(60)]
assert all(len(every_sentence(one.p)) == 39 for one in randoms)


# %%
def kept_laws(search):
    """For how many of the random translators a search obeys each law."""
    first = sum(width_1_is_greedy(search, one, source) for one in randoms)
    second = sum(claims_are_the_models_own(search, one, source, 3) for one in randoms)
    third = sum(bool(room_for_all_finds_the_best(search, one, source)) for one in randoms)
    return [first, second, third]


print(f"of {len(randoms)} translators, the correct search obeys laws 1, 2 and 3 in "
      f"{kept_laws(plain_beam)}")
assert kept_laws(plain_beam) == [len(randoms)] * 3

# %% [markdown]
# ### Which law catches which bug?
#
# Here are four bugs, each in one line of `plain_beam`: `with_bug` replaces the first piece of code
# by the second. Which law will catch which bug?

# %%
bugs = {
    "rows sorted": with_bug(
        plain_beam, "[prefix.row for prefix in running]",
        "sorted(prefix.row for prefix in running)"),
    "endings lost": with_bug(plain_beam, "ended += [", "ended = ["),
    "worst first": with_bug(plain_beam, "-prefix.total", "prefix.total"),
    "last word only": with_bug(
        plain_beam, "so_far[:, None] + log_p", "0 * so_far[:, None] + log_p"),
}

# %%
print(f"obeyed in how many of {len(randoms)}:{'law 1':>9}{'law 2':>8}{'law 3':>8}")
held = {}
for name, search in bugs.items():
    held[name] = kept_laws(search)
    print(f"  {name:<24}" + "".join(f"{number:>8}" for number in held[name]), flush=True)

# %% [markdown]
# No law catches everything. All four bugs obey law 1, because with one slot there is nothing to mix
# up. *Rows sorted* breaks the other two laws, but only in some of the 60 translators, so a law
# needs many cases. *Endings lost* and *worst first* make true claims, but about the wrong
# sentences, so only law 3 catches them. *Last word only* ranks prefixes by their last word,
# whatever came before. Even law 3 cannot notice: if there is room for everything, no prefix is
# dropped, so the ranking does not matter. Question 2 asks for a law that can.
#
# Does law 2 also lead you to the faulty line? Let *rows sorted* translate *the old house* with a
# width of two, and compare each p that it claims with the model's own:


# %%
def report_claims(search, model, width):
    """Print the p claimed for each of the winner's words, and the model's own p."""
    found = search(model, source, width)[0]
    own_of_each = own_terms(model, source, found.ids)
    for id, claimed, own in zip(found.ids[1:], found.terms, own_of_each):
        mark = "" if np.isclose(claimed, own) else "   a false claim"
        print(f"  {words[id]:<6} claimed {np.exp(claimed):.2f}, model {np.exp(own):.2f}{mark}")


report_claims(bugs["rows sorted"], house, 2)
assert [name for name in held if min(held[name]) == len(randoms)] == ["last word only"]

# %% [markdown]
# The claims for *la* and *casa* are true, but the claim for `</s>` is false, so the third call of
# `next` did not predict what follows *la casa*. `next` gets a word and a state. The word comes from
# the prefix itself, so it was *casa*, and the state must be wrong. The lines with `rows` and `take`
# choose the state: law 2 has led us to the bug. By hand we found the rows [1, 0]. The bug sorts
# them into [0, 1], which pairs *casa* with the state of *el*. So the model predicted what follows
# *el casa*, a prefix that the search never wrote. The dictionary does not list it, so `</s>` got
# the probability 1.
#
# ### Is a wider beam always at least as good?
#
# By law 3, a beam with room for everything is at least as good as any other. But what if we add
# just one slot? How often will the wider beam find a *less* probable sentence? Guess, then count
# for widths from 1 to 6 with the 60 translators above. The second line does the same for 60 larger
# ones, which know eight words and write up to five.

# %%
larger = [random_translator(seed, known=8, longest=5) for seed in range(60)]
for name, translators in (("the 60 above", randoms), ("60 larger ones", larger)):
    totals = np.array([[plain_beam(one, source, width)[0].total for width in range(1, 7)]
                       for one in translators])
    worse = np.diff(totals) < -1e-9                                 # (translators, 5)
    print(f"{name}: one more slot is worse in {worse.sum()} of {worse.size} cases")

# %% [markdown]
# The first 300 cases had no exception, and yet they proved nothing. How can a wider beam be worse?
# In the next step, an extension of its extra prefix can push out the very prefix through which the
# narrower beam reaches its better sentence. That is why law 3 asks for room for *everything*.
#
# ## A trained translator to search with
#
# We train RNNsearch (lesson 06) for three epochs on clauses of the Bible with up to seven tokens,
# from English to Spanish. We test only on clauses in which the model knows every word, English and
# Spanish, because no search can make up for unknown words: in the vocabulary, `<unk>` represents
# all of them, and no search may write it. First we check that our two searches find the same
# sentences as the library's, word for word.

# %% tags=["training"]
SEED = 1
translator, test = clause_translator(SEED)
model = translator.model
gold = [pair.target for pair in test]
batch = translator.batches(test).batch(range(len(test)))
sources = [translator.batches([pair]).batch([0]).source for pair in test]   # each (S, 1)
decode = translator.target_vocabulary.decode
vocabulary = translator.target_vocabulary
tokens = [vocabulary.token(id) for id in range(len(vocabulary))]
NEVER = [PAD, BOS, UNK]         # no search may write these


def bleu(ids_of_each, reference=gold):
    return metrics.bleu([decode(ids) for ids in ids_of_each], reference).score


print(f"{len(test)} test clauses, {len(tokens) - len(NEVER):,} words that the model can write")

# %% tags=["training"]
beams = {width: [plain_beam(model, one, width, NEVER) for one in sources]
         for width in (1, 2, 5, 10)}
theirs = beam_search(model, batch.source, batch.source_mask, 5, never=NEVER,
                     length_penalty=0)          # question 9 is about this penalty
for ours, some in zip(beams[5], theirs):
    assert [list(one.ids[1:]) for one in ours] == [one.ids for one in some]
    assert np.allclose([one.total for one in ours], [one.log_probability for one in some],
                       atol=1e-3)
greedy_found = [plain_greedy(model, one, NEVER) for one in sources]
for found, other in zip(greedy_found, greedy(model, batch.source, batch.source_mask, never=NEVER)):
    assert list(found.ids[1:]) == other.ids
print(f"{sum(map(len, theirs)):,} hypotheses of {len(theirs)} beams, and all of greedy's, equal "
      "the library's")

# %% [markdown]
# ## Does BLEU find the bug?
#
# We let two of the four bugs translate all test clauses: *rows sorted*, which mixes up the states,
# and *last word only*. For each bug, guess: is its BLEU below greedy's, between greedy's and the
# correct beam's, or above both?
#
# The table also gives the mean of the model's own log p, and in how many clauses the translation is
# less probable than greedy's.


# %% tags=["training"]
def false_claims(found, one):
    """How many of a clause's hypotheses claim a log p that is not the model's."""
    return sum(not np.allclose(each.terms, own_terms(model, one, each.ids), atol=1e-3)
               for each in found)


def own_log_p(ids_of_each):
    """The model's log p of one translation of each clause (clauses,)."""
    return np.array([sum(own_terms(model, one, ids)) for one, ids in zip(sources, ids_of_each)])


# %% tags=["training"]
bugs["right"] = plain_beam
of_greedy = np.array([one.total for one in greedy_found])
bleus = {"greedy": bleu([one.ids for one in greedy_found])}
print("                       BLEU   false claims   mean log p   below greedy's")
print(f"  {'greedy':<20} {bleus['greedy']:>5.1f} {'':>14} {of_greedy.mean():>12.2f}")
for name in ("right", "rows sorted", "last word only"):
    each = [bugs[name](model, one, 5, NEVER) for one in sources]
    winners = [found[0].ids for found in each]
    bleus[name] = bleu(winners)
    wrong = sum(false_claims(found, one) > 0 for found, one in zip(each, sources))
    own = own_log_p(winners)
    print(f"  {name:<20} {bleus[name]:>5.1f} {wrong:>7} of {len(test)} {own.mean():>12.2f} "
          f"{(own < of_greedy - 1e-3).sum():>9} of {len(test)}", flush=True)

# %% [markdown]
# Both are in between. *Rows sorted* could have been published: in this run its BLEU is less than a
# point below the correct beam's (0.9 ± 0.7 by lesson 06's bootstrap: answer 8). Training with
# another seed makes a larger difference (question 8). Yet most of its beams make false claims, and
# law 2 finds them at once. *Last word only* makes no false claims. Even without a correct beam,
# there is a symptom: in 35 clauses it finds a less probable sentence than greedy, although it
# searches more. This alone does not prove a bug: the correct beam does so in 3 clauses, where it
# dropped greedy's sentence on the way.
#
# BLEU is not blind: *endings lost* costs more than ten points (question 8). But a good BLEU
# shows only that the translations are good, not that the search is the one you meant.
#
# ## What a wider beam finds
#
# What do you gain from a wider beam? For four widths, the table gives BLEU, the mean log p of the
# translations, and their mean number of words. Below it are the three clauses where beam 5 gains
# the most log p over greedy.


# %% tags=["training"]
def mean_length(found):
    return np.mean([len(decode(one.ids)) for one in found])


print("  width   BLEU   mean log p   words")
for width, found in beams.items():
    best = [some[0] for some in found]
    print(f"  {width:>5} {bleu([one.ids for one in best]):>6.1f} "
          f"{np.mean([one.total for one in best]):>12.2f} {mean_length(best):>7.2f}")

# %% tags=["training"]
beam_found = [found[0] for found in beams[5]]
of_beam = np.array([one.total for one in beam_found])
gain = of_beam - of_greedy
print(f"beam 5 finds a more probable sentence than greedy in {(gain > 1e-3).sum()} of {len(test)} "
      f"clauses, a less probable one in {(gain < -1e-3).sum()}")
most = np.argsort(-gain)[:3]
for n in most:
    print(f"  {' '.join(test[n].source)}   (reference: {' '.join(gold[n])})")
    for name, found in (("greedy", greedy_found[n]), ("beam 5", beam_found[n])):
        print(f"    {name}: {' '.join(decode(found.ids))}   log p {found.total:.2f}")
ids = greedy_found[most[0]].ids
unknown = [np.exp(own_terms(model, sources[most[0]], (*ids[:n], UNK))[-1])
           for n in range(1, len(ids))]
print("in the first clause, p of <unk> in place of each of greedy's words:\n ",
      *(f"{p:.2f}" for p in unknown))

# %% [markdown]
# In clauses like these, greedy runs into a dead end. In our run, it even loops in one, and writes
# *ni se se se se se han …*. The last line shows why: after each *se*, the model is almost sure of
# `<unk>`, which is forbidden, and the next best word is *se* again. Greedy cannot go back, but the
# beam has other prefixes to turn to.
#
# On average, a wider beam finds more probable sentences, and shorter ones. (A **length penalty**
# favours longer ones: question 9.) With widths 5 and 10, BLEU is higher than greedy's, but whether
# 5 or 10 is better depends on the seed (question 8).
#
# Would a still wider beam find the references? Hardly. On average, the model gives them even less
# probability than greedy's translations:

# %% tags=["training"]
of_reference = own_log_p([[BOS, *vocabulary.encode(target), EOS] for target in gold])
missed = np.array([decode(one.ids) != list(words) for one, words in zip(beam_found, gold)])
likelier = of_reference > np.maximum(of_greedy, of_beam) + 1e-3
print(f"mean log p: reference {of_reference.mean():.2f}, greedy {of_greedy.mean():.2f}, beam 5 "
      f"{of_beam.mean():.2f}\nbeam 5 writes the reference in {(~missed).sum()} of {len(test)} "
      f"clauses\nin {(missed & likelier).sum()} of the other {missed.sum()}, the reference is more "
      "probable than beam 5's and greedy's translations")

# %% [markdown]
# A search makes a **search error** when it misses the model's most probable sentence. Wherever beam
# 5 finds a more probable sentence, greedy made one. But more probable is not always better. In the
# third clause above, greedy keeps the servant (*siervo*), and the beam loses him: *y fué la
# palabra* means "and the word was". There, the model itself prefers the worse sentence. This is a
# **model error**.
#
# How many more references could a perfect search write? Only those that are the model's most
# probable sentence. Beam 5 misses the reference in 211 clauses, and in all but five of them, we
# already know a sentence that is at least as probable. So a perfect search would write five more at
# most. To get nearer to the references, improve the model, not the search.
#
# ## One beam, drawn as a tree
#
# What does a whole beam look like? Among the clauses in which beam 5 writes the reference, we draw
# the one in which beam 5 gains the most log p over greedy. The tree grows from left to right, one
# word per step:
#
# - The number on a line is the log p of the word that the line leads to.
# - Thick lines in blue and green lead to the winner. Thick orange lines follow greedy's sentence.
#   If the beam drops greedy's sentence, the orange line ends in a grey box. The box shows the first
#   word that was not kept, and the total up to there.
# - Green boxes are prefixes that have ended, with their totals.
# - White boxes are prefixes that were kept for one step and then dropped.
#
# Greedy takes the number nearest to zero at each step. Does the beam drop greedy's sentence on the
# way, or keep it to the end?

# %% tags=["training"]
assert bleus["greedy"] < bleus["rows sorted"] < bleus["right"] < bleus["greedy"] + 5
assert of_reference.mean() < of_greedy.mean() < of_beam.mean()
shown = int(np.where(missed, -np.inf, gain).argmax())
steps = []
won = plain_beam(model, sources[shown], 5, NEVER, steps)[0]
lost = greedy_found[shown]
title = (f"“{' '.join(test[shown].source)}”, width 5: the winner has log p {won.total:.2f}, "
         f"greedy {lost.total:.2f}".replace("-", "−"))
show(draw_tree(steps, won, lost, tokens, title), "10_beam")

# %% tags=["training"]
ever_kept = {prefix.ids for step in steps for prefix in step}
long = sum(lost.ids[:n + 1] in ever_kept for n in range(1, len(lost.ids)))
print(f"beam 5 writes “{' '.join(decode(won.ids))}”, greedy “{' '.join(decode(lost.ids))}”\n"
      f"the beam keeps the first {long} of greedy's {len(lost.terms)} words")
if long < len(lost.terms):
    print(f"greedy's first {long + 1} words have a total of {sum(lost.terms[:long + 1]):.2f}, "
          "those kept in their step", *(f"{prefix.total:.2f}" for prefix in steps[long]))

# %% [markdown]
# Where the two sentences part, the winner takes a less probable word than greedy does, but its
# later words make up for it. That is what the beam is for: it keeps a prefix that is behind until
# it can overtake. Greedy's path ends because the beam has dropped it. By then three of the five
# prefixes had ended, so two slots were left. They went to the prefixes that end with −8.20 and
# −8.93, while greedy's prefix had only −10.74.

# %% [markdown]
# ## Part B (optional): sampling
#
# **You will be able to** sample with a temperature, top-k and a nucleus, and choose between
# searching and sampling. **Time:** about 15 minutes to read. Later lessons do not need this part.
#
# | symbol | shape | what it is |
# |---|---|---|
# | q | (V,) | distribution that words are sampled from; in lessons 06 to 09, q is a query |
# | τ, β = 1 / τ | | **temperature** of the sampling, and its inverse |
#
# A search writes the same sentence every time. To get *different* sentences, we sample each word,
# either from p or from a distribution q that three knobs make from p:
#
#     temperature τ    q_v ∝ exp(l_v / τ), l = log p      τ → 0: only the most probable word
#                                                         τ = 1: the model's own p
#                                                         τ → ∞: all words equally probable
#     top-k            only the top_k most probable words
#     nucleus          the most probable words, in order, until their p add up to at least top_p
#                      (Holtzman et al. 2020, section 3.1)
#
# A higher temperature should spread the choice more evenly over the words. Does it always? The
# entropy H = −Σ q log q measures the spread, so the question is the sign of ∂H/∂τ.
#
# The inverse β = 1/τ is easier to work with. Let Z = Σ exp(β l), so that log q = β l − log Z. We
# write ⟨…⟩ for a mean over q, such as ⟨l⟩ = Σ q l. First, what does β do to log Z and to q?
#
#     ∂log Z/∂β = Σ l exp(β l) / Z = ⟨l⟩
#     ∂q_v/∂β   = q_v ∂log q_v/∂β = q_v (l_v − ⟨l⟩)
#
# When β rises, words whose l is above the mean become more probable, and those below it less
# probable. So the mean of l rises, too, and its slope is a variance:
#
#     ∂⟨l⟩/∂β   = Σ q (l − ⟨l⟩) l = ⟨l²⟩ − ⟨l⟩² = Var(l)
#
# Now insert log q into the entropy, and differentiate. The two ⟨l⟩ cancel, and only the variance is
# left:
#
#     H         = −Σ q (β l − log Z) = log Z − β ⟨l⟩
#     ∂H/∂β     = ⟨l⟩ − ⟨l⟩ − β Var(l) = −β Var(l)
#     ∂H/∂τ     = ∂H/∂β · (−1/τ²) = Var(l) / τ³
#
# A variance is never negative, so a higher temperature spreads the choice, unless all possible
# words have the same p: then it changes nothing. Central differences confirm the formula:

# %%
logs = np.log([0.6, 0.3, 0.1])        # l, of each word
tau = np.array([1.0])


def tempered(logs, tau):
    """q (V,): the softmax of log p / τ."""
    q = np.exp((logs - logs.max()) / tau)
    return q / q.sum()


def entropy():
    q = tempered(logs, tau)
    return -(q * np.log(q)).sum()


# %%
for value in (0.5, 1.0, 2.0):
    tau[0] = value
    q = tempered(logs, tau)
    variance = q @ logs**2 - (q @ logs) ** 2
    derived = variance / tau**3
    numeric = numeric_gradient(entropy, tau)
    assert np.allclose(derived, numeric, rtol=1e-7)
    print(f"  τ = {value}: q = {q}, H = {entropy():.3f}, ∂H/∂τ = {derived[0]:.6f}, "
          f"by central differences {numeric[0]:.6f}")

# %% [markdown]
# The other two knobs cut off improbable words. The function `cut` applies all three: first the
# temperature, then top-k, and then the nucleus of the words that top-k has left.
#
# > **Exercise.** Write both cuts: `numpy-attention exercise start sampling-cut`.


# %%
def cut(log_p, temperature=1.0, top_k=None, top_p=1.0):
    """log p (V,) → q (V,)."""
    q = tempered(log_p, temperature)
    order = np.argsort(-q, kind="stable")[:top_k]
    reached = np.cumsum(q[order]) / q[order].sum()
    nucleus = order[:np.searchsorted(reached, top_p) + 1]
    kept = np.zeros_like(q)
    kept[nucleus] = q[nucleus]
    return kept / kept.sum()


ways = {"τ = 1": {}, "τ = 0.5": {"temperature": 0.5}, "top-k 3": {"top_k": 3},
        "nucleus 0.7": {"top_p": 0.7}}

# %% [markdown]
# ### How many words are left
#
# Top-k and nucleus both keep the most probable words, but not equally many. We compare both on the
# first word of two test clauses. In one clause, the model is nearly sure of this word (the entropy
# of p is close to 0.6). In the other, it is in doubt (close to 3). How many words will top-k with
# `top_k=3`, and the nucleus with `top_p=0.7`, keep in each case?

# %% tags=["training"]
starts = []
for one in sources:
    log_p, _, _ = model.next(np.array([BOS]), model.start(one, one != PAD))
    log_p = log_p[0].astype(np.float64)
    log_p[NEVER] = -np.inf
    starts.append(log_p)
spreads = np.array([-(q[q > 0] * np.log(q[q > 0])).sum() for q in map(cut, starts)])
two = [int(abs(spreads - wanted).argmin()) for wanted in (0.6, 3)]      # sure, in doubt

# %% tags=["training"]
rows = {f"“{' '.join(test[n].source)}”": {way: cut(starts[n], **how) for way, how in ways.items()}
        for n in two}
for clause, cuts in rows.items():
    print(f"  {clause}: words left by",
          ", ".join(f"{way}: {(q > 0).sum():,}" for way, q in cuts.items()))
show(draw_cuts(rows, tokens), "10_sampling")

# %% [markdown]
# Top-k 3 always keeps three words, however sure the model is. The nucleus adapts: it keeps one word
# for *and i have shewed ,* and eight for *whatsoever the lord pleased ,*.
#
# ### Searching and sampling compared
#
# Which is better, searching or sampling? `draw_all` samples one translation of every test clause,
# each word from its q. We call it four times with each setting of the knobs. BLEU and log p are
# means over the four calls, and log p is always the model's own, not that of q. The column
# *different* gives the share of clauses for which the first two of the four translations differ.

# %% tags=["training"]
print(f"  {'':<14} BLEU   mean log p   different")
print(f"  {'greedy':<14} {bleus['greedy']:.1f} {of_greedy.mean():12.2f} {'0%':>11}")
print(f"  {'beam 5':<14} {bleus['right']:.1f} {of_beam.mean():12.2f} {'0%':>11}", flush=True)
rng = np.random.default_rng(8)
samples = {}
for way, how in ways.items():
    drawn = [draw_all(model, batch.source, rng, NEVER, **how) for _ in range(4)]
    samples[way] = [ids for ids, _ in drawn]
    each = [bleu(ids) for ids in samples[way]]
    log_p = np.mean([log_p for _, log_p in drawn])
    different = np.mean([one != other for one, other in zip(*samples[way][:2])])
    print(f"  {way:<14} {np.mean(each):.1f} {log_p:12.2f} {different:>11.0%}   "
          f"BLEU from {min(each):.1f} to {max(each):.1f}", flush=True)
print(f"  {'reference':<14} {'':>4} {of_reference.mean():12.2f}")

# %% tags=["training"]
ones = samples["τ = 1"]
each = [bleu(ones[n], [decode(ids) for ids in ones[n - 1]]) for n in range(4)]
print(f"BLEU of a sample at τ = 1, with another sample as the reference: {np.mean(each):.1f} "
      f"(from {min(each):.1f} to {max(each):.1f})")
print("three samples at τ = 1 of:", *test[most[2]].source)
for found in ones[:3]:
    print("   ", *decode(found[most[2]]))
few, many = [(cuts["nucleus 0.7"] > 0).sum() for cuts in rows.values()]
assert few < 3 < many

# %% [markdown]
# Sampling at τ = 1 follows the model's own distribution. Its translations are the most varied, but
# their BLEU of 15.6 is far below greedy's. None of the three samples above translates its clause.
# But BLEU alone could not tell: with another sample as the reference, it is 14.9, so two samples of
# one model agree no better than a sample and the reference. The other three settings give up some
# variety, and come closer to the reference.
#
# But look at the column of log p. A search looks for the most probable sentence, the **mode**. A
# typical sentence is much less probable: the references' mean is far below that of both searches,
# and close to that of the samples at τ = 1. If the model is **calibrated**, that is, as uncertain
# as it has reason to be, the reference looks like one more sample. But equal means do not prove
# that a model is calibrated, because the references might be too probable in some clauses and too
# improbable in others. For this model, that is the case (question 7). (We neglect that `<unk>` is
# never sampled.)
#
# So if you want one good translation, search. If you want many different ones, sample.

# %% [markdown]
# ## What others call it
#
# | here | elsewhere |
# |---|---|
# | width | beam width, beam size, k, B |
# | a prefix that has ended | finished or completed hypothesis |
# | length penalty (question 9) | length normalization |
# | nucleus | top-p sampling |
#
# Not covered: min-p and the repetition penalty, which also change p before sampling.
#
# Most terms are in the [glossary](../docs/site/glossary.md).
#
# ## From the package
#
# | from the package | what it is |
# |---|---|
# | `metrics` | BLEU: how many runs of one to four words a translation shares with the reference |
# | `plotting` | diagrams, colours |
# | `pair_batch` | sentences as one array of ids |
# | `BOS` | the id of `<s>` |
# | `EOS` | the id of `</s>` |
# | `PAD` | the id of `<pad>` |
# | `UNK` | the id of `<unk>`, for every word outside the vocabulary |
# | `beam_search` | the library's beam search, for comparison |
# | `greedy` | the library's greedy search, for comparison |
# | `numeric_gradient` | central differences |

# %% [markdown]
# ## Questions
#
# 1. Change the search so that an ended prefix frees its slot and the beam stays full. How early may
#    this search stop without changing which sentence wins?
# 2. *Last word only* passes all three laws. Find a fourth law that catches it.
# 3. Consider all possible translators with three words and sentences of one to three words, not
#    only our 60. How wide must a beam be to find the best sentence of every one? Is 39 needed?
# 4. Suppose that p of the next word depends only on its position, and not on the words before it.
#    Prove that greedy finds the best sentence if all sentences have the same length. Where does
#    `</s>` break the proof?
# 5. Derive ∂⟨l⟩/∂τ. Can a higher temperature raise the expected log p of a sampled word? Can it
#    raise the expected log p of a whole sampled sentence?
# 6. When `<unk>` is forbidden, the p of the other words do not add up to 1. Renormalize them in
#    `plain_beam`, so that they do. Which law breaks? How many winners change? How much does beam 5
#    gain over greedy?
# 7. Sample 20 translations of each clause and keep the most probable. Is that as good as a beam of
#    5? If the model is calibrated, the reference has each rank from 1 to 21 equally often. Does it?
# 8. Another bug gives every prefix the state of the first row. Must its BLEU be lower than the
#    correct beam's? Try widths 5 and 10, and seeds 1 to 3. Which of the bugs, this one and
#    those of the lesson, does BLEU find?
# 9. Each further word adds a negative number to log p, so short sentences have an advantage. To
#    reduce it, Wu et al. (2016, equation 14) divide log p(y | x) by f(|y|)^a. Here |y| is the
#    number of words, with `</s>`, and f(n) = (5 + n) / 6. Take a fixed set of sentences, and prove
#    that the winner never gets shorter when the exponent a rises. Then rank the hypotheses of the
#    beams of 5 and of 10 with a = 0, 1, 2 and 4. Does BLEU rise?
