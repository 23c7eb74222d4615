# %% [markdown]
# # Lesson 10: decoding
#
# A trained translator gives, for any words written so far, the probability of each next word. It does not say which
# *sentence* to write: V words make V^T sentences of T words; the model can score any one of them, but not all. Decoding
# is the search for a good one. No parameter changes here, so there is next to nothing to derive backward; what can go wrong
# is bookkeeping, and it goes wrong silently. You will write beam search in some thirty lines and catch a planted bug by a
# law; prove what length normalisation does; draw words at random, and derive how temperature moves the entropy; put all of
# them side by side on held-out clauses; and draw one search as a tree.

# %%
print("Lesson 10: decoding", flush=True)

from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from numpy_attention import metrics, plotting
from numpy_attention.data.batching import pair_batch
from numpy_attention.data.corpora import load_parallel
from numpy_attention.data.vocabulary import BOS, EOS, PAD, UNK
from numpy_attention.decoding.beam import beam_search
from numpy_attention.decoding.greedy import greedy
from numpy_attention.decoding.sampling import Reading, choose, sample
from numpy_attention.gradcheck import numeric_gradient
from numpy_attention.runs.translator import Translator, TranslatorTraining
from numpy_attention.training.optimizers import Adam
from numpy_attention.training.schedules import LinearDecay
from numpy_attention.training.trainer import Trainer

OUTPUTS = (Path(__file__).parent if "__file__" in globals() else Path()) / "outputs"
OUTPUTS.mkdir(exist_ok=True)

# %% [markdown]
# ## The best first word may begin a bad sentence
#
# The probability of a sentence is a product, so its logarithm is a sum, with </s> as the last word:
#
#     log p(y | x) = Σ_t log p(y_t | y_1 … y_{t−1}, x)
#
# *Greedy search* takes the largest term at each t, given those before it. That does not maximise the sum. All that a search
# asks of a model are two methods: `start` reads the source, `next` takes the word just written, one for each row, and gives
# log p of the next, the attention weights, and the state after it. A table will do. To translate `house` this one hesitates
# between `el` and `la`; after `la` it is nearly sure how to go on, after `el` it is not.


# %%
class Table:
    """A translator that looks up p(next word | this word); it is its own state."""

    words = ["<pad>", "<s>", "</s>", "<unk>", "el", "la", "casa", "hogar", "edificio", "cuarto"]
    p = np.zeros((10, 10))
    p[1, [4, 5]], p[4, [7, 8, 9]], p[5, [6, 7]], p[6:, 2] = [0.55, 0.45], [0.4, 0.3, 0.3], [0.9, 0.1], 1.0

    start = take = lambda self, *_: self

    def next(self, tokens, state):
        with np.errstate(divide="ignore"):
            return np.log(self.p[tokens]), np.ones((len(tokens), 1)), self


house, source = Table(), pair_batch([[4]], [[4]]).source
print()
for name, some in (("greedy", greedy(house, source, source > 0)), ("beam 2", beam_search(house, source, source > 0, 2)[0])):
    print(f"{name}: {' '.join(house.words[id] for id in some[0].ids):<16} p = {np.exp(some[0].log_probability):.3f}")

# %% [markdown]
# ## Beam search
#
# Keep not one prefix but the `beam` most probable ones. In each step every kept prefix may go on with each of the V
# words; of these beam · V sums the largest are kept. A prefix that writes </s> has *ended*: it leaves the beam and its
# place stays taken. When `beam` of them have ended they are ranked. The kept prefixes may all come from one row, or cross
# over, so the *states* must be picked by the same rows: that is easy to forget.


# %%
def plain_beam(model, source, beam=5, length_penalty=1.0, reorder=True, tree=None):
    """Translate one sentence, source (S, 1) → [(ids, Σ log p)], best first. tree: a list that gets the candidates."""
    state, tokens = model.start(source, source != PAD), np.array([BOS])
    running, ended, limit = [((), 0.0)], [], 2 * len(source) + 10
    while running:
        log_p, _, state = model.next(tokens, state)                                     # (running, V)
        log_p[:, [PAD, BOS]] = -np.inf                                                  # never a word
        totals = np.array([[total] for _, total in running]) + log_p                    # every way to go on
        order, places = np.argsort(-totals, axis=None, kind="stable"), beam - len(ended)
        order = order[:np.isfinite(totals).sum()]
        rows, ids = np.unravel_index(order, totals.shape)
        longer = [(running[row][0] + (int(id),), float(totals[row, id])) for row, id in zip(rows[:places], ids[:places])]
        going = [k for k, (written, _) in enumerate(longer) if written[-1] != EOS and len(written) < limit]
        if tree is not None:                                                            # for the picture: three more
            tree += [(running[row][0] + (int(id),), log_p[row, id], totals[row, id], k < places)
                     for k, (row, id) in enumerate(zip(rows[:places + 3], ids[:places + 3]))]
        ended += [longer[k] for k in range(len(longer)) if k not in going]
        kept = rows[np.array(going, int)] if reorder else np.minimum(np.arange(len(going)), len(running) - 1)
        running, state = [longer[k] for k in going], state.take(kept)
        tokens = np.array([written[-1] for written, _ in running], int)
    return sorted(ended, key=lambda end: -end[1] / ((5 + len(end[0])) / 6) ** length_penalty)


