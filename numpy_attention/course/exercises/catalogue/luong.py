"""Exercises on Luong's family: lesson 07."""

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise
from numpy_attention.course.exercises.source import Source
from numpy_attention.gradcheck import randomize

LESSON = "07_luong_attention"
WIDTH = "D = 3"     # σ = D/2 is not 1, so that no power of it can be left out unseen


def score_cases(name, *shapes):
    """Cases of a pair of functions, for one query h and annotations M."""
    def cases(rng, its):
        forward, backward = getattr(its, name), getattr(its, f"{name}_backward")
        for H, S in ((3, 6), (3, 2)):
            h, M = rng.standard_normal(H), rng.standard_normal((S, 4 if shapes else H))
            weights = [rng.standard_normal(shape) for shape in shapes]
            yield Case(forward, (h, M, *weights), lambda de, cache, grads: backward(de, cache))
    return cases


def local_p_cases(rng, its):
    for S in (6, 9):
        inputs = [rng.standard_normal(shape) for shape in ((4,), (S, 4), (4, 5), (5,))]
        yield Case(its.local_p, inputs,
                   lambda dc, dalpha, cache, grads: its.local_p_backward(dc, dalpha, cache))


def feeding_cases(rng, its):
    shapes = (3, 6), (6, 6), (6,), (7, 6), (6, 7), (6, 7)
    decoder = randomize(its.PlainDecoder(*map(np.empty, shapes)), rng, 0.5)
    inputs = [rng.standard_normal(shape) for shape in ((3, 2, 3), (2, 6), (2, 5, 6))]
    mask = np.arange(5) < np.array([[5], [3]])
    yield Case(decoder.forward, (*inputs, mask), decoder.backward, decoder)


