# %% [markdown]
# # Lesson 11: a language model that looks back
#
# **You will be able to** derive the gradients of a language model that attends to its own past, and
# find out with ablations and a control whether the model uses this attention.
#
# **Needs:** lessons 03 and 06. **Time:** 55 minutes to read, about a minute to run.
#
# Read ten letters, then twenty dots, and then write down the ten letters. That is easy for you,
# because you can look back at the page. A recurrent network cannot look back. Everything that it
# knows about the text must fit into a state of fixed size, and every dot changes that state. Yet
# the network has computed the earlier states, in which the letters were still fresh. It simply
# throws them away.
#
# Salton, Ross & Kelleher (2017) keep them. Before each prediction, a softmax over *all earlier
# states* decides which of them to read again. You will derive the gradients of this attention. Then
# you will train models with and without it to copy letters. All models have about the same size.
# Guess now: how many of the ten letters does an LSTM without attention get right?
#
# On a real text, the Bible, you will ask a question that is asked too rarely: *does the model use
# its attention?* On the way, you will meet bugs that no gradient check can find.

# %%
print("Lesson 11: a language model that looks back", flush=True)

from dataclasses import dataclass
from functools import partial

import numpy as np
from attentive_parts import (COPY_VOCABULARY, Copying, Verses, ablated, create, draw_copy,
                             draw_costs, draw_influence, check_same, largest_probability,
                             letters_right, losses, signed, train)
from course import caught, show
from matplotlib import pyplot as plt

from numpy_attention import plotting
from numpy_attention.experiments import analysis
from numpy_attention.attention.combined import Combined
from numpy_attention.attention.key_value import KeyValueReadout
from numpy_attention.attention.single import Single
from numpy_attention.gradcheck import gradcheck, numeric_gradient
from numpy_attention.module import Array, Module

np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## One step
#
# How can a prediction use the earlier states? Suppose that an LSTM (lesson 03) has read t words.
# Its present state is h_t. Its earlier states, h_1 … h_{t−1}, are the rows of a matrix M, the
# memory. (h_t itself is not in M, because the prediction reads it anyway.) To predict word t + 1,
# the model computes four things:
#
#     e_s = v · tanh(h_s W_s + h_t W_q)     score: how useful is state s now?     for s < t
#     α   = softmax(e)                      weights: positive, they add up to 1
#     c   = Σ_s α_s h_s                     context vector: what was fetched
#     y   = tanh(h_t W_x + c W_r + b)       state and context, combined for the output layer
#
# The paper calls this score *combined*, because it reads both the earlier state and the present
# one. The paper also has a simpler score, *single*, which leaves out h_t W_q. So *single* rates
# each earlier state without knowing what the present state asks for. (The paper writes the last
# line as tanh(W_c [h; c] + b). Our W_x and W_r are the two parts of its W_c.)
#
# | symbol | shape | what it is |
# |---|---|---|
# | h_t | (H,) | the present state, which asks for earlier states |
# | M, its rows h_s | (S, H) | memory: the S = t − 1 earlier states |
# | k_s, q | (A,) | the key h_s W_s of state s, and the query h_t W_q |
# | x_s | (A,) | tanh(k_s + q), the score's hidden layer, as in lesson 06 |
# | e, α | (S,) | scores, weights |
# | c | (H,) | **context vector** |
# | y | (K,) | input of the output layer, which predicts the word |
# | W_s, W_q, v | (H, A), (H, A), (A,) | parameters of the score |
# | W_x, W_r, b | (H, K), (H, K), (K,) | parameters of the last line; W_x reads h_t, not x_s |
#
# Three letters differ from lessons 03 and 06: q is the query *after* its matrix, a will be the
# input of the *last* tanh, and c is always the context, never the LSTM's cell state.
#
# The figure shows what each result is computed from.

# %%
boxes = {
    "M": ("h₁ … hₜ₋₁", 0, 2.3, 2),
    "h": ("hₜ", 0, 0, 0),
    "e": ("eₛ = v · tanh(kₛ + q)", 2.7, 1.15),
    "a": ("α = softmax(e)", 5.2, 1.15),
    "c": ("c = Σ αₛ hₛ", 7.1, 1.15, 2),
    "y": ("y = tanh(hₜ Wₓ + c Wᵣ + b)", 7.1, 0, 1),
    "p": ("P(word t + 1)", 9.8, 0),
    "next": ("hₜ₊₁", 2.7, -0.9),
}
arrows = [("M", "e", "keys kₛ"), ("h", "e", "query q"), ("e", "a"), ("a", "c"),
          ("M", "c", "fetched", 0.1), ("c", "y"), ("h", "y", "predicts"), ("y", "p"),
          ("h", "next", "step")]
show(plotting.diagram(boxes, arrows, title="The context goes to the prediction, and never back "
                      "into the LSTM"), "11_architecture")

# %% [markdown]
# ## Forward
#
# Let us compute one prediction with numbers that are small enough to follow. The memory has three
# states, one for each symbol of the text *f g ·*, and each state has three numbers. The first
# number says which letter was read: 1 for f, −1 for g, 0 for the dot. The other two numbers give
# the position of the letter: (1, 0) for the first position, (0, 1) for the second. They are 0 for
# the dot, which is not a letter.
#
# W_s turns these states into keys: (2, 0) for *f*, (0, 2) for *g*, and (0, 0) for the dot. The
# present state is h_t = (0, 1, 0): it asks for the letter in the first position. W_q turns it into
# the query (0, −3), which is added to each key. With v = (3, 3), the score of a state is three
# times the sum of the two numbers in tanh(k_s + q). Which state will have the largest weight?