assert plain_beam(house, source, 2)[0][0] == (5, 6, EOS) and house.p[1, 5] * house.p[5, 6] == max(
    house.p[1, first] * house.p[first, second] for first in (4, 5) for second in range(10)), "la casa is not the best of all"

# %% [markdown]
# ## A translator to search with
#
# RNNsearch (lesson 06) on clauses of the Bible of up to 7 tokens, English to Spanish. Any model of the library would do.

# %%
EPOCHS, MINUTES = 3, 0.9
corpus = {"name": "bible-en-es", "part": "clauses", "max_length": 7}
train, test = (load_parallel(split=split, **corpus) for split in ("train", "test"))
settings = dict(embedding=96, hidden=96, dropout=0.1, init="modern", reset="after", update="old", readout="current")
translator = Translator.create(train, "rnnsearch", settings, TranslatorTraining(EPOCHS, min_count=4), corpus)
model, decode, batches = translator.model, translator.target_vocabulary.decode, translator.batches(train)
print(f"\ntraining {model.size:,} parameters on {len(train):,} clauses:", flush=True)
trainer = Trainer(model, Adam(4e-3), batches, rng=np.random.default_rng(0), clip=1.0, threads=2,
                  schedule=LinearDecay(EPOCHS * len(batches), 0.02))
trainer.fit(EPOCHS, MINUTES)
whole = trainer.step == EPOCHS * len(batches)
print(f"{trainer.step:,} of {EPOCHS * len(batches):,} steps within {MINUTES} minutes" + ": half-trained!" * (not whole))

# %% [markdown]
# ## Check
#
# First against the library, to the last bit. Then by a law that needs no second implementation: **what a search claims for
# a sentence must be what the model gives that sentence when it is told to write it**, minus the loss under teacher forcing.
# The planted bug does not pick the states by row, so that a prefix may go on with the state of another. Words still come out.

# %%
alone = [pair_batch([translator.source_vocabulary.encode(pair.source)], [[4]]).source for pair in test]
for one, a in [(one, a) for one in alone[:60] for a in (0.0, 1.0)]:
    theirs = beam_search(model, one, one > 0, 5, a)[0]
    assert plain_beam(model, one, 5, a) == [(tuple(h.ids), h.log_probability) for h in theirs]
print("\n60 clauses, beam 5, with and without length normalisation: all ids and all log p equal to the library's")


def largest_lie(one, **bug):
    """Largest difference between a claimed log p and the teacher-forced one."""
    ends = [(ids, log_p) for ids, log_p in plain_beam(model, one, 5, **bug) if len(ids) > 1 and ids[-1] == EOS]
    return max((abs(log_p + model.loss(pair_batch([one[:-1, 0].tolist()], [ids[:-1]]))[0]) for ids, log_p in ends), default=0)


honest, planted = (np.array([largest_lie(one, reorder=reorder) for one in alone[:60]]) for reorder in (True, False))
assert honest.max() < 1e-3 and planted.max() > 0.1, "the planted bug went unnoticed"
print(f"claimed and teacher-forced log p agree to {honest.max():.0e}\nplanted bug, states not picked by row, caught in "
      f"{(planted > 1e-3).sum()} of 60 clauses: claims off by up to {planted.max():.1f}")

# %% [markdown]
# ## Where greedy loses
#
# All test clauses, not yet normalised by length. A wider beam is no guarantee: a prefix that a narrow beam follows to its
# end may be pushed out of a wide one by better beginnings.

