# %% [markdown]
# # Lesson 07: Luong's family of attentions
#
# **You will be able to** write Luong's four scores, forward and backward, and test an explanation
# of a heatmap.
#
# **Needs:** lesson 06. **Time:** 35 minutes to read, about a minute to run.
#
# In lesson 06 the decoder attended *before* its step: its old state, s_{t−1}, was the query, and
# the context vector went into the new state. Luong, Pham & Manning (2015) reverse the order. Their
# decoder takes its step first, attends with the new state, s_t, and joins this state with the
# context vector in a small layer. Attention is now a separate part between the step and the output,
# so it is easy to try other scores. The paper has four.
#
# One of the four rates the positions of the source without reading the words there. Guess before
# you read on: can a model with this score translate? And if it can, how?

# %%
print("Lesson 07: Luong's family of attentions", flush=True)

from functools import partial

import numpy as np
from course import show
from luong_parts import (check, check_same, draw_two, measure, noun_weight, print_from_state,
                         print_nouns, print_past_diagonal, print_recorded, silently_caught,
                         suspect, train)

from numpy_attention import metrics, plotting
from numpy_attention.attention.additive import AdditiveAttention
from numpy_attention.attention.dot import DotAttention
from numpy_attention.attention.general import GeneralAttention
from numpy_attention.attention.location import LocationAttention
from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.data.datasets.grammar import phenomena
from numpy_attention.gradcheck import numeric_gradient

np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## One target word
#
# The encoder has made an annotation h_j for each of the S source words. They are the rows of M, as
# in the next lessons (lesson 06 called this matrix h), and j now counts from 0, like the code. To
# write target word t, the decoder first takes its step to state s_t, and then computes four things:
#
#     e_t  = score(s_t, M)            (S,)   how useful is each word now?
#     α_t  = softmax(e_t)             (S,)   weights: positive, they add up to 1
#     c_t  = α_t M                    (D,)   the context vector, an average of annotations
#     s̃_t  = tanh(c_t C + s_t W_h)    (K,)   from context and state; s̃_t predicts the word
#
# All source words get a weight, so this is **global attention**. (The paper writes the last line as
# tanh(W_c [c_t; h_t]), where h_t is our s_t, and W_c is our C and W_h stacked.)
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
# | j = 0 … S − 1, t = 1 … T | | positions in the source and in the target |
# | s_t | (H,) | the decoder's state after its step: the query |
# | M, its rows h_j | (S, D) | annotations of the source words |
# | e, α | (S,) | scores, attention weights |
# | c | (D,) | context vector: what was found, an average of annotations |
# | s̃_t | (K,) | **attentional state**: context and state combined (the paper's h̃_t) |
# | C, W_h | (D, K), (H, K) | parameters of the layer that makes s̃_t |
# | W_a, U_a, v_a | | parameters of a score; W_a is different in each score |

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
          ("joined", "y"), ("s", "next", "step", -0.1)]
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
c = alpha @ M                       # (D,)
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
# We walk the four lines in reverse, starting with the upstream gradient ds̃ = ∂L/∂s̃. In a model it
# comes from the output layer. Here we choose two numbers w, and let L = w · s̃, so that ds̃ is w.
# As in lesson 06, central differences check every gradient (for a matrix, one row).

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
# Let u = c C + s W_h be the sum inside the tanh. The average and the softmax are lesson 06's:
#
#     du = ds̃ ∘ (1 − s̃²)                              the tanh
#     dc = du Cᵀ      dC = cᵀ du      dW_h = sᵀ du    the two products
#     dα_j = h_j · dc                                 the average c = α M
#     de = α ∘ (dα − α · dα)                          the softmax

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
# de_2 is negative, so the loss falls if the score of *student* rises.
#
# > **Exercise.** Write both passes, with ds and dM: `numpy-attention exercise start dot`.
#
# Two gradients are left. Both are sums of two terms, because s and each h_j were used twice:
#
#     ds   = de M  +  du W_hᵀ                 through the score, and through s̃
#     dh_j = de_j s  +  α_j dc                as a key in e, and as a value in c

# %%
check_gradient("ds", de @ M + du @ W_h.T, L, s)
check_gradient("dh_2", de[2] * s + alpha[2] * dc, L, M[2])
check_gradient("dC[0]", c[0] * du, L, C[0])
check_gradient("dW_h[0]", s[0] * du, L, W_h[0])
print("dot: every gradient is what the central difference measures")

