# %% [markdown]
# # Lesson 11: a language model that looks back
#
# **You will be able to** derive the gradients of a language model that attends to its own past, and
# find out what the trained model depends on and what its attention is worth.
#
# **Needs:** lessons 03 and 06. **Time:** 45 minutes to read, about a minute to run.
#
# Read ten letters, then twenty dots, and then write down the ten letters. That is easy for you,
# because you can look back at the page. A recurrent network cannot. Everything that it knows about
# the text must fit into a state of fixed size, and every dot changes that state. Yet the network
# has computed the earlier states, in which the letters were still fresh. It simply throws them
# away.
#
# Salton, Ross & Kelleher (2017) keep them. Before each prediction, a softmax over *all earlier
# states* decides which of them to read again. So their model *can* look back. Does it? And is it
# better for it? You will derive the model, and ask this first about copied letters and then about
# the Bible. The answers differ.

# %%
print("Lesson 11: a language model that looks back", flush=True)

from dataclasses import dataclass
from functools import partial

import numpy as np
from attentive_parts import (COPY_VOCABULARY, Copying, Verses, ablated, after_other_letters,
                             check_gradient, check_same, create, draw_copy, draw_influence,
                             draw_verse, letters_right, losses, print_longer, signed, train,
                             without_own_state)
from course import caught, show
from matplotlib import pyplot as plt

from numpy_attention import plotting
from numpy_attention.experiments import analysis
from numpy_attention.attention.combined import Combined
from numpy_attention.attention.key_value import KeyValueReadout
from numpy_attention.attention.single import Single
from numpy_attention.gradcheck import gradcheck
from numpy_attention.module import Array, Module

np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## One step
#
# How can a prediction read the earlier states? Suppose that an LSTM (lesson 03) has read t words.
# Its present state is h_t, and its earlier states h_1 … h_{t−1} are the rows of a matrix M, the
# memory. (h_t itself is not in M, because the prediction reads it anyway.) To predict word t + 1,
# the model computes:
#
#     k_i = h_i W_s                         key of each earlier state, i < t
#     q   = h_t W_q                         query of the present state
#     e_i = v · tanh(k_i + q)               score: how useful is state i now?
#     α   = softmax(e)                      weights: positive, they add up to 1
#     c   = Σ_i α_i h_i                     context vector: what was fetched
#     y   = tanh(h_t W_h + c W_r + b)       what the output layer reads
#
# The paper calls this score *combined*, because it reads both the earlier state and the present
# one. Its simpler score, *single*, leaves out the query, and so rates each earlier state without
# knowing what the present state asks for.

# %%
boxes = {
    "M": ("h₁ … hₜ₋₁", 0, 2.3, 2),
    "h": ("hₜ", 0, 0, 0),
    "e": ("eᵢ = v · tanh(kᵢ + q)", 2.7, 1.15),
    "a": ("α = softmax(e)", 5.2, 1.15),
    "c": ("c = Σ αᵢ hᵢ", 7.1, 1.15, 2),
    "y": ("y = tanh(hₜ Wₕ + c Wᵣ + b)", 7.1, 0, 1),
    "p": ("P(word t + 1)", 9.8, 0),
    "next": ("hₜ₊₁", 2.7, -0.9),
}
arrows = [("M", "e", "keys kᵢ"), ("h", "e", "query q"), ("e", "a"), ("a", "c"),
          ("M", "c", "fetched", 0.1), ("c", "y"), ("h", "y", "predicts"), ("y", "p"),
          ("h", "next", "step")]
show(plotting.diagram(boxes, arrows, title="The context goes to the prediction, and never back "
                      "into the LSTM"), "11_architecture")