# %%
everything, gold = translator.batches(test).batch(range(len(test))), [pair.target for pair in test]
ends = {beam: beam_search(model, everything.source, everything.source_mask, beam) for beam in (2, 5, 10)}
ends[1] = [[hypothesis] for hypothesis in greedy(model, everything.source, everything.source_mask)]
best = {(beam, a): [max(some, key=lambda h: h.score(a)) for some in ends[beam]] for beam in ends for a in (0, 1, 2, 4)}
log_ps = {beam: np.array([h.log_probability for h in best[beam, 0]]) for beam in (1, 2, 5, 10)}
gain, book = log_ps[5] - log_ps[1], -model.loss(everything)[0] / len(test)
print(f"\nbeam 5 against greedy, {len(test)} test clauses: more probable in {(gain > 1e-3).sum()}, equal in "
      f"{(abs(gain) <= 1e-3).sum()}, less probable in {(gain < -1e-3).sum()}; the largest gains:")
for n in np.argsort(-gain)[:3]:
    print(f"  {' '.join(test[n].source)}   (book: {' '.join(gold[n])})")
    for name, beam in (("greedy", 1), ("beam 5", 5)):
        print(f"    {name}: {' '.join(decode(best[beam, 0][n].ids)):<44} log p {log_ps[beam][n]:.2f}")
print("mean log p: " + ", ".join(f"beam {beam} {log_ps[beam].mean():.2f}" for beam in (1, 2, 5, 10))
      + f"; the book's own translations {book:.2f}")
assert log_ps[5].mean() > log_ps[1].mean() > book

# %% [markdown]
# Look at the last figure: the model holds its own translations to be far more probable than the book's. Where it is wrong,
# a better *search* will hardly mend it; the model would have to change.
#
# ## Length
#
# Each further word adds a negative number, so of the sentences that a beam collects the short ones have a head start. Wu
# et al. (2016, equation 14) rank by log p(y) / f(|y|)^a with f(n) = (5 + n) / 6, </s> counted in |y|.
#
# **A larger a never gives a shorter winner.** Let y win at a and z at b > a, of the same sentences; write P = −log p > 0.
# Then P_y / f_y^a ≤ P_z / f_z^a and P_z / f_z^b ≤ P_y / f_y^b. Multiply them: f_y^(b−a) ≤ f_z^(b−a), so |y| ≤ |z|. That is
# no tendency but a theorem, asserted below for each clause. Which a gives the best BLEU changes with the training's seed.

# %%
print(f"\nBLEU and mean length in words (the book's: {np.mean([len(words) for words in gold]):.2f})")
for beam in (1, 2, 5, 10):
    scores = [metrics.bleu([decode(h.ids) for h in best[beam, a]], gold).score for a in (0, 1, 2, 4)]
    lengths = np.array([[len(decode(h.ids)) for h in best[beam, a]] for a in (0, 1, 2, 4)])
    assert (np.diff([[len(h.ids) for h in best[beam, a]] for a in (0, 1, 2, 4)], axis=0) >= 0).all()
    print(f"  beam {beam:<3}" + "".join(f"    a = {a}: {score:.1f}, {some.mean():.2f}"
                                        for a, score, some in zip((0, 1, 2, 4), scores, lengths)))
cut_short = lengths[1] - lengths[0]
print(f"with beam 10, {(cut_short > 0).sum()} clauses are shorter at a = 0 than at a = 1, such as (both shown)")
for n in np.argsort(-cut_short, kind="stable")[:3]:
    print("   |   ".join(["  " + " ".join(test[n].source)] + [" ".join(decode(best[10, a][n].ids)) for a in (0, 1)]))

# %% [markdown]
# ## Chance
#
# A search always gives the same sentence. To get *different* ones, draw each word. Three knobs change what it is drawn from:
#
#     temperature τ    q_v ∝ exp(l_v / τ), l = log p        τ → 0: the most probable word;  1: the model's own p;  ∞: any word
#     top-k            the k most probable words, renormalised
#     nucleus          the fewest most probable words whose p add up to at least top_p (Holtzman et al. 2020, section 3.1)
#
# **Temperature and entropy.** With β = 1/τ and Z = Σ exp(β l): H = −Σ q log q = log Z − β ⟨l⟩. Since ∂log Z/∂β = ⟨l⟩ and
# ∂⟨l⟩/∂β = ⟨l²⟩ − ⟨l⟩² = Var(l), ∂H/∂β = −β Var(l), and with ∂β/∂τ = −1/τ² we get **∂H/∂τ = Var_q(l) / τ³ ≥ 0**: a higher
# temperature always spreads the choice more, whatever the model.


