# %% [markdown]
# # Lesson 15: local attention and input feeding
#
# **You will be able to** write a window that learns where to look, test explanations of a training
# that fails, and write input feeding.
#
# **Needs:** lesson 07. No lesson needs this one. **Time:** 30 minutes to read, 10 of them for
# part B; less than a minute to run.
#
# In Luong, Pham & Manning's (2015) **local attention**, the decoder looks only into a *window* of
# the source: the positions at most **D** away from a centre p. The state predicts p for each target
# word, so the window has to learn where to look. With one seed it does. With another it ends up
# worse than before training. Why?

# %%
print("Lesson 15: local attention and input feeding", flush=True)

from dataclasses import dataclass

import numpy as np
from course import caught, show, with_bug
from local_parts import (check_same_decoder, check_same_look, draw_centres, draw_pull, print_window,
                         train_window)
from luong_parts import print_recorded

from numpy_attention import plotting
from numpy_attention.attention.dot import DotAttention
from numpy_attention.attention.local import LocalMonotonic, LocalPredictive
from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.gradcheck import gradcheck, numeric_gradient
from numpy_attention.module import Array, Module

np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## Two seeds
#
# We train two translators on the `grammar-en-fr` of lesson 07, with the score `general` and D = 2.
# For each sure link (lesson 07), call its source word the *right word*. The figure compares p with
# the position of the right word, in test sentences of length S = 9 (with `</s>`). If the window has
# learned to look, the points are near the diagonal. Guess: if it has not, do they lie around the
# middle, everywhere, or somewhere else?

# %% tags=["training"]
pairs = load_parallel("grammar-en-fr", "train", np.random.default_rng(3), 8_000)
test = load_parallel("grammar-en-fr", "test", np.random.default_rng(4), 400)
trained = {}
for seed in (1, 2):
    trained[seed] = train_window(pairs, seed, LocalPredictive)
titles = {f"seed {seed}, after one epoch": trained[seed] for seed in trained}
show(draw_centres(titles, test), "15_seeds")
print("recorded after five epochs, sentences exactly right: seed 1: 36%, seed 2: 99%")

# %% [markdown]
# Seed 2 follows the diagonal. With seed 1, nearly every p has run to an end of its range: to 0, or
# to S. Four more epochs do not save it. What has pushed p to the ends? Let us see what moves p.
#
# ## Forward
#
# ### `local-m`: a window that slides along
#
# Does p have to be predicted at all? A word and its translation are often at nearly the same
# position. So in **`local-m`**, m for monotonic, the window moves on by one position with each
# target word: p = min(t, S − 1).
#
# | symbol | shape | what it is |
# |---|---|---|
# | j = 0 … S − 1, t = 0 … T − 1 | | positions in the source and in the target, from 0 |
# | s_t | (N,) | the decoder's state: the query |
# | M, its rows h_j | (S, N) | annotations of N numbers (lesson 07's D is the window's here) |
# | p, D | | centre of the window, and how far it reaches |
# | β, g, α | (S,) | softmax inside the window, bell around p, weights |
# | W_p, v_p | (N, P), (P,) | parameters of the layer that predicts p |

# %%
rng = np.random.default_rng(0)
S = 6
N = 4
positions = np.arange(S)                # (S,)
s = rng.standard_normal(N)              # (N,)
M = rng.standard_normal((S, N))         # (S, N)


