# %% [markdown]
# # Lesson 07: Luong's family of attentions
#
# **You will be able to** write Luong's four scores, forward and backward, and test an explanation
# of a heatmap. Part B adds two windows and input feeding.
#
# **Needs:** lesson 06. **Time:** 50 minutes to read, about 15 of them for the optional part B;
# about a minute to run.
#
# In lesson 06 the decoder attended *before* its step: its old state, s_{t−1}, was the query, and
# the context vector went into the new state. Luong, Pham & Manning (2015) reverse the order. Their
# decoder takes its step first and attends with the new state, s_t. Then a small layer joins this
# state with the context vector. So attention becomes a self-contained part between the step and the
# output, and is easy to swap for another. The paper tries four scores in this part.
#
# One of the four rates the positions of the source without reading the words there. Guess before
# you read on: can a model with this score translate? And if it can, how?

# %%
print("Lesson 07: Luong's family of attentions", flush=True)

from dataclasses import dataclass
from functools import partial

import numpy as np
from course import show
from luong_parts import (centres_of, check, check_same, check_same_decoder, check_same_look,
                         draw_pull, draw_two, in_window, measure, noun_weight, past_the_noun,
                         print_from_state, print_nouns, print_recorded, silently_caught, train)

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

np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## One target word
#
# The encoder has made an annotation h_j for each of the S source words. The annotations are the
# rows of a matrix M. To write target word t, the decoder first takes its step to state s_t, then
# computes four things:
#
#     e_t  = score(s_t, M)            (S,)   how useful is each word now?
#     α_t  = softmax(e_t)             (S,)   weights: positive, they add up to 1
#     c_t  = α_t M                    (N,)   the context vector, an average of annotations
#     s̃_t  = tanh(c_t C + s_t W_h)    (K,)   from context and state; s̃_t predicts the word
#
# All source words get a weight, so this is **global attention**. (In the paper, the last line is
# tanh(W_c [c_t; h_t]). There, h_t means our s_t, and W_c is our C and W_h stacked.)
#
# For the first line the paper has four scores:
#
#     dot         e_j = s_t · h_j                        compares state and annotation directly
#     general     e_j = (s_t W_a) · h_j                  puts a matrix between them
#     concat      e_j = v_a · tanh(s_t W_a + h_j U_a)    adds them, as in lesson 06
#     location    e   = s_t W_a                          reads no annotation at all
#
# | symbol | shape | what it is |
# |---|---|---|
# | j = 0 … S − 1, t = 0 … T − 1 | | positions in the source and in the target, from 0 |
# | s_t | (H,) | the decoder's state after its step: the query |
# | M, its rows h_j | (S, N) | annotations of the source words |
# | e, α | (S,) | scores, attention weights |
# | c | (N,) | context vector: what was found, an average of annotations |
# | s̃_t | (K,) | **attentional state**: context and state combined (the paper's h̃_t) |
# | C, W_h | (N, K), (H, K) | parameters of the layer that makes s̃_t |
# | W_a, U_a, v_a | | parameters of a score; W_a is different in each score |
#
# The length of an annotation, which was D in lesson 06, is N here, because D is the paper's letter
# for how far a window reaches.
#
# The dashed arrow of the diagram, F, belongs to part B.

# %%
boxes = {
    "before": ("sₜ₋₁", 0, 0),
    "word": ("yₜ₋₁", 0, 1.2),
    "s": ("sₜ", 1.7, 0, 0),
    "M": ("M: rows h₀, h₁, …", 1.7, 2.8, 2),
    "e": ("e = score(sₜ, M)", 3.6, 1.2),
    "a": ("α = softmax(e)", 5.8, 1.2),
    "c": ("c = α M", 7.8, 1.2, 2),
    "joined": ("s̃ₜ = tanh(c C + sₜ Wₕ)", 7.8, 0, 1),
    "y": ("P(yₜ)", 10.4, 1.2),
    "next": ("sₜ₊₁", 10.4, 0),
}

# %%
arrows = [("before", "s", "step"), ("word", "s"), ("s", "e", "query"), ("M", "e", "as keys"),
          ("e", "a"), ("a", "c"), ("M", "c", "as values", 0.12), ("c", "joined"), ("s", "joined"),
          ("joined", "y"), ("joined", "next", "F", 0, True), ("s", "next", "step", -0.1)]
show(plotting.diagram(boxes, arrows, title="Luong: the new state is the query, and s̃ₜ joins it "
                      "with what was found"), "07_architecture")

