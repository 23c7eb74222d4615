# %% [markdown]
# # Lesson 07: Luong's family of attentions
#
# **You will be able to** derive Luong's four scores, two windows and input feeding, and test an
# explanation of a heatmap.
#
# **Needs:** lesson 06. **Time:** 55 minutes to read, about a minute to run.
#
# In lesson 06 the decoder attended *before* its step: the old state was the query, and what it
# found went into the new state. Luong, Pham & Manning (2015) reverse the order. Once the decoder
# has made its step, the new state is the query, and one small layer joins the state with what was
# found. So attention becomes a separate part that is easy to replace, and the paper tries many:
# four scores, two kinds of window, and **input feeding**, which passes what was found on to the
# next step.
#
# You will build them one at a time, smallest first, check each before the next, and train four
# translators at the end. One score rates positions without reading the words there. Guess now
# whether a model with it can translate.

# %%
print("Lesson 07: Luong's family of attentions", flush=True)

from dataclasses import dataclass
from functools import partial

import numpy as np
from course import caught, show
from luong_parts import check_same, check_same_decoder, check_same_look
from matplotlib import pyplot as plt

from numpy_attention import metrics, plotting
from numpy_attention.attention.additive import AdditiveAttention
from numpy_attention.attention.dot import DotAttention
from numpy_attention.attention.general import GeneralAttention
from numpy_attention.attention.local import LocalMonotonic, LocalPredictive
from numpy_attention.attention.location import LocationAttention
from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.data.datasets.grammar import phenomena
from numpy_attention.gradcheck import gradcheck, numeric_gradient
from numpy_attention.module import Array, Module
from numpy_attention.experiments.runs.translator import Translator, TranslatorTraining
from numpy_attention.training.optimizers import Adam
from numpy_attention.training.schedules import LinearDecay
from numpy_attention.training.trainer import Trainer

np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## One target word
#
# The encoder has left an annotation h_j for each of S source words, the rows of M. Once the decoder
# has made its step to state s_t, it computes four things to write target word t. (Attention to all
# source words, as here, is **global attention**.)
#
#     e_t  = score(s_t, M)            (S,)   how useful is each word now?
#     α_t  = softmax(e_t)             (S,)   weights: positive, they add up to 1
#     c_t  = α_t M                    (D,)   the context vector, an average of annotations
#     s̃_t  = tanh(c_t C + s_t W_h)    (K,)   from context and state; s̃_t predicts the word
#
# The paper writes the last line tanh(W_c [c_t; h_t]), where C and W_h are the two parts of W_c.
#
# | symbol | shape | what it is |
# |---|---|---|
# | j = 1 … S, t = 1 … T | | positions in the source and in the target |
# | s_t | (H,) | the decoder's state after its step: the query (the paper's h_t) |
# | M, its rows h_j | (S, D) | annotations of the source words (the paper's h̄_s) |
# | e, α | (S,) | scores, attention weights |
# | c | (D,) | context vector: what was found |
# | s̃_t | (K,) | **attentional state**: context and state together (the paper's h̃_t) |
# | C, W_h | (D, K), (H, K) | parameters of that layer |
# | W_a, U_a, v_a | | parameters of a score, each with its score below |
# | p, `reach` | | centre of a window, and how far it extends to each side (the paper's D) |
#
# The exercises, and functions below that they use, write `h` for s_t, `h̃` for s̃_t, `D` for
# `reach`, `N` for our D. The dashed arrow in the diagram is input feeding, the last part of the
# derivation.

# %%
boxes = {
    "before": ("sₜ₋₁", 0, 0),
    "s": ("sₜ", 1.7, 0, 0),
    "M": ("M: rows h₁ to h_S", 1.7, 2.8, 2),
    "e": ("e = score(sₜ, M)", 3.6, 1.2),
    "a": ("α = softmax(e)", 5.8, 1.2),
    "c": ("c = α M", 7.8, 1.2, 2),
    "joined": ("s̃ₜ = tanh(c C + sₜ Wₕ)", 7.8, 0, 1),
    "y": ("P(yₜ)", 10.4, 1.2),
    "next": ("sₜ₊₁", 10.4, 0),
}

# %%
arrows = [("before", "s", "step"), ("s", "e", "query"), ("M", "e", "as keys"), ("e", "a"),
          ("a", "c"), ("M", "c", "as values", 0.12), ("c", "joined"), ("s", "joined"),
          ("joined", "y"), ("joined", "next", "F", 0, True)]
show(plotting.diagram(boxes, arrows, title="Luong: the new state is the query, and s̃ₜ joins it "
                      "with what was found"), "07_architecture")

# %% [markdown]
# ## Forward
#
# The first score, **dot**, is the smallest there is: e_j = s_t · h_j, without any parameter. There
# are three source words of three numbers. The decoder is to write *étudiant*. Multiply by eye:
# which word gets the largest weight?