def softmax(e):
    """Along the last axis; −∞ gets weight 0."""
    powers = np.exp(e - e.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def dot(s, M):
    """s (N,), M (S, N) → scores (S,), cache."""
    return M @ s, (s, M)


# %%
def local_m(scores, t, D=1):
    """α (S,) for target word t."""
    j = np.arange(len(scores))
    p = min(t, len(scores) - 1)
    return softmax(np.where(abs(j - p) <= D, scores, -np.inf))


library = LocalMonotonic(DotAttention(), width=1)
memory = library.read(M[None], np.ones((1, S), bool))
scores, _ = dot(s, M)
for t in (0, 1, 2, 3, 5):
    weights = local_m(scores, t)
    assert np.allclose(library.step(s[None], memory, t)[1], weights)
    print(f"  target word {t}: α = {weights}")

# %% [markdown]
# ### `local-p`: a window that is predicted
#
# But *blue student* becomes *étudiant bleu*: translations also reorder words. Can the state choose
# the centre? In **`local-p`**, p for predictive, a small tanh layer and a sigmoid compute p, a real
# number such as 2.3:
#
#     r = s_t W_p      x = tanh(r)      z = x · v_p      p = S sigmoid(z)
#
# How can p get a gradient? A small change of p usually moves no word into or out of the window, so
# no weight changes. Therefore the weights are also multiplied by a bell around p, which moves
# smoothly with p:
#
#     g_j = exp(−(j − p)² / 2σ²)      σ = D / 2
#     α_j = β_j g_j                   β: the softmax over the window
#
# The α_j add up to less than 1, and the paper does not normalize them again.

# %%
boxes = {
    "s": ("sₜ", 0, 0.6, 0), "M": ("M: rows h₀, h₁, …", 2.2, 2.2, 2),
    "p": ("p = S sigmoid(tanh(sₜ Wₚ) · vₚ)", 2.9, -0.4, 1), "e": ("e = score(sₜ, M)", 2.2, 0.9),
    "b": ("β = softmax(e), window only", 5.8, 0.9), "g": ("g: bell around p", 6.4, -0.4, 1),
    "a": ("α = β g", 8.6, 0.2), "c": ("c = α M", 10.4, 0.9, 2),
}
arrows = [("s", "e", "query"), ("s", "p"), ("M", "e"), ("e", "b"), ("p", "b", "window", 0, True),
          ("p", "g"), ("b", "a"), ("g", "a"), ("a", "c"), ("M", "c", "", 0.1)]
title = "local-p: the gradient reaches p only through the bell (the dashed arrow passes none back)"
show(plotting.diagram(boxes, arrows, title=title), "15_architecture")

# %%
D = 2
e = np.array([0.3, -0.5, 0.9, 0.2, 1.1, -0.2])
dalpha = np.array([0.4, 0.1, 0.2, -0.9, -0.3, 0.5])
p = np.array([2.3])


def windowed(e, p):
    """e (S,) → β (S,), the softmax over the window around p; the bell g (S,); α (S,)."""
    j = np.arange(len(e))
    beta = softmax(np.where(abs(j - p) <= D, e, -np.inf))
    g = np.exp(-2 * ((j - p) / D) ** 2)             # 2σ² = D² / 2
    return beta, g, beta * g


beta, g, alpha = windowed(e, p)
for j in positions:
    print(f"  position {j}: β = {beta[j]:.2f} · g = {g[j]:.2f} → α = {alpha[j]:.2f}   "
          f"given: dα = {dalpha[j]:+.1f}")
print(f"α adds up to only {alpha.sum():.2f}")

# %% [markdown]
# ## Backward
#
# Which way does a word move p? The slope of the bell gives p its gradient:
#
#     ∂g_j/∂p = g_j (j − p) / σ²
#     ∂α_j/∂p = β_j ∂g_j/∂p = α_j (j − p) / σ²            β does not depend on p
#     dp      = Σ_j dα_j α_j (j − p) / σ²
#
# An update goes *against* dp. So a word pulls p towards itself if its dα_j is negative, and pushes
# p away if dα_j is positive. The strength depends on dα_j, the word's weight, and its distance from
# p. Guess: which of the six positions above moves p most, and which way?


# %%
def loss_of_p():
    _, _, alpha = windowed(e, p)
    return dalpha @ alpha


terms = dalpha * alpha * (positions - p) / (D / 2) ** 2
numeric = numeric_gradient(loss_of_p, p)
print("terms of dp:", terms)
print(f"dp = {terms.sum():.3f}   as measured: {numeric[0]:.3f}")
assert np.allclose(terms.sum(), numeric)
show(draw_pull(beta, alpha, terms, p, D), "15_pull")

# %% [markdown]
# Position 3 pulls hardest, to the right. Position 5 has a large dα, but no weight: **a word outside
# the window cannot pull**.
#
# Farther back, only the slope of the sigmoid is new:
#
#     ∂p/∂z = S sigmoid(z) (1 − sigmoid(z)) = p (1 − p / S)
#
# > **Exercise.** Write the backward pass: `numpy-attention exercise start local-p`.

# %% [markdown]
#     dβ = dα ∘ g                  de = β ∘ (dβ − β · dβ)       the bell, the softmax
#     dz = dp · p (1 − p / S)      dv_p = dz x                  the sigmoid, the product
#     dr = dz v_p ∘ (1 − x²)       dW_p = s_tᵀ dr               the tanh, the layer
#
# The state also *aims* the window, so ds has one more term, dr W_pᵀ.


# %%
def local_p(s, M, W_p, v_p):
    """s (N,), M (S, N), W_p (N, P), v_p (P,) → context (N,), α (S,), cache."""
    x = np.tanh(s @ W_p)
    p = len(M) / (1 + np.exp(-x @ v_p))
    beta, g, alpha = windowed(M @ s, p)
    return alpha @ M, alpha, (s, M, W_p, v_p, x, p, g, beta, alpha)


# %%
def local_p_backward(dc, dalpha, cache):
    """→ ds, dM, dW_p, dv_p."""
    s, M, W_p, v_p, x, p, g, beta, alpha = cache
    dalpha = M @ dc + dalpha                    # through the context, plus what reaches α directly
    dbeta = dalpha * g
    de = beta * (dbeta - beta @ dbeta)
    dp = dalpha @ (alpha * (np.arange(len(M)) - p)) * 4 / D**2      # 1/σ² = 4 / D²
    dz = dp * p * (1 - p / len(M))
    dr = dz * v_p * (1 - x**2)
    ds = de @ M + dr @ W_p.T                    # through the scores, and through p
    dM = np.outer(de, s) + np.outer(alpha, dc)
    return ds, dM, np.outer(s, dr), dz * x


# %% [markdown]
# When a word enters or leaves the window, the weights jump. So we first make sure that no word is
# at an edge.

# %%
P = 5
W_p = rng.standard_normal((N, P))   # (N, P)
v_p = rng.standard_normal(P)        # (P,)
_, _, cache = local_p(s, M, W_p, v_p)
p = cache[5]
edge = np.abs(np.abs(positions - p) - D).min()
assert edge > 1e-3
print(f"p = {p:.2f}; no word is nearer than {edge:.2f} to an edge of the window")


def check(backward):
    return gradcheck(None, s, M, W_p, v_p, rng=np.random.default_rng(2), forward=local_p,
                     backward=lambda dc, dalpha, cache, grads: backward(dc, dalpha, cache),
                     title="local-p with dot")


# %%
print(check(local_p_backward))
library = LocalPredictive(DotAttention(), W_p, v_p, width=D)
check_same_look(library, local_p, local_p_backward, s, M, W_p, v_p)
print("local-p: context, weights and all gradients are equal to the library's")

# %% [markdown]
# > **Exercise.** Find a bug by its report: `numpy-attention exercise start find-in-local-p`.
#
# ### What a bug looks like
#
# The slope p (1 − p / S) is S / 4 in the middle of a sentence and 0 at both ends. `held` is
# `local_p_backward` with S / 4 everywhere. Guess: which of the inputs s, M, W_p and v_p (`input[0]`
# to `input[3]`) get a wrong gradient?

# %%
held = with_bug(local_p_backward, "dp * p * (1 - p / len(M))", "dp * len(M) / 4", "held")
report = caught(check, held)

# %% [markdown]
# Only M is right, because it is the only input that does not reach the loss through p.
#
# ## Is it the slope?
#
# At both ends the slope is 0, so W_p and v_p hardly learn there, however hard the words pull. Is
# this why seed 1 fails?
#
# If so, it should help to train with the wrong gradient, whose slope is never 0. The library
# computes the slope as S · `share` · (1 − `share`), and `HeldSlope` sets the share to ½. Guess:
# which of the two seeds learns to look?


# %%
class HeldSlope(LocalPredictive):
    """local-p with S / 4 for ∂p/∂z."""

    def step_backward(self, dcontext, dweights, cache, dmemory, grads):
        cache = cache._replace(share=np.full_like(cache.share, 0.5))     # p / S
        return super().step_backward(dcontext, dweights, cache, dmemory, grads)


# %% tags=["training"]
print("after one epoch                p within 0.5 of an end   right word in window")
true_slope = {}
held_slope = {}
for seed in (1, 2):
    print_window(f"seed {seed}, untrained", train_window(pairs, seed), test)
    true_slope[seed] = print_window(f"seed {seed}, true slope", trained[seed], test)
    held_slope[seed] = print_window(f"seed {seed}, slope held at S / 4",
                                    train_window(pairs, seed, HeldSlope), test)
print("recorded for seed 1, true slope, after two epochs: 15% and 50%")

# %% [markdown]
# With the held slope, seed 1 learns to look: its window contains 94% of the right words. But seed
# 2, which needed no help, now fails. And with the true slope, seed 1 is not even stuck: after two
# epochs, only 15% of its p are at an end. Yet its window is no better than before training. So the
# slope alone does not explain the failure.

# %% tags=["training"]
assert true_slope[1][0] > 0.9 and true_slope[1][1] < 0.5
assert held_slope[1][1] > 0.8 and held_slope[2][1] < 0.5

# %% [markdown]
# ## Does p learn too early?
#
# At first, the rest of the model cannot translate, so the pulls say little about the right word.
# Later, the right word may be outside the window, where it cannot pull. How soon? An epoch has 125
# updates. Guess where the p of both seeds are after 12.

# %% tags=["training"]
print("                               p within 0.5 of an end   right word in window")
titles = {}
at_end = {}
for seed in (1, 2):
    name = f"seed {seed}, after 12 updates"
    titles[name] = train_window(pairs, seed, LocalPredictive, stop=12)
    at_end[seed], _ = print_window(name, titles[name], test)
show(draw_centres(titles, test), "15_updates")
assert min(at_end.values()) > 0.6
print("recorded for the seeds 1 to 12 (question 4)\n"
      "  most p at the right end after 12 updates:  1, 3, 12\n"
      "  fail after five epochs:                    1, 3, 12")

# %% [markdown]
# Twelve updates drive most p to an end, with *both* seeds. But seed 1 goes to the right, and seed 2
# to the left. Seed 2 comes back. Of twelve seeds, only the three with most p at the right end fail.
#
# What if p must wait? With `wait=12`, W_p and v_p stay as they are for the first 12 updates. Guess:
# which of the two seeds learns to look?

# %% tags=["training"]
print("after one epoch                p within 0.5 of an end   right word in window")
waited = {}
for seed in (1, 2):
    translator = train_window(pairs, seed, LocalPredictive, wait=12)
    waited[seed] = print_window(f"seed {seed}, waits 12 updates", translator, test)
assert max(at_end for at_end, _ in waited.values()) < 0.1
assert min(inside for _, inside in waited.values()) > 0.8

# %% [markdown]
# Both do. Do other seeds, too? In the table's first row, the seeds 1 and 3 fail. Look for a failure
# in the other two rows. In the last, p learns from the start, but W_p and v_p take only a tenth of
# each step.

# %%
print("recorded after five epochs, sentences exactly right (question 3)\n"
      "                              seed 1   seed 2   seed 3   seed 4   seed 5\n"
      "  true slope                    36%      99%      30%      99%      99%\n"
      "  waits for 12 updates         100%     100%      95%      99%      96%\n"
      "  a tenth of each step         100%     100%      98%      99%      98%\n"
      "recorded for seed 1: window D = 4, bell D = 2: 4%; window D = 2, bell D = 4: 97%")

# %% [markdown]
# There is none. So p moves too early, or too fast: it should move little until the rest of the
# model can show it where to look.
#
# And why is the right end worse than the left? At p = 0, the window holds three positions. But p
# can reach S, which is one place past the last position. There, the window holds only one word and
# `</s>`. If p ends at S − 1 instead, none of the twelve seeds fails (recorded: question 4).
#
# The last line has another cure for seed 1: not a wider window, but a wider bell (question 5).
#
# ## Part B: input feeding
#
# How can the decoder know which words it has translated? **Input feeding** gives each step the last
# s̃ = tanh(c C + s W_h) of lesson 07, through a matrix F:
#
#     r_t = y W + s_{t−1} U + s̃_{t−1} F + b       y: the previous word, embedded
#     s_t = tanh(r_t)
#
# > **Exercise.** Write the decoder's backward pass: `numpy-attention exercise start input-feeding`.

# %% [markdown]
# Now s̃_t has two uses, so its gradient has two terms. In the code, s̃ is `fed`.
#
#     ds̃_t = (from word t)  +  dr_{t+1} Fᵀ            dF = Σ_t s̃_{t−1}ᵀ dr_t


# %% tags=["plain"]
@dataclass(eq=False)
class PlainDecoder(Module):
    """An Elman decoder with dot attention and input feeding."""

    W: Array  # (E, H)
    U: Array  # (H, H)
    b: Array  # (H,)
    F: Array  # (K, H)
    C: Array  # (H, K)
    W_h: Array  # (H, K)

    def forward(self, ys, s, M, mask):
        """ys (T, B, E), s (B, H), M (B, S, H), mask (B, S) → s̃ (T, B, K), α (T, B, S), cache."""
        fed = np.zeros((len(s), len(self.F)), s.dtype)                      # s̃ before word 0
        steps = []
        for y in ys:
            before = (y, s, fed)
            s = np.tanh(y @ self.W + s @ self.U + fed @ self.F + self.b)    # (B, H)
            e = np.where(mask, (M * s[:, None]).sum(2), -np.inf)            # (B, S)
            alpha = softmax(e)                                              # (B, S)
            c = (alpha[:, :, None] * M).sum(1)                              # (B, H)
            fed = np.tanh(c @ self.C + s @ self.W_h)                        # (B, K)
            steps.append((before, s, alpha, c, fed))
        _, _, alphas, _, feds = zip(*steps)
        return np.array(feds), np.array(alphas), (M, steps)

    def backward(self, dfeds, dalphas, cache, grads):
        """∂L/∂s̃, ∂L/∂α → dys (T, B, E), ds (B, H) of the first state, dM (B, S, H)."""
        M, steps = cache
        dM = np.zeros_like(M)
        dr = np.zeros_like(M[:, 0])                             # of r_{t+1}; 0 after the end
        dys = []
        for t in reversed(range(len(steps))):
            (y, s_before, fed_before), s, alpha, c, fed = steps[t]
            dfed = dfeds[t] + dr @ self.F.T                     # used twice
            du = dfed * (1 - fed**2)
            grads.C += c.T @ du
            grads.W_h += s.T @ du
            dc = du @ self.C.T
            dalpha = (M * dc[:, None]).sum(2) + dalphas[t]
            de = alpha * (dalpha - (alpha * dalpha).sum(1, keepdims=True))
            dM += de[:, :, None] * s[:, None] + alpha[:, :, None] * dc[:, None]
            ds = (M * de[:, :, None]).sum(1) + du @ self.W_h.T + dr @ self.U.T  # three uses
            dr = ds * (1 - s**2)
            grads.W += y.T @ dr
            grads.U += s_before.T @ dr
            grads.F += fed_before.T @ dr
            grads.b += dr.sum(0)
            dys.append(dr @ self.W.T)
        return np.array(dys[::-1]), dr @ self.U.T, dM


# %%
T = 4
B = 2
S = 5
E = 3
H = 6
K = 7
ys = rng.standard_normal((T, B, E))             # (T, B, E)
first = rng.standard_normal((B, H))             # (B, H)
M = rng.standard_normal((B, S, H))              # (B, S, H)
mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], bool)
shapes = {"W": (E, H), "U": (H, H), "b": (H,), "F": (K, H), "C": (H, K), "W_h": (H, K)}
plain = PlainDecoder(**{name: 0.5 * rng.standard_normal(one) for name, one in shapes.items()})
print(gradcheck(plain, ys, first, M, mask, rng=np.random.default_rng(3)))