# %% [markdown]
# ## Forward
#
# What does the query do? We compute one prediction by hand. The memory has S = 3 states, one for
# each symbol of the text *f g ·*, and each state has H = 3 numbers. The first number says which
# letter was read: 1 for f, −1 for g, 0 for the dot. The other two give its position: (1, 0) for the
# first, (0, 1) for the second, (0, 0) for the dot.
#
# W_s turns these states into keys of A = 2 numbers: (2, 0) for *f*, (0, 2) for *g*, and (0, 0) for
# the dot. The present state is h_t = (0, 1, 0): it asks for the letter in the first position. W_q
# turns it into the query (0, −3), which is added to each key. With v = (3, 3), the score of a state
# is three times the sum of the two numbers in tanh(k_i + q). Which state will have the largest
# weight?


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
# The *f* has by far the largest weight. The query does not look for a match, but vetoes the other
# position:
#
#     g: (0, 2) + (0, −3) = (0, −1)       the −3 more than cancels the 2
#     f: (2, 0) + (0, −3) = (2, −3)       the 2 survives
#
# The first number of the context says which letter was fetched: 1 would be a pure *f*, and −1 a
# pure *g*. What if the present state asks for the second letter instead? And what does *single*
# fetch, which has no query?


# %%
def context(now, W_q):
    """The context c (H,) of a present state."""
    return softmax(np.tanh(M @ W_s + now @ W_q) @ v) @ M


wants_second = np.array([0.0, 0.0, 1.0])
for name, matrix in (("combined", W_q), ("single", np.zeros_like(W_q))):
    print(f"{name}: the first number of the context is {context(h_t, matrix)[0]:.3f} for the first "
          f"letter, {context(wants_second, matrix)[0]:.3f} for the second")

# %% [markdown]
# With *combined*, each question fetches the right letter. *single* is the special case W_q = 0, so
# it fetches the same context for both. The last step combines the present state and the context.
# (y has O = 2 numbers, and these weights are arbitrary.)

# %%
W_h = np.array([[0.2, -0.1], [0.3, 0.4], [-0.5, 0.1]])
W_r = np.array([[0.9, -0.8], [0.2, 0.1], [0.0, 0.3]])
b = np.array([0.1, -0.2])
y = np.tanh(h_t @ W_h + c @ W_r + b)            # (O,)
print("y =", y)

# %% [markdown]
# ## Backward
#
# What is the gradient of each parameter and of each state? The layer above hands us the **upstream
# gradient** dy = ∂L/∂y. Here the loss is L = dy · y, with a fixed vector dy.
#
# Three results need names: a = h_t W_h + c W_r + b is the input of the last tanh, z_i = k_i + q is
# the input of the score's tanh, and x_i = tanh(z_i). Here are the lines of the forward pass, from
# the last to the first, and the gradients they give:
#
#     y = tanh(a)            da = dy ∘ (1 − y²)
#     a = … + c W_r + b      dc = da W_rᵀ
#     c = Σ_i α_i h_i        dα_i = h_i · dc
#     α = softmax(e)         de = α ∘ (dα − α · dα)         lesson 06
#     e_i = v · tanh(z_i)    dz_i = de_i v ∘ (1 − x_i²)
#
# To compare each gradient with a central difference, we must be able to nudge an intermediate
# result, such as c: `L(c=by)` is the loss after the array `by` has been added to c.

# %%
dy = np.array([1.0, -2.0])


def L(a=0, c=0, alpha=0, e=0, z=0):
    """The loss dy · y, after the given arrays have been added to the intermediate results."""
    hidden = np.tanh(M @ W_s + h_t @ W_q + z)
    weights = softmax(hidden @ v + e) + alpha
    fetched = weights @ M + c
    return dy @ np.tanh(h_t @ W_h + fetched @ W_r + b + a)


# %%
def moved(name, ours):
    """Compare our gradient of an intermediate result, to which L adds the array `by`."""
    by = np.zeros_like(ours)
    check_gradient("d" + name, ours, partial(L, **{name: by}), by)


# %%
da = dy * (1 - y**2)                            # (O,)
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
# What is the gradient of a state? The present state h_t appears twice: it **predicts** (in a), and
# it **asks** (with its query q). Each earlier state h_i appears twice, too: it is **found** (by its
# key k_i), and it is **fetched** (as a value, into c). Each of these four *roles* of a state adds
# one term to the gradient:
#
#     dh_t = da W_hᵀ  +  dq W_qᵀ            predicts, asks          with dq = Σ_i dz_i
#     dh_i = dk_i W_sᵀ  +  α_i dc           is found, is fetched    with dk_i = dz_i
#
# The query was added to every key, so its gradient dq is a sum over all keys. The gradient of each
# matrix is, as always, its input times the gradient of its output.

