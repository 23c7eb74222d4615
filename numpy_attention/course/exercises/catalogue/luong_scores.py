"""Exercises on Luong's scores: dot, general, concat, location."""

from numpy_attention.course.exercises.exercise import Case, Exercise, Source, tanh_mistakes

LESSON = "07_luong_attention"


def score_cases(name, *shapes):
    """Return the function `cases` of an Exercise, for a score and its backward pass.

    name: the name of the score's function. shapes: the shapes of its weights. Each case has one
    query h and annotations M.
    """
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
         "the query"),
        ("return M @ h, (h, M)", "return M @ h / np.sqrt(len(h)), (h, M)",
         "you divided by √N; the score should be h · m_s alone, because Luong's dot has no scale"),
        ("return M @ h, (h, M)", "return M @ h / len(h)**0.5, (h / len(h)**0.5, M / len(h)**0.5)",
         "you divided by √N; the score should be h · m_s alone, because Luong's dot has no scale"),
        ("return M @ h, (h, M)", "return np.exp(M @ h) / np.exp(M @ h).sum(), (h, M)",
         "you took the softmax; the forward should return the scores, because it is taken of "
         "them later"),
        ("return de @ M, np.outer(de, h)", "return de @ M, de[:, None] * M",
         "you took m_s itself for dm_s; it should be de_s h, because e_s = h · m_s, whose "
         "derivative with respect to m_s is h"),
        ("return de @ M, np.outer(de, h)", "return M.sum(0), np.outer(de, h)",
         "you left out de in dh; it should be Σ de_s m_s, because each word counts by its own de"),
        ("return de @ M, np.outer(de, h)", "return M.sum(0), np.tile(h, (len(M), 1))",
         "you left out de in both; each gradient should be multiplied by it, because de is the "
         "upstream gradient"),
        ("return de @ M, np.outer(de, h)", "return de[-1] * M[-1], np.outer(de, h)",
         "you took dh from the last word alone; it should be a sum over all words, because h met "
         "every word"),
        ("return de @ M, np.outer(de, h)", "return de.sum() * h, np.outer(de, h)",
         "you took h itself for dh; it should be Σ de_s m_s, because what met h was the words"),
        ("return de @ M, np.outer(de, h)", "return de @ M, np.outer(de, de @ M)",
         "you took dh for h in dM; it should be de_s h, because the query itself met the word")))


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
         "you left out a part of dq; dh should be dq W_aᵀ, because all numbers of q depend on h"),
        ("dq = de @ M", "dq = de[-1] * M[-1]",
         "you took dq from the last word alone; it should be Σ de_s m_s, because q met every word"),
        ("return dq @ W_a.T", "return W_a @ (de[-1] * M[-1])",
         "you took dh from the last word alone; it should be W_a Σ de_s m_s, because q met every "
         "word"),
        ("np.outer(h, dq)", "np.outer(h, de[-1] * M[-1])",
         "you took dW_a from the last word alone; it should be a sum over all words, because q "
         "met every word"),
        ("dq = de @ M", "dq = de @ M / len(M)",
         "you averaged over the words in dq; it should be a sum, because q met every word"),
        ("np.outer(de, q)", "np.outer(de, q) * M",
         "you multiplied dm_s by m_s; it should be de_s q, because e_s = q · m_s is linear in m_s"),
        ("np.outer(de, q)", "de[:, None] * M",
         "you took m_s itself for dm_s; it should be de_s q, because what met m_s is q"),
        ("np.outer(de, q)", "np.outer(np.ones_like(de), q)",
         "you left out de_s in dM; it should be de_s q, because de is the upstream gradient"),
        ("np.outer(de, q)", "np.outer(de, dq)",
         "you took dq for q in dM; it should be de_s q, because q itself met the word"),
        ("return dq @ W_a.T", "return q @ W_a.T",
         "you took q for dq; dh should be dq W_aᵀ, because a gradient is passed back and not a "
         "value"),
        ("np.outer(h, dq)", "np.outer(dq, h)",
         "you transposed dW_a; it should be np.outer(h, dq), because W_a is (H, N)")))


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
        ("de @ x", "x.sum(0)", "you left out de in the gradient of v_a; each word's x should count "
                               "by that word's de"),
        ("da = np.outer(de, v_a)", "da = np.outer(de, np.ones_like(v_a))",
         "you left out v_a; what comes back to x should be de v_a, because e = v_a · x"),
        *tanh_mistakes("da = np.outer(de, v_a) * (1 - x**2)", "x"),
        ("total @ W_a.T", "da[-1] @ W_a.T", "you took dh from the last word alone; it should be "
                                            "Σ da_s W_aᵀ, because h met every word"),
        ("total @ W_a.T", "da @ W_a.T", "you returned a row of dh for each word; it should be "
                                        "their sum, because all words share one h"),
        ("np.outer(h, total)", "np.outer(h, da[-1])",
         "you took dW_a from the last word alone; it should be a sum over all words, because h "
         "W_a is in every x"),
        ("M.T @ da", "np.outer(M.sum(0), total)", "you multiplied two sums for dU_a; it should "
                                                  "be Mᵀ da, because each word meets its own da_s"),
        ("M.T @ da", "np.outer(M[-1], da[-1])",
         "you took dU_a from the last word alone; it should be Mᵀ da, because U_a met every word"),
        ("da @ U_a.T", "np.tile(total @ U_a.T, (len(M), 1))",
         "you gave each word the sum of all da; dm_s should be da_s U_aᵀ, because m_s is in its "
         "own score alone"),
        ("de @ x", "de @ (1 - x**2)", "you took the tanh's derivative for dv_a; it should be Σ "
                                      "de_s x_s, because v_a met x, after the tanh"),
        ("de @ x", "total", "you took Σ da_s for dv_a; it should be Σ de_s x_s, because v_a met x"),
        ("da = np.outer(de, v_a)", "da = np.outer(np.ones_like(de), v_a)",
         "you left out de_s in da; it should be a factor, because de is the upstream gradient")))