# %%
words = ["the", "blue", "student"]
M = np.array([[1.0, 0.2, 0.0],      # the
              [0.1, 1.0, 0.3],      # blue
              [0.0, 0.4, 1.0]])     # student
s = np.array([0.2, 0.5, 2.0])
C = np.array([[0.3, -0.5], [0.8, 0.1], [-0.2, 0.9]])
W_h = np.array([[-0.4, 0.2], [0.1, 0.6], [0.5, -0.3]])


def softmax(e):
    """Along the last axis; −∞ gets weight 0."""
    a = np.exp(e - e.max(-1, keepdims=True))
    return a / a.sum(-1, keepdims=True)


# %%
e = M @ s                           # (S,)
alpha = softmax(e)                  # (S,)
c = alpha @ M                       # (D,)
u = c @ C + s @ W_h                 # (K,)
s_tilde = np.tanh(u)                # (K,)
for word, one_e, one_alpha in zip(words, e, alpha):
    print(f"  {word:<8} e = {one_e:.2f}   α = {one_alpha:.2f}")
print("  c =", c, "  s̃ =", s_tilde)

# %% [markdown]
# ## Backward
#
# For the **upstream gradient** ds̃ = ∂L/∂s̃ we take two numbers w, as if L were w · s̃. We walk up
# the four lines, and check each as in lesson 06.

# %%
w = np.array([1.0, -2.0])


def L(e=0, alpha=0, c=0, u=0):
    """w · s̃; each argument is added to the intermediate of that name."""
    scores = M @ s + e
    weights = softmax(scores) + alpha
    context = weights @ M + c
    return w @ np.tanh(context @ C + s @ W_h + u)


def check_gradient(name, ours, loss, array):
    """Compare our gradient with the central difference of loss() in each element of array."""
    numeric = numeric_gradient(loss, array)
    assert np.allclose(ours, numeric, rtol=1e-7, atol=1e-9), name
    print(f"  {name:<7} {ours}   as measured: {numeric}")


def check_intermediate(name, ours):
    """The same for an intermediate: move it, and nothing before it."""
    by = np.zeros_like(ours)
    check_gradient("d" + name, ours, partial(L, **{name: by}), by)


# %% [markdown]
# From s̃ = tanh(u), u = c C + s W_h and c = α M:
#
#     du = ds̃ ∘ (1 − s̃²)      dc = du Cᵀ      dα_j = h_j · dc
#
# and the softmax as in lesson 06: de = α ∘ (dα − α · dα).

# %%
du = w * (1 - s_tilde**2)                       # (K,)
dc = du @ C.T                                   # (D,)
dalpha = M @ dc                                 # (S,)
de = alpha * (dalpha - alpha @ dalpha)          # (S,)
check_intermediate("u", du)
check_intermediate("c", dc)
check_intermediate("alpha", dalpha)
check_intermediate("e", de)

# %% [markdown]
# > **Exercise.** Write dot's two passes before you read on:
# > `numpy-attention exercise start dot`.
#
# Two gradients are left, ds and dh_j. Each is a sum of two terms, because s was used in the score
# and in s̃, and each h_j as a *key* (in e) and as a *value* (in c):
#
#     ds   = de M  +  du W_hᵀ                 through the score, and through s̃
#     dh_j = de_j s  +  α_j dc                as key, and as value
#
# That is all of dot. Because it has no parameters, encoder and decoder must learn to use the same
# coordinates for the same things.

# %%
check_gradient("ds", de @ M + du @ W_h.T, L, s)
check_gradient("dh_3", de[2] * s + alpha[2] * dc, L, M[2])
check_gradient("dC_1", c[0] * du, L, C[0])
print("dot: every gradient is what the central difference measures")

# %% [markdown]
# ## General: one more line
#
# What if states and annotations use different coordinates? **general** puts a matrix W_a between
# them, so that the query is q = s_t W_a. From here on we write each score as two small functions,
# forward and backward, while softmax, context and s̃ stay as they are.
#
# > **Exercise.** Write its backward pass before you read on:
# > `numpy-attention exercise start general`.
#
#     q = s W_a             dq = de M
#     e = M q               dM = deᵀ q        dW_a = sᵀ dq        ds = dq W_aᵀ
#
# The line of e is dot's, with q in place of s.


# %%
def general(h, M, W_a):
    """h (H,), M (S, N), W_a (H, N) → scores (S,), cache."""
    q = h @ W_a
    return M @ q, (h, M, W_a, q)


def general_backward(de, cache):
    """→ dh, dM, dW_a."""
    h, M, W_a, q = cache
    dq = de @ M
    return dq @ W_a.T, np.outer(de, q), np.outer(h, dq)


def check(score, score_backward, *inputs):
    """The report of a gradient check of the pair."""
    def backward(de, cache, grads):
        return score_backward(de, cache)
    rng = np.random.default_rng(2)
    return gradcheck(None, *inputs, rng=rng, forward=score, backward=backward,
                     title=score.__name__)