# %% [markdown]
# ## Two more scores
#
# With `dot`, states must be as long as annotations, and encoder and decoder must learn to use the
# same coordinates for the same things. The score **`general`** lifts both limits: a matrix W_a
# turns the state s_t into a query q that is as long as an annotation and uses its coordinates.
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
# > **Exercises.** Write the backward pass of `general`: `numpy-attention exercise start general`.
# > Can you still write that of `concat`? `numpy-attention exercise start concat`.

# %% [markdown]
# For `general`, only the lines of q are new:
#
#     dq = de M        dM = deᵀ q        dW_a = sᵀ dq        ds = dq W_aᵀ
#
# The backward functions below return only the gradients that pass through the score. The second
# terms of ds and dh_j, du W_hᵀ and α_j dc, are the same as with `dot`.


# %%
def general(s, M, W_a):
    """s (H,), M (S, D), W_a (H, D) → scores (S,), cache."""
    q = s @ W_a
    return M @ q, (s, M, W_a, q)


def general_backward(de, cache):
    """→ ds, dM, dW_a."""
    s, M, W_a, q = cache
    dq = de @ M
    return dq @ W_a.T, np.outer(de, q), np.outer(s, dq)


def concat(s, M, W_a, U_a, v_a):
    """s (H,), M (S, D), W_a (H, A), U_a (D, A), v_a (A,) → scores (S,), cache."""
    x = np.tanh(s @ W_a + M @ U_a)
    return x @ v_a, (s, M, W_a, U_a, v_a, x)


def concat_backward(de, cache):
    """→ ds, dM, dW_a, dU_a, dv_a."""
    s, M, W_a, U_a, v_a, x = cache
    da = np.outer(de, v_a) * (1 - x**2)     # (S, A), of the sums a_j
    total = da.sum(0)               # every word used s: the gradients add up
    return total @ W_a.T, da @ U_a.T, np.outer(s, total), M.T @ da, de @ x


# %% [markdown]
# `check` calls lesson 01's `gradcheck(…)` and returns the first line of its report.

# %%
rng = np.random.default_rng(0)
H = 3                               # all sizes differ, so that a transpose cannot hide
D = 4
S = 6
A = 5                               # the size of concat's hidden layer
s = rng.standard_normal(H)
M = rng.standard_normal((S, D))     # (S, D)
W_a = rng.standard_normal((H, D))   # (H, D)
print(check(general, general_backward, s, M, W_a))
concat_weights = [rng.standard_normal(shape) for shape in ((H, A), (D, A), (A,))]
print(check(concat, concat_backward, s, M, *concat_weights))

# %% [markdown]
# ### What a bug looks like
#
# `suspect`, in `luong_parts.py`, is a copy of `concat_backward` with one wrong line. The report is
# enough to find it. It counts the inputs: `input[0]` is s_t, `input[1]` M, `input[2]` W_a,
# `input[3]` U_a, and `input[4]` v_a. Which line of `concat_backward` must be wrong in the copy?

# %%
report = silently_caught(concat, suspect, s, M, *concat_weights).splitlines()
print(report[0])

# %% [markdown]
# The gradients of M and U_a are right, so da must be right. Only the wrong gradients, those of s
# and W_a, use `total`. So it must be the line of `total`. The rest of the report shows what it did.

# %%
print("\n".join(report[1:]))

# %% [markdown]
# The copy takes a mean where a sum belongs: all words used s, so the gradients of its uses must
# *add up*. The element is 6 times too small, because S = 6.
#
# ## `location`: a score that reads no word
#
# The fourth score, **`location`**, reads no annotation: e = s_t W_a, where W_a has a column for
# each *position*. So the decoder chooses a position from its state only, and fetches the annotation
# there without having read it. Because M does not occur in this score, the score adds nothing to
# dM. The annotations still learn *what to say*, as values, but not *when to be found*.
#
# > **Exercise.** Its backward pass is short: `numpy-attention exercise start location`.

# %% [markdown]
#     ds = de W_aᵀ        dW_a = sᵀ de        dM = 0
#
# A sentence of S words uses only the first S columns of W_a. In these formulas, W_a stands for
# those columns. The gradient of the other columns is 0.