# %%
def softmax(e, visible=True):
    """Softmax along the last axis, over what is visible; if nothing is: all weights 0."""
    e = np.where(visible, e, -1e30)
    a = np.where(visible, np.exp(e - e.max(-1, keepdims=True)), 0)
    return a / np.maximum(a.sum(-1, keepdims=True), 1e-30)


read = ["f", "g", "·"]
M = np.array([[1.0, 1.0, 0.0],      # f, in the first position
              [-1.0, 0.0, 1.0],     # g, in the second
              [0.0, 0.0, 0.0]])     # a dot
h_t = np.array([0.0, 1.0, 0.0])     # asks for the letter in the first
W_s = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
W_q = np.array([[0.0, 0.0], [0.0, -3.0], [-3.0, 0.0]])
v = np.array([3.0, 3.0])

# %%
k = M @ W_s                         # (S, A)
q = h_t @ W_q                       # (A,)
x = np.tanh(k + q)                  # (S, A)
e = x @ v                           # (S,)
alpha = softmax(e)                  # (S,)
c = alpha @ M                       # (H,)
print("the query is", q)
for symbol, one_k, one_x, one_e, weight in zip(read, k, x, e, alpha):
    print(f"  {symbol}  key {one_k}  tanh(key + query) {one_x}  e = {one_e:5.2f}  "
          f"α = {weight:.2f}")
print("the context is", c)

# %% [markdown]
# The *f* has by far the largest weight. The query does not look for a match. It vetoes the other
# position:
#
#     g: (0, 2) + (0, −3) = (0, −1)       the −3 more than cancels the 2
#     f: (2, 0) + (0, −3) = (2, −3)       the 2 survives
#
# Now look at the first number of the context, 0.761. With all weight on *f* it would be 1, and with
# all weight on *g* it would be −1, so the model has mostly fetched the *f*. What does the model
# fetch if the present state asks for the second letter instead? And what does it fetch for each of
# the two questions with *single*, which has no query?


# %%
def context(now, W_q):
    """The context c (H,) of a present state."""
    return softmax(np.tanh(M @ W_s + now @ W_q) @ v) @ M


wants_second = np.array([0.0, 0.0, 1.0])
no_query = np.zeros_like(W_q)
print("context with combined: asked for the first", context(h_t, W_q), " for the second",
      context(wants_second, W_q))
print("context with single:   asked for the first", context(h_t, no_query), " for the second",
      context(wants_second, no_query))
assert context(h_t, W_q)[0] > 0.5 and context(wants_second, W_q)[0] < -0.5
assert (context(h_t, no_query) == context(wants_second, no_query)).all()

# %% [markdown]
# With *combined*, the first number of the context is positive for the first question and negative
# for the second, so each question fetches the right letter. *single* is the special case W_q = 0,
# so it fetches the same context for both questions. The last of the four lines combines the present
# state and the context:

# %%
W_x = np.array([[0.2, -0.1], [0.3, 0.4], [-0.5, 0.1]])
W_r = np.array([[0.9, -0.8], [0.2, 0.1], [0.0, 0.3]])
b = np.array([0.1, -0.2])
y = np.tanh(h_t @ W_x + c @ W_r + b)            # (K,)
print("y =", y)

# %% [markdown]
# ## Backward
#
# What is the gradient of each parameter and of each state? The layer above hands us the **upstream
# gradient** dy = ∂L/∂y. In this example the loss is L = w · y, where w is a fixed vector of two
# numbers, so dy = w.
#
# Two sums need names: a = h_t W_x + c W_r + b is the input of the last tanh, and z_s = k_s + q is
# the input of the score's tanh. We go through the four lines of the forward pass in reverse and
# compare each gradient with a central difference. For this we must be able to nudge an intermediate
# result, such as c, so the function L accepts an array for it: `L(c=…)` is the loss after this
# array has been added to c.

# %%
w = np.array([1.0, -2.0])


def L(a=0, c=0, alpha=0, e=0, z=0):
    """The loss w · y, after the given arrays have been added to the intermediate results."""
    hidden = np.tanh(M @ W_s + h_t @ W_q + z)
    weights = softmax(hidden @ v + e) + alpha
    fetched = weights @ M + c
    return w @ np.tanh(h_t @ W_x + fetched @ W_r + b + a)


def check_gradient(name, ours, loss, array):
    """Compare our gradient with the central difference of loss(), which reads the array."""
    numeric = numeric_gradient(loss, array)
    assert np.allclose(ours, numeric, rtol=1e-7, atol=1e-9), name
    print(f"  {name:<7} {ours.ravel()}   central difference: {numeric.ravel()}")


def moved(name, ours):
    """Compare our gradient of an intermediate result, to which L adds the array `by`."""
    by = np.zeros_like(ours)
    check_gradient("d" + name, ours, partial(L, **{name: by}), by)


# %% [markdown]
# Here are the lines of the forward pass, from the last to the first, and the gradients they give:
#
#     y = tanh(a)            da = dy ∘ (1 − y²)
#     a = … + c W_r + b      dc = da W_rᵀ
#     c = Σ_s α_s h_s        dα_s = h_s · dc
#     α = softmax(e)         de = α ∘ (dα − α · dα)         lesson 06
#     e_s = v · tanh(z_s)    dz_s = de_s v ∘ (1 − x_s²)

# %%
da = w * (1 - y**2)                             # (K,)
dc = da @ W_r.T                                 # (H,)
dalpha = M @ dc                                 # (S,)
de = alpha * (dalpha - alpha @ dalpha)          # (S,)
dz = de[:, None] * v * (1 - x**2)               # (S, A)
moved("a", da)
moved("c", dc)
moved("alpha", dalpha)
moved("e", de)
moved("z", dz)

