"""Exercises on Luong's scores: dot, general, concat, location."""

from numpy_attention.course.exercises.exercise import Case, Exercise, Source, tanh_mistakes

LESSON = "07_luong_attention"


def score_cases(name, *shapes):
    """Return a function that yields cases of the score `name`, with weights of these shapes."""
    def cases(rng, its):
        forward, backward = getattr(its, name), getattr(its, f"{name}_backward")
        for H, S in ((3, 6), (3, 2)):
            s, M = rng.standard_normal(H), rng.standard_normal((S, 4 if shapes else H))
            weights = [rng.standard_normal(shape) for shape in shapes]
            yield Case(forward, (s, M, *weights), lambda de, cache, grads: backward(de, cache))
    return cases


DOT = Exercise(
    "dot", "a score without parameters", LESSON, position=1, needs=("linear",),
    source=Source(LESSON, ("dot", "dot_backward")), blanks=("dot", "dot_backward"),
    cases=score_cases("dot"),
    text="""
    e_j = s · h_j          s (D,), M (S, D), a row for each source word → scores (S,)

Write both passes, for one query. The forward gives the scores and the cache; given ∂L/∂e (S,), the
backward gives ds (D,) and dM (S, D).
""",
    hints=(
        "s met every word; each word met only s.",
        "e = M s. What are the two gradients of a matrix times a vector?",
        "ds = Σ_j de_j h_j, dh_j = de_j s"),
    why=("The query's gradient is a sum over all words, that of each word is a multiple of the "
         "query: a word whose score should rise is drawn towards the query."),
    unseen="M transposed by mistake cannot be seen where S = D.",
    mistakes=(
        ("return de @ M, np.outer(de, s)", "return M.mean(0), np.outer(de, s)",
         "you took the average of the words for ds; it should be Σ de_j h_j, because each word "
         "counts by its own de"),
        ("return de @ M, np.outer(de, s)", "return de @ M / len(M), np.outer(de, s)",
         "you averaged over the words; it should be a sum, because s met every word"),
        ("return de @ M, np.outer(de, s)", "return de @ M, np.outer(np.ones_like(de), s)",
         "you left out de_j; dh_j should be de_j s"),
        ("return de @ M, np.outer(de, s)", "return de @ M, np.outer(de, M[0])",
         "you took the word itself for dh_j; it should be de_j s, because its score was made with "
         "the query"),
        ("return M @ s, (s, M)", "return M @ s / np.sqrt(len(s)), (s, M)",
         "you divided by √D; the score should be s · h_j alone, because Luong's dot has no scale"),
        ("return M @ s, (s, M)", "return M @ s / len(s)**0.5, (s / len(s)**0.5, M / len(s)**0.5)",
         "you divided by √D; the score should be s · h_j alone, because Luong's dot has no scale"),
        ("return M @ s, (s, M)", "return np.exp(M @ s) / np.exp(M @ s).sum(), (s, M)",
         "you took the softmax; the forward should return the scores, because it is taken of "
         "them later"),
        ("return de @ M, np.outer(de, s)", "return de @ M, de[:, None] * M",
         "you took h_j itself for dh_j; it should be de_j s, because e_j = s · h_j, whose "
         "derivative with respect to h_j is s"),
        ("return de @ M, np.outer(de, s)", "return M.sum(0), np.outer(de, s)",
         "you left out de in ds; it should be Σ de_j h_j, because each word counts by its own de"),
        ("return de @ M, np.outer(de, s)", "return M.sum(0), np.tile(s, (len(M), 1))",
         "you left out de in both; each gradient should be multiplied by it, because de is the "
         "upstream gradient"),
        ("return de @ M, np.outer(de, s)", "return de[-1] * M[-1], np.outer(de, s)",
         "you took ds from the last word alone; it should be a sum over all words, because s met "
         "every word"),
        ("return de @ M, np.outer(de, s)", "return de.sum() * s, np.outer(de, s)",
         "you took s itself for ds; it should be Σ de_j h_j, because what met s was the words"),
        ("return de @ M, np.outer(de, s)", "return de @ M, np.outer(de, de @ M)",
         "you took ds for s in dM; it should be de_j s, because the query itself met the word")))