# %%
rng = np.random.default_rng(0)
H = 3                               # all sizes differ, so that a transpose cannot hide
N = 4
S = 6
A = 5
s = rng.standard_normal(H)
M = rng.standard_normal((S, N))     # (S, N)
W_a = rng.standard_normal((H, N))   # (H, N)
print(check(general, general_backward, s, M, W_a))

# %% [markdown]
# Here s_t has three numbers and h_j four, which dot would not allow. The report names inputs by
# position: `input[0]` is s_t, `input[1]` M, `input[2]` W_a.
#
# ## Concat: lesson 06's score
#
# The paper puts s_t and h_j into one long vector, with a hidden layer on top. A long vector times a
# matrix is a sum of two products, so W has two parts:
#
#     e_j = v_a · tanh([s_t; h_j] W) = v_a · tanh(s_t W_a + h_j U_a)
#
# You know that already: **concat** is additive attention with a later query.
#
# > **Exercise.** Write its backward pass: `numpy-attention exercise start concat`.


# %%
def concat(h, M, W_a, U_a, v_a):
    """h (H,), M (S, N), W_a (H, A), U_a (N, A), v_a (A,) → scores (S,), cache."""
    x = np.tanh(h @ W_a + M @ U_a)
    return x @ v_a, (h, M, W_a, U_a, v_a, x)


def concat_backward(de, cache):
    """→ dh, dM, dW_a, dU_a, dv_a."""
    h, M, W_a, U_a, v_a, x = cache
    da = np.outer(de, v_a) * (1 - x**2)
    total = da.sum(0)               # h was used with every word: its gradients add up
    return total @ W_a.T, da @ U_a.T, np.outer(h, total), M.T @ da, de @ x


concat_weights = [rng.standard_normal(shape) for shape in ((H, A), (N, A), (A,))]
print(check(concat, concat_backward, s, M, *concat_weights))

# %% [markdown]
# ### How a bug looks
#
# In one line of `concat_backward` we take a mean where a sum belongs. Before you look for it, read
# in the report which gradients are right and which are wrong, and infer the line from that.


# %%
def averaged(de, cache):
    """concat_backward with a planted bug."""
    h, M, W_a, U_a, v_a, x = cache
    da = np.outer(de, v_a) * (1 - x**2)
    total = da.mean(0)
    return total @ W_a.T, da @ U_a.T, np.outer(h, total), M.T @ da, de @ x


report = caught(check, concat, averaged, s, M, *concat_weights)

# %% [markdown]
# `input[0]` (s) and `input[2]` (W_a) are wrong; M, U_a and v_a are right. So da, which M and U_a
# need, must be right, and the only line that s and W_a share is `total`. Both are too small by the
# same factor, the number of words: since s was used with every word, its gradients *add up*.
#
# ## Location: a score that reads no word
#
# **location** has a column of W_a for each *position*: e = s_t W_a, where a sentence of S words
# uses the first S columns. The state alone decides where to look, and fetches what is there without
# having read it. M does not occur in the score, so the score adds 0 to dM: annotations learn what
# to say, but not when to be found.
#
# > **Exercise.** Write its backward pass: `numpy-attention exercise start location`.


# %%
def location(h, M, W_a):
    """h (H,), M (S, N), W_a (H, longest) → scores (S,), cache."""
    return h @ W_a[:, :len(M)], (h, M, W_a)


def location_backward(de, cache):
    """→ dh, dM, dW_a."""
    h, M, W_a = cache
    dW_a = np.zeros_like(W_a)
    dW_a[:, :len(M)] = np.outer(h, de)
    return W_a[:, :len(M)] @ de, np.zeros_like(M), dW_a


W_places = rng.standard_normal((H, 8))          # (H, longest)
print(check(location, location_backward, s, M, W_places))

# %% [markdown]
# ## The same as the library
#
# The library has a class for each score, which works on whole batches, defers products, and shares
# no code with ours. `check_same` (in `luong_parts.py`, which you may skip) runs both from s and M
# to the context and back, and compares context, weights and every gradient.


# %%
def dot(h, M):
    """h (N,), M (S, N) → scores (S,), cache."""
    return M @ h, (h, M)


def dot_backward(de, cache):
    """→ dh, dM."""
    h, M = cache
    return de @ M, np.outer(de, h)


long_s = rng.standard_normal(N)     # dot needs a state of the annotations' size
check_same(DotAttention(), dot, dot_backward, long_s, M)
check_same(GeneralAttention(W_a), general, general_backward, s, M, W_a)
check_same(AdditiveAttention(*concat_weights), concat, concat_backward, s, M, *concat_weights)
check_same(LocationAttention(W_places), location, location_backward, s, M, W_places)
print("four scores: context, weights and all gradients are the library's")