# %% [markdown]
# ### Four roles
#
# What is the gradient of a state? The present state h_t is used twice: it **predicts** (in a), and
# it **asks** (with its query q). Each earlier state h_s is used twice, too: it is **found** (by its
# key k_s), and it is **fetched** (as a value, into c). These are the four *roles* of a state. In a
# single step, h_t has the first two, and each h_s has the last two. Each role adds one term to the
# gradient:
#
#     dh_t = da W_xᵀ  +  dq W_qᵀ            predicts, asks          with dq = Σ_s dz_s
#     dh_s = dk_s W_sᵀ  +  α_s dc           is found, is fetched    with dk_s = dz_s
#
# The query was added to every key, so its gradient dq is a sum over all keys. The gradient of each
# matrix is, as always, its input times the gradient of its output.

# %%
dq = dz.sum(0)                                  # (A,)
check_gradient("dh_t", da @ W_x.T + dq @ W_q.T, L, h_t)
check_gradient("dM", dz @ W_s.T + np.outer(alpha, dc), L, M)
check_gradient("dW_q", np.outer(h_t, dq), L, W_q)
check_gradient("dW_s", M.T @ dz, L, W_s)
check_gradient("dv", de @ x, L, v)
check_gradient("dW_x", np.outer(h_t, da), L, W_x)
check_gradient("dW_r", np.outer(c, da), L, W_r)
check_gradient("db", da, L, b)
print("one step: every gradient equals its central difference")

# %% [markdown]
# ## All words at once
#
# Must the questions be asked one after another? In lesson 06 they must: each context goes into the
# decoder's next state, and this state asks the next question. In this model, c goes only into y,
# and *never back into the LSTM*. So the LSTM can first read the text to its end. Once all states
# exist, all questions can be asked at once.
#
# The scores become a matrix, with a row for each step t that asks and a column for each state s.
# Step t may see only the states before it. As a matrix, this rule is a triangle of ones below the
# diagonal, the **causal mask**: visible_ts = (s < t). The first word has no past, so its row of the
# mask, its weights and its context are 0.
#
# In our example, the text has T = 4 states: the three of *f g ·*, and h_t. Now each of them asks:


# %%
states = np.vstack([M, h_t])        # (T, H)
keys = states @ W_s                 # (T, A)
queries = states @ W_q              # (T, A)


def all_steps():
    """The hidden layer x (T, T, A) of the scores, the weights (T, T), and y (T, K)."""
    x = np.tanh(keys + queries[:, None])
    weights = softmax(x @ v, np.tri(4, k=-1, dtype=bool))
    return x, weights, np.tanh(states @ W_x + weights @ states @ W_r + b)


x_ts, alpha_ts, y_t = all_steps()
print("weights of the example, one row per step:")
print(alpha_ts)
assert np.allclose(alpha_ts[3, :3], alpha)

# %% [markdown]
# The last row is the step that we computed above. The first column belongs to *f*, which steps 2, 3
# and 4 see. Let the loss be the sum of w · y_t over all steps t. Then each of these three steps
# adds a term, dz_ts, to the gradient of the key of *f*:


# %%
def loss_of_all():
    return (all_steps()[2] @ w).sum()


dalpha_ts = w * (1 - y_t**2) @ W_r.T @ states.T                 # (T, T)
de_ts = alpha_ts * (dalpha_ts - (alpha_ts * dalpha_ts).sum(1, keepdims=True))
dz_ts = de_ts[..., None] * v * (1 - x_ts**2)                    # (T, T, A)
for t in (2, 3, 4):
    print(f"  step {t} adds {dz_ts[t - 1, 0]} to dk of f")
print(f"  their sum is {dz_ts[:, 0].sum(0)}")
check_gradient("dk", dz_ts.sum(0), loss_of_all, keys)

# %% [markdown]
# (Question 2 asks why step 2 adds 0.) In a whole text, each h_s predicts and asks at step s, and is
# found and fetched at all *later* steps t. So two of the four terms become sums over these later
# steps. For *is found*, dk_s = Σ_t dz_ts, as you have just seen. For *is fetched*, α_s dc becomes
# Σ_t α_ts dc_t. Both sums carry the gradient from step t to h_s in **one** jump, however far apart
# t and s are.
#
# The class below reads B texts of up to T words at once. All T states are columns of the scores, so
# here S = T. As in lesson 06, `mask` (T, B) says where a text has a word, and `visible` combines it
# with the triangle. The loss of the checks below also reads the weights α. Its gradient with
# respect to α arrives in `backward` as `dalpha`, and is added to h_s · dc. In training, `dalpha` is
# 0.
#
# > **Exercise.** Write the backward pass before you read on:
# > `numpy-attention exercise start causal`.


