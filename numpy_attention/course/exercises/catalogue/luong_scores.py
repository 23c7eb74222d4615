"""Exercises on Luong's scores: dot, general, concat, location."""

from numpy_attention.course.exercises.exercise import Case, Exercise, Source

LESSON = "07_luong_attention"


def score_cases(name, *shapes):
    """Cases of a pair of functions, for one query h and annotations M."""
    def cases(rng, its):
        forward, backward = getattr(its, name), getattr(its, f"{name}_backward")
        for H, S in ((3, 6), (3, 2)):
            h, M = rng.standard_normal(H), rng.standard_normal((S, 4 if shapes else H))
            weights = [rng.standard_normal(shape) for shape in shapes]
            yield Case(forward, (h, M, *weights), lambda de, cache, grads: backward(de, cache))
    return cases


DOT = Exercise(
    "dot", "a score without parameters", LESSON, position=1, needs=("linear",),
    source=Source(LESSON, ("dot", "dot_backward")), blanks=("dot", "dot_backward"),
    cases=score_cases("dot"),
    text="""
    e_s = h · m_s          h (N,), M (S, N), a row for each source word → scores (S,)

Write both passes, for one query. The forward gives the scores and the cache; given ∂L/∂e (S,), the
backward gives dh (N,) and dM (S, N).
""",
    hints=(
        "h met every word; each word met only h.",
        "e = M h. What are the two gradients of a matrix times a vector?",
        "dh = Σ_s de_s m_s, dm_s = de_s h"),
    why=("The query's gradient is a sum over all words, that of each word is a multiple of the "
         "query: a word whose score should rise is drawn towards the query."),
    unseen="M transposed by mistake cannot be seen where S = N.",
    mistakes=(
        ("return de @ M, np.outer(de, h)", "return M.mean(0), np.outer(de, h)",
         "you took the average of the words for dh; it should be Σ de_s m_s, because each word "
         "counts by its own de"),
        ("return de @ M, np.outer(de, h)", "return de @ M / len(M), np.outer(de, h)",
         "you averaged over the words; it should be a sum, because h met every word"),
        ("return de @ M, np.outer(de, h)", "return de @ M, np.outer(np.ones_like(de), h)",
         "you left out de_s; dm_s should be de_s h"),
        ("return de @ M, np.outer(de, h)", "return de @ M, np.outer(de, M[0])",
         "you took the word itself for dm_s; it should be de_s h, because its score was made with "
         "the query")))


GENERAL = Exercise(
    "general", "a matrix between query and word", LESSON, position=2, needs=("dot",),
    source=Source(LESSON, ("general", "general_backward")), blanks=("general_backward",),
    cases=score_cases("general", (3, 4)),
    text="""
    q   = h W_a            h (H,), W_a (H, N)
    e_s = q · m_s          M (S, N) → scores (S,)

Given ∂L/∂e (S,), return dh (H,), dM (S, N) and dW_a (H, N).
""",
    hints=(
        "After q comes the dot score, whose backward you already have, with q for h.",
        "q = h W_a is a layer with a batch of one.",
        "dq = de M, dh = dq W_aᵀ, dW_a = h dqᵀ (outer product), dm_s = de_s q"),
    why="The chain rule goes back link by link; nothing has to be derived again.",
    unseen="With W_a the identity, h and q are the same and so are many wrong gradients.",
    mistakes=(
        ("return dq @ W_a.T, np.outer(de, q)", "return dq @ W_a.T, np.outer(de, h @ W_a) / len(M)",
         "you averaged over the words; it should be a sum, because q met every word"),
        ("dq = de @ M", "dq = M.sum(0)",
         "you left out de in dq; each word should count by its own de"),
        ("np.outer(h, dq)", "np.outer(h, q)",
         "you took q for dW_a; it should be made of h and the gradient of q"),
        ("return dq @ W_a.T", "return h * 0 + dq[:1] * W_a[:, 0]",
         "you left out a part of dq; dh should be dq W_aᵀ, because all numbers of q depend on h")))


CONCAT = Exercise(
    "concat", "a hidden layer for each word", LESSON, position=3, needs=("general", "squash"),
    source=Source(LESSON, ("concat", "concat_backward")), blanks=("concat_backward",),
    cases=score_cases("concat", (3, 5), (4, 5), (5,)),
    text="""
    x_s = tanh(h W_a + m_s U_a)          (S, A)
    e_s = v_a · x_s                      (S,)

Bahdanau's score (2015, appendix A.1.2), Luong's concat, for one query h (H,) and annotations
M (S, N). Given ∂L/∂e (S,), return dh, dM, dW_a, dU_a, dv_a.
""",
    hints=(
        "h W_a was used by all S words, m_s U_a by one.",
        "da_s = de_s v_a (1 − x_s²), a row for each word. What do h and W_a see of it?",
        "total = Σ_s da_s; dh = total W_aᵀ, dW_a = h totalᵀ, dm_s = da_s U_aᵀ, dU_a = Mᵀ da, dv_a "
        "= Σ_s de_s x_s"),
    why="The sum over the words is made once, before the two products that need it.",
    unseen="Checked with only one word, the sum over words may be missing.",
    mistakes=(
        ("total = da.sum(0)", "total = da.mean(0)",
         "you averaged over the words; it should be a sum, because h met every word"),
        ("total = da.sum(0)", "total = da[-1]",
         "you took dh from one word; it should be a sum over all words, because h met every word"),
        ("* (1 - x**2)", "* (1 - x)", "you took 1 − tanh; the derivative of the tanh is 1 − tanh²"),
        (" * (1 - x**2)", "", "you left out the derivative of the tanh; it should be a factor 1 − "
                              "tanh²"),
        ("de @ x", "x.sum(0)", "you left out de in the gradient of v_a; each word's x should count "
                               "by that word's de"),
        ("da = np.outer(de, v_a)", "da = np.outer(de, np.ones_like(v_a))",
         "you left out v_a; what comes back to x should be de v_a, because e = v_a · x")))


LOCATION = Exercise(
    "location", "a score that reads no word", LESSON, position=4, needs=("general",),
    source=Source(LESSON, ("location", "location_backward")), blanks=("location_backward",),
    cases=score_cases("location", (3, 8)),
    text="""
    e = h W_a[:, :S]          h (H,), W_a (H, longest): a column for each place

A sentence of S words uses the first S columns. Given ∂L/∂e (S,), return dh (H,), dM (S, N) and
dW_a (H, longest).
""",
    hints=(
        "The scores do not depend on the words.",
        "Columns that were not used had no part in the scores.",
        "dh = W_a[:, :S] de, dM = 0, dW_a is h deᵀ in the first S columns and 0 behind"),
    why="A gradient has the shape of what it belongs to, also where nothing was read.",
    unseen="np.empty for dW_a passes whenever the memory happens to hold zeros.",
    mistakes=(
        ("np.zeros_like(M), dW_a", "np.outer(de, np.ones(M.shape[1])), dW_a",
         "you gave the words a gradient; dM should be 0, because no word was read"),
        ("dW_a[:, :len(M)] = np.outer(h, de)", "dW_a[:, -len(M):] = np.outer(h, de)",
         "you took the last S columns; it should be the first S, which were used"),
        ("return W_a[:, :len(M)] @ de", "return W_a[:, :len(M)].sum(1)",
         "you left out de; each place should count by its own de")))
