"""Helpers of lesson 07: checks, comparisons with the library, training, measures, figures.

Lesson 15 uses some of them, too.
"""

from contextlib import redirect_stdout
from io import StringIO

import numpy as np
from course import caught
from matplotlib import pyplot as plt

from numpy_attention import metrics, plotting
from numpy_attention.data.datasets.grammar import phenomena
from numpy_attention.experiments.runs.translator import Translator, TranslatorTraining
from numpy_attention.gradcheck import gradcheck
from numpy_attention.training.optimizers import Adam
from numpy_attention.training.schedules import LinearDecay
from numpy_attention.training.trainer import Trainer

EPOCHS = 5
SIZES = dict(embedding=64, hidden=64, layers=1, cell="gru", bidirectional=True,
             input_feeding=False, init=0.25)

# test perplexities on clauses of the Bible, from results/: means of three seeds, their deviations
RECORDED = {"dot": 6.54, "general": 6.47, "concat": 6.28, "location": 7.64,
            "concat with the query s_{t−1}": 7.30, "general in local-p": 7.50,
            "general in local-m": 7.03, "dot with input feeding": 6.81}
DEVIATION = (0.02, 0.10, 0.07, 0.13, 0.09, 0.01, 0.05, 0.01)


def check(score, score_backward, *inputs):
    """The first line of the report of a gradient check of a score and its backward pass."""
    def backward(de, cache, grads):
        return score_backward(de, cache)
    rng = np.random.default_rng(2)
    report = gradcheck(None, *inputs, rng=rng, forward=score, backward=backward,
                       title=score.__name__)
    return str(report).splitlines()[0]


def silently_caught(score, score_backward, *inputs):
    """`caught`, which prints nothing here: the text of a gradient check that must fail."""
    with redirect_stdout(StringIO()):
        return str(caught(check, score, score_backward, *inputs))


def suspect(de, cache):
    """A copy of lesson 07's concat_backward with one wrong line."""
    s, M, W_a, U_a, v_a, x = cache
    da = np.outer(de, v_a) * (1 - x**2)
    total = da.mean(0)
    return total @ W_a.T, da @ U_a.T, np.outer(s, total), M.T @ da, de @ x


# ---- comparisons ---------------------------------------------------------------------------------


def check_same(attention, score, score_backward, s, M, *weights):
    """Compare a score and its backward pass with one of the library's attentions.

    Both run from s and M to the context and back, from the same random dc. AssertionError: the
    context, the weights, or a gradient differs.
    """
    dc = np.random.default_rng(9).standard_normal(M.shape[1])
    scores, cache = score(s, M, *weights)
    exps = np.exp(scores - scores.max())
    alpha = exps / exps.sum()
    dalpha = M @ dc
    ds, dM, *dweights = score_backward(alpha * (dalpha - alpha @ dalpha), cache)
    ours = [alpha @ M, alpha, ds, dM + np.outer(alpha, dc), *dweights]
    check_equal(ours, attended(attention, s, M, dc))


def attended(attention, s, M, dc):
    """The library's context, weights, ds, dM and gradients of its own parameters, for one query."""
    memory = attention.read(M[None], np.ones((1, len(M)), bool))
    dmemory = memory.gradient()
    grads = attention.zeros_like()
    context, alpha, cache = attention.step(s[None], memory, 0)
    ds = attention.step_backward(dc[None], None, cache, dmemory, grads)
    dM = attention.read_backward(memory, dmemory, grads)
    return [context[0], alpha[0], ds[0], dM[0], *(array for _, array in grads.named_parameters())]


def check_equal(ours, theirs):
    for number, (mine, one) in enumerate(zip(ours, theirs, strict=True)):
        assert np.allclose(mine, one, rtol=1e-10, atol=1e-12), f"result {number} differs"


# ---- training and measures -----------------------------------------------------------------------


def train(pairs, seed=1, epochs=EPOCHS, **changes):
    """A Translator trained on the pairs. changes: settings that differ from SIZES.

    With fewer epochs, the training of EPOCHS ends early: the learning rate is the same until then.
    """
    translator, trainer = untrained(pairs, seed, **changes)
    trainer.fit(epochs)
    return translator


def untrained(pairs, seed=1, **changes):
    """A Translator before its training, and its Trainer."""
    translator = Translator.create(pairs, "luong", SIZES | changes, TranslatorTraining(seed=seed))
    batches = translator.batches(pairs)
    trainer = Trainer(translator.model, Adam(8e-3), batches, rng=np.random.default_rng(seed),
                      clip=1.0, threads=1, progress=False,
                      schedule=LinearDecay(EPOCHS * len(batches), 0.05))
    return translator, trainer


def measure(name, translator, test):
    """Measure and print; → the share of test sentences that are exactly right, weights."""
    found = translator.translate([pair.source for pair in test], beam=1)
    exact = metrics.exact_match([one.target for one in found], [pair.target for pair in test])
    weights = translator.attend(test)
    print(f"  {name:<22} {exact:6.1%} exactly right; largest weight on the right word "
          f"{metrics.pointing_accuracy(weights, test):6.1%}, on that or a neighbour "
          f"{metrics.near_pointing(weights, test):6.1%}", flush=True)
    return exact, weights