# %% tags=["plain"]
@dataclass(eq=False)
class PlainReader(Module):
    """Compute y, which the output layer reads, from states h. With W_q = 0 the score is single."""

    W_s: Array  # (H, A)
    W_q: Array  # (H, A)
    v: Array  # (A,)
    W_x: Array  # (H, K)
    W_r: Array  # (H, K)
    b: Array  # (K,)

    def visible(self, mask):
        """Does step t of text b see state s? (T, B, T)"""
        before = np.tri(len(mask), k=-1, dtype=bool)                # (T, T)
        return before[:, None] & mask.T                             # (T, 1, T) & (B, T)

    def forward(self, h, mask):
        """h (T, B, H), mask (T, B) → y (T, B, K), α (T, B, T), cache."""
        values = h.swapaxes(0, 1)                                   # (B, S, H)
        k = values @ self.W_s                                       # (B, S, A)
        q = h @ self.W_q                                            # (T, B, A)
        x = np.tanh(k + q[:, :, None])                              # (T, B, S, A)
        alpha = softmax(x @ self.v, self.visible(mask))             # (T, B, S)
        c = (alpha[..., None] * values).sum(2)                      # (T, B, H)
        y = np.tanh(h @ self.W_x + c @ self.W_r + self.b)           # (T, B, K)
        return y, alpha, (h, values, x, alpha, c, y)

    def backward(self, dy, dalpha, cache, grads):
        """dy (T, B, K); dalpha (T, B, S), from a loss that reads the weights → dh (T, B, H)."""
        h, values, x, alpha, c, y = cache
        da = dy * (1 - y**2)
        grads.b += da.sum((0, 1))
        grads.W_x += np.einsum("tbh,tbk->hk", h, da)
        grads.W_r += np.einsum("tbh,tbk->hk", c, da)
        dc = da @ self.W_r.T                                        # (T, B, H)
        dvalues = (alpha[..., None] * dc[:, :, None]).sum(0)        # (B, S, H)
        dalpha = (values * dc[:, :, None]).sum(3) + dalpha
        de = alpha * (dalpha - (alpha * dalpha).sum(2, keepdims=True))
        grads.v += np.einsum("tbs,tbsa->a", de, x)
        dz = de[..., None] * self.v * (1 - x**2)                    # (T, B, S, A)
        dk = dz.sum(0)                                              # (B, S, A)
        dq = dz.sum(2)                                              # (T, B, A)
        grads.W_s += np.einsum("bsh,bsa->ha", values, dk)
        grads.W_q += np.einsum("tbh,tba->ha", h, dq)
        return self.four_roles(da, dq, dk.swapaxes(0, 1), dvalues.swapaxes(0, 1))

    def four_roles(self, da, dq, dk, dvalues):
        """The gradient of each state: one term for each of its roles."""
        dh = da @ self.W_x.T                    # it predicts
        dh += dq @ self.W_q.T                   # it asks
        dh += dk @ self.W_s.T                   # it is found
        dh += dvalues                           # it is fetched
        return dh


# %% [markdown]
# ## Check
#
# We check the class in three ways. First, its outputs must equal those of the equations for one
# step, applied word by word while the memory grows. Second, its gradients must equal central
# differences. Third, its outputs, weights and gradients must equal those of the library's layer,
# which shares no code with ours.

# %%
T = 6
B = 3
H = 4                               # all sizes differ, so that a transpose cannot hide
A = 5
K = 7
rng = np.random.default_rng(5)
h = rng.standard_normal((T, B, H))
mask = np.arange(T)[:, None] < np.array([6, 3, 5])      # three texts of different lengths
shapes = [(H, A), (H, A), (A,), (H, K), (H, K), (K,)]
arrays = [rng.standard_normal(shape) for shape in shapes]
plain = PlainReader(*arrays)


# %%
def one_by_one(reader, states):
    """y for the states of one text (T, H), with a memory that grows."""
    memory = []
    ys = []
    for now in states:
        fetched = np.zeros_like(now)
        if memory:
            past = np.array(memory)
            e = np.tanh(past @ reader.W_s + now @ reader.W_q) @ reader.v
            fetched = softmax(e) @ past
        ys.append(np.tanh(now @ reader.W_x + fetched @ reader.W_r + reader.b))
        memory.append(now)
    return np.array(ys)


# %%
y, alpha, _ = plain.forward(h, mask)
assert np.allclose(y[:, 0], one_by_one(plain, h[:, 0]), rtol=0, atol=1e-13)
print("weights of the first text, one row per step:")
print(alpha[:, 0])
print("all at once gives the same outputs as one by one")


# %%
def check(reader):
    return gradcheck(reader, h, mask, rng=np.random.default_rng(2))


print(check(plain))

# %%
W_s, W_q, v, W_x, W_r, b = arrays
combined = KeyValueReadout(Combined(W_s, W_q, v), W_x, W_r, b)
single = KeyValueReadout(Single(W_s, v), W_x, W_r, b)
check_same(plain, combined, h, mask)
check_same(PlainReader(W_s, np.zeros_like(W_q), v, W_x, W_r, b), single, h, mask)
print("combined and single: outputs, weights and all gradients equal the library's")

# %% [markdown]
# ### What a bug looks like
#
# The class below adds up the four terms of a state's gradient wrongly. Which roles have lost their
# term? `caught` runs the check, which must fail, and prints its report.


# %%
class LastRoles(PlainReader):
    """A planted bug in the sum of the four terms."""

    def four_roles(self, da, dq, dk, dvalues):
        dh = da @ self.W_x.T
        dh += dq @ self.W_q.T
        dh = dk @ self.W_s.T
        dh += dvalues
        return dh


report = caught(check, LastRoles(*arrays))

# %% [markdown]
# Only the gradient of the states is wrong. The six parameter gradients are right. They use da, dc,
# de, dk and dq. If one of these five were wrong, some parameter's gradient would be wrong, too. So
# the suspects are the four terms themselves and their sum. Here it is the sum: the line that the
# report names *assigns* where it should add. The two terms that were already in `dh`, "it predicts"
# and "it asks", are lost.
#
# Why is the wrong value in the report exactly 0? It is element [5, …], so it belongs to the state
# of the last step. No later step looks back at that state, so it is neither found nor fetched. Its
# gradient has only two terms, the two that were lost.
#
# ## What no gradient check sees
#
# Which bugs pass a gradient check? A gradient check proves that `backward` is the derivative of
# `forward`. It cannot know whether this `forward` is the one that you wanted. Here are two bugs in
# `forward`.
#
# The first bug forgets the triangle of the causal mask. Each step then sees later states, which
# have read the word that it should predict. The second bug is in the code that was released with
# the paper. This code gives one step of the model to a framework that *traces* it: the framework
# runs the step once, on the first word, records all operations, and replays this record at every
# later word. But at the first word the past is empty, so the recorded step never looks back.
# (`numpy_attention/experiments/recipes/language_models.toml` documents it, above `[sentences]`.)


