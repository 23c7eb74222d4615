"""Helpers of lesson 07: checks, comparisons with the library, training, measures, figures."""

from collections import Counter
from contextlib import redirect_stdout
from io import StringIO
from typing import NamedTuple

import numpy as np
from course import caught
from matplotlib import pyplot as plt

from numpy_attention import metrics, plotting
from numpy_attention.data.batching import pair_batch
from numpy_attention.data.datasets.grammar import phenomena
from numpy_attention.experiments.runs.translator import Translator, TranslatorTraining
from numpy_attention.gradcheck import gradcheck, randomize
from numpy_attention.models.luong import LuongTranslator
from numpy_attention.training.optimizers import Adam
from numpy_attention.training.schedules import LinearDecay
from numpy_attention.training.trainer import Trainer

EPOCHS = 5
SIZES = dict(embedding=64, hidden=64, layers=1, cell="gru", bidirectional=True,
             input_feeding=False, init=0.25)


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
    _check_equal(ours, _attended(attention, s, M, dc))


def check_same_look(attention, look, attend_backward, s, M, *weights):
    """The same for a function that returns context and weights, such as local_p."""
    dc = np.random.default_rng(9).standard_normal(M.shape[1])
    context, alpha, cache = look(s, M, *weights)
    ours = [context, alpha, *attend_backward(dc, np.zeros(len(M)), cache)]
    _check_equal(ours, _attended(attention, s, M, dc))


def check_same_decoder(kind, rng):
    """Compare lesson 07's PlainDecoder, or another kind, with the library's decoder.

    Annotations and the first state are those of the library's encoder of two sentences.
    AssertionError: s̃, the weights, or the gradient of a parameter differs.
    """
    model = LuongTranslator.create(rng, 9, 9, embedding=3, hidden=4, layers=1, cell="rnn",
                                   attention="dot", input_feeding=True, dtype=np.float64)
    randomize(model, rng)
    batch = pair_batch([[4, 6, 5, 6, 7], [5, 7]], [[5, 8, 7], [6, 4, 5]])
    memory, states, _ = model.encode(batch.source, batch.source_mask)
    ys = model.target_embedding.E[batch.target_in]
    plain = kind(*_decoders(model))
    feds, alphas, cache = plain.forward(ys, states[0], memory.values, memory.mask)
    read_out, weights, known = model.forward(batch)
    _check_equal([feds.reshape(read_out.shape), alphas], [read_out, weights])
    dread_out = rng.standard_normal(read_out.shape)
    ours = plain.zeros_like()
    plain.backward(dread_out.reshape(feds.shape), np.zeros_like(alphas), cache, ours)
    theirs = model.zeros_like()
    model.backward(dread_out, None, known, theirs)
    _check_equal([array for _, array in ours.named_parameters()], _decoders(theirs))


def _decoders(model):
    """W, U, b, F, C and W_h of a LuongTranslator with an Elman cell, or of its gradient."""
    cell = model.decoder.cells[0]
    return [cell.W, cell.U, cell.b, model.F, model.C, model.W]


def _attended(attention, s, M, dc):
    """The library's context, weights, ds, dM and gradients of its own parameters, for one query."""
    memory = attention.read(M[None], np.ones((1, len(M)), bool))
    dmemory = memory.gradient()
    grads = attention.zeros_like()
    context, alpha, cache = attention.step(s[None], memory, 0)
    ds = attention.step_backward(dc[None], None, cache, dmemory, grads)
    dM = attention.read_backward(memory, dmemory, grads)
    return [context[0], alpha[0], ds[0], dM[0], *(array for _, array in grads.named_parameters())]


def _check_equal(ours, theirs):
    for number, (mine, one) in enumerate(zip(ours, theirs, strict=True)):
        assert np.allclose(mine, one, rtol=1e-10, atol=1e-12), f"result {number} differs"


# ---- training and measures -----------------------------------------------------------------------


def train(pairs, seed=1, epochs=EPOCHS, **changes):
    """A Translator trained on the pairs. changes: settings that differ from SIZES.

    With fewer epochs, the training of EPOCHS ends early: the learning rate is the same until then.
    """
    translator = Translator.create(pairs, "luong", SIZES | changes, TranslatorTraining(seed=seed))
    batches = translator.batches(pairs)
    trainer = Trainer(translator.model, Adam(8e-3), batches, rng=np.random.default_rng(seed),
                      clip=1.0, threads=1, progress=False,
                      schedule=LinearDecay(EPOCHS * len(batches), 0.05))
    trainer.fit(epochs)
    return translator


def measure(name, translator, test):
    """Measure and print; → the share of test sentences that are exactly right, weights."""
    found = translator.translate([pair.source for pair in test], beam=1)
    exact = metrics.exact_match([one.target for one in found], [pair.target for pair in test])
    weights = translator.attend(test)
    print(f"  {name:<22} {exact:6.1%} exactly right; largest weight on the right word "
          f"{metrics.pointing_accuracy(weights, test):6.1%}, on that or a neighbour "
          f"{metrics.near_pointing(weights, test):6.1%}", flush=True)
    return exact, weights