# %%
dq = dz.sum(0)                                  # (A,)
check_gradient("dh_t", da @ W_h.T + dq @ W_q.T, L, h_t)
check_gradient("dM", dz @ W_s.T + np.outer(alpha, dc), L, M)
check_gradient("dW_q", np.outer(h_t, dq), L, W_q)
for name, ours, array in (("dW_s", M.T @ dz, W_s), ("dv", de @ x, v),
                          ("dW_h", np.outer(h_t, da), W_h), ("dW_r", np.outer(c, da), W_r),
                          ("db", da, b)):
    check_gradient(name, ours, L, array, printed=False)
print("the same for W_s, v, W_h, W_r and b: every gradient equals its central difference")

# %% [markdown]
# ## All words at once
#
# Must the steps ask one after another? In lesson 06, yes: each context goes into the decoder's next
# state, which asks the next question. Here, no: c goes only into y, and *never back into the LSTM*.
# So the LSTM can first read the whole text, and then all steps can ask at once.
#
# The scores become a matrix, with a row for each step t that asks and a column for each state i.
# Step t may see only the states before it. This rule is a triangle of ones below the diagonal, the
# **causal mask**: visible_ti = (i < t). The first word has no past, so its weights and its context
# are 0.

# %%
print("the causal mask of a text of three words:")
print(np.tri(3, k=-1, dtype=int))

# %% [markdown]
# What becomes of the four terms? Each h_i predicts and asks at step i, but it is found and fetched
# at *every* later step t. So the last two terms become sums:
#
#     dk_i = Σ_t dz_ti                      is found
#     dh_i = … + Σ_t α_ti dc_t              is fetched
#
# Both sums carry the gradient from step t to h_i in **one** jump, however far apart they are.
#
# The class below reads B texts of up to T words at once. As in lesson 06, `mask` (T, B) says where
# a text has a word. All T states are columns of the scores, so S = T. All symbols, for one text:
#
# | symbol | shape | what it is |
# |---|---|---|
# | h | (T, H) | states; in `values`, the texts are the first axis |
# | k, q | (T, A) | keys and queries |
# | x | (T, S, A) | tanh(k_i + q_t), the score's hidden layer, as in lesson 06 |
# | e, α | (T, S) | scores, weights |
# | c | (T, H) | **context vectors** |
# | y | (T, O) | what the output layer reads, to predict the next word |
# | W_s, W_q, v | (H, A), (H, A), (A,) | parameters of the score |
# | W_h, W_r, b | (H, O), (H, O), (O,) | parameters of the last layer |
#
# `dvalues` is the sum Σ_t α_ti dc_t. The loss of the gradient check also reads the weights, so
# `backward` takes `dalpha`, too.
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
    W_h: Array  # (H, O)
    W_r: Array  # (H, O)
    b: Array  # (O,)

    def visible(self, mask):
        """Does step t of text b see state i? (T, B, T)"""
        before = np.tri(len(mask), k=-1, dtype=bool)                # (T, T)
        return before[:, None] & mask.T                             # (T, 1, T) & (B, T)

    def forward(self, h, mask):
        """h (T, B, H), mask (T, B) → y (T, B, O), α (T, B, T), cache."""
        values = h.swapaxes(0, 1)                                   # (B, S, H)
        k = values @ self.W_s                                       # (B, S, A)
        q = h @ self.W_q                                            # (T, B, A)
        x = np.tanh(k + q[:, :, None])                              # (T, B, S, A)
        alpha = softmax(x @ self.v, self.visible(mask))             # (T, B, S)
        c = (alpha[..., None] * values).sum(2)                      # (T, B, H)
        y = np.tanh(h @ self.W_h + c @ self.W_r + self.b)           # (T, B, O)
        return y, alpha, (h, values, x, alpha, c, y)

    def backward(self, dy, dalpha, cache, grads):
        """dy (T, B, O); dalpha (T, B, S), from a loss that reads the weights → dh (T, B, H)."""
        h, values, x, alpha, c, y = cache
        da = dy * (1 - y**2)
        grads.b += da.sum((0, 1))
        grads.W_h += np.einsum("tbh,tbo->ho", h, da)
        grads.W_r += np.einsum("tbh,tbo->ho", c, da)
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
        dh = da @ self.W_h.T                    # it predicts
        dh += dq @ self.W_q.T                   # it asks
        dh += dk @ self.W_s.T                   # it is found
        dh += dvalues                           # it is fetched
        return dh


