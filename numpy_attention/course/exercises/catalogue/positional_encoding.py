"""Exercise positional-encoding: sines and cosines, with a frequency for each pair of columns."""

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise, Source


def positions(T, D):
    """The positional encoding PE (T, D) of the positions 0 to T − 1."""
    omega = 10000.0 ** (-np.arange(0, D, 2) / D)                # (D / 2,)
    angles = np.arange(T)[:, None] * omega                      # (T, D / 2)
    PE = np.zeros((T, D))
    PE[:, 0::2] = np.sin(angles)
    PE[:, 1::2] = np.cos(angles)
    return PE


def turn(k, D):
    """The matrix R (D, D) for which PE(p) R = PE(p + k) at every position p."""
    R = np.zeros((D, D))
    for i in range(0, D, 2):
        angle = k * 10000.0 ** (-i / D)
        R[i, i] = np.cos(angle)
        R[i, i + 1] = -np.sin(angle)
        R[i + 1, i] = np.sin(angle)
        R[i + 1, i + 1] = np.cos(angle)
    return R


def cases(rng, its):
    for T, D, offset in ((7, 6, 3), (5, 8, -2)):
        yield Case(its.positions, (T, D))
        yield Case(its.turn, (offset, D))


EXERCISE = Exercise(
    "positional-encoding", "a clock for each pair of columns", "09_transformer", position=1,
    source=Source(__file__, ("positions", "turn")), blanks=("positions", "turn"), cases=cases,
    text="""
    ω_i = 10000^(−2i / D)                      i = 0 … D / 2 − 1
    PE(p)_2i = sin(ω_i p)      PE(p)_(2i+1) = cos(ω_i p)
    PE(p) R = PE(p + k)                        for every position p

Vaswani et al. 2017, section 3.5. D is the lesson's d_model, and even; k is its offset, and may be
negative. Positions p begin with 0.
Return PE (T, D), and the matrix R (D, D) of an offset of k places. PE(p) is a row, so R is on its
right.
""",
    hints=(
        "PE(0) is 0, 1, 0, 1, …, and turn(0, D) is the identity.",
        "sin(a + b) = sin a cos b + cos a sin b; cos(a + b) = cos a cos b − sin a sin b. Which of "
        "these factors are entries of R?",
        "the 2 × 2 block of pair i is [cos ω_i k, −sin ω_i k; sin ω_i k, cos ω_i k]"),
    why="R does not depend on p: that is why a linear map can find the word k places away.",
    unseen=("Sines in the first half and cosines in the second serve a model as well: only the "
            "comparison with the paper's order shows it."),
    mistakes=(
        ("    PE[:, 0::2] = np.sin(angles)\n    PE[:, 1::2] = np.cos(angles)\n",
         "    PE[:, :D // 2] = np.sin(angles)\n    PE[:, D // 2:] = np.cos(angles)\n",
         "you put all sines before all cosines; they should alternate, because columns 2i and "
         "2i + 1 are a pair"),
        ("    PE[:, 0::2] = np.sin(angles)\n    PE[:, 1::2] = np.cos(angles)\n",
         "    PE[:, 0::2] = np.cos(angles)\n    PE[:, 1::2] = np.sin(angles)\n",
         "you exchanged sine and cosine; the even columns should be sines, because PE(p)_2i = "
         "sin(ω_i p)"),
        ("10000.0 ** (-np.arange(0, D, 2) / D)", "10000.0 ** (np.arange(0, D, 2) / D)",
         "you left out the minus of the exponent; it should be −2i / D, because the frequencies "
         "fall from 1"),
        ("10000.0 ** (-np.arange(0, D, 2) / D)", "10000.0 ** (-np.arange(D // 2) / D)",
         "you took i for 2i; the exponent should be −2i / D, because i counts pairs of columns"),
        ("np.arange(T)[:, None]", "np.arange(1, T + 1)[:, None]",
         "you began with position 1; it should be 0, because the first word is at position 0"),
        ("        R[i, i + 1] = -np.sin(angle)\n        R[i + 1, i] = np.sin(angle)\n",
         "        R[i, i + 1] = np.sin(angle)\n        R[i + 1, i] = -np.sin(angle)\n",
         "you turned the clock backward; R should be the transpose, because PE(p) is a row on its "
         "left"),
        ("angle = k * 10000.0 ** (-i / D)", "angle = k",
         "you turned all pairs by k; it should be ω_i k, because each pair has its own frequency"),
        ("angle = k * 10000.0 ** (-i / D)", "angle = k * 10000.0 ** (-2 * i / D)",
         "you doubled the exponent of R; it should be −i / D for column i, because column i is "
         "already 2 times the pair's number"),
        ("angle = k * ", "angle = max(k, 0) * ",
         "you turned nowhere for a negative k; R should turn backward then, because k may be "
         "negative (and range(k) is empty)"),
        ("angle = k * ", "angle = abs(k) * ",
         "you turned forward for a negative k; R should turn backward then, because PE(p + k) is "
         "an earlier place"),
        ("angle = k * 10000.0 ** (-i / D)", "angle = k * 10000.0 ** (-(i // 2) / D)",
         "you took i for 2i in R; the exponent should be −2i / D, because i counts pairs of "
         "columns"),
        ("10000.0 ** (-np.arange(0, D, 2) / D)", "10000.0 ** (-2 * np.arange(0, D, 2) / D)",
         "you doubled the exponent; it should be −arange(0, D, 2) / D, because these numbers are "
         "2i already"),
        ("10000.0 ** (-np.arange(0, D, 2) / D)", "10000.0 ** (-np.arange(0, D, 2) / (D - 2))",
         "you divided the exponent by D − 2; it should be D, because this is the paper's formula "
         "(some libraries have the other)"),
        ("np.cos(angles)", "np.cos(np.arange(T)[:, None] * 10000.0 ** (-np.arange(1, D, 2) / D))",
         "you gave the cosines their own frequencies; column 2i + 1 should have that of 2i, "
         "because both are one pair"),
        ("R[i, i + 1] = -np.sin(angle)", "R[i, i + 1] = np.sin(angle)",
         "you left out the minus of a sine; R[2i, 2i + 1] should be −sin, because cos(a + b) = "
         "cos a cos b − sin a sin b"),
        ("    return R", "    halves = np.r_[0:D:2, 1:D:2]\n    return R[np.ix_(halves, halves)]",
         "you put all sines before all cosines in R; pair i should be columns 2i and 2i + 1, as "
         "in PE")))