# %% [markdown]
# ## Forward
#
# The simplest score is **`dot`**: e_j = s_t · h_j, with no parameters. Take three source words,
# *the blue student*, with annotations of three numbers each. The decoder is about to write
# *étudiant*, so *student* should get the largest weight. Does it? Multiply s by each row of M in
# your head.

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
    powers = np.exp(e - e.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


# %%
e = M @ s                           # (S,)
alpha = softmax(e)                  # (S,)
c = alpha @ M                       # (N,)
u = c @ C + s @ W_h                 # (K,)
s_tilde = np.tanh(u)                # (K,)
for word, one_e, one_alpha in zip(words, e, alpha):
    print(f"  {word:<8} e = {one_e:.2f}   α = {one_alpha:.2f}")
print("  c =", c, "  s̃ =", s_tilde)

# %% [markdown]
# It does, because its annotation is large where s is large.
#
# ## Backward
#
# We walk the four lines in reverse, and start with the **upstream gradient** ds̃ = ∂L/∂s̃. In a
# model it comes from the output layer. Here we choose two numbers w and take the loss L = w · s̃,
# so ds̃ = w. As in lesson 06, central differences check every gradient (for a matrix, one row).

# %%
w = np.array([1.0, -2.0])


def L(e=0, alpha=0, c=0, u=0):
    """w · s̃; each argument is added to the intermediate of that name."""
    scores = M @ s + e
    weights = softmax(scores) + alpha
    context = weights @ M + c
    return w @ np.tanh(context @ C + s @ W_h + u)


# %%
def check_gradient(name, ours, loss, array):
    """Compare our gradient with the central difference of loss() in each element of array."""
    numeric = numeric_gradient(loss, array)
    assert np.allclose(ours, numeric, rtol=1e-7, atol=1e-9), name
    print(f"  {name:<7} {ours}   as measured: {numeric}")


def check_intermediate(name, ours):
    """Compare our gradient with central differences in a shift of the intermediate."""
    shift = np.zeros_like(ours)
    check_gradient("d" + name, ours, partial(L, **{name: shift}), shift)


# %% [markdown]
# Let u = c C + s W_h be the sum inside the tanh. Then:
#
#     du = ds̃ ∘ (1 − s̃²)                              the tanh
#     dc = du Cᵀ      dC = cᵀ du      dW_h = sᵀ du    the two products
#     dα_j = h_j · dc                                 the average c = α M
#     de = α ∘ (dα − α · dα)                          the softmax, as in lesson 06

# %%
du = w * (1 - s_tilde**2)                       # (K,)
dc = du @ C.T                                   # (N,)
dalpha = M @ dc                                 # (S,)
de = alpha * (dalpha - alpha @ dalpha)          # (S,)
check_intermediate("u", du)
check_intermediate("c", dc)
check_intermediate("alpha", dalpha)
check_intermediate("e", de)

# %% [markdown]
# de_2 is negative, so the loss falls if the score of *student* rises.
#
# > **Exercise.** Write both passes, with ds and dM: `numpy-attention exercise start dot`.
#
# Two gradients are left, ds and dh_j. The state s was used twice: in the score and in s̃. Each
# annotation h_j was used twice as well: as a *key* in e, and as a *value* in c. So both gradients
# are sums of two terms:
#
#     ds   = de M  +  du W_hᵀ                 through the score, and through s̃
#     dh_j = de_j s  +  α_j dc                as key, and as value

# %%
check_gradient("ds", de @ M + du @ W_h.T, L, s)
check_gradient("dh_2", de[2] * s + alpha[2] * dc, L, M[2])
check_gradient("dC[0]", c[0] * du, L, C[0])
check_gradient("dW_h[0]", s[0] * du, L, W_h[0])
print("dot: every gradient is what the central difference measures")

# %% [markdown]
# ## Two more scores
#
# With `dot`, encoder and decoder must learn to use the same coordinates for the same things, and
# states must be as long as annotations. The score **`general`** puts a matrix W_a between them,
# which turns s_t into the query q:
#
#     q = s W_a        e = M q
#
# The score **`concat`** joins s_t and h_j into one long vector and puts a hidden layer on top. Its
# matrix splits into W_a, the rows that meet s_t, and U_a, the rows that meet h_j:
#
#     a_j = [s_t; h_j] [W_a; U_a] = s_t W_a + h_j U_a      x_j = tanh(a_j)      e_j = v_a · x_j
#
# This is lesson 06's additive attention, except that the query is s_t instead of s_{t−1}.
#
# > **Exercise.** Write the backward pass of `general`: `numpy-attention exercise start general`.
#
# > **Exercise.** Can you still write that of `concat`? `numpy-attention exercise start concat`.

# %% [markdown]
# For `general`, only the lines of q are new:
#
#     dq = de M        dM = deᵀ q        dW_a = sᵀ dq        ds = dq W_aᵀ
#
# The functions below cover the score only. The other two terms, du W_hᵀ of ds and α_j dc of dh_j,
# are the same as with `dot`.


# %%
def general(s, M, W_a):
    """s (H,), M (S, N), W_a (H, N) → scores (S,), cache."""
    q = s @ W_a
    return M @ q, (s, M, W_a, q)


def general_backward(de, cache):
    """→ ds, dM, dW_a."""
    s, M, W_a, q = cache
    dq = de @ M
    return dq @ W_a.T, np.outer(de, q), np.outer(s, dq)


def concat(s, M, W_a, U_a, v_a):
    """s (H,), M (S, N), W_a (H, A), U_a (N, A), v_a (A,) → scores (S,), cache."""
    x = np.tanh(s @ W_a + M @ U_a)
    return x @ v_a, (s, M, W_a, U_a, v_a, x)


def concat_backward(de, cache):
    """→ ds, dM, dW_a, dU_a, dv_a."""
    s, M, W_a, U_a, v_a, x = cache
    da = np.outer(de, v_a) * (1 - x**2)     # (S, A), of the sums a_j
    total = da.sum(0)               # every word used s: the gradients add up
    return total @ W_a.T, da @ U_a.T, np.outer(s, total), M.T @ da, de @ x


# %% [markdown]
# `check`, a helper in `luong_parts.py`, is lesson 01's gradient check. It returns the first line of
# the report.

# %%
rng = np.random.default_rng(0)
H = 3                               # all sizes differ, so that a transpose cannot hide
N = 4
S = 6
A = 5                               # the size of concat's hidden layer
s = rng.standard_normal(H)
M = rng.standard_normal((S, N))     # (S, N)
W_a = rng.standard_normal((H, N))   # (H, N)
print(check(general, general_backward, s, M, W_a))
concat_weights = [rng.standard_normal(shape) for shape in ((H, A), (N, A), (A,))]
print(check(concat, concat_backward, s, M, *concat_weights))

# %% [markdown]
# ### What a bug looks like
#
# `averaged` is `concat_backward` with one wrong line. Do not compare the two yet. The report counts
# the inputs: `input[0]` is s_t, `input[1]` M, `input[2]` W_a, `input[3]` U_a, and `input[4]` v_a.
# Which line of `averaged` must be wrong?


# %%
def averaged(de, cache):
    """concat_backward with a planted bug."""
    s, M, W_a, U_a, v_a, x = cache
    da = np.outer(de, v_a) * (1 - x**2)
    total = da.mean(0)
    return total @ W_a.T, da @ U_a.T, np.outer(s, total), M.T @ da, de @ x


report = silently_caught(concat, averaged, s, M, *concat_weights).splitlines()
print(report[0])

# %% [markdown]
# The gradients of M and U_a are right, so da must be right. Only the wrong gradients, those of s
# and W_a, use `total`. It takes a mean where a sum belongs: s was used with every word, so the
# gradients of its uses must *add up*. By which factor are they wrong? Here is the rest of the
# report.

# %%
print("\n".join(report[1:]))

# %% [markdown]
# The element is 6 times too small: S = 6.
#
# ## `location`: a score that reads no word
#
# The fourth score, **`location`**, reads no annotation: e = s_t W_a, where W_a has a column for
# each *position*. (A sentence of S words uses the first S columns.) So the decoder chooses a
# position from its state only, and fetches the annotation there without having read it. M does not
# occur in this score, so the score adds nothing to dM. The annotations still learn *what to say*,
# as values, but not *when to be found*.
#
# > **Exercise.** Its backward pass is short: `numpy-attention exercise start location`.

# %% [markdown]
#     ds = de W_aᵀ        dW_a = sᵀ de        dM = 0
#
# Here W_a and dW_a stand for their first S columns; the other columns of dW_a are 0.


# %%
def location(s, M, W_a):
    """s (H,), M (S, N), W_a (H, longest) → scores (S,), cache."""
    return s @ W_a[:, :len(M)], (s, M, W_a)


def location_backward(de, cache):
    """→ ds, dM, dW_a."""
    s, M, W_a = cache
    dW_a = np.zeros_like(W_a)
    dW_a[:, :len(M)] = np.outer(s, de)
    return W_a[:, :len(M)] @ de, np.zeros_like(M), dW_a


W_places = rng.standard_normal((H, 8))          # (H, longest)
print(check(location, location_backward, s, M, W_places))

# %% [markdown]
# ## The same as the library
#
# The library's classes share no code with ours.


# %%
def dot(s, M):
    """s (N,), M (S, N) → scores (S,), cache."""
    return M @ s, (s, M)


def dot_backward(de, cache):
    """→ ds, dM."""
    s, M = cache
    return de @ M, np.outer(de, s)


long_s = rng.standard_normal(N)     # dot needs a state of the annotations' size
check_same(DotAttention(), dot, dot_backward, long_s, M)
check_same(GeneralAttention(W_a), general, general_backward, s, M, W_a)
check_same(AdditiveAttention(*concat_weights), concat, concat_backward, s, M, *concat_weights)
check_same(LocationAttention(W_places), location, location_backward, s, M, W_places)
print("four scores: context, weights and all gradients are equal to the library's")

# %% [markdown]
# ## Does `location` translate?
#
# `grammar-en-fr` is a small grammar that generates English sentences, their French translations and
# the alignment of their words. French puts *ne … pas* around the verb, and most adjectives after
# the noun. We call such an adjective and its noun *swapped*. We train one model with `dot` and one
# with `location`, whose W_a gets 24 columns (`longest`). Both have GRUs and a bidirectional
# encoder. (Each direction of the encoder has half the decoder's size, as `dot` requires.)
#
# We measure two things: how many test sentences are translated exactly right, and the **pointing**.
# Pointing is the share of *sure* links (lesson 06's gold links) whose source word has the largest
# weight.

# %% tags=["training"]
pairs = load_parallel("grammar-en-fr", "train", np.random.default_rng(3), 8_000)
test = load_parallel("grammar-en-fr", "test", np.random.default_rng(4), 400)
print(f"\ntrained for five epochs on {len(pairs):,} sentence pairs, "
      f"measured on {len(test)} held-out sentences:")
dot_exact, dot_weights = measure("dot", train(pairs), test)
by_location = train(pairs, attention="location", longest=24)
location_exact, location_weights = measure("location", by_location, test)
diagonal = metrics.diagonal_pointing(test)
print(f"Pointing along the diagonal is right for {diagonal:.1%} of the links.")

# %% [markdown]
# `location` translates as well as `dot`. But its pointing is hardly better than that of the
# diagonal, lesson 06's rule that ignores the words.

# %% tags=["training"]
assert abs(location_exact - dot_exact) < 0.05
assert metrics.pointing_accuracy(dot_weights, test) > diagonal + 0.1
assert metrics.pointing_accuracy(location_weights, test) < diagonal + 0.1

# %% [markdown]
# Here is one sentence. Solid frames mark the sure links. Dashed frames mark *possible* links, such
# as *do*, which French does not translate; pointing ignores them. The last column is `</s>`, which
# the encoder reads like a word, so here S = 9.

# %% tags=["training"]
shown = next(n for n, pair in enumerate(test) if phenomena(pair)["swapped adjective"]
             and phenomena(pair)["negation"] and len(pair.target) < 10)
pair = test[shown]
show(draw_two("dot follows the swap of noun and adjective, location ignores it", pair, {
    "dot": dot_weights[shown], "location": location_weights[shown]}), "07_attention")
written, = by_location.translate([pair.source], beam=1)
print(f"location translates {' '.join(pair.source)} as {' '.join(written.target)}")

# %% [markdown]
# ## How can it write *étudiant* while it attends to *blue*?
#
# Look at the rows of *étudiant* and *bleu* in the second heatmap. The model attends to *blue* first
# and to *student* second, but it writes *étudiant bleu*, in the correct order. We have two
# explanations, and a test of each.
#
# 1. The state knows the noun. It began as the encoder's last state, so it has read the sentence,
#    and the weights do not matter.
# 2. The annotation of *blue* contains *student*. The encoder reads in both directions, so an
#    annotation also describes its neighbours, and a weight that is one position off is near enough.
#
# ### Test 1: does the state know the noun?
#
# We set C to 0, which removes the context: s̃_t is now tanh(s_t W_h). The states do not change,
# because the context never enters them. If the state knows the noun, the model still predicts it.
# `from_state` predicts each word from the correct previous words. We count the swapped nouns, and
# two other words for comparison.


# %% tags=["training"]
def from_state(translator):
    """For each test sentence, the words that the model predicts if C is 0."""
    model = translator.model.copy()
    model.C[...] = 0
    words = []
    for pair in test:
        s_tilde, _, _ = model.forward(translator.batches([pair]).batch([0]))    # (T, K)
        best = model.output.logits(s_tilde).argmax(1)
        words.append([translator.target_vocabulary.token(word) for word in best])
    return words


# %% tags=["training"]
print("location with C = 0:")
nouns_known, pas_known, end_known = print_from_state(from_state(by_location), test)

# %% tags=["training"]
assert nouns_known < 0.1
assert min(pas_known, end_known) > 0.9

# %% [markdown]
# Without the context, nearly all swapped nouns are lost. So the first explanation is wrong for the
# model as we trained it. (The state may hold more than this shows, because the layer that makes s̃
# was trained with the context and may be unable to use it.)
#
# But the state does know *pas* and `</s>`: *pas* follows *ne* and a verb, and `</s>` follows the
# full stop. The model can write these two words wherever it attends, so their rows in a heatmap
# explain nothing.
#
# ### Test 2: does the annotation of *blue* contain *student*?
#
# We let the model see the annotation of *blue* alone. Lesson 06's `given_word` masks all positions
# but one, so that c_t = h_j. Here we do the same in S copies of the decoder, one for each position,
# and ask which word each copy predicts in the place of the swapped noun.
#
# For comparison, we train a `location` model whose encoder reads forward only. It makes the
# annotation of *blue* before it has read *student*.
#
# Guess for both models: how many of the swapped nouns are predicted from the adjective's annotation
# alone?


# %% tags=["training"]
def words_alone(translator, pair):
    """→ for each target word and </s>, the S words predicted from c = h_0, c = h_1, …"""
    model = translator.model
    batch = translator.batches([pair]).batch([0])
    S = len(batch.source)
    state = model.start(batch.source, batch.source_mask).take(np.zeros(S, int))     # S copies
    state.memory.mask = np.eye(S, dtype=bool)           # copy j sees position j only
    words = []
    for previous in batch.target_in:
        log_p, _, state = model.next(np.repeat(previous, S), state)     # log_p (S, words)
        words.append([translator.target_vocabulary.token(best) for best in log_p.argmax(1)])
    return words


# %% tags=["training"]
forward = train(pairs, attention="location", longest=24, bidirectional=False)
_, forward_weights = measure("location, forward only", forward, test)
shares = print_nouns(partial(words_alone, by_location), partial(words_alone, forward), test)

# %% tags=["training"]
print("recorded for seeds 1 to 5 (question 6): from the adjective, 100% with both directions and\n"
      "  1 to 3% forward only; with C = 0, both directions, 0 to 6%")
assert shares[1, 0] > 0.9           # from the adjective, both directions
assert shares[1, 1] < 0.1           # forward only
assert shares[0].max() < 0.1        # from the word before the adjective

# %% [markdown]
# With both directions, the adjective's annotation is enough to write every swapped noun. With the
# forward-only encoder it hardly ever is. Could the copies guess the noun from their state alone?
# No: then the word before the adjective would do as well, and it gives 1%. The second explanation
# is right: the annotation of *blue* contains *student*, and only the encoder's backward direction
# can have put it there.
#
# ### Where does the forward-only model find *student*?
#
# It cannot use the annotation of *blue*, and yet it translates most sentences. Compare its weights
# for *étudiant* with those of the first model.

# %% tags=["training"]
print("both directions:", noun_weight(location_weights[shown], pair))
print("forward only:   ", noun_weight(forward_weights[shown], pair))
show(draw_two("location, forward only: the largest weight of étudiant is on student", pair, {
    "both directions": location_weights[shown],
    "forward only": forward_weights[shown]}), "07_forward_only")
both_past = past_the_noun(location_weights, test)
forward_past = past_the_noun(forward_weights, test)
print(f"unswapped nouns with the largest weight on a later word: {both_past:.0%} with both "
      f"directions, {forward_past:.0%} forward only")

# %% [markdown]
# The largest weight of *étudiant* is now on *student*: 41%, instead of 13% with both directions.
# Has the weight moved *because* of the swap? If so, nouns that are not swapped should keep their
# largest weight on their own word or before it. Yet 56% of them have it on a later word. So the
# swap need not be the cause. A likely reason: `location` reads no word, so after *the* it cannot
# see whether an adjective or the noun comes next.

# %% tags=["training"]
assert both_past < 0.1
assert forward_past > 0.3

# %% [markdown]
# ## Real text
#
# In our grammar a noun moves by one position. Does `location` also translate real text?
# `results/claims.md` reports measurements of larger models: 3 million parameters, six epochs on
# 75,000 clauses of the Bible, English to Spanish. The table has test perplexities, each the mean of
# three seeds ± their standard deviation. Below it is BLEU (lesson 05; 100 is best). (The comment
# names the *recipes*: `numpy-attention reproduce clauses-dot` repeats a run of `dot` in about ten
# minutes.)
#
# The last row changes something else. It gives `concat` the query of lesson 06, s_{t−1}, which has
# not read the previous word y_{t−1}. Guess: does this cost as much as reading no source word?

# %% tags=["training"]
# recipes: clauses-dot, clauses-general, clauses-concat, clauses-location, query-previous-additive
print("\nrecorded on clauses of the Bible\ntest perplexity (lower is better)")
print_recorded("dot", "general", "concat", "location", "concat with the query s_{t−1}")
print("BLEU (higher is better)\n  dot 29.0 ± 0.3, location 26.7 ± 0.2, lesson 05's fixed vector "
      "(bidirectional encoder) 21.9 ± 0.6")

# %% [markdown]
# Not quite, but about three quarters of it: the older query has read just one word fewer, and costs
# `concat` 1.02. Reading no source word (`location`) costs 1.36. The three scores that read the
# words differ by 0.26 at most. So what the query has read can matter more than the choice among
# these three.
#
# Can a score that reads no word translate? Yes, though less well than the others. The BLEU of
# `location` is 26.7, below the 29.0 of `dot`, but well above the 21.9 of the fixed vector. How? In
# our grammar, the score need not find the right word, because its neighbour knows it, too. (On the
# Bible we did not test this.)
#
# This ends the main part.

# %% [markdown]
# ## Part B (optional): windows, and input feeding
#
# **You will be able to** write two windows and input feeding, forward and backward, and recognize a
# window that cannot learn. **Time:** about 15 minutes to read. Lesson 08 does not need this part.
# In our runs on the Bible, neither windows nor input feeding lowered the perplexity.
#
# ### `local-m`: a window that slides along
#
# In many sentences, a word and its translation are at nearly the same relative position. So even a
# rule that reads no word can tell roughly where to look. **Local attention** looks only
# there, in a *window*: the positions at most **D** away from a centre p. A score that reads the
# words chooses among them. In **`local-m`**, m for monotonic, the window moves on by one position
# with each target word:
#
#     p = min(t, S − 1)
#
# The backward pass needs nothing new: where α = 0, so is de = α ∘ (dα − α · dα).

# %%
positions = np.arange(S)            # (S,); M and its S = 6 rows are those of the gradient checks
scores, _ = dot(long_s, M)


def local_m(scores, t, D=1):
    """α (S,) for target word t."""
    j = np.arange(len(scores))
    p = min(t, len(scores) - 1)
    return softmax(np.where(abs(j - p) <= D, scores, -np.inf))


library = LocalMonotonic(DotAttention(), width=1)
memory = library.read(M[None], np.ones((1, S), bool))
for t in (0, 1, 2, 3, 5):
    weights = local_m(scores, t)
    assert np.allclose(library.step(long_s[None], memory, t)[1], weights)
    print(f"  target word {t}: α = {weights}")

# %% [markdown]
# ### `local-p`: a window that is predicted
#
# A translation can reorder the words. So in **`local-p`**, p for predictive, the state *predicts*
# the centre p, a real number such as 2.3.
#
# How can a model learn to predict it? A small change of p usually moves no word into the window or
# out of it, so no weight changes, and p gets no gradient. Hence the weights are multiplied by a
# bell around p, which changes smoothly with p:
#
#     g_j = exp(−(j − p)² / 2σ²)      σ = D / 2
#     α_j = β_j g_j                   β: the softmax over the window
#
# (The code inserts σ = D / 2: g_j = exp(−2 ((j − p) / D)²).) The α_j add up to less than 1, and the
# paper does not normalize them again. The slope of the bell gives p its gradient:
#
#     ∂g_j/∂p = g_j (j − p) / σ²
#     ∂α_j/∂p = β_j ∂g_j/∂p = α_j (j − p) / σ²            β does not depend on p
#     dp      = Σ_j dα_j α_j (j − p) / σ²
#
# An update goes *against* dp. So each word pulls p towards itself if its dα_j is negative, and
# pushes it away if dα_j is positive. How hard depends on dα_j, its weight and its distance from p.
# The next cell has numbers for six positions. Guess: which position moves p most, and which way?

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


def loss_of_p():
    _, _, alpha = windowed(e, p)
    return dalpha @ alpha


# %%
beta, g, alpha = windowed(e, p)
terms = dalpha * alpha * (positions - p) / (D / 2) ** 2
for j in positions:
    print(f"  position {j}: β = {beta[j]:.2f} · g = {g[j]:.2f} → α = {alpha[j]:.2f}   "
          f"its term of dp {terms[j]:+.3f}")
check_gradient("dp", terms.sum(keepdims=True), loss_of_p, p)
print(f"α adds up to only {alpha.sum():.2f}")

# %%
show(draw_pull(beta, alpha, terms, p, D), "07_pull")

# %% [markdown]
# Position 3 pulls hardest, to the right. Positions 1 and 2 push p to the right as well: they are
# to its left, and their dα is positive. Position 5 has a large dα, but no weight.
#
# A small tanh layer and a sigmoid compute p from the state:
#
#     r = s_t W_p      x = tanh(r)      z = x · v_p      p = S sigmoid(z)
#
# W_p (H, P) and v_p (P,) are new parameters; p is between 0 and S. (With `dot`, H = N.) In the
# backward pass only the slope of the sigmoid is new:
#
#     ∂p/∂z = S sigmoid(z) (1 − sigmoid(z)) = p (1 − p / S)
#
# > **Exercise.** Write the backward pass first: `numpy-attention exercise start local-p`.

# %% [markdown]
#     dβ = dα ∘ g                  de = β ∘ (dβ − β · dβ)       the bell, the softmax
#     dz = dp · p (1 − p / S)      dv_p = dz x                  the sigmoid, the product
#     dr = dz v_p ∘ (1 − x²)       dW_p = s_tᵀ dr               the tanh, the layer
#
# The state now also *aims* the window, so ds has one more term, dr W_pᵀ.


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
# When a word enters or leaves the window, all weights of the softmax jump. A gradient does not see
# the jump, but a central difference measures across it. So before the check, we make sure that no
# word is at an edge.

# %%
P = 5
W_p = rng.standard_normal((N, P))   # (N, P)
v_p = rng.standard_normal(P)        # (P,)
_, _, cache = local_p(long_s, M, W_p, v_p)
p = cache[5]
edge = np.abs(np.abs(positions - p) - D).min()
assert edge > 1e-3, "a word is at an edge of the window, where there is no derivative"
print(f"p = {p:.2f}; no word is nearer than {edge:.2f} to an edge of the window")
print(gradcheck(None, long_s, M, W_p, v_p, rng=np.random.default_rng(2), forward=local_p,
                backward=lambda dc, dalpha, cache, grads: local_p_backward(dc, dalpha, cache),
                title="local-p with dot"))
library = LocalPredictive(DotAttention(), W_p, v_p, width=D)
check_same_look(library, local_p, local_p_backward, long_s, M, W_p, v_p)
print("local-p: context, weights and all gradients are equal to the library's")

# %% [markdown]
# > **Exercise.** Find a bug by its report: `numpy-attention exercise start find-in-local-p`.
#
# Can a model learn to aim? We trained `general` in `local-p`, with D = 2: with seed 1 most
# translations are wrong, and with seed 2 nearly all are right. What goes wrong? The next cell
# trains both for one epoch, and prints p and its slope ∂p/∂z for our sentence.

# %% tags=["training"]
S_here = len(pair.source) + 1           # with </s>
for seed in (1, 2):
    early = train(pairs, seed, epochs=1, attention="general", window="local-p", width=2)
    centres = centres_of(early, pair)
    print(f"  seed {seed}: the right word is in the window for {in_window(early, test):.0%}")
    print("    p            ", *(f"{p:5.1f}" for p in centres))
    print("    p (1 − p / S)", *(f"{slope:5.2f}" for slope in centres * (1 - centres / S_here)))
print("recorded after five epochs, exactly right: seed 1 16 to 36%, seed 2 about 99%\n"
      "  (a range: different processors; question 7)")

# %% [markdown]
# With seed 1, every p of our sentence has run to an end of its range (0 or S = 9). There the slope
# is almost 0, so W_p and v_p can hardly learn. Most right words are outside the window, so they
# cannot pull p back. With D = 4, none of three seeds fails (question 7), but such a window can hold
# all 9 positions.
#
# ### Input feeding, and the loop over words
#
# A translator should remember which words it has already translated. So far, nothing that attention
# found enters the decoder's next step. **Input feeding** sends s̃_t, which contains the context,
# into that step, through a matrix F:
#
#     s_t = tanh(r_t)      r_t = y W + s_{t−1} U + s̃_{t−1} F + b
#
# Here y is the previous word, embedded. The first step gets 0 in place of s̃. Without F, this step
# is lesson 02's **Elman cell**, which we use because it is short; the library can feed any cell.
#
# Without F, training can compute all T states first, and then all their scores in one product. With
# F, step t + 1 must wait for s̃_t.
#
# > **Exercise.** Write the decoder's backward pass: `numpy-attention exercise start input-feeding`.

# %% [markdown]
# F adds its own gradient and a second term in ds̃_t, because s̃_t now has two uses:
#
#     ds̃_t = (from word t)  +  dr_{t+1} Fᵀ            dF = Σ_t s̃_{t−1}ᵀ dr_t
#
# Here is the whole decoder, for a batch of B sentences. The mask is False after the end of a short
# sentence. In the code s̃ is called `fed`.


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
        fed = np.zeros((len(s), len(self.F)), s.dtype)                      # no s̃ yet
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

# %%
ys = rng.standard_normal((T, B, E))             # (T, B, E)
first = rng.standard_normal((B, H))             # (B, H)
M = rng.standard_normal((B, S, H))              # (B, S, H)
mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], bool)
shapes = {"W": (E, H), "U": (H, H), "b": (H,), "F": (K, H), "C": (H, K), "W_h": (H, K)}
plain = PlainDecoder(**{name: 0.5 * rng.standard_normal(one) for name, one in shapes.items()})
print(gradcheck(plain, ys, first, M, mask, rng=np.random.default_rng(3)))