# %% [markdown]
# ## Local-m: a window that runs along
#
# Because a long source has many words that are not needed just now, **local attention** sees a
# *window*: the positions whose distance from a centre p is at most `reach`. In **local-m**, m for
# monotonic, p = t: the window moves on by one position with each target word, until it reaches the
# last position and stays there. (Positions count from 0 from here on, as in the code.)
#
# There is nothing new to derive, because outside the window α = 0, so that de = α ∘ (…) is 0 as
# well.

# %%
reach = 1
positions = np.arange(S)            # (S,)
scores, _ = dot(long_s, M)


def local_m(scores, t, reach):
    """α (S,) for target word t."""
    j = np.arange(len(scores))
    p = min(t, len(scores) - 1)
    return softmax(np.where(abs(j - p) <= reach, scores, -np.inf))


library = LocalMonotonic(DotAttention(), width=reach)
memory = library.read(M[None], np.ones((1, S), bool))
for t in range(8):
    weights = local_m(scores, t, reach)
    assert np.allclose(library.step(long_s[None], memory, t)[1], weights)
    print(f"  word {t}: α = {weights}")

# %% [markdown]
# ## Local-p: a window that is predicted
#
# French puts *bleu* after *étudiant*, which a window that runs along cannot follow. So in
# **local-p** the state *predicts* p, a real number such as 2.3. But how can p learn? A word is in
# or out, so a window has no slope. Luong et al. therefore multiply the weights by a bell curve
# around p:
#
#     g_j = exp(−(j − p)² / 2σ²)      σ = reach / 2
#     α_j = a_j g_j                   a: the softmax over the window; not normalised again
#
# The bell's slope is, by the chain rule, g_j times the slope of the exponent:
#
#     ∂g_j/∂p = g_j · (−2 (j − p) · (−1) / 2σ²) = g_j (j − p) / σ²
#     ∂α_j/∂p = a_j ∂g_j/∂p = α_j (j − p) / σ²            a does not depend on p
#     dp      = Σ_j dα_j α_j (j − p) / σ²
#
# Follow one word. Let p be 2.3, and let the loss fall if position 3 gets more weight:
#
# - dα_3 is negative and 3 − p is positive, so this word's term of dp is negative.
# - An update goes *against* dp, so p moves to the right, towards the word.
# - If dα_3 were positive, p would move away from the word.
#
# The pull is proportional to dα_j, to the weight and to the distance. We begin with a given
# p = 2.3, six positions and `reach` = 2 (`D` in the code). Which position will pull hardest?

# %%
D = 2
e = np.array([0.3, -0.5, 0.9, 0.2, 1.1, -0.2])
dalpha = np.array([0.4, 0.1, 0.2, -0.9, -0.3, 0.5])
p = np.array([2.3])


def windowed(e, p):
    """e (S,) → a (S,), the softmax over the window around p; the bell g (S,); α (S,)."""
    s = np.arange(len(e))
    a = softmax(np.where(abs(s - p) <= D, e, -np.inf))
    g = np.exp(-2 * ((s - p) / D) ** 2)             # 2σ² = D² / 2
    return a, g, a * g


def loss_of_p():
    _, _, alpha = windowed(e, p)
    return dalpha @ alpha


# %%
a, g, alpha = windowed(e, p)
terms = dalpha * alpha * (positions - p) / (D / 2) ** 2
for j in positions:
    print(f"  position {j}: a = {a[j]:.2f} · g = {g[j]:.2f} → α = {alpha[j]:.2f}   "
          f"its term of dp {terms[j]:+.3f}")
check_gradient("dp", terms.sum(keepdims=True), loss_of_p, p)
print(f"α adds up to only {alpha.sum():.2f}. dp is negative: the next update moves p to the right, "
      "towards position 3.")
assert terms.sum() < 0

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
fine = np.linspace(-0.5, 5.5, 200)
left.plot(fine, np.exp(-2 * ((fine - p) / D) ** 2), "k--", label="bell g around p")
left.bar(positions - 0.2, a, 0.4, color="0.8", label="a, the softmax")
left.bar(positions + 0.2, alpha, 0.4, color=plotting.COLOURS[0], label="α = a g")
left.set(xlabel="position j", ylabel="weight", title="the bell lowers weights far from p = 2.3")
left.legend()
right.bar(positions, -terms, color=plotting.COLOURS[1])
right.axhline(0, color="0.5", linewidth=1)
right.set(xlabel="position j", ylabel="pull to the right (− term of dp)",
          title=f"the pull to the right: position 3 has {-terms[3]:.3f} of {-terms.sum():.3f}")
show(figure, "07_pull")

# %% [markdown]
# Now we compute p from the state:
#
#     r = s_t W_p      x = tanh(r)      z = x · v_p      p = S sigmoid(z)
#
# So 0 < p < S, and p may exceed S − 1, the last word's position. Only the slope of the sigmoid is
# new: ∂p/∂z = S sigmoid(z) (1 − sigmoid(z)) = p (1 − p / S).
#
# > **Exercise.** Write its backward pass before you read on:
# > `numpy-attention exercise start local-p`.
#
#     dz = dp · p (1 − p / S)      dv_p = dz x      dr = dz v_p ∘ (1 − x²)      dW_p = s_tᵀ dr
#
# (dr is `dk` in the code.) Because the state has one more use, to *aim* the window, ds has one more
# term, dr W_pᵀ.


