"""Exercises local-p and find-in-local-p: a window that learns its position."""

from numpy_attention.course.exercises.exercise import (
    DIAGONAL,
    FIND_THE_LINE,
    ONE_TERM,
    UNWEIGHTED,
    Case,
    Exercise,
    Source,
    tanh_mistakes,
)

LESSON = "15_local_attention"
WIDTH = "D = 3"     # σ = D/2 is not 1, so that no power of it can be left out unseen


def cases(rng, its):
    for S in (6, 9):
        inputs = [rng.standard_normal(shape) for shape in ((7,), (S, 7), (7, 5), (5,))]
        yield Case(its.local_p, inputs,
                   lambda dc, dalpha, cache, grads: its.local_p_backward(dc, dalpha, cache))


LOCAL_P = Exercise(
    "local-p", "a window that learns its position", LESSON, position=1,
    needs=("dot", "softmax", "squash"),
    source=Source(LESSON, ("softmax", "windowed", "dot", "local_p", "local_p_backward"), WIDTH),
    blanks=("local_p_backward",), cases=cases,
    text="""
    x = tanh(s W_p)        p = S sigmoid(x · v_p)              a place between words
    β = softmax(M s) over the words within D of p              (S,)
    g_j = exp(−(j − p)² / 2σ²)        σ = D / 2                (S,), the bell
    α_j = β_j g_j          c = α M                             not normalized again

Luong et al. 2015, equations 9 and 10. Given dc (N,) and dα (S,) of the weights themselves,
return ds, dM, dW_p, dv_p.
""",
    hints=(
        "A word whose weight should grow pulls p towards itself.",
        "s has two uses: in the scores and in p. Each h_j has two: as a key and as a value. α "
        "has two factors that both depend on something.",
        "dα = M dc + dα; dβ = dα g; dp = Σ_j dα_j α_j (j − p) / σ²; dz = dp p (1 − p / S) with z = "
        "x · v_p"),
    why=("β does not depend on p as long as no word crosses an edge of the window; there the "
         "weights jump, and no gradient shows it."),
    unseen="The jump at the window's edges: the slope is right on both sides of it.",
    mistakes=(
        ("ds = de @ M + dr @ W_p.T ", "ds = de @ M ",
         "you left out the gradient through p; ds has two terms, because s is used in p too"),
        ("ds = de @ M + dr @ W_p.T ", "ds = dr @ W_p.T ",
         "you left out the gradient through the scores; ds has two terms, because s is used in the "
         "scores too"),
        ("dM = np.outer(de, s) + np.outer(alpha, dc)", "dM = np.outer(alpha, dc)",
         "you left out the gradient through the scores; dM has two terms, because a word is a key "
         "as well as a value"),
        ("dM = np.outer(de, s) + np.outer(alpha, dc)", "dM = np.outer(de, s)",
         "you left out the gradient through the context; dM has two terms, because a word is a "
         "value as well as a key"),
        ("dbeta = dalpha * g", "dbeta = dalpha",
         "you left out g; it should be a factor of dβ, because α = β g"),
        ("* 4 / D**2", "* 2 / D**2", "you took another factor for 1/σ²; it should be 4/D², because "
                                     "σ = D/2"),
        ("(np.arange(len(M)) - p)", "(p - np.arange(len(M)))",
         "you got the sign wrong; ∂g_j/∂p should be g_j (j − p) / σ², because a word to the right "
         "draws p to the right"),
        ("dz = dp * p * (1 - p / len(M))", "dz = dp * p * (1 - p)",
         "you took another derivative for p; it should be p (1 − p / S), because p = S sigmoid(z)"),
        ("dalpha = M @ dc + dalpha", "dalpha = M @ dc",
         "you left out the given dα; it should be added, because the weights are an output in "
         "addition to the context"),
        ("dp = dalpha @ (alpha * ", "dp = dalpha @ (beta * ",
         "you left out the height of the bell; ∂α_j/∂p should be α_j (j − p) / σ²"),
        *tanh_mistakes("dr = dz * v_p * (1 - x**2)", "x"),
        ("de = beta * (dbeta - beta @ dbeta)", "de = beta * dbeta", ONE_TERM),
        ("de = beta * (dbeta - beta @ dbeta)", "de = beta * (1 - beta) * dbeta", DIAGONAL),
        ("de = beta * (dbeta - beta @ dbeta)", "de = beta * (dbeta - dbeta.mean())", UNWEIGHTED),
        ("de = beta * (dbeta - beta @ dbeta)", "de = alpha * (dbeta - alpha @ dbeta)",
         "you took α for the softmax's output; it should be β, because α = β g does not add up "
         "to 1"),
        ("de = beta * (dbeta - beta @ dbeta)", "de = alpha * (dalpha - alpha @ dalpha)",
         "you took α and dα for β and dβ in de; it should be β (dβ − Σ β dβ), because the softmax "
         "made β, before the bell"),
        ("np.outer(alpha, dc)", "np.outer(beta, dc)",
         "you took β for α in dM; it should be α dcᵀ, because c = α M"),
        ("* 4 / D**2", "/ D**2",
         "you took D for σ; the factor 1/σ² should be 4/D², because σ = D/2"),
        ("* 4 / D**2", "", "you left out 1/σ²; ∂g_j/∂p should be g_j (j − p) / σ², because the "
                           "exponent is divided by 2σ²"),
        ("dp = dalpha @ (alpha * ", "dp = dalpha @ (g * ",
         "you left out β_j in dp; ∂α_j/∂p should be α_j (j − p) / σ², because α = β g"),
        ("(np.arange(len(M)) - p)", "(np.arange(len(M)) - p)**2",
         "you squared j − p in dp; it should be j − p, because the derivative of (j − p)² is "
         "linear"),
        ("(np.arange(len(M)) - p)", "(np.arange(1, len(M) + 1) - p)",
         "you counted the places from 1 in dp; j should begin with 0, as in the forward"),
        ("dz = dp * p * (1 - p / len(M))", "dz = dp",
         "you left out the sigmoid's derivative; it should be p (1 − p / S), because p = S "
         "sigmoid(z)"),
        ("dz = dp * p * (1 - p / len(M))", "dz = dp * p / len(M) * (1 - p / len(M))",
         "you left out S; ∂p/∂z should be p (1 − p / S), because p = S sigmoid(z)"),
        ("np.outer(s, dr), dz * x", "np.outer(s, dr), dr * x",
         "you took dr for dv_p; it should be dz x, because v_p met x, after the tanh")))


FIND_IN_LOCAL_P = Exercise(
    "find-in-local-p", "a window that aims badly", LESSON, position=2, needs=("local-p",),
    source=Source(LESSON, ("softmax", "windowed", "dot", "local_p", "local_p_backward"), WIDTH),
    cases=cases,
    text=FIND_THE_LINE,
    hints=(
        "M is right. So all that goes through scores and context is right.",
        "s, W_p and v_p have one thing in common: the way through p.",
        "p = S σ(z), so ∂p/∂z = S σ(z) (1 − σ(z)); write that in terms of p and S"),
    why="∂p/∂z = p (1 − p / S).",
    planted=("dz = dp * p * (1 - p / len(M))", "dz = dp * p * (1 - p / D)"))