# %% [markdown]
# ## Check
#
# Is the class right? Its outputs must equal those that the one-step equations give, word by word,
# with a memory that grows. Its gradients must equal central differences (`input[0]` in the report
# is h). And all results must equal those of the library's layer, which shares no code with ours.

# %%
T = 6
B = 3
H = 4                               # all sizes differ, so that a transpose cannot hide
A = 5
outputs = 7
rng = np.random.default_rng(5)
h = rng.standard_normal((T, B, H))
mask = np.arange(T)[:, None] < np.array([6, 3, 5])      # three texts of different lengths
shapes = [(H, A), (H, A), (A,), (H, outputs), (H, outputs), (outputs,)]
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
        ys.append(np.tanh(now @ reader.W_h + fetched @ reader.W_r + reader.b))
        memory.append(now)
    return np.array(ys)


# %%
y, alpha, _ = plain.forward(h, mask)
assert np.allclose(y[:, 0], one_by_one(plain, h[:, 0]), rtol=0, atol=1e-13)
print("all at once gives the same outputs as one by one")


# %%
def check(reader):
    return gradcheck(reader, h, mask, rng=np.random.default_rng(2))


print(check(plain))

# %%
W_s, W_q, v, W_h, W_r, b = arrays
combined = KeyValueReadout(Combined(W_s, W_q, v), W_h, W_r, b)
single = KeyValueReadout(Single(W_s, v), W_h, W_r, b)
check_same(plain, combined, h, mask)
check_same(PlainReader(W_s, np.zeros_like(W_q), v, W_h, W_r, b), single, h, mask)
print("combined and single: outputs, weights and all gradients equal the library's")

# %% [markdown]
# ### What a bug looks like
#
# The class below adds up the four terms of a state's gradient wrongly. `caught` runs the check,
# which must fail, and prints its report.


# %%
class LastRoles(PlainReader):
    """A planted bug in the sum of the four terms."""

    def four_roles(self, da, dq, dk, dvalues):
        dh = da @ self.W_h.T
        dh += dq @ self.W_q.T
        dh = dk @ self.W_s.T
        dh += dvalues
        return dh


report = caught(check, LastRoles(*arrays))

# %% [markdown]
# Only the gradient of the states is wrong. The six parameter gradients are right. They are computed
# from da, dc, de, dk and dq, so these are right, too. Only the four terms and their sum are left.
# The line that the report names *assigns* where it should add. So the two terms that were already
# in `dh`, "it predicts" and "it asks", are lost.
#
# Why is the wrong value in the report exactly 0? It belongs to the last step. No later step looks
# back at this state, so its gradient has only the two terms that were lost.
#
# ## What no gradient check sees
#
# Does a passed check mean that the model looks back? A gradient check shows that `backward` is the
# derivative of `forward`, but it cannot know whether this `forward` is the one that you wanted.
# Here are two bugs in `forward`.
#
# The first forgets the triangle, so each step sees later states, which have read the word that it
# should predict. The second is in the code that was released with the paper. Its framework *traces*
# one step of the model: it runs the step once, on the first word, and replays the recorded
# operations at every later word. But at the first word the past is empty, so the recorded step
# never looks back.


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
# All gradients are right in all three versions, so we test the *forward* pass: `influence` changes
# one state at a time and records which outputs change.


# %%
def influence(reader):
    """(T, T): does y_t change if h_i does?"""
    before, _, _ = reader.forward(h, mask)
    columns = []
    for i in range(T):
        other = h.copy()
        other[i] += 1
        after, _, _ = reader.forward(other, mask)
        columns.append((after != before).any((1, 2)))
    return np.array(columns).T


# %%
found = {name: influence(reader) for name, reader in HISTORY_READOUTS.items()}
y, _, _ = HISTORY_READOUTS["traced at the first word"].forward(h, mask)
assert (found["as it should be"] == np.tri(T)).all()
assert found["without the triangle"].all()
assert (found["traced at the first word"] == np.eye(T)).all()
assert np.allclose(y, np.tanh(h @ W_h + b))
show(draw_influence(found), "11_influence")