# %%
check_same_decoder(PlainDecoder, np.random.default_rng(4))
print("the decoder: s̃, weights and all parameter gradients are equal to the library's")

# %% [markdown]
# > **Exercise.** Find a bug by its report: `numpy-attention exercise start find-in-feeding`.
#
# The cost: step t + 1 must wait for s̃_t, so training cannot compute all states first.
#
# Do windows and input feeding help on real text?

# %% tags=["training"]
print("recorded on clauses of the Bible, models of lesson 07: test perplexity (lower is better)")
print_recorded("general", "general in local-p", "general in local-m", "dot",
               "dot with input feeding")

# %% [markdown]
# None of them helps: `local-p` raises the perplexity by 1.03, `local-m` by 0.56, and input feeding
# by 0.27. In the paper, with wider windows (D = 10), `local-p` and input feeding help. We do not
# know why ours do not.
#
# ## What others call it
#
# | here | elsewhere |
# |---|---|
# | local attention | windowed attention |
# | `local-m`, `local-p` | monotonic and predictive alignment |
# | the bell | Gaussian window |
# | input feeding | feeding the attentional vector |
#
# Most terms are in the [glossary](../docs/site/glossary.md).

# %% [markdown]
# ## From the package
#
# | from the package | what it is |
# |---|---|
# | `plotting` | diagrams and heatmaps |
# | `DotAttention` | the score `dot` |
# | `LocalMonotonic` | the window `local-m` |
# | `LocalPredictive` | `local-p` |
# | `load_parallel` | draws sentence pairs of a corpus |
# | `gradcheck` | compares a backward pass with central differences |
# | `numeric_gradient` | the central differences of one array |
# | `Array` | an array, in type hints |
# | `Module` | a class whose array fields are parameters |

# %% [markdown]
# ## Questions
#
# 1. In `local-p` let v_p be 0. What is p then? If the right word is outside the window, which words
#    can pull p towards it?
# 2. Normalize the products β ∘ g, so that the weights add up to 1: α = β ∘ g / Σ β g. Derive de
#    and dp, and check them.
# 3. Repeat the recorded table. What happens with seed 1 if the slope is held in the first epoch
#    only? And if v_p is set to 0 after the first epoch, which puts every p back into the middle?
# 4. Mirror the windows after 12 updates: with −v_p for v_p, p becomes S − p. What happens with the
#    seeds 1 to 12?
# 5. With D = 4, the seeds 1 and 3 do not fail. Is it because the window is wider, or because the
#    bell is?
# 6. Let F be 0 in `PlainDecoder`. Which term of ds̃_t disappears? Is dF 0, too?