# %%
def local_p(h, M, W_p, v_p):
    """h (N,), M (S, N), W_p (N, P), v_p (P,) → context (N,), α (S,), cache."""
    x = np.tanh(h @ W_p)
    p = len(M) / (1 + np.exp(-x @ v_p))
    a, g, alpha = windowed(M @ h, p)
    return alpha @ M, alpha, (h, M, W_p, v_p, x, p, g, a, alpha)


# %%
def local_p_backward(dc, dalpha, cache):
    """→ dh, dM, dW_p, dv_p."""
    h, M, W_p, v_p, x, p, g, a, alpha = cache
    dalpha = M @ dc + dalpha                    # plus the gradient of α itself
    da = dalpha * g
    de = a * (da - a @ da)
    dp = dalpha @ (alpha * (np.arange(len(M)) - p)) * 4 / D**2      # 1/σ² = 4 / D²
    dz = dp * p * (1 - p / len(M))
    dk = dz * v_p * (1 - x**2)
    dh = de @ M + dk @ W_p.T                    # through the scores, and through p
    dM = np.outer(de, h) + np.outer(alpha, dc)
    return dh, dM, np.outer(h, dk), dz * x


# %%
W_p = rng.standard_normal((N, A))   # (N, P)
v_p = rng.standard_normal(A)        # (P,)
_, _, cache = local_p(long_s, M, W_p, v_p)
p = cache[5]
edge = np.abs(np.abs(positions - p) - D).min()
assert edge > 1e-3, "p is on an edge, where there is no derivative"
rng_check = np.random.default_rng(2)


def back(dc, dalpha, cache, grads):
    return local_p_backward(dc, dalpha, cache)


print(f"p = {p:.2f}, the nearest edge of the window is {edge:.2f} away from a word")
print(gradcheck(None, long_s, M, W_p, v_p, rng=rng_check, forward=local_p, backward=back,
                title="local-p with dot"))
library = LocalPredictive(DotAttention(), W_p, v_p, width=D)
check_same_look(library, local_p, local_p_backward, long_s, M, W_p, v_p)
print("local-p: context, weights and all gradients are the library's")

# %% [markdown]
# > **Exercise.** One line of working code is wrong; find it from its report alone:
# > `numpy-attention exercise start find-in-local-p`.
#
# ### What no gradient sees
#
# p is at an *edge* if its distance to a word is exactly `reach`. When p passes an edge, one word
# leaves the window and another enters it, so that all weights jump:
#
# - The softmax is over other words, so all of a jumps.
# - The bell is exp(−2) high at an edge, so one weight jumps up from 0, and another drops to 0.
#
# A gradient is the slope on one side and does not see the jump, so the check needs a p off the
# edges. Between them everything is smooth, as the weights show when we move p.

# %%
centres = np.linspace(1.201, 3.801, 1301)
rows = []
for centre in centres:
    _, _, alpha = windowed(e, centre)
    rows.append(alpha)
curves = np.array(rows)
jumps = np.abs(np.diff(curves, axis=0)).sum(1)
print(f"p moves by 0.002: Σ|change of α| is {np.median(jumps):.4f} as a rule, "
      f"{jumps.max():.2f} at the worst edge; Σ α lies between {curves.sum(1).min():.2f} and "
      f"{curves.sum(1).max():.2f}")
assert jumps.max() > 20 * np.median(jumps)

# %%
figure, ax = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
for j in positions:
    ax.plot(centres, curves[:, j], color=plotting.COLOURS[j], label=f"position {j}")
for edge in (2, 3):
    ax.axvline(edge, color="0.7", linewidth=1, linestyle=":")
ax.set(xlabel="p, the centre of the window (positions)", ylabel="weight α",
       title=f"local-p: smooth, but at an edge the weights jump by {jumps.max():.2f} in all")
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
show(ax, "07_edge")