# %% [markdown]
# On the left, each output depends on its own state and on earlier ones. In the middle, it depends
# on later ones, too. On the right, it depends only on its own state, because all that is left of
# the layer is y = tanh(h W_h + b). Yet this *tanh layer* trains, and on real text it does well, as
# you will see. So a falling loss does not prove that the model looks back.
#
# The tanh layer is still useful. It is the same layer without attention, so it is the right
# **control** to compare attention with.
#
# ## Ten letters, twenty dots
#
# Can attention do the task from the beginning of this lesson? A sequence is ten letters, each drawn
# from a to h, then twenty dots, then an arrow. At the arrow, the model predicts the first letter.
# Then it *reads* the correct first letter and predicts the second, and so on. Nothing else is
# predicted.
#
# With attention, the LSTM need not remember the letters. It must only count them, so that h_t can
# ask for the right position. All models are trained on the same 400 batches of 32 sequences. Each
# may have 20,000 parameters, so those with attention have smaller states.
#
# Guess: what share of the letters will the LSTM, the tanh layer, single and combined get right?

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
# models without attention do badly: the LSTM gets about a quarter right, and the tanh layer is at
# chance, as is the LSTM with some seeds (question 3).
#
# Where do the two with attention look? Each row of the figure has the weights of one prediction.

# %% tags=["training"]
batch = COPY_TEST.batch(0)
figure, axes = plt.subplots(2, 1, figsize=(11, 7.4), layout="constrained")
figure.suptitle("One sequence: combined asks for one position after another; "
                "single fetches nearly the same")
for name, ax, vmax in (("combined", axes[0], 1), ("single", axes[1], 0.2)):
    title = (f"{name}: {right[name]:.0%} of the letters of 500 sequences right "
             f"(colour scale ends at {vmax})")
    draw_copy(copiers[name], batch, ax, title, vmax)
show(figure, "11_copying")
weights, _ = copiers["combined"].weights(batch)         # (T, B, S)
positions = np.arange(10)[:, None]                      # letter n was read at step n
on_it = (weights[-10:].argmax(2) == positions).mean()
print(f"combined: for {on_it:.1%} of the letters, the largest weight is on the letter to predict")
assert on_it > 0.95

# %% [markdown]
# *combined* draws a diagonal, because at each step it asks for the next position. *single* draws
# stripes: without a query, e_i does not depend on the step t that asks, so every step gets nearly
# the same context. Then how does it get three letters in four right? Let it read the letters of
# another sequence after the arrow. The context stays nearly the same. Will the predictions?

# %% tags=["training"]
print("single, share of letters right at each of the ten positions:")
for condition, shares in (
        ("as trained", letters_right(copiers["single"], batch)),
        ("after other letters", after_other_letters(copiers["single"], batch)),
        ("without the letter's own state", without_own_state(copiers["single"], batch))):
    print(f"  {condition:<30}", *(f"{share:.2f}" for share in shares))

# %% [markdown]
# After other letters, only the first prediction is as good as before. So the context is a mixture
# of all ten letters, and the present state h_t selects one of them, by what has been copied so far.
# The last row hides the state that read the letter. Most predictions remain right, because later
# states still remember the letter. (Without any context, all would be at chance: question 8.)
#
# ## Three questions
#
# Would the predictions of *combined* be worse without its diagonal? A picture cannot tell us. There
# are three questions, which are easily confused:
#
# | question | measurement |
# |---|---|
# | Does the trained model **depend on the choice** of states? | make all weights equal |
# | Does it **depend on the context**, fetched from the states? | replace it by 0, or by its mean |
# | What is attention **worth**? | train another model without it |
#
# The first two are answered by an **ablation**: take the trained model, change nothing but its
# attention, and measure how much the loss rises. (Its unit is the *nat*, because the loss is −log p
# with the natural logarithm.) We change the attention in four ways:
#
# - **no context**: c = 0;
# - **mean context**: c = the mean of all contexts in the held-out texts, wherever there is a past;
# - **equal weights**: the same weight for all visible states;
# - **hard**: all weight on the state with the largest weight.
#
# The interval, from resampled texts, says how much a cost would vary with other texts. Guess: which
# change will cost *combined* almost nothing?