LOCATION = Exercise(
    "location", "a score that reads no word", LESSON, position=4, needs=("general",),
    source=Source(LESSON, ("location", "location_backward")), blanks=("location_backward",),
    cases=score_cases("location", (3, 8)),
    text="""
    e = h W_a[:, :S]          h (H,), W_a (H, longest): a column for each place

A sentence of S words uses the first S columns. Given ∂L/∂e (S,), return dh (H,), dM (S, N), which
is zeros because the score does not read M, and dW_a (H, longest).
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
         "you left out de; each place should count by its own de"),
        ("dW_a[:, :len(M)] = np.outer(h, de)", "dW_a[:, :len(M)] = h[:, None]",
         "you left out de_s in dW_a; its column s should be de_s h, because de is the upstream "
         "gradient"),
        ("dW_a[:, :len(M)] = np.outer(h, de)", "dW_a = np.outer(h, de)",
         "you returned the used columns alone; dW_a should have all columns of W_a, with 0 in "
         "the others"),
        ("dW_a[:, :len(M)] = np.outer(h, de)", "dW_a[:, :len(M)] = np.outer(h, de) / len(M)",
         "you averaged over the places; column s of dW_a should be de_s h, because each place "
         "has its own column"),
        ("dW_a = np.zeros_like(W_a)", "dW_a = W_a.copy()",
         "you began dW_a with W_a; it should begin with np.zeros_like(W_a), because a column "
         "that was not used has gradient 0"),
        ("dW_a = np.zeros_like(W_a)", "dW_a = W_a",
         "you wrote into W_a itself; dW_a should begin with np.zeros_like(W_a), because dW_a = "
         "W_a makes no copy"),
        ("return W_a[:, :len(M)] @ de", "return W_a[:, -len(M):] @ de",
         "you took the last S columns for dh; it should be the first S, which were used"),
        ("return W_a[:, :len(M)] @ de", "return W_a[:, :len(M)] @ de / len(M)",
         "you averaged over the places in dh; it should be a sum, because h met a column for "
         "every place"),
        ("return W_a[:, :len(M)] @ de", "return W_a[:, len(M) - 1] * de[-1]",
         "you took dh from the last place alone; it should be a sum over all places, because h "
         "is in every score"),
        ("np.zeros_like(M), dW_a", "de[:, None] * M, dW_a",
         "you gave the words a gradient; dM should be 0, because no word was read")))