def print_nouns(both_words, only_words, test):
    """Print how many swapped nouns are predicted from a single annotation, with each encoder.

    both_words, only_words: pair → for each target word, the words predicted from each annotation.
    → the shares (3, 2): from the word before the adjective, the adjective, and the noun.
    """
    hits = []
    for pair in test:
        links = swapped(pair)[1]                        # a noun is at j, its adjective at j − 1
        answers = [words_of(pair) for words_of in (both_words, only_words)] if links else []
        hits += [[[words[t][j + step] == pair.target[t] for words in answers]
                  for step in (-2, -1, 0)] for j, t in links]
    shares = np.mean(hits, 0)
    title = f"{len(hits)} swapped nouns, predicted from one annotation alone"
    print(f"{title:<60} both directions  forward only")
    for name, (both, only) in zip(("the word before the adjective", "the adjective", "the noun"),
                                  shares, strict=True):
        print(f"  {name:<59} {both:>14.0%} {only:>13.0%}")
    return shares


def print_recorded(*names):
    """Print recorded perplexities, and differences from the same score, or concat, if printed."""
    for name in names:
        score = name.split()[0]
        base = "concat" if score == name else score
        difference = RECORDED[name] - RECORDED[base]
        against = f"   {difference:+.2f} against {base}" if base != name and base in names else ""
        print(f"  {name:<29} {RECORDED[name]:.2f} ± {DEVIATION[list(RECORDED).index(name)]:.2f}"
              f"{against}")


def swapped(pair):
    """The links of the pair's swapped adjectives, and those of their nouns."""
    links = phenomena(pair)["swapped adjective"]        # adjective, noun, adjective, noun, …
    return links[::2], links[1::2]


def print_from_state(by_state, test):
    """Print how many swapped nouns, *pas* and </s> are predicted from the state only; → shares.

    by_state: for each test sentence the words predicted from the state only.
    """
    places = [(n, t, word) for n, pair in enumerate(test)
              for t, word in enumerate([*pair.target, "</s>"])]
    nouns = [(n, t, pair.target[t]) for n, pair in enumerate(test) for _, t in swapped(pair)[1]]
    shares = [_print_hits("swapped nouns", nouns, by_state)]
    for name in ("pas", "</s>"):
        its = [place for place in places if place[2] == name]
        wrongly = np.mean([by_state[n][t] == name for n, t, word in places if word != name])
        shares.append(_print_hits(name, its, by_state, f"  (and in {wrongly:.1%} of other places)"))
    return shares


def _print_hits(name, places, by_state, more=""):
    """Print how many of the places (sentence, t, word) are predicted; → their share."""
    hits = [by_state[n][t] == word for n, t, word in places]
    print(f"  {name:<14} predicted in {sum(hits):>3} of {len(hits)} places: {np.mean(hits):>4.0%}"
          f"{more}")
    return np.mean(hits)


def print_past_diagonal(name, weights, test):
    """Print past_the_diagonal for swapped and unswapped nouns; → the two shares."""
    shares = [past_the_diagonal(weights, test, swap) for swap in (True, False)]
    print(f"  {name:<15} {shares[0]:>4.0%} of the swapped, {shares[1]:>4.0%} of the unswapped")
    return shares


def past_the_diagonal(weights, test, swap):
    """The share of nouns, target word t, with the largest weight on a position > t, </s> left out.

    In this grammar, source position t has the adjective of a swapped noun, and any other noun
    itself. swap: count swapped nouns; if False, the same nouns where they are not swapped.
    """
    nouns = {pair.source[j] for pair in test for j, _ in swapped(pair)[1]}
    return np.mean([rows[t, :-1].argmax() > t for rows, pair in zip(weights, test)
                    for j, t in pair.sure
                    if pair.source[j] in nouns and ((j, t) in swapped(pair)[1]) == swap])


# ---- figures -------------------------------------------------------------------------------------


def noun_weight(weights, pair):
    """A text: the weights of the pair's first swapped noun on its adjective and on its own word."""
    j, t = swapped(pair)[1][0]
    return (f"{pair.target[t]} has {weights[t, j - 1]:.0%} on {pair.source[j - 1]}, "
            f"{weights[t, j]:.0%} on {pair.source[j]}")


def draw_two(title, pair, matrices, around_swap=False):
    """The figure of two heatmaps. matrices: {title of the heatmap: weights of the pair}.

    around_swap: draw only the rows of the first swapped noun, its adjective and their neighbours.
    """
    targets = [*pair.target, "</s>"]
    t = swapped(pair)[1][0][1]
    rows = range(t - 1, t + 3) if around_swap else range(len(targets))
    figure, axes = plt.subplots(1, 2, figsize=(11, 1.8 + 0.5 * len(rows)), layout="constrained")
    figure.suptitle(title + "\n", fontsize=14)
    for ax, (one, weights) in zip(axes, matrices.items()):
        gold, possible = ([(j, t - rows[0]) for j, t in links if t in rows]
                          for links in (pair.sure, pair.possible))
        plotting.attention_heatmap(weights[rows[0]:rows[-1] + 1], gold=gold, possible=possible,
                                   source_tokens=[*pair.source, "</s>"], ax=ax, title=one,
                                   target_tokens=[targets[t] for t in rows],
                                   bar=ax is axes[-1])      # one for both
    legend = axes[-1].get_legend()
    legend.remove()                                         # below both instead
    figure.legend(handles=legend.legend_handles, loc="outside lower center", ncols=2, frameon=False)
    return figure