# %%
def cut(log_p, temperature=1.0, top_k=None, top_p=None):
    """The distribution q (V,) that a word is drawn from."""
    q = np.exp((log_p - log_p.max()) / temperature)
    order = np.argsort(-q, kind="stable")[:top_k]
    if top_p is not None:
        order = order[:np.searchsorted(np.cumsum(q[order]) / q[order].sum(), top_p) + 1]
    kept = np.zeros_like(q)
    kept[order] = q[order]
    return kept / kept.sum()


def entropy(log_p, temperature=1.0):
    q = cut(log_p, temperature)
    return -(q * np.log(q)).sum()


begun = [model.next(np.array([BOS]), model.start(one, one > 0)) for one in alone]        # log p (1, V), weights, state
few, tau = np.sort(begun[0][0][0].astype(np.float64))[::-1][:12], np.array([1.3])       # its 12 most probable first words
q = cut(few, tau[0])
derived, numeric = (q @ few**2 - (q @ few) ** 2) / tau[0]**3, numeric_gradient(lambda: entropy(few, tau[0]), tau)[0]
assert np.isclose(derived, numeric, rtol=1e-6)
print(f"\n∂H/∂τ at τ = 1.3: derived {derived:.8f}, central differences {numeric:.8f}")

SETTINGS = {"τ = 1": {}, "τ = 0.5": {"temperature": 0.5}, "top-k 3": {"top_k": 3}, "nucleus 0.7": {"top_p": 0.7}}
rng, N, bleus = np.random.default_rng(5), 10_000, {}
for how in SETTINGS.values():
    q, drawn = cut(few, **how), np.bincount([choose(few, rng, **how) for _ in range(N)], minlength=12) / N
    assert (drawn[q == 0] == 0).all() and (abs(drawn - q) < 5 * np.sqrt(q / N) + 5 / N).all()
print(f"the library's choose draws each word as often as our q says ({N:,} draws, within 5 standard deviations)")

n = min(range(len(test)), key=lambda n: abs(entropy(begun[n][0][0].clip(-50)) - 2))     # one that hesitates somewhat
log_p = begun[n][0][0].astype(np.float64)
top = np.argsort(-log_p)[:12]
figure, axes = plt.subplots(1, 4, figsize=(13, 4), sharex=True, sharey=True, layout="constrained")
for ax, (name, how) in zip(axes, [("τ = 2", {"temperature": 2.0}), *list(SETTINGS.items())[1:]]):
    ax.barh(range(12), cut(log_p, **how)[top], color=plotting.COLOURS[6], label="drawn from")
    ax.barh(range(12), np.exp(log_p)[top], fill=False, edgecolor="black", label="model's p")
    ax.set(title=name, xlabel="probability")
axes[0].set_yticks(range(12), map(translator.target_vocabulary.token, top))
axes[0].set_ylim(11.6, -0.6)
axes[-1].legend(loc="lower right")
figure.suptitle(f"first word of the translation of “{' '.join(test[n].source)}”")
print("saved", plotting.save(figure, OUTPUTS / "10_sampling.png").name)

# %% [markdown]
# ## Side by side
#
# All test clauses, drawn twice with each setting. *Different*: the share of clauses for which the two draws differ.


# %%
def write(source, rng, **how):
    """Draw a translation of each sentence of a batch (S, B) → ids, Σ log p of the model."""
    state, tokens = model.start(source, source != PAD), np.full(source.shape[1], BOS)
    drawn, totals = [[] for _ in tokens], np.zeros(len(tokens))
    while unfinished := [b for b, ids in enumerate(drawn) if len(ids) < 24 and EOS not in ids]:
        log_p, _, state = model.next(tokens, state)
        log_p[:, [PAD, BOS]] = -np.inf
        for b in unfinished:
            drawn[b].append(choose(log_p[b].astype(np.float64), rng, **how))
            totals[b] += log_p[b, drawn[b][-1]]
        tokens = np.array([ids[-1] for ids in drawn])
    return drawn, totals


first = Reading(begun[0][0][0], [begun[0][1][0]], begun[0][2])                          # the library's, for one sentence
assert [choice.id for choice in sample(model, first, np.random.default_rng(6), 24, 1, never=())] == \
    write(alone[0], np.random.default_rng(6))[0][0]
systems = {name: ([h.ids for h in best[key]], [h.log_probability for h in best[key]], "")
           for name, key in (("greedy", (1, 0)), ("beam 5, a = 0", (5, 0)), ("beam 5, a = 1", (5, 1)))}
for name, how in SETTINGS.items():
    (one, totals), (other, more) = (write(everything.source, rng, **how) for _ in range(2))
    systems[name] = one + other, [*totals, *more], f"{np.mean([a != b for a, b in zip(one, other)]):.0%}"