GENERAL = Exercise(
    "general", "a matrix between query and word", LESSON, position=2, needs=("dot",),
    source=Source(LESSON, ("general", "general_backward")), blanks=("general_backward",),
    cases=score_cases("general", (3, 4)),
    text="""
    q   = s W_a            s (H,), W_a (H, D)
    e_j = q · h_j          M (S, D) → scores (S,)

Given ∂L/∂e (S,), return ds (H,), dM (S, D) and dW_a (H, D).
""",
    hints=(
        "After q comes the dot score, whose backward you already have, with q for s.",
        "q = s W_a is a layer with a batch of one.",
        "dq = de M, ds = dq W_aᵀ, dW_a = s dqᵀ (outer product), dh_j = de_j q"),
    why="The chain rule goes back link by link; nothing has to be derived again.",
    unseen="With W_a the identity, s and q are the same and so are many wrong gradients.",
    mistakes=(
        ("return dq @ W_a.T, np.outer(de, q)", "return dq @ W_a.T, np.outer(de, s @ W_a) / len(M)",
         "you averaged over the words; it should be a sum, because q met every word"),
        ("dq = de @ M", "dq = M.sum(0)",
         "you left out de in dq; each word should count by its own de"),
        ("np.outer(s, dq)", "np.outer(s, q)",
         "you took q for dW_a; it should be made of s and the gradient of q"),
        ("return dq @ W_a.T", "return s * 0 + dq[:1] * W_a[:, 0]",
         "you left out a part of dq; ds should be dq W_aᵀ, because all numbers of q depend on s"),
        ("dq = de @ M", "dq = de[-1] * M[-1]",
         "you took dq from the last word alone; it should be Σ de_j h_j, because q met every word"),
        ("return dq @ W_a.T", "return W_a @ (de[-1] * M[-1])",
         "you took ds from the last word alone; it should be W_a Σ de_j h_j, because q met every "
         "word"),
        ("np.outer(s, dq)", "np.outer(s, de[-1] * M[-1])",
         "you took dW_a from the last word alone; it should be a sum over all words, because q "
         "met every word"),
        ("dq = de @ M", "dq = de @ M / len(M)",
         "you averaged over the words in dq; it should be a sum, because q met every word"),
        ("np.outer(de, q)", "np.outer(de, q) * M",
         "you multiplied dh_j by h_j; it should be de_j q, because e_j = q · h_j is linear in h_j"),
        ("np.outer(de, q)", "de[:, None] * M",
         "you took h_j itself for dh_j; it should be de_j q, because what met h_j is q"),
        ("np.outer(de, q)", "np.outer(np.ones_like(de), q)",
         "you left out de_j in dM; it should be de_j q, because de is the upstream gradient"),
        ("np.outer(de, q)", "np.outer(de, dq)",
         "you took dq for q in dM; it should be de_j q, because q itself met the word"),
        ("return dq @ W_a.T", "return q @ W_a.T",
         "you took q for dq; ds should be dq W_aᵀ, because a gradient is passed back and not a "
         "value"),
        ("np.outer(s, dq)", "np.outer(dq, s)",
         "you transposed dW_a; it should be np.outer(s, dq), because W_a is (H, D)")))


CONCAT = Exercise(
    "concat", "a hidden layer for each word", LESSON, position=3, needs=("general", "squash"),
    source=Source(LESSON, ("concat", "concat_backward")), blanks=("concat_backward",),
    cases=score_cases("concat", (3, 5), (4, 5), (5,)),
    text="""
    x_j = tanh(s W_a + h_j U_a)          (S, A)
    e_j = v_a · x_j                      (S,)

Bahdanau's score (2015, appendix A.1.2), Luong's concat, for one query s (H,) and annotations
M (S, D). Given ∂L/∂e (S,), return ds, dM, dW_a, dU_a, dv_a.
""",
    hints=(
        "s W_a was used by all S words, h_j U_a by one.",
        "da_j = de_j v_a (1 − x_j²), a row for each word. What do s and W_a see of it?",
        "total = Σ_j da_j; ds = total W_aᵀ, dW_a = s totalᵀ, dh_j = da_j U_aᵀ, dU_a = Mᵀ da, dv_a "
        "= Σ_j de_j x_j"),
    why="The sum over the words is made once, before the two products that need it.",
    unseen="Checked with only one word, the sum over words may be missing.",
    mistakes=(
        ("total = da.sum(0)", "total = da.mean(0)",
         "you averaged over the words; it should be a sum, because s met every word"),
        ("total = da.sum(0)", "total = da[-1]",
         "you took ds from one word; it should be a sum over all words, because s met every word"),
        ("de @ x", "x.sum(0)", "you left out de in the gradient of v_a; each word's x should count "
                               "by that word's de"),
        ("da = np.outer(de, v_a)", "da = np.outer(de, np.ones_like(v_a))",
         "you left out v_a; what comes back to x should be de v_a, because e = v_a · x"),
        *tanh_mistakes("da = np.outer(de, v_a) * (1 - x**2)", "x"),
        ("total @ W_a.T", "da[-1] @ W_a.T", "you took ds from the last word alone; it should be "
                                            "Σ da_j W_aᵀ, because s met every word"),
        ("total @ W_a.T", "da @ W_a.T", "you returned a row of ds for each word; it should be "
                                        "their sum, because all words share one s"),
        ("np.outer(s, total)", "np.outer(s, da[-1])",
         "you took dW_a from the last word alone; it should be a sum over all words, because s "
         "W_a is in every x"),
        ("M.T @ da", "np.outer(M.sum(0), total)", "you multiplied two sums for dU_a; it should "
                                                  "be Mᵀ da, because each word meets its own da_j"),
        ("M.T @ da", "np.outer(M[-1], da[-1])",
         "you took dU_a from the last word alone; it should be Mᵀ da, because U_a met every word"),
        ("da @ U_a.T", "np.tile(total @ U_a.T, (len(M), 1))",
         "you gave each word the sum of all da; dh_j should be da_j U_aᵀ, because h_j is in its "
         "own score alone"),
        ("de @ x", "de @ (1 - x**2)", "you took the tanh's derivative for dv_a; it should be Σ "
                                      "de_j x_j, because v_a met x, after the tanh"),
        ("de @ x", "total", "you took Σ da_j for dv_a; it should be Σ de_j x_j, because v_a met x"),
        ("da = np.outer(de, v_a)", "da = np.outer(np.ones_like(de), v_a)",
         "you left out de_j in da; it should be a factor, because de is the upstream gradient")))


