"""Helpers of lesson 15: comparisons with the library, training, measures, figures."""

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from luong_parts import attended, check_equal, untrained
from matplotlib import pyplot as plt

from numpy_attention import plotting
from numpy_attention.data.batching import pair_batch
from numpy_attention.gradcheck import randomize
from numpy_attention.models.luong import LuongTranslator
from numpy_attention.training.optimizers import Adam

# ---- comparisons ---------------------------------------------------------------------------------


def check_same_look(attention, look, attend_backward, s, M, *weights):
    """Compare a function such as local_p and its backward pass with the library's attention.

    Both run from s and M to the context and back, from the same random dc. AssertionError: the
    context, the weights, or a gradient differs.
    """
    dc = np.random.default_rng(9).standard_normal(M.shape[1])
    context, alpha, cache = look(s, M, *weights)
    ours = [context, alpha, *attend_backward(dc, np.zeros(len(M)), cache)]
    check_equal(ours, attended(attention, s, M, dc))


def check_same_decoder(kind, rng):
    """Compare lesson 15's PlainDecoder, or another kind, with the library's decoder.

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
    check_equal([feds.reshape(read_out.shape), alphas], [read_out, weights])
    dread_out = rng.standard_normal(read_out.shape)
    ours = plain.zeros_like()
    plain.backward(dread_out.reshape(feds.shape), np.zeros_like(alphas), cache, ours)
    theirs = model.zeros_like()
    model.backward(dread_out, None, known, theirs)
    check_equal([array for _, array in ours.named_parameters()], _decoders(theirs))


def _decoders(model):
    """W, U, b, F, C and W_h of a LuongTranslator with an Elman cell, or of its gradient."""
    cell = model.decoder.cells[0]
    return [cell.W, cell.U, cell.b, model.F, model.C, model.W]


# ---- training and measures -----------------------------------------------------------------------


class Enough(Exception):
    """Raised to end a training after some updates."""


@dataclass(frozen=True)
class Aiming(Adam):
    """Adam that moves the parameters that aim the window, W_p and v_p, later or more slowly.

    aims: which parameters these are. They stay as they are for the first `wait` updates, and then
    take the share `pace` of each step. Enough is raised after update number `stop`.
    """

    aims: np.ndarray | None = None
    wait: int = 0
    pace: float = 1.0
    stop: int = 0

    def update(self, weights, gradient, vectors, step, *rest):
        before = weights[self.aims]
        super().update(weights, gradient, vectors, step, *rest)
        pace = 0 if step <= self.wait else self.pace
        weights[self.aims] = before + pace * (weights[self.aims] - before)
        if step == self.stop:
            raise Enough


def train_window(pairs, seed, *kinds, **changes):
    """A Translator with general and local-p, D = 2, trained for one epoch with each of the kinds.

    kinds: LocalPredictive, or a subclass with another backward pass. changes: those of Aiming.
    """
    translator, trainer = untrained(pairs, seed, attention="general", window="local-p", width=2)
    marks = translator.model.zeros_like()
    marks.attention.W_p[...] = 1
    marks.attention.v_p[...] = 1
    trainer.optimizer = Aiming(trainer.optimizer.learning_rate, aims=marks.vector > 0, **changes)
    for epochs, kind in enumerate(kinds, 1):
        object.__setattr__(translator.model.attention, "__class__", kind)
        with suppress(Enough):
            trainer.fit(epochs)
    return translator


def centres_of(translator, pair):
    """p for each target word of the pair, in a Translator with local-p; (T + 1,)."""
    _, _, cache = translator.model.forward(translator.batches([pair]).batch([0]))
    return np.array([step.lengths[0] * step.share[0] for step in cache.attend_caches])  # S sigmoid


def print_window(name, translator, test):
    """Print how often p is at an end, and how often the right word is in the window; → both."""
    D = translator.model.attention.width
    ends, inside = [], []
    for pair in test:
        p = centres_of(translator, pair)
        ends += list(np.minimum(p, len(pair.source) + 1 - p) < 0.5)
        inside += [abs(j - p[t]) <= D for j, t in pair.sure]
    print(f"  {name:<28} {np.mean(ends):>19.0%} {np.mean(inside):>22.0%}", flush=True)
    return np.mean(ends), np.mean(inside)


def print_missed(translator, test):
    """Print what the window has instead of the right words outside it; → how often it has </s>."""
    D = translator.model.attention.width
    held, weight = [], []
    for pair, weights in zip(test, translator.attend(test)):
        p = centres_of(translator, pair)
        missed = [t for j, t in pair.sure if abs(j - p[t]) > D]
        held += list(abs(len(pair.source) - p[missed]) <= D)
        weight += list(weights[missed, len(pair.source)])
    print(f"{len(held)} right words are outside the window; in {np.mean(held):.0%} of these cases "
          f"</s> is inside,\nand its mean weight is {np.mean(weight):.2f}")
    return np.mean(held)


# ---- figures -------------------------------------------------------------------------------------


def draw_centres(runs, test, S=9):
    """The figure of p and the position of the right word, in test sentences with S positions.

    runs: {title of the panel: Translator with local-p}.
    """
    rng = np.random.default_rng(0)
    figure, axes = plt.subplots(1, len(runs), figsize=(5 * len(runs), 4.6), sharey=True,
                                squeeze=False, layout="constrained")
    for ax, (title, translator) in zip(axes[0], runs.items()):
        D = translator.model.attention.width
        points = np.array([(j, centre[t]) for pair in test if len(pair.source) + 1 == S
                           for centre in [centres_of(translator, pair)] for j, t in pair.sure])
        ends = np.array([-0.5, S - 0.5])
        ax.fill_between(ends, ends - D, ends + D, color="0.9", label="right word in window")
        ax.plot(ends, ends, "--", color="0.5", linewidth=1)
        shift = rng.uniform(-0.25, 0.25, len(points))           # so that fewer points coincide
        ax.plot(points[:, 0] + shift, points[:, 1], ".", color=plotting.COLOURS[0], alpha=0.3)
        ax.set(xlabel="position of the right word", ylim=(-0.5, S + 0.5), title=title)
    axes[0, 0].set(ylabel="p, the centre of the window")
    axes[0, 0].legend(loc="lower right")
    return figure


def draw_pull(beta, alpha, terms, p, D):
    """The figure of the bell around p, and of how each position moves p."""
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
    right.set(xlabel="position j", ylabel="move forward (− term of dp)",
              title="positions 3 and 4 pull p forward, 1 and 2 push it")
    return figure