# %% [markdown]
# ## Input feeding, and the loop over words
#
# A translator should not translate a word twice, nor leave one out. But s_{t+1} does not know where
# the decoder attended for word t, because α_t came *after* the step. So **input feeding** sends
# s̃_t into the next step, with a matrix F:
#
#     s_t = tanh(r_t)      r_t = y W + s_{t−1} U + s̃_{t−1} F + b     y: previous word, embedded
#
# with s̃_0 = 0. (This is lesson 02's **Elman cell**, whose next state is one tanh of a sum; in
# practice it is a GRU or an LSTM.) Backward, s̃_t now has two uses, its own word and the next step:
#
#     ds̃_t = (from word t)  +  dr_{t+1} Fᵀ                dr is called dk in the code
#
# So later words' errors now reach the first word's attention weights, which they never do without
# F. But input feeding has a price. Without F the states do not depend on what was found, so all T
# could be computed first and scored in one product. With F, step t + 1 waits for α_t.
#
# > **Exercise.** Write its backward pass before you read on:
# > `numpy-attention exercise start input-feeding`.
#
# Here is the whole decoder, with dot and input feeding, for a batch of B sentences. A mask (B, S)
# is False after the end of a short sentence.


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

    def forward(self, ys, h, M, mask):
        """ys (T, B, E), h (B, H), M (B, S, H), mask (B, S) → h̃ (T, B, K), α (T, B, S), cache."""
        fed = np.zeros((len(h), len(self.F)), h.dtype)
        steps = []
        for y in ys:
            before = (y, h, fed)
            h = np.tanh(y @ self.W + h @ self.U + fed @ self.F + self.b)    # (B, H)
            e = np.where(mask, (M * h[:, None]).sum(2), -np.inf)            # (B, S)
            alpha = softmax(e)                                              # (B, S)
            c = (alpha[:, :, None] * M).sum(1)                              # (B, H)
            fed = np.tanh(c @ self.C + h @ self.W_h)                        # (B, K)
            steps.append((before, h, alpha, c, fed))
        _, _, alphas, _, feds = zip(*steps)
        return np.array(feds), np.array(alphas), (M, steps)

    def backward(self, dfeds, dalphas, cache, grads):
        """→ dys (T, B, E), dh (B, H) of the first state, dM (B, S, H)."""
        M, steps = cache
        dM = np.zeros_like(M)
        dk = np.zeros_like(M[:, 0])                             # of the next step
        dys = []
        for t in reversed(range(len(steps))):
            (y, h_before, fed_before), h, alpha, c, fed = steps[t]
            dfed = dfeds[t] + dk @ self.F.T                     # used twice
            du = dfed * (1 - fed**2)
            grads.C += c.T @ du
            grads.W_h += h.T @ du
            dc = du @ self.C.T
            dalpha = (M * dc[:, None]).sum(2) + dalphas[t]
            de = alpha * (dalpha - (alpha * dalpha).sum(1, keepdims=True))
            dM += de[:, :, None] * h[:, None] + alpha[:, :, None] * dc[:, None]
            dh = (M * de[:, :, None]).sum(1) + du @ self.W_h.T + dk @ self.U.T  # three uses
            dk = dh * (1 - h**2)
            grads.W += y.T @ dk
            grads.U += h_before.T @ dk
            grads.F += fed_before.T @ dk
            grads.b += dk.sum(0)
            dys.append(dk @ self.W.T)
        return np.array(dys[::-1]), dk @ self.U.T, dM


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

# %% [markdown]
# > **Exercise.** One line of working code is wrong; find it from its report alone:
# > `numpy-attention exercise start find-in-feeding`.
#
# ## The whole decoder next to the library's
#
# `LuongTranslator` has such a decoder, with any score and window. `check_same_decoder` gives ours
# the library's weights, first state and annotations of two sentences, and compares s̃, α and the
# gradients of all six parameters.

# %%
check_same_decoder(PlainDecoder, np.random.default_rng(4))
print("the decoder: s̃, weights and the gradients of all its parameters are the library's")

# %% [markdown]
# ## Does location translate?
#
# `grammar-en-fr` generates English sentences with their French translations and alignment. French
# puts most adjectives after the noun, and *ne … pas* around the verb. We train a model with dot and
# one with location, which chooses a position before it sees the word there. Both have GRUs, a
# bidirectional encoder, no input feeding. How good will the translations of location be? And how
# often will its largest weight be on the right word?

# %% tags=["training"]
EPOCHS = 5
SIZES = dict(embedding=64, hidden=64, layers=1, cell="gru", bidirectional=True,
             input_feeding=False, init=0.25)
pairs = load_parallel("grammar-en-fr", "train", np.random.default_rng(3), 8_000)
test = load_parallel("grammar-en-fr", "test", np.random.default_rng(4), 400)


def train(seed=1, **changes):
    """A trained Translator; changes: of SIZES."""
    translator = Translator.create(pairs, "luong", SIZES | changes, TranslatorTraining(seed=seed))
    batches = translator.batches(pairs)
    trainer = Trainer(translator.model, Adam(8e-3), batches, rng=np.random.default_rng(seed),
                      clip=1.0, threads=1, progress=False,
                      schedule=LinearDecay(EPOCHS * len(batches), 0.05))
    trainer.fit(EPOCHS)
    return translator


# %% tags=["training"]
def measure(name, translator):
    """Measure and print; → the share of test sentences that are exactly right, weights."""
    found = translator.translate([pair.source for pair in test], beam=1)
    exact = metrics.exact_match([one.target for one in found], [pair.target for pair in test])
    weights = translator.attend(test)
    print(f"  {name:<22} {exact:6.1%} exactly right; largest weight on the right word "
          f"{metrics.pointing_accuracy(weights, test):6.1%}, on it or a neighbour "
          f"{metrics.near_pointing(weights, test):6.1%}", flush=True)
    return exact, weights