LOCATION = Exercise(
    "location", "a score that reads no word", LESSON, position=4, needs=("general",),
    source=Source(LESSON, ("location", "location_backward")), blanks=("location_backward",),
    cases=score_cases("location", (3, 8)),
    text="""
    e = s W_a[:, :S]          s (H,), W_a (H, longest): a column for each place

A sentence of S words uses the first S columns. Given ∂L/∂e (S,), return ds (H,), dM (S, D), which
is zeros because the score does not read M, and dW_a (H, longest).
""",
    hints=(
        "The scores do not depend on the words.",
        "Columns that were not used had no part in the scores.",
        "ds = W_a[:, :S] de, dM = 0, dW_a is s deᵀ in the first S columns and 0 behind"),
    why="A gradient has the shape of what it belongs to, also where nothing was read.",
    unseen="np.empty for dW_a passes whenever the memory happens to hold zeros.",
    mistakes=(
        ("np.zeros_like(M), dW_a", "np.outer(de, np.ones(M.shape[1])), dW_a",
         "you gave the words a gradient; dM should be 0, because no word was read"),
        ("dW_a[:, :len(M)] = np.outer(s, de)", "dW_a[:, -len(M):] = np.outer(s, de)",
         "you took the last S columns; it should be the first S, which were used"),
        ("return W_a[:, :len(M)] @ de", "return W_a[:, :len(M)].sum(1)",
         "you left out de; each place should count by its own de"),
        ("dW_a[:, :len(M)] = np.outer(s, de)", "dW_a[:, :len(M)] = s[:, None]",
         "you left out de_j in dW_a; its column j should be de_j s, because de is the upstream "
         "gradient"),
        ("dW_a[:, :len(M)] = np.outer(s, de)", "dW_a = np.outer(s, de)",
         "you returned the used columns alone; dW_a should have all columns of W_a, with 0 in "
         "the others"),
        ("dW_a[:, :len(M)] = np.outer(s, de)", "dW_a[:, :len(M)] = np.outer(s, de) / len(M)",
         "you averaged over the places; column j of dW_a should be de_j s, because each place "
         "has its own column"),
        ("dW_a = np.zeros_like(W_a)", "dW_a = W_a.copy()",
         "you began dW_a with W_a; it should begin with np.zeros_like(W_a), because a column "
         "that was not used has gradient 0"),
        ("dW_a = np.zeros_like(W_a)", "dW_a = W_a",
         "you wrote into W_a itself; dW_a should begin with np.zeros_like(W_a), because dW_a = "
         "W_a makes no copy"),
        ("return W_a[:, :len(M)] @ de", "return W_a[:, -len(M):] @ de",
         "you took the last S columns for ds; it should be the first S, which were used"),
        ("return W_a[:, :len(M)] @ de", "return W_a[:, :len(M)] @ de / len(M)",
         "you averaged over the places in ds; it should be a sum, because s met a column for "
         "every place"),
        ("return W_a[:, :len(M)] @ de", "return W_a[:, len(M) - 1] * de[-1]",
         "you took ds from the last place alone; it should be a sum over all places, because s "
         "is in every score"),
        ("np.zeros_like(M), dW_a", "de[:, None] * M, dW_a",
         "you gave the words a gradient; dM should be 0, because no word was read")))