# %%
class Clairvoyant(PlainReader):
    """Without the triangle: every step sees every state."""

    def visible(self, mask):
        return np.broadcast_to(mask.T, (len(mask), *mask.T.shape))


class Traced(PlainReader):
    """Every step sees what the first step sees, which is nothing."""

    def visible(self, mask):
        every = super().visible(mask)
        return np.broadcast_to(every[:1], every.shape)


HISTORY_READOUTS = {"as it should be": plain, "without the triangle": Clairvoyant(*arrays),
                    "traced at the first word": Traced(*arrays)}
for name, reader in HISTORY_READOUTS.items():
    print(f"{name}: largest relative error of the gradients {check(reader).worst:.0e}")

# %% [markdown]
# All gradients are right in all three versions, so we test the *forward* pass instead. Which output
# depends on which state? The function `influence` changes one state at a time and records which
# outputs change. In the figure, blue means that the output of the row changes with the state of the
# column.


# %%
def influence(reader):
    """(T, T): does y_t change if h_s does?"""
    before, _, _ = reader.forward(h, mask)
    columns = []
    for s in range(T):
        other = h.copy()
        other[s] += 1
        after, _, _ = reader.forward(other, mask)
        columns.append((after != before).any((1, 2)))
    return np.array(columns).T


found = {name: influence(reader) for name, reader in HISTORY_READOUTS.items()}
assert (found["as it should be"] == np.tri(T)).all()
assert found["without the triangle"].all()
assert (found["traced at the first word"] == np.eye(T)).all()
show(draw_influence(found), "11_influence")

# %%
traced = HISTORY_READOUTS["traced at the first word"]
y, _, cache = traced.forward(h, mask)
assert np.allclose(y, np.tanh(h @ W_x + b))
grads = traced.zeros_like()
traced.backward(np.ones_like(y), 0, cache, grads)
unmoved = [name for name, array in grads.named_parameters() if (array == 0).all()]
print("traced: the gradient is exactly 0, and correct, for", ", ".join(unmoved))
assert unmoved == ["W_s", "W_q", "v", "W_r"]

# %% [markdown]
# Only the left panel is as it should be: each output depends on its own state and on earlier ones.
# In the middle, each output depends on all states, even on later ones. On the right, each output
# depends only on its own state, because the traced layer computes y = tanh(h W_x + b). It is a mere
# tanh layer on the LSTM's state. (The released code also leaves out the tanh, so there it is a
# linear layer. `results/claims.md` has runs of it.) Yet our traced layer *trains*, and on real text
# it does well, as you will see. So a falling loss does not prove that the equations are those of
# the paper. One symptom to look for in your own runs is a parameter whose gradient is exactly 0.
#
# The traced layer is still useful. It is the same layer without attention, so it is the right
# **control**, the model with which attention is compared. Below, it is called *tanh layer*.
#
# ## Ten letters, twenty dots
#
# Can attention do the task from the beginning of this lesson? A sequence is ten letters, each one
# of a to h, then twenty dots, then an arrow. At the arrow, the model predicts the first letter.
# Then it *reads* the correct first letter and predicts the second, and so on. Nothing else is
# predicted. There are eight letters, so a model that guesses gets one in eight right.
#
# With attention, the LSTM does not have to remember the letters. It only has to count: the letters
# as it reads them, and the steps since the arrow. Then h_t can ask for the letter in the right
# position. All models are trained on the same 400 batches of 32 sequences. Each model may have
# 20,000 parameters, so the models with attention have smaller states.
#
# Write down four guesses: how many of the letters will the LSTM, the LSTM with a tanh layer (the
# control), single and combined get right?

# %% tags=["training"]
TASK = Copying(400, np.random.default_rng(1))
COPY_TEST = Copying(1, np.random.default_rng(2), size=500)
# for each model, the library's name of its layer: `projection` is the tanh layer
NAMES = {"LSTM": None, "tanh layer": "projection", "single": "single", "combined": "combined"}


def copier(name, seed=1):
    """Train a model on the task and print its result; → model, share of letters right."""
    model = create(NAMES[name], seed, COPY_VOCABULARY, budget=20_000, init=0.3)
    train(model, TASK, rate=0.01, seed=seed)
    right = letters_right(model, COPY_TEST.batch(0)).mean()
    units = model.cells.cells[0].hidden_size
    print(f"  {name:<10}  {units} units, {model.size:,} parameters: {right:6.1%} of the "
          "letters right", flush=True)
    return model, right


# %% tags=["training"]
print(f"\nten letters, then twenty dots; {len(TASK)} training steps (chance: {1 / 8:.1%}):")
copiers = {}
right = {}
for name in NAMES:
    copiers[name], right[name] = copier(name)
assert right["combined"] > 0.98
assert 0.9 > right["single"] > right["LSTM"] + 0.2
assert right["tanh layer"] < 0.5

# %% [markdown]
# *combined* gets practically all letters right, and *single* about three out of four. The two
# models without attention do badly. The LSTM gets about a quarter of the letters right, two or
# three of the ten, and the control is at chance, 12.5 %. (In question 3, *combined* does as well
# with each of five seeds, and the LSTM falls to chance with three of the five.)
#
# Where do the two models with attention look? The figure shows the weights for one sequence, with a
# row for each letter to predict and a column for each state in the memory. Bright cells are large
# weights.