print(f"\n{len(pairs):,} sentence pairs, {EPOCHS} epochs each; {len(test)} held-out sentences:")
dot_exact, dot_weights = measure("dot", train())
location = train(attention="location", longest=24)
location_exact, location_weights = measure("location", location)

# %% tags=["training"]
diagonal = metrics.diagonal_pointing(test)
dot_points = metrics.pointing_accuracy(dot_weights, test)
location_points = metrics.pointing_accuracy(location_weights, test)
print(f"Location translates as well as dot: {location_exact:.1%} and {dot_exact:.1%}.")
print(f"It points at the right word for {location_points:.1%} of the links; the diagonal, "
      f"which knows nothing of the sentence, is right for {diagonal:.1%}.")
assert abs(location_exact - dot_exact) < 0.05
assert location_points < diagonal + 0.1 < dot_points

# %% tags=["training"]
shown = next(n for n, pair in enumerate(test) if phenomena(pair)["swapped adjective"]
             and phenomena(pair)["negation"] and len(pair.target) < 10)
pair = test[shown]


def draw(weights, title, ax=None):
    """The weights of the sentence that is shown; → Axes."""
    return plotting.attention_heatmap(weights[shown], [*pair.source, "</s>"],
                                      [*pair.target, "</s>"], pair.sure, pair.possible, ax, title)


figure, axes = plt.subplots(1, 2, figsize=(11, 5.2), layout="constrained")
draw(dot_weights, "dot: on the words that belong together", axes[0])
draw(location_weights, "location: along the diagonal, ignoring the swap", axes[1])
show(figure, "07_attention")
written, = location.translate([pair.source], beam=1)
print(f"location translates {' '.join(pair.source)} as {' '.join(written.target)}")

# %% [markdown]
# ## Why, and how to test it
#
# Location writes *étudiant bleu* in the right order while it attends to *blue*, then *student*.
# How? Here is an explanation: the encoder reads from both sides, so the annotation at *blue* also
# knows its neighbour *student*, and a weight that is one position off is near enough.
#
# An explanation is cheap. What does it *forbid*? Let the encoder read forward only. Then the
# annotation at *student* still knows *blue*, which came before, but the one at *blue* cannot know
# *student*. If the explanation is right, location can no longer write the noun while it attends to
# the adjective: much weight must move to the noun or to later words. For the adjective, nothing has
# to move. Before you run it, guess for how many nouns the largest weight moves to the noun.


# %% tags=["training"]
def shares(weights):
    """Shares with the largest weight on the right word: swapped adjectives, their nouns."""
    hits = [[], []]
    for rows, pair in zip(weights, test):
        links = phenomena(pair)["swapped adjective"]    # an adjective, its noun, the next, …
        for number, (j, t) in enumerate(links):
            hits[number % 2].append(rows[t, :-1].argmax() == j)
    return np.mean(hits[0]), np.mean(hits[1])


def on_nouns(weights):
    """For each swapped noun: the weight on it and later words; whether the largest is on it."""
    found = []
    for rows, pair in zip(weights, test):
        for j, t in phenomena(pair)["swapped adjective"][1::2]:
            found.append((rows[t, j:].sum(), rows[t, :-1].argmax() == j))
    from_it_on, on_it = np.array(found).T
    return from_it_on, on_it.astype(bool)


# %% tags=["training"]
forward_exact, forward_weights = measure(
    "location, forward only", train(attention="location", longest=24, bidirectional=False))
dot_forward_exact, _ = measure("dot, forward only", train(bidirectional=False))
adjectives, nouns = shares(forward_weights)

# %% tags=["training"]
both_adjectives, both_nouns = shares(location_weights)
print("Location's largest weight on the right word, where French swaps adjective and noun:")
print(f"  both directions: {both_adjectives:4.0%} of adjectives, {both_nouns:4.0%} of nouns")
print(f"  forward only:    {adjectives:4.0%} of adjectives, {nouns:4.0%} of nouns")
print(f"Its right sentences fall to {forward_exact:.0%}, and dot's to {dot_forward_exact:.0%}.")

# %% tags=["training"]
from_it_on, on_it = on_nouns(forward_weights)
both_from_it_on, _ = on_nouns(location_weights)
print(f"The weight on such a noun and later words, forward only: at least {from_it_on.min():.2f}, "
      f"on average {from_it_on[~on_it].mean():.2f} where the largest is not on the noun; both "
      f"directions: at least {both_from_it_on.min():.2f}.")