# %% tags=["training"]
print("\nwhat each change of the attention costs, in extra nats per letter (95 % interval):")
copy_ablation = ablated("copying, combined", copiers["combined"], COPY_TEST)
print(f"a guess among eight letters costs {np.log(8):.2f} nats")
assert copy_ablation["equal weights"].low > 2
assert copy_ablation["hard"].high < 0.02

# %% [markdown]
# *Hard* weights cost nothing, because the largest weight is practically always on the right letter.
# The other changes cost more than four nats per letter. That is worse than a guess, so the damaged
# model is confident and wrong. So *combined* depends on its choice and on its context. And the
# third question? The tanh layer, which has no attention, is at chance, and the LSTM is not far
# above it. Attention is worth a lot here.
#
# ## The Bible
#
# Copying was made for attention. What does a model depend on in real text? Each verse of
# `bible-en` is a text of its own. The model first reads `</s>`, and then predicts every word and
# the `</s>` at the end. The vocabulary has 2,000 words, and training is one pass over 9,600 verses.
# Guess: what will equal weights cost here?

# %% tags=["training"]
WORDS = 2000
verses = Verses(WORDS, number=9_600, batch_size=64, rng=np.random.default_rng(6))


def bible_model(name, seed=7):
    model = create(NAMES.get(name, "combined"), seed, WORDS, units=69, init=0.1)
    model.output.b[...] = verses.log_frequencies        # not left to training
    if name == "no choice":                             # explained below
        score = model.reader.attention
        for array in (score.W_s, score.W_q, score.v):
            array[...] = 0
    train(model, verses.batches, rate=0.02, seed=seed)
    return model


def perplexity(nats, words):
    return np.exp(nats.sum() / words.sum())


# %% tags=["training"]
models = {"combined": bible_model("combined")}
print(f"\nthe Bible: what each change costs, in extra nats per word, in "
      f"{len(verses.held_out.documents):,} verses held out:")
bible_ablation = ablated("Bible, combined", models["combined"], verses.held_out)
assert bible_ablation["mean context"].low > 0.03
assert bible_ablation["equal weights"].mean < 0.03
show(draw_verse(models["combined"], verses, 1018, "In this verse, combined draws stripes, "
                "as single does in copying"), "11_verse")

# %% [markdown]
# The model barely depends on its choice. Equal weights cost 0.010 nats, which raises the perplexity
# by one per cent. So a plain mean of all earlier states serves almost as well as the model's own
# weights. Most columns of the figure are vertical stripes: a state with much weight for one word
# has much for the next. (The first word, *they*, has no past and no row.)
#
# *No context* costs 0.071 nats, or about seven per cent. Part of this has nothing to do with the
# verse: the mean of c acts like a second b, and c = 0 takes it away, too. *Mean context* keeps this
# constant, and still costs about three quarters as much. So the model does depend on its *context*.
# (Two other seeds agree: question 4.)
#
# ## Is the attention worth anything?
#
# Is attention worth these 0.071 nats, and the choice 0.010? Two models trained without them are the
# controls. The tanh layer never had a context. *no choice* is *combined*, but starts with W_s, W_q
# and v at 0. There, their gradients are 0, so its weights stay equal. All models have 69 units.
# Guess: how much worse than *combined* is each control?

# %% tags=["training"]
print("\nmodels of the Bible with 69 units:")
measured = {}
for name in ("LSTM", "tanh layer", "no choice", "combined"):
    if name not in models:
        models[name] = bible_model(name)
    measured[name] = losses(models[name], verses.held_out)
    total, _, words = measured[name]
    print(f"  {name:<10}  {models[name].size:,} parameters, "
          f"perplexity {perplexity(total, words):.2f}", flush=True)


# %% tags=["training"]
def paired(name, other):
    """By how many nats per word a model is worse than the other, compared verse by verse."""
    more = measured[name].total - measured[other].total
    return analysis.mean_interval(more, measured[name].words, np.random.default_rng(4))


print("loss of combined minus that of a control, in nats per word:")
for control in ("tanh layer", "no choice"):
    print(f"  {control:<10}  {signed(paired('combined', control))}")

# %% tags=["training"]
# the code is in answer 4
SEEDS = {"tanh layer": (-0.015, 0.001, 0.006), "no choice": (-0.002, -0.004, 0.001)}
print("the same differences with seeds 7, 8 and 9:")
for control, differences in SEEDS.items():
    print(f"  {control:<10}", *(f"{one:+.3f}" for one in differences))