# %% tags=["training"]
batch = COPY_TEST.batch(0)
figure, axes = plt.subplots(2, 1, figsize=(11, 7.4), layout="constrained")
figure.suptitle("combined asks for one position after another; single answers every question alike")
for name, ax, vmax in (("combined", axes[0], 1), ("single", axes[1], 0.2)):
    title = f"{name}: {right[name]:.0%} of the letters right (colour scale ends at {vmax})"
    draw_copy(copiers[name], batch, ax, title, vmax)
show(figure, "11_copying")
weights, _ = copiers["combined"].weights(batch)         # (T, B, S)
positions = np.arange(10)[:, None]                      # letter n was read at step n
on_it = (weights[-10:].argmax(2) == positions).mean()
print(f"combined: for {on_it:.1%} of the letters, the largest weight is on the letter to predict")
assert on_it > 0.95

# %% tags=["training"]
first = letters_right(copiers["single"], batch)[0]
print(f"single: the first letter is right in {first:.0%} of the sequences")
empty = analysis.changed(copiers["single"], "no context", np.random.default_rng(3))
print(f"single: {letters_right(copiers['single'], batch).mean():.0%} of all letters are right, and "
      f"without the context {letters_right(empty, batch).mean():.0%}")

# %% [markdown]
# *combined* draws a diagonal, because at each step it asks for the next position. *single* draws
# stripes: every row has its weight on the same columns, because e_s does not depend on the step t
# that asks. From row to row, only the denominator of the softmax changes, because later rows see
# more states. So every step gets nearly the same context, a mixture of many states. The stripes
# reach into the first dots, whose states still hold letters. The first column is dark, and yet the
# first letter is right in most sequences, so later states must hold it, too. The last tanh must
# extract the right letter from the mixture, and succeeds for about three letters out of four. It
# hardly takes them from h_t: without the context, the model only guesses, and so does the tanh
# layer, which reads h_t alone.
#
# ## Is the attention used?
#
# A diagonal is only a picture. Does the prediction depend on these weights? An **ablation** answers
# this: take the trained model, change nothing but its attention, and measure how much the loss
# rises. The unit of the loss is the *nat*, because the loss is −log p with the natural logarithm.
# We change the attention in five ways:
#
# - **no context**: c = 0;
# - **equal weights**: the same weight for all visible states;
# - **shuffled**: the memory is that of another text, and the weights are computed from it;
# - **hard**: all weight on the state with the largest weight;
# - **sampled**: all weight on one state, sampled with the weights as probabilities.
#
# The change to watch is *equal weights*. If it costs nothing, the model gains nothing by choosing
# between states. We say that a model *uses* its attention if equal weights cost at least 0.01 nats
# per token (here a letter, later a word), which raises the perplexity by about one per cent. The
# whole 95 % interval of the cost must be at or above 0.01. It comes from resampling the test texts,
# so it says how much the cost would vary with other texts, not with other seeds. A model that does
# not choose may still depend on the *mean* of its past, and *no context* shows whether it does.
#
# Now guess: which of the five changes will cost *combined* almost nothing?

# %% tags=["training"]
print("\nwhat each change of the attention costs, in extra nats per letter (95 % interval):")
copy_ablation = ablated("copying, combined", copiers["combined"], COPY_TEST)
equal = analysis.changed(copiers["combined"], "equal weights", np.random.default_rng(3))
print(f"a guess costs {np.log(8):.2f} nats; with equal weights, "
      f"{letters_right(equal, batch).mean():.0%} of the letters are right, and the most probable "
      f"letter has a probability of {largest_probability(equal, batch):.2f} on average")
largest = weights[-10:].max(2)
print(f"the largest weight of a row is {largest.mean():.2f} on average, between "
      f"{largest.min():.2f} and {largest.max():.2f}")
is_next = np.abs(np.arange(weights.shape[2]) - positions) == 1          # (10, S)
next_to_it = (weights[-10:] * is_next[:, None]).sum(2)                  # (10, B)
print(f"the right letter's two neighbours together have {next_to_it.mean():.2f} on average")
assert copy_ablation.used and copy_ablation.cost("equal weights").more.low > 2
assert largest.mean() + next_to_it.mean() > 0.9

# %% [markdown]
# *combined* uses its attention, and heavily: equal weights cost about four nats per letter. That is
# worse than a guess among eight letters, because the damaged model is usually wrong and still
# confident. *Shuffled* costs even more than *no context*, because the model now fetches a letter of
# another text. *Hard* weights cost almost nothing, because the largest weight is nearly always on
# the right letter. But on average this weight is only about three quarters, and nearly all of the
# rest lies on the two neighbours. So *sampled* fetches a neighbour in about one step of four. The
# neighbour is usually a wrong letter, so *sampled* costs far more than *hard*. (For your own model,
# `numpy-attention ablate RUN` prints such a table.)
#
# ## The Bible
#
# Does attention help on real text, too? Each verse of `bible-en` is a text of its own, and every
# word is predicted, including the first one and the end of the verse, `</s>`. The vocabulary has
# 2,000 words, each model may have 200,000 parameters, and training is one pass over 9,600 verses.
# Before training, the bias of the output layer is set to the logarithms of the word frequencies, so
# that no model has to learn these first. To save time, we leave out *single* (`results/claims.md`
# has longer runs of it). Which model will win: the LSTM, the control or combined? And will combined
# use its attention?

# %% tags=["training"]
WORDS = 2000
verses = Verses(WORDS, number=9_600, batch_size=64, rng=np.random.default_rng(6))