# %%
def location(s, M, W_a):
    """s (H,), M (S, D), W_a (H, longest) → scores (S,), cache."""
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
    """s (D,), M (S, D) → scores (S,), cache."""
    return M @ s, (s, M)


def dot_backward(de, cache):
    """→ ds, dM."""
    s, M = cache
    return de @ M, np.outer(de, s)


long_s = rng.standard_normal(D)     # dot needs a state of the annotations' size
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
# with `location`, whose W_a gets 24 columns (`longest=24`). Both have GRUs and a bidirectional
# encoder. (Each direction has half the decoder's size, so that an annotation is as long as a state,
# as `dot` requires.)
#
# We measure how many test sentences are translated exactly right, and the **pointing**: the share
# of *sure* links (lesson 06's gold links) whose source word has the largest weight.

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
# `location` translates as well as `dot`, although its pointing is hardly better than that of the
# diagonal, lesson 06's rule that ignores the words.

# %% tags=["training"]
assert abs(location_exact - dot_exact) < 0.05
assert metrics.pointing_accuracy(dot_weights, test) > diagonal + 0.1
assert metrics.pointing_accuracy(location_weights, test) < diagonal + 0.1

# %% [markdown]
# Here is one sentence. Solid frames mark the sure links, dashed ones the *possible* links, which
# pointing ignores. An example is *do*: French does not translate it. The encoder reads `</s>`, the
# last column, like a word, so here S = 9.

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
# and to *student* second, but writes *étudiant bleu*, in the correct order. We test two
# explanations.
#
# 1. The state knows the noun. It began as the encoder's last state, so it has read the sentence,
#    and the weights do not matter.
# 2. The annotation of *blue* contains *student*. The encoder reads in both directions, so an
#    annotation also describes its neighbours, and a weight that is one position off is near enough.
#
# ### Test 1: does the state know the noun?
#
# We set C to 0, which removes the context: s̃_t is now tanh(s_t W_h). The states do not change,
# because the context never enters them. So if the state knows the noun, the model still predicts
# it. `from_state` predicts each word from the correct previous words. We count the swapped nouns
# that it predicts and, for comparison, two other words.


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
# Without the context, nearly all swapped nouns are lost, so the first explanation is wrong for the
# model as we trained it. (The state may hold more than this shows, because the layer that makes s̃
# was trained with the context and may be unable to use it.)
#
# But the state does know *pas* and `</s>`, because *pas* follows *ne* and a verb, and `</s>`
# follows the full stop. The model can write these two words wherever it attends, so their rows in a
# heatmap explain nothing.
#
# ### Test 2: does the annotation of *blue* contain *student*?
#
# We let the model see the annotation of *blue* alone. As in lesson 06's `given_word`, there are S
# copies of the decoder, and copy j sees position j only, so that c_t = h_j. Which word would each
# copy write where the swapped noun belongs?
#
# For comparison, we train a `location` model whose encoder reads forward only, so it makes the
# annotation of *blue* before it has read *student*. Guess for both models: how many of the swapped
# nouns are predicted from the adjective's annotation alone?


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
print("recorded for seeds 1 to 5 (question 4): from the adjective, 100% with both directions and\n"
      "  1 to 3% forward only; with C = 0, both directions, 0 to 6%")
assert shares[1, 0] > 0.9           # from the adjective, both directions
assert shares[1, 1] < 0.1           # forward only
assert shares[0].max() < 0.1        # from the word before the adjective

# %% [markdown]
# With both directions, the adjective's annotation is enough to write every swapped noun, but with
# the forward-only encoder it hardly ever is. Could the copies guess the noun from their state? Then
# all of them would write it, because all have the same state. But the copy that sees only the word
# before the adjective writes 1% of the nouns. So the second explanation is right: the annotation of
# *blue* contains *student*, and only the encoder's backward direction can have put it there.
#
# ### Where does the forward-only model find *student*?
#
# The forward-only model translates most sentences, although the annotation of *blue* cannot help
# it. Compare its weights for *étudiant* with those of the first model.

# %% tags=["training"]
print("both directions:", noun_weight(location_weights[shown], pair))
print("forward only:   ", noun_weight(forward_weights[shown], pair))
show(draw_two("location: with the forward-only encoder, the weights lie further to the right", pair,
              {"both directions": location_weights[shown],
               "forward only": forward_weights[shown]}, around_swap=True), "07_forward_only")