print(f"\n{'':<16} BLEU   mean log p   words   different")
for name, (ids, totals, different) in systems.items():
    texts = list(map(decode, ids))
    bleus[name] = metrics.bleu(texts, gold * (len(ids) // len(gold))).score
    print(f"  {name:<14} {bleus[name]:4.1f} {np.mean(totals):10.2f} {np.mean(list(map(len, texts))):9.2f} {different:>10}")
print(f"  {'the book':<19} {book:10.2f} {np.mean(list(map(len, gold))):9.2f}")
greedy_log_p, draw = (np.mean(systems[name][1]) for name in ("greedy", "τ = 1"))
assert greedy_log_p > draw and abs(book - draw) < abs(book - greedy_log_p)
assert not whole or bleus["greedy"] > bleus["τ = 1"] + 2

# %% [markdown]
# A draw at τ = 1 is the model's own distribution, and far below greedy: many small chances of a rare word add up to a wrong
# word somewhere. Every cut pays for quality with variety. But the book's own sentences are about as probable as a draw, far
# from what a search finds: people do not write the most probable sentence. For one translation search; for many, draw.
#
# ## The beam as a tree
#
# A clause of which greedy found the less probable translation. On the edges log p of that word. Kept prefixes are blue,
# ended ones green with their sum, dropped ones grey and dotted (of the dropped, the next three of each step).

# %%
easy = [n for n in np.argsort(-gain) if len(test[n].source) < 6 and UNK not in best[5, 0][n].ids and gain[n] > 0.1]
n, tree = (easy or [int(gain.argmax())])[0], []
result = plain_beam(model, alone[n], 3, 0.0, tree=tree)
fate = {node: (log_p, total, "dropped" if not kept else "ended" if node[-1] == EOS else "kept")
        for node, log_p, total, kept in tree}
place, leaves = {}, iter(range(999))


def lay(node):
    """A leaf gets a line of its own, a parent stands halfway between its first child and its last."""
    below = [lay(child) for child in fate if child[:-1] == node]
    place[node] = (below[0] + below[-1]) / 2 if below else float(next(leaves))
    return place[node]


lay(())
figure, ax = plt.subplots(figsize=(2.1 * max(map(len, place)) + 1.5, 0.36 * next(leaves) + 1.2), layout="constrained")
for node, y in place.items():
    log_p, total, kind = fate.get(node, (0.0, 0.0, "kept"))
    face, edge = {"kept": ("#CFE5F5", "#0072B2"), "ended": ("#B8E0D0", "#009E73"), "dropped": ("white", "0.65")}[kind]
    text = dict(ha="center", va="center", color="0.35" if kind == "dropped" else "black", parse_math=False)
    if node:
        x, above = [len(node) - 1, len(node)], place[node[:-1]]
        ax.plot(x, [above, y], color=edge, linestyle=":" if kind == "dropped" else "-", zorder=1,
                linewidth=4 if node == result[0][0][:len(node)] else 1.2)
        ax.text(x[1] - 0.42, 0.58 * y + 0.42 * above, f"{log_p:.2f}".replace("-", "−"), fontsize=8, **text,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8})
    label = (translator.target_vocabulary.token(node[-1]) if node else "<s>") + f"  −{-total:.2f}" * (kind == "ended")
    ax.text(len(node), y, label, **text, bbox={"facecolor": face, "edgecolor": edge, "boxstyle": "round,pad=0.25"})
ax.set(xlim=(-0.3, max(map(len, place)) + 0.5), ylim=(max(place.values()) + 0.7, -0.7),
       title=f"“{' '.join(test[n].source)}”, beam 3: the most probable translation with thick lines")
ax.axis("off")
print("\nsaved", plotting.save(figure, OUTPUTS / "10_beam.png").name, "for:", " ".join(test[n].source))
for name, (ids, log_p) in zip(("beam 3",) * 3 + ("greedy",), result + [(best[1, 0][n].ids, log_ps[1][n])]):
    print(f"  {name} {' '.join(decode(ids)):<44} log p {log_p:.2f}")

# %% [markdown]
# ## Questions
#
# 1. Let an ended prefix free its place. When may the search stop, to return what a search without end would return?
# 2. A beam of V^(T−1) prefixes misses nothing. Why may BLEU fall all the same as the beam grows? See the book's log p.
# 3. Derive ∂⟨l⟩/∂τ. Is the expected log p of a drawn word always lower at a higher temperature?
# 4. Draw 20 translations of each clause and keep the one with the largest score. Is that as good as a beam of 20?