def bible_model(name, seed=7):
    model = create(NAMES[name], seed, WORDS, budget=200_000, init=0.1)
    model.output.b[...] = verses.log_frequencies
    train(model, verses.batches, rate=0.02, seed=seed)
    return model


def perplexity(nats, words):
    return np.exp(nats.sum() / words.sum())


# %% tags=["training"]
print(f"\nthe Bible: {len(verses.batches)} batches of verses for training, and "
      f"{len(verses.held_out.documents):,} verses held out")
models = {}
measured = {}
for name in ("LSTM", "tanh layer", "combined"):
    models[name] = bible_model(name)
    measured[name] = losses(models[name], verses.held_out)
    total, _, words = measured[name]
    print(f"  {name:<10}  {models[name].cells.cells[0].hidden_size} units, "
          f"{models[name].size:,} parameters, perplexity {perplexity(total, words):.2f}",
          flush=True)


# %% tags=["training"]
def paired(name, other):
    """By how many nats per word a model is worse than the other, compared verse by verse."""
    more = measured[name].total - measured[other].total
    return analysis.mean_interval(more, measured[name].words, np.random.default_rng(4))


against_lstm = paired("combined", "LSTM")
against_control = paired("combined", "tanh layer")
print(f"loss of combined minus that of the LSTM:    {signed(against_lstm)} nats per word")
print(f"loss of combined minus that of the control: {signed(against_control)} nats per word")
bible_ablation = ablated("Bible, combined", models["combined"], verses.held_out)

# %% tags=["training"]
assert bible_ablation.cost("no context").more.low > 0.04
assert abs(against_control.mean) < 0.04
assert bible_ablation.cost("equal weights").more.mean < 0.03
panels = {"copying letters: attention chooses": copy_ablation,
          "the Bible: attention averages (axis 70 times finer)": bible_ablation}
title = ("How much each model depends on its attention: equal weights cost "
         f"{copy_ablation.cost('equal weights').more.mean:.2f} nats in copying, "
         f"{bible_ablation.cost('equal weights').more.mean:.3f} in the Bible")
show(draw_costs(panels, (1, 70), title), "11_ablation")

# %% [markdown]
# The LSTM wins, by about one point of perplexity. With equal *parameters*, combined is last, less
# than one point behind the control. But the control has 74 units, and combined has 69. If the
# control has 69 units, too, the sign of the difference changes from seed to seed (question 4). On
# average, the gap is about what five units cost, so we see no gain from attention and no loss.
#
# What does combined do with its attention? The left panel shows the costs for copying again, and
# the right panel those for the Bible:
#
# - **Equal weights** cost next to nothing, so combined gains hardly anything by choosing. It might
#   just as well read the plain mean of all earlier states, a rough summary of the verse so far.
# - **No context** costs several times as much, and **shuffled** costs almost as much as no context.
#   So the model does depend on the past of *this* verse.
# - **Hard** weights cost even more than no context, perhaps because one state cannot replace the
#   mean of all.
#
# Is the attention used? The cost of equal weights is almost exactly at the threshold, the dotted
# line. Another seed (question 4) or processor can change the verdict. Read the number, not the
# verdict.
#
# Is the cost of *no context* what attention is worth here? No! The control never had a context, and
# with 69 units, it predicts about as well as combined. A model that was trained with a context
# relies on it, and stumbles when we take it away. A model that was trained without a context has
# learnt to do without. **The ablation measures what the trained model depends on. The control
# measures what the mechanism is worth.** You need both.
#
# ### With more training
#
# The models above were small, and were trained for only seconds. Does the order change with larger
# models and more training? Guess before you read the table. It shows test perplexities of recorded
# runs, from `results/tables.md`:
#
# | text | the state | layers × units | epochs | seeds | LSTM | control | combined |
# |---|---|---|---:|---:|---:|---:|---:|
# | Bible | carried on | 1 × 141 to 146 | 4 | 1 | 46.74 | 43.78 | 43.25 |
# | Penn Treebank | new in each sentence | 2 × 200 | 13 | 3 | 109.56 | 106.64 | 109.80 |
# | Penn Treebank | carried on | 2 × 650 | 39 | 1 | 77.17 | | |
# | Penn Treebank | new in each sentence | 2 × 650 | 13 | 1 | 97.23 | 96.79 | 99.98 |
#
# The models of the Bible have equal parameters again, ten times as many as above, and a vocabulary
# about six times as large. The Penn Treebank is English newspaper text, on which the paper tests
# its models, too. There, all models of a row have equal states, so combined has *more* parameters
# than its control. The third row is the LSTM that Salton et al. use as their baseline. The last row
# has models of the paper's size, trained for a third of the paper's epochs.

# %% tags=["training"]
LONGER = {
    # recipes: bible-lstm, bible-readout, bible-combined
    "Bible": {"LSTM": 46.74, "tanh layer": 43.78, "combined": 43.25},
    # recipes: sentences-lstm, sentences-no-context, sentences-combined
    "Penn Treebank": {"LSTM": 109.56, "tanh layer": 106.64, "combined": 109.80},
    # recipe: zaremba-medium-tied
    "Penn Treebank, 2 × 650": {"LSTM": 77.17},      # Salton et al. quote 75.96
    # recipes: salton-short-lstm, salton-short-no-context, salton-short-combined
    "Penn Treebank, 2 × 650, sentence by sentence":
        {"LSTM": 97.23, "tanh layer": 96.79, "combined": 99.98},
}
for text, recorded in LONGER.items():
    if "combined" in recorded:
        control = recorded["tanh layer"]
        print(f"{text}: control minus LSTM {control - recorded['LSTM']:+.2f}, "
              f"combined minus control {recorded['combined'] - control:+.2f}")