LUONG = [
    Exercise(
        "dot", "a score without parameters", LESSON, Source(LESSON, ("dot", "dot_backward")),
        ("dot", "dot_backward"), """
    e_s = h · m_s          h (N,), M (S, N), a row for each source word → scores (S,)

Write both passes, for one query. The forward gives the scores and the cache; given ∂L/∂e (S,), the
backward gives dh (N,) and dM (S, N).
""", score_cases("dot"), (
            "h met every word; each word met h alone.",
            "e = M h. What are the two gradients of a matrix times a vector?",
            "dh = Σ_s de_s m_s, dm_s = de_s h"),
        "The query's gradient is a sum over all words, that of each word is a multiple of the "
        "query: a word whose score should rise is drawn towards the query.",
        "M transposed by mistake cannot be seen where S = N.", ("linear",)),
    Exercise(
        "general", "a matrix between query and word", LESSON,
        Source(LESSON, ("general", "general_backward")), ("general_backward",), """
    q   = h W_a            h (H,), W_a (H, N)
    e_s = q · m_s          M (S, N) → scores (S,)

Given ∂L/∂e (S,), return dh (H,), dM (S, N) and dW_a (H, N).
""", score_cases("general", (3, 4)), (
            "What stands behind q is the dot score: its backward is there already, with q for h.",
            "q = h W_a is a layer with a batch of one.",
            "dq = de M, dh = dq W_aᵀ, dW_a = h dqᵀ (outer product), dm_s = de_s q"),
        "The chain is walked up link by link; nothing has to be derived anew.",
        "With W_a the identity, h and q are the same and so are many wrong gradients.", ("dot",)),
    Exercise(
        "concat", "a hidden layer for each word", LESSON,
        Source(LESSON, ("concat", "concat_backward")), ("concat_backward",), """
    x_s = tanh(h W_a + m_s U_a)          (S, A)
    e_s = v_a · x_s                      (S,)

Bahdanau's score (2015, appendix A.1.2), Luong's concat, for one query h (H,) and annotations
M (S, N). Given ∂L/∂e (S,), return dh, dM, dW_a, dU_a, dv_a.
""", score_cases("concat", (3, 5), (4, 5), (5,)), (
            "h W_a was used by all S words, m_s U_a by one.",
            "da_s = de_s v_a (1 − x_s²), a row for each word. What do h and W_a see of it?",
            "total = Σ_s da_s; dh = total W_aᵀ, dW_a = h totalᵀ, dm_s = da_s U_aᵀ, dU_a = Mᵀ da, "
            "dv_a = Σ_s de_s x_s"),
        "The sum over the words is made once, before the two products that need it.",
        "Checked with one word alone, the sum over words may be missing.",
        ("general", "squash")),
    Exercise(
        "location", "a score that reads no word", LESSON,
        Source(LESSON, ("location", "location_backward")), ("location_backward",), """
    e = h W_a[:, :S]          h (H,), W_a (H, longest): a column for each place

A sentence of S words uses the first S columns. Given ∂L/∂e (S,), return dh (H,), dM (S, N) and
dW_a (H, longest).
""", score_cases("location", (3, 8)), (
            "The words had no say in being found.",
            "Columns that were not used had no part in the scores.",
            "dh = W_a[:, :S] de, dM = 0, dW_a is h deᵀ in the first S columns and 0 behind"),
        "A gradient has the shape of what it belongs to, also where nothing was read.",
        "np.empty for dW_a passes whenever the memory happens to hold zeros.", ("general",)),
    Exercise(
        "local-p", "a window that learns where to stand", LESSON,
        Source(LESSON, ("softmax", "windowed", "dot", "local_p", "local_p_backward"), WIDTH),
        ("local_p_backward",), """
    x = tanh(h W_p)        p = S σ(x · v_p)                    a place between words
    a = softmax(M h) over the words within D of p              (S,)
    g_s = exp(−(s − p)² / 2σ²)        σ = D / 2                (S,), the bell
    α_s = a_s g_s          c = α M                             not normalised again

Luong et al. 2015, equations 9 and 10. Given dc (N,) and dα (S,) of whoever reads the weights,
return dh, dM, dW_p, dv_p.
""", local_p_cases, (
            "A word whose weight should grow pulls p towards itself.",
            "h has two uses: it scores, and it aims. Each m_s has two: it is found, and it is "
            "said. α has two factors that both depend on something.",
            "dα = M dc + dα; da = dα g; dp = Σ_s dα_s α_s (s − p) / σ²; dz = dp p (1 − p / S) "
            "with z = x · v_p"),
        "a does not depend on p as long as no word crosses an edge of the window; there the "
        "weights jump, and no gradient says so.",
        "The jump at the window's edges: the slope is right on both sides of it.",
        ("dot", "softmax", "squash")),
    Exercise(
        "input-feeding", "what was found is told to the next step", LESSON,
        Source(LESSON, ("softmax", "PlainDecoder")), ("PlainDecoder.backward",), """
    h_t  = tanh(y_t W + h_{t−1} U + h̃_{t−1} F + b)            h̃_0 = 0
    α_t  = softmax(M h_t)           c_t = α_t M
    h̃_t = tanh(c_t C + h_t W_h)

Luong's decoder with the dot score and input feeding (2015, section 3.3), over a batch with masks.
Given ∂L/∂h̃_t and ∂L/∂α_t for every t, add to the six parameters' gradients and return dys, dh of
the first state, and dM.
""", feeding_cases, (
            "h̃_t has two listeners: its own word, and the next step. h_t has three.",
            "Walk up from h̃_t: the layer, the context, the softmax, the score; then the step "
            "itself.",
            "h_t = tanh(k_t) and h̃_t = tanh(u_t): dh̃_t = ∂L/∂h̃_t + dk_{t+1} Fᵀ; dh_t = (through "
            "the scores) + du_t W_hᵀ + dk_{t+1} Uᵀ"),
        "dk, the gradient in front of the tanh of h, is all that the step before has to know.",
        "Without input feeding in the forward and the backward, all gradients are right again.",
        ("bptt", "dot", "softmax")),
]