class Swaps(NamedTuple):
    """Measures of the swapped adjectives and nouns of the test sentences.

    In "largest weight", </s> is left out.
    """

    least: float        # row 1: sum of the weights on a noun and all that follows it, the smallest
    adjectives: float   # row 2: share of adjectives with the largest weight on the noun
    from_state: float   # row 4: share of nouns predicted from the state only
    nouns: float        # share of nouns with the largest weight on the noun
    unswapped: float    # row 3: share of unswapped nouns with the largest weight after the noun
    written: float      # share of nouns that are in the translation
    all_words: float    # share of all words, </s> included, predicted from the state only
    from_noun: float    # sum of the weights on a noun and all that follows it, for nouns: the mean
    after_noun: float   # sum of the weights on all that follows a noun, for adjectives: the mean


def measure_swaps(translator, weights, by_state, test, rows_1_to_3):
    """→ Swaps. by_state: for each test sentence the words predicted from the state only.

    rows_1_to_3: the lesson's function.
    """
    found = translator.translate([pair.source for pair in test], beam=1)
    after_noun = []
    nouns = []
    for rows, one, best, pair in zip(weights, found, by_state, test):
        adjective_links, noun_links = swapped(pair)
        after_noun += [rows[t, j + 2:].sum() for j, t in adjective_links]
        nouns += [(rows[t], j, one.target, best[t], pair.target[t]) for j, t in noun_links]
    least, adjectives, unswapped = rows_1_to_3(weights)
    return Swaps(least=least,
                 adjectives=adjectives,
                 from_state=np.mean([best == word for _, _, _, best, word in nouns]),
                 nouns=np.mean([row[:-1].argmax() == j for row, j, _, _, _ in nouns]),
                 unswapped=unswapped,
                 written=np.mean([word in target for _, _, target, _, word in nouns]),
                 all_words=np.mean([one == word for one, word in _predicted(by_state, test)]),
                 from_noun=np.mean([row[j:].sum() for row, j, _, _, _ in nouns]),
                 after_noun=np.mean(after_noun))


def print_verdicts(both, only):
    """Print the Swaps that test our explanation; → for each row, whether it is as we predict."""
    predicted = max(both.from_state, only.from_state)
    rows = [
        ("1  a swapped noun: weight on its source word or later, smallest", "least",
         "> 20%", only.least > 0.2),
        ("2  a swapped adjective: the largest weight is on the noun", "adjectives",
         "> 75%", only.adjectives > 0.75),
        ("3  an unswapped noun: the largest weight is after it", "unswapped",
         "< 20%", only.unswapped < 0.2),
        ("4  a swapped noun, with C = 0: it is predicted", "from_state",
         "< 40%", predicted < 0.4),
    ]
    _print_swaps([(what, name, f"{limit}: {'yes' if holds else 'no'}")
                  for what, name, limit, holds in rows], both, only, "our explanation",
                 "when the model writes …")
    return [holds for _, _, _, holds in rows]


def print_more(both, only):
    """Print the other Swaps of both directions and of forward only."""
    rows = [
        ("a  swapped nouns with the largest weight on the noun", "nouns", ""),
        ("b  swapped nouns that are in the translation", "written", ""),
        ("c  all words predicted with C = 0", "all_words", ""),
        ("d  swapped nouns, mean weight on the noun or later", "from_noun", ""),
        ("e  swapped adjectives, mean weight after the noun", "after_noun", ""),
    ]
    _print_swaps(rows, both, only, "")


def _print_swaps(rows, both, only, title, heading=""):
    """Print a table of (what, name in Swaps, text), with a title above the texts."""
    print(f"{heading:<64} both directions  forward only   {title}".rstrip())
    for what, name, text in rows:
        line = f"  {what:<63} {getattr(both, name):>14.0%} {getattr(only, name):>13.0%}   {text}"
        print(line.rstrip())


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


def print_recorded(means, deviations, rows):
    """Print some rows of {name: mean} with the difference from the same score, or from dot."""
    names = list(means)
    for name, spread in [(names[row], deviations[row]) for row in rows]:
        score = name.split()[0]
        base = "dot" if score == name else score
        against = f"   {means[name] - means[base]:+.2f} against {base}" if name != base else ""
        print(f"  {name:<29} {means[name]:.2f} ± {spread:.2f}{against}")


def swapped(pair):
    """The links of the pair's swapped adjectives, and those of their nouns."""
    links = phenomena(pair)["swapped adjective"]        # adjective, noun, adjective, noun, …
    return links[::2], links[1::2]


def frequent_words(test, n):
    """The n most frequent target words of the test sentences, </s> included."""
    counts = Counter(word for pair in test for word in [*pair.target, "</s>"])
    return [word for word, _ in counts.most_common(n)]