# %% [markdown]
# The tanh layer is worse by only 0.015 nats, and *no choice* by 0.002. With seed 9 both are even
# better than *combined*: an interval from resampled verses says nothing about other seeds. So we
# see no gain from attention here, and none from its choice. The plain LSTM, the smallest model,
# does about as well.
#
# ### With more training
#
# Is attention worth more in larger models that are trained for longer? Here are recorded runs
# (`results/tables.md`) on the Bible and on the Penn Treebank, the newspaper text of the paper.

# %% tags=["training"]
LONGER = {
    # in results/: bible-lstm, bible-readout, bible-combined
    "Bible": {"LSTM": 46.74, "tanh layer": 43.78, "combined": 43.25},
    # in results/: sentences-lstm, sentences-no-context, sentences-combined
    "Penn Treebank": {"LSTM": 109.56, "tanh layer": 106.64, "combined": 109.80},
}
assert paired("combined", "no choice").low > -0.008
print_longer(LONGER)

# %% [markdown]
# On the Bible, with one seed, combined is more than three points better than the LSTM, but the tanh
# layer, which never looks back, is almost as good. On the Penn Treebank, combined ties with the
# LSTM and is *worse* than the tanh layer with every seed.
#
# ## Why the two numbers differ
#
# Why does an ablation make attention look valuable? A model that was trained with a context relies
# on it, and stumbles when we take it away. A model that was trained without one has learned to do
# without. **The ablation measures what the trained model depends on. The control measures what the
# mechanism is worth.** You need both:
#
# | question | copying | the Bible, 69 units |
# |---|---|---|
# | Does it depend on the choice? (equal weights) | yes: 4.274 nats | barely: 0.010 nats |
# | Does it depend on the context? (mean context) | yes: 4.433 nats | yes: 0.054 nats |
# | What is attention worth? | 100.0 % right, at best 27.4 % without it | no gain |
#
# Before you believe a number of your own, ask four questions:
#
# - **Influence**: does each output depend on what it should, and on nothing else?
# - **Ignorance**: does a model that knows nothing get the score that it must get? (In the paper's
#   released code, it does not: question 9.)
# - **Ablation**: which parts does the trained model depend on?
# - **Control**: is the model better than one of the same size (ours differ by up to a tenth) that
#   lacks the mechanism?

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
# | `plotting` | diagrams |
# | `Combined` | the library's score with a query |
# | `Single` | the library's score without a query |
# | `KeyValueReadout` | the library's layer that computes y from the states |
# | `gradcheck` | compares a backward pass with central differences |
# | `Array` | an array, in type hints |
# | `Module` | a class whose array fields are parameters |

# %% [markdown]
# ## Questions
#
# 1. Put h_t into its own memory, so that step t sees all states i ≤ t. Does the gradient check
#    pass? What does `influence` show? Which test of this lesson notices the change?
# 2. Suppose that `backward` has the bug `de = alpha * dalpha`. The report then says that element
#    [1, 0, 0] of de should be 0. Why 0? What do W_s, W_q and v learn from a text of two words?
# 3. Train the four models to copy, with seeds 1 to 5. Which of the four results change by more
#    than ten points from seed to seed?
# 4. Train the four models of the Bible with seeds 8 and 9 as well. Which statements about these
#    models hold for every seed?
# 5. Train *combined* with twenty dots, and test it with ten, nineteen and forty dots. Is its
#    largest weight still on the right letter?
# 6. Show that for *single* the context c_t is a ratio of two running sums. What does c_t then cost,
#    in time and memory?
# 7. Why does the LSTM fail to copy? One suspicion is that the *gradient* does not reach back.
#    Measure with `analysis.gradient_flow`, before training, how much of the gradient of the last
#    letter's loss arrives at earlier states.
# 8. Remove the context of *single* (`analysis.changed`). What is left of its ten letters? And which
#    of the four conditions together show that later states remember a letter?
# 9. The paper's released code leaves the first word of each sentence out of the loss, but counts it
#    when it divides by the number of words. What perplexity does a model get that gives each of
#    2,000 words the same probability? And our LSTM on the Bible?