# %% [markdown]
# > **Exercise.** Find a bug by its report: `numpy-attention exercise start find-in-feeding`.

# %%
check_same_decoder(PlainDecoder, np.random.default_rng(4))
print("the decoder: s̃, weights and all parameter gradients are equal to the library's")

# %% [markdown]
# ### Windows and input feeding on real text
#
# What do these parts cost on the Bible?

# %% tags=["training"]
# recipes: clauses-local-p, clauses-local-m, clauses-dot-feeding
print_recorded("general in local-p", "general in local-m", "dot with input feeding")

# %% [markdown]
# `local-p` costs most. We did not record p in these runs, so it may have failed to aim there, too.
# Our windows (D = 2) are narrower than the paper's (D = 10). In the paper, input feeding lowers
# perplexity. We do not know why it does not here.

# %% [markdown]
# ## What others call it
#
# | here | elsewhere |
# |---|---|
# | global attention | full attention, soft attention |
# | local attention, a window | windowed attention |
# | the bell | Gaussian window |
# | `general` | bilinear or multiplicative attention |
# | `concat` | additive attention, MLP attention |
#
# Most terms are in the [glossary](../docs/site/glossary.md).

# %% [markdown]
# ## From the package
#
# | from the package | what it is |
# |---|---|
# | `metrics` | measures of translations, and of where attention points |
# | `plotting` | diagrams and heatmaps |
# | `DotAttention` | the score `dot` |
# | `GeneralAttention` | `general` |
# | `AdditiveAttention` | `concat`, as in lesson 06 |
# | `LocationAttention` | `location` |
# | `LocalMonotonic` | the window `local-m` |
# | `LocalPredictive` | `local-p` |
# | `load_parallel` | draws sentence pairs of a corpus |
# | `phenomena` | finds swapped adjectives, negations, … |
# | `gradcheck` | compares a backward pass with central differences |
# | `numeric_gradient` | the central differences of one array |
# | `Array` | an array, in type hints |
# | `Module` | a class whose array fields are parameters |

# %% [markdown]
# ## Questions
#
# 1. In the backward pass of each score, return 0 for the state's gradient (PyTorch's `detach`). In
#    the check of that score, which gradients are wrong? Which term of ds would a decoder lose?
# 2. Double s_t and all annotations. How do the weights of `dot` change? Can `general` prevent that
#    change?
# 3. (Part B) In `local-p` let v_p be 0. What is p then? If the right word is outside the window,
#    which words can pull p towards it?
# 4. (Part B) Normalize the products β ∘ g, so that the weights add up to 1: α = β ∘ g / Σ β g.
#    Derive de and dp, and check them.
# 5. Without input feeding, all T queries can attend at once. Write this as two matrix products with
#    a softmax between them, and compare with the loop.
# 6. Repeat both tests with seeds 1 to 5, and the count of the unswapped nouns. Which result varies
#    most with the seed?
# 7. (Part B) Train `general` with `window="local-p"` and seeds 1 to 3, with `width=2` and with
#    `width=4` (`width` is D). What is `in_window(translator, test)`? Why does the wider window
#    help?