def print_predicted(words, by_state, test):
    """Print how often each word is predicted from the state only, in its places and in others.

    → {word: (share of its places, share of the others)}
    """
    shares = {}
    print("If C is 0, the model predicts in all test sentences:")
    for word in words:
        hits = np.array([one == word for one, _ in _predicted(by_state, test)])
        its = np.array([right == word for _, right in _predicted(by_state, test)])
        shares[word] = hits[its].mean(), hits[~its].mean()
        print(f"  {word!r:<8} in {hits[its].sum():>3} of {its.sum()} places, and in "
              f"{shares[word][1]:.1%} of all others")
    return shares


def _predicted(by_state, test):
    """Each predicted word of the test sentences with the correct one."""
    return [both for best, pair in zip(by_state, test)
            for both in zip(best, [*pair.target, "</s>"], strict=True)]


def missed_links(weights, test):
    """The target words of the links whose source word does not have the largest weight."""
    return [pair.target[t] for rows, pair in zip(weights, test) for j, t in pair.sure
            if rows[t, :-1].argmax() != j]


def centres_of(translator, pair):
    """p for each target word of the pair, in a Translator with local-p; (T + 1,)."""
    _, _, cache = translator.model.forward(translator.batches([pair]).batch([0]))
    return np.array([step.lengths[0] * step.share[0] for step in cache.attend_caches])  # S sigmoid


def in_window(translator, test):
    """The share of sure links whose source word is in the window of local-p."""
    return np.mean([abs(j - centres[t]) <= translator.model.attention.width
                    for pair in test for centres in [centres_of(translator, pair)]
                    for j, t in pair.sure])


# ---- figures -------------------------------------------------------------------------------------


def draw(weights, pair, title, ax=None):
    """A heatmap of one sentence's weights; → Axes."""
    return plotting.attention_heatmap(weights, source_tokens=[*pair.source, "</s>"],
                                      target_tokens=[*pair.target, "</s>"], gold=pair.sure,
                                      possible=pair.possible, ax=ax, title=title)


def noun_weight(weights, pair):
    """A text: how much weight the pair's first swapped noun has on its word and later ones."""
    j, t = swapped(pair)[1][0]
    return f"{pair.target[t]} has {weights[t, j:].sum():.0%} on {pair.source[j]} or later"


def draw_two(title, pair, matrices):
    """The figure of two heatmaps. matrices: {title of the heatmap: weights of the pair}."""
    figure, axes = plt.subplots(1, 2, figsize=(11, 5.8), layout="constrained")
    figure.suptitle(title)
    for ax, (one, weights) in zip(axes, matrices.items()):
        draw(weights, pair, one, ax)
    return figure


def draw_pull(beta, alpha, terms, p, D):
    """The figure of the bell around p, and of how hard each position pulls at p."""
    positions = np.arange(len(beta))
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
    fine = np.linspace(-0.5, len(beta) - 0.5, 200)
    left.plot(fine, np.exp(-2 * ((fine - p) / D) ** 2), "k--", label="bell g around p")
    left.bar(positions - 0.2, beta, 0.4, color="0.8", label="β, the softmax")
    left.bar(positions + 0.2, alpha, 0.4, color=plotting.COLOURS[0], label="α = β g")
    left.set(xlabel="position j", ylabel="weight", title="the bell lowers weights far from p = 2.3")
    left.legend()
    right.bar(positions, -terms, color=plotting.COLOURS[1])
    right.axhline(0, color="0.5", linewidth=1)
    right.set(xlabel="position j", ylabel="pull to the right (− term of dp)",
              title=f"the pull to the right: position 3 has {-terms[3]:.3f} of {-terms.sum():.3f}")
    return figure


def draw_recorded(recorded, deviations):
    """A dot with an error bar for each {name: mean}, the first as baseline; → Axes.

    A hollow dot is the score that a row changes.
    """
    names = list(recorded)
    means = list(recorded.values())
    _, ax = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
    ax.axvline(means[0], color="0.5", linestyle="--", linewidth=1)
    for row, name in enumerate(names):
        score = names.index(name.split()[0])
        if score != row:
            ax.plot([means[score], means[row]], [row, row], color="0.8")
            ax.plot(means[score], row, "o", color="0.5", markerfacecolor="white")
        ax.errorbar(means[row], row, xerr=deviations[row], fmt="o", capsize=3,
                    color=plotting.COLOURS[score != row])
    ax.set_yticks(range(len(names)), [name.replace("s_{t−1}", "sₜ₋₁") for name in names])
    ax.invert_yaxis()
    ax.set(xlabel=f"test perplexity (dashed: {names[0]}; hollow: the same score, unchanged)",
           title="on the Bible: mean ± standard deviation of three seeds")
    ax.grid(alpha=0.3, axis="x")
    return ax