assert from_it_on.min() > 0.2
assert nouns > both_nouns + 0.3 and adjectives < 0.2 and both_adjectives < 0.2
assert forward_exact < location_exact - 0.05
assert dot_forward_exact < dot_exact - 0.03
figure, axes = plt.subplots(1, 2, figsize=(11, 5.6), layout="constrained")
draw(location_weights, f"both directions: right for {both_nouns:.0%} of swapped nouns", axes[0])
draw(forward_weights, f"forward only: right for {nouns:.0%} of swapped nouns", axes[1])
show(figure, "07_forward_only")

# %% [markdown]
# Compare the rows of *étudiant*. The explanation has passed a test that it could have failed: for
# most nouns the largest weight moved to the noun, and for the adjectives it did not move. (Five
# seeds agree: question 7.) For the other nouns at least 0.41 of the weight is on the noun and later
# words, which have all read the noun. With both directions it can be just 0.01. (Over all links
# location points *worse* with the forward-only encoder: question 7 as well.)
#
# Remember two things. A heatmap that points to the wrong words does not prove that the translator
# is bad, nor does a good translation prove that its heatmap shows how it was made. (Dot, too,
# translates worse with the forward-only encoder, because a word is easier to translate if you know
# what follows it.)
#
# What about input feeding? On this task dot leaves nothing to gain (question 6). The paper reports
# a gain in BLEU on English to German. And which score is the best on real text? `results/claims.md`
# records test perplexities after six epochs of 75,000 clauses of the Bible, English to Spanish,
# with 3 million parameters (mean of three seeds). One row is not in the paper: `concat` with the
# query s_{t−1}, the state *before* the decoder has read y_{t−1}, as in Bahdanau's decoder. Guess
# first: what costs most, another score, a window, input feeding, or a query that has not read the
# previous word?

# %% tags=["training"]
RECORDED = {
    "dot": 6.54, "general": 6.47, "concat": 6.28, "location": 7.64, "general in local-p": 7.50,
    "dot with input feeding": 6.81, "concat with the query s_{t−1}": 7.30,
}
print("\nrecorded, test perplexity: "
      + ", ".join(f"{name} {perplexity:.2f}" for name, perplexity in RECORDED.items()))

# %% [markdown]
# The difference between `general` and `dot` is within the spread of seeds, `concat` is a little
# better, and input feeding costs a little, in models of this size. A query that has not read the
# previous word costs `concat` a whole point of perplexity, more than the differences between dot,
# general and concat, so the choice of the query can matter more than the choice of the score.
# Location, which sees only positions, and local-p, which sees only a window, lose about as much.

# %% [markdown]
# ## What others call it
#
# | here | elsewhere |
# |---|---|
# | attention over all words | global attention |
# | a window | local attention: monotonic (local-m), predictive (local-p) |
# | the bell | Gaussian window |
# | s̃_t | attentional hidden state h̃_t |
# | state s_t, the query | decoder hidden state h_t |
# | general | bilinear or multiplicative attention |
# | concat | additive attention, MLP attention |
#
# All terms are in the [glossary](../docs/site/glossary.md).
#
# ## From the package
#
# | from the package | what it is |
# |---|---|
# | `metrics` | how many translations are right, and whether attention points at the right word |
# | `plotting` | diagrams and heatmaps |
# | `DotAttention` | the library's dot score, for comparison |
# | `GeneralAttention` | its general score |
# | `AdditiveAttention` | its concat score, which is lesson 06's |
# | `LocationAttention` | its location score |
# | `LocalMonotonic` | its window local-m |
# | `LocalPredictive` | its window local-p |
# | `load_parallel` | draws sentence pairs of a corpus |
# | `phenomena` | which links of a pair show a swapped adjective, a negation, … |
# | `gradcheck` | compares a backward pass with central differences |
# | `numeric_gradient` | the central differences of one array |
# | `Array` | an array, in type hints |
# | `Module` | a class whose array fields are parameters |
# | `Translator` | a model with its two vocabularies |
# | `TranslatorTraining` | its training's settings |
# | `Adam` | the optimizer |
# | `LinearDecay` | a learning rate that falls in a straight line |
# | `Trainer` | the training loop |

# %% [markdown]
# ## Questions
#
# 1. Let the backward pass of each of the four scores return 0 for the state's gradient, as a
#    framework's `detach` does. Which term is lost, and which gradients does the check call wrong?
#    Then leave out only the term de M in local-p: which gradients are wrong there?
# 2. Double s_t and all annotations. How do dot's weights change? Can general prevent it?
# 3. In local-p let v_p be 0. What is p then? If the right word is outside the window, which words
#    can pull p to it?
# 4. Normalise α again after the Gaussian, β = a ∘ g / Σ a g. Derive de and dp, and check them.
# 5. Without input feeding, attend with all T queries at once: write it as two matrix products, and
#    compare with the loop.
# 6. Train dot with `input_feeding=True`. Does it translate better here?
# 7. Train the forward-only location with seeds 1 to 5. Does the explanation pass its test each
#    time? And does pointing get better or worse where nothing is swapped?
# 8. Train general with `window="local-p", width=2`, three seeds. What goes wrong, and where is p
#    then?