print("nouns with the largest weight to the right of the diagonal")
both_past = print_past_diagonal("both directions", location_weights, test)
forward_past = print_past_diagonal("forward only", forward_weights, test)

# %% [markdown]
# The largest weight of *étudiant* has moved from the diagonal (*blue*) to the right, to *student*:
# 41%, instead of 13% with both directions. Is the swap the reason? Then only the rows of swapped
# nouns should have moved. But both kinds did, 61% of the swapped and 56% of the unswapped, so the
# swap is hardly the reason. A likelier reason is that `location` reads no word: after *the*, it
# seems not to know whether an adjective or the noun comes next, and it looks far enough to the
# right for both.

# %% tags=["training"]
assert max(both_past) < 0.1
assert min(forward_past) > 0.3

# %% [markdown]
# ## Real text
#
# In our grammar a noun moves by one position. Does `location` also translate real text?
# `results/claims.md` reports measurements of larger models: 3 million parameters, six epochs on
# 75,000 clauses of the Bible, English to Spanish. The table has test perplexities, each the mean of
# three seeds ± their standard deviation, and below it BLEU (lesson 05; 100 is best). The rows share
# the encoder, all sizes and the training. To repeat a run of `dot` in about ten minutes, call
# `numpy-attention reproduce clauses-dot`.
#
# The last row changes the query instead of the score: `concat` gets the query of lesson 06,
# s_{t−1}, which has not read the previous word y_{t−1}. The layer of s̃_t still reads s_t. Guess:
# does the older query cost as much as a score that reads no source word?

# %% tags=["training"]
# recipes: clauses-dot, clauses-general, clauses-concat, clauses-location, query-previous-additive
print("\nrecorded on clauses of the Bible\ntest perplexity (lower is better)")
print_recorded("dot", "general", "concat", "location", "concat with the query s_{t−1}")
print("BLEU (higher is better)\n  dot 29.0 ± 0.3, location 26.7 ± 0.2, lesson 05's fixed vector "
      "(bidirectional encoder) 21.9 ± 0.6")

# %% [markdown]
# The older query costs three quarters as much: it raises the perplexity of `concat` by 1.02, and
# `location` is 1.36 above `concat`. The three scores that read the words differ by 0.26 at most, so
# what the query has read can matter more than the choice among these three.
#
# Can a model whose score reads no word translate? Yes, though less well: the BLEU of `location` is
# 26.7, below the 29.0 of `dot`, but well above the 21.9 of the fixed vector. In our grammar, we
# know how: the score may miss the right word by one, because the neighbour's annotation knows it,
# too. (On the Bible we did not test this.)
#
# Lesson 15 (optional) adds the paper's windows, which leave out distant words, and input feeding,
# which makes s̃_t an input of the next step.

# %% [markdown]
# ## What others call it
#
# | here | elsewhere |
# |---|---|
# | global attention | full attention, soft attention |
# | s̃_t | attentional vector, h̃_t |
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
# | `load_parallel` | draws sentence pairs of a corpus |
# | `phenomena` | finds swapped adjectives, negations, … |
# | `numeric_gradient` | the central differences of one array |

# %% [markdown]
# | from `luong_parts.py` | what it is |
# |---|---|
# | `check`, `silently_caught` | a gradient check; the report of one that must fail |
# | `train`, `measure` | a translator; its exact translations, pointing and weights |
# | `print_from_state`, `print_nouns` | the counts of tests 1 and 2 |
# | `noun_weight`, `print_past_diagonal` | the weights of nouns |

# %% [markdown]
# ## Questions
#
# 1. In the backward pass of each score, return 0 for the state's gradient (PyTorch's `detach`). In
#    the check of that score, which gradients are wrong? Which term of ds would a decoder lose?
# 2. Double s_t and all annotations. How do the weights of `dot` change? Can `general` prevent that
#    change?
# 3. Since no s̃_t enters a later state, all T queries can attend at once. Write this as two matrix
#    products with a softmax between them, and compare with the loop.
# 4. Repeat both tests with seeds 1 to 5, and the count of nouns to the right of the diagonal. Which
#    result varies most with the seed?
