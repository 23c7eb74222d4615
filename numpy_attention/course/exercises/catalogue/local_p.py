"""Exercises local-p and find-in-local-p: a window that learns its position."""

from numpy_attention.course.exercises.exercise import FIND_THE_LINE, Case, Exercise, Source

LESSON = "07_luong_attention"
WIDTH = "D = 3"     # σ = D/2 is not 1, so that no power of it can be left out unseen


def cases(rng, its):
    for S in (6, 9):
        inputs = [rng.standard_normal(shape) for shape in ((4,), (S, 4), (4, 5), (5,))]
        yield Case(its.local_p, inputs,
                   lambda dc, dalpha, cache, grads: its.local_p_backward(dc, dalpha, cache))


LOCAL_P = Exercise(
    "local-p", "a window that learns its position", LESSON, position=5,
    needs=("dot", "softmax", "squash"),
    source=Source(LESSON, ("softmax", "windowed", "dot", "local_p", "local_p_backward"), WIDTH),
    blanks=("local_p_backward",), cases=cases,
    text="""
    x = tanh(h W_p)        p = S σ(x · v_p)                    a place between words
    a = softmax(M h) over the words within D of p              (S,)
    g_s = exp(−(s − p)² / 2σ²)        σ = D / 2                (S,), the bell
    α_s = a_s g_s          c = α M                             not normalised again

Luong et al. 2015, equations 9 and 10. Given dc (N,) and dα (S,) of the weights themselves,
return dh, dM, dW_p, dv_p.
""",
    hints=(
        "A word whose weight should grow pulls p towards itself.",
        "h has two uses: in the scores and in p. Each m_s has two: as a key and as a value. α "
        "has two factors that both depend on something.",
        "dα = M dc + dα; da = dα g; dp = Σ_s dα_s α_s (s − p) / σ²; dz = dp p (1 − p / S) with z = "
        "x · v_p"),
    why=("a does not depend on p as long as no word crosses an edge of the window; there the "
         "weights jump, and no gradient shows it."),
    unseen="The jump at the window's edges: the slope is right on both sides of it.",
    mistakes=(
        ("dh = de @ M + dk @ W_p.T ", "dh = de @ M ",
         "h is used in p, too: the gradient through p is missing"),
        ("dh = de @ M + dk @ W_p.T ", "dh = dk @ W_p.T ",
         "h is used in the scores, too: the gradient through them is missing"),
        ("dM = np.outer(de, h) + np.outer(alpha, dc)", "dM = np.outer(alpha, dc)",
         "a word is a key as well as a value: the gradient through its score is missing"),
        ("dM = np.outer(de, h) + np.outer(alpha, dc)", "dM = np.outer(de, h)",
         "a word is a value as well as a key: the gradient through the context is missing"),
        ("da = dalpha * g", "da = dalpha",
         "α = a g: on the way to a the bell is a factor"),
        ("* 4 / D**2", "* 2 / D**2", "1/σ² is 4/D², since σ = D/2"),
        ("(np.arange(len(M)) - p)", "(p - np.arange(len(M)))",
         "the sign: ∂g_s/∂p = g_s (s − p) / σ², a word to the right draws p to the right"),
        ("dz = dp * p * (1 - p / len(M))", "dz = dp * p * (1 - p)",
         "p = S σ(z), so ∂p/∂z = p (1 − p / S)"),
        ("dalpha = M @ dc + dalpha", "dalpha = M @ dc",
         "the weights are an output besides the context: the given dα is missing"),
        ("dp = dalpha @ (alpha * ", "dp = dalpha @ (a * ",
         "∂α_s/∂p = α_s (s − p) / σ²: the bell's height stays as a factor")))


FIND_IN_LOCAL_P = Exercise(
    "find-in-local-p", "a window that aims badly", LESSON, position=6, needs=("local-p",),
    source=Source(LESSON, ("softmax", "windowed", "dot", "local_p", "local_p_backward"), WIDTH),
    cases=cases,
    text=FIND_THE_LINE,
    hints=(
        "M is right. So all that goes through scores and context is right.",
        "h, W_p and v_p have one thing in common: the way through p.",
        "p = S σ(z), so ∂p/∂z = S σ(z) (1 − σ(z)); write that in terms of p and S"),
    why="∂p/∂z = p (1 − p / S).",
    planted=("dz = dp * p * (1 - p / len(M))", "dz = dp * p * (1 - p / D)"))