# %% [markdown]
# On the Bible, the order is reversed. But most of the gain over the LSTM is not due to attention.
# The control, which never looks back, is already three points better than the LSTM. Combined is
# only half a point better than the control, with one seed. Without a control, attention would have
# got all the credit. Size, vocabulary, training and the carried state changed at once, so we do not
# know which of them reversed the order.
#
# On the Penn Treebank, combined is three points *worse* than its control, with each of the three
# seeds. It does not even beat the LSTM. In the models of the paper's size (one seed), combined is
# three points worse than its control, too, and the LSTM is about as good as the control.
#
# The LSTM of the third row reaches 77.17, close to the 75.96 that Salton et al. quote for it. That
# is more than thirty points better than the small LSTM, but it took five times as many parameters,
# dropout, more epochs, and a state that is carried from sentence to sentence. Within each of the
# other rows, the perplexities differ by less than four points. So in these runs, size, training and
# the carried state together mattered far more than attention.
#
# ## One more silent fault
#
# Can a bug also be in the measurement? Tracing was one silent fault of the paper's released code.
# The code has another in how it counts words (`results/claims.md` measures its effect): the **first
# word of each sentence is counted but not predicted**. This word adds nothing to the loss, but the
# loss is divided by one word too many, so the perplexity is too low.
#
# A simple test catches this fault. A model that knows nothing gives each of the V words of the
# vocabulary the probability 1/V, so its perplexity must be V. Is it? The code below counts the
# words of the Bible in both ways.

# %% tags=["training"]
total, first, words = measured["LSTM"]
unknowing = words * np.log(WORDS)               # nats of each verse at p = 1/V
honest = perplexity(total, words)
flattered = perplexity(total - first, words)
print(f"\nperplexity (a verse has {words.mean():.1f} words):")
print(f"  first word predicted:               LSTM {honest:.2f}, a model that knows nothing "
      f"{perplexity(unknowing, words):.0f}")
print(f"  first word counted, not predicted:  LSTM {flattered:.2f}, a model that knows nothing "
      f"{perplexity(unknowing - np.log(WORDS), words):.0f}")
assert flattered < 0.95 * honest

# %% [markdown]
# Counted in the wrong way, a model that knows nothing has a perplexity far below V = 2,000, which
# is impossible. And the LSTM seems to improve by more than the whole gap between our three models,
# although not a single prediction has changed.
#
# Before you believe a number, ask four questions:
#
# - **Influence**: does each output depend on what it should, and on nothing else?
# - **Ignorance**: does a model that knows nothing get the score that it must get?
# - **Ablation**: which parts does the trained model depend on?
# - **Control**: is the model better than one of its size without the mechanism?

# %% [markdown]
# ## What others call it
#
# | here | elsewhere |
# |---|---|
# | the roles asks, is found, is fetched | query, key, value |
# | attention that sees only what came before | causal attention |
# | the score *single* | attention pooling, a score without a query |
# | the score *combined* | additive attention |
# | equal weights | uniform attention |
#
# Most terms are in the [glossary](../docs/site/glossary.md).
#
# ## From the package
#
# | from the package | what it is |
# |---|---|
# | `analysis` | ablations, and intervals for differences between models |
# | `plotting` | diagrams, heatmaps, what each change of the attention costs |
# | `Combined` | the library's score with a query |
# | `Single` | the library's score without a query |
# | `KeyValueReadout` | the library's layer that computes y from the states |
# | `gradcheck` | compares a backward pass with central differences |
# | `numeric_gradient` | the central differences of one array |
# | `Array` | an array, in type hints |
# | `Module` | a class whose array fields are parameters |

# %% [markdown]
# ## Questions
#
# 1. Put h_t into its own memory, so that step t sees all states s ≤ t. Does the gradient check
#    pass? What does `influence` show? Which test of this lesson notices the change?
# 2. Suppose that `backward` has the bug `de = alpha * dalpha`. The report then says that element
#    [1, 0, 0] of de should be 0. Why 0? What do W_s, W_q and v learn from a text of two words?
# 3. Train the four models to copy, with the seeds 1 to 5. Which of the four results change by more
#    than ten points from seed to seed?
# 4. Train the three models of the Bible with the seeds 8 and 9, too, and a control with 69 units
#    with all three seeds. Which statements about these models hold for each seed?
# 5. Train *combined* with twenty dots, and test it with ten, nineteen and forty dots. Is its
#    largest weight still on the right letter?
# 6. Show that for *single* the context c_t is a ratio of two running sums. What does c_t then cost,
#    in time and memory?
# 7. Why does the LSTM fail to copy? One suspicion is that the *gradient* does not reach back.
#    Measure with `analysis.gradient_flow`, before training, how much of the gradient of the last
#    letter's loss arrives at earlier states.
# 8. (After lesson 12.) Does cutting the state into parts make a model worse? With 2 million
#    parameters each, lesson 12's models have these perplexities on the Penn Treebank (recipes
#    `daniluk-*`):
#
#    | parts of the state | perplexity |
#    |---|---|
#    | one | 117 |
#    | two | 120 |
#    | three | 127 |
#    | three, without attention (4-gram) | 126 |
#
#    What else could explain this order? Hint: `within_budget` (from
#    `numpy_attention.models.budget`) gives the size n of each model's word vectors. Call it with a
#    vocabulary of 10,000 words.
# 9. (After question 8.) Test the other explanation with a control. With 200,000 parameters and V =
#    2,000, the models with one, two and three parts have three different sizes n. For each n, train
#    this lesson's control (*tanh layer*) on the Bible, with word vectors and states of n numbers,
#    without regard to the budget. Which n is best?
