"""Exercise adam: two means and their corrections."""

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise, Source


def adam(x, g, m, v, step, rate, beta1, beta2, epsilon):
    """One step of Adam (Kingma & Ba 2015, algorithm 1) → new x, m, v. step counts from 1."""
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    m_hat = m / (1 - beta1**step)
    v_hat = v / (1 - beta2**step)
    return x - rate * m_hat / (np.sqrt(v_hat) + epsilon), m, v


def cases(rng, its):
    for step in (1, 2, 30):
        x, g, m = rng.standard_normal((3, 4))
        v = rng.random(4)
        yield Case(its.adam, (x, g, m, v, step, 0.1, 0.9, 0.99, 0.01))


EXERCISE = Exercise(
    "adam", "two means and their corrections", "02_recurrent_network", position=5,
    source=Source(__file__, ("adam",)), blanks=("adam",), cases=cases,
    text="""
    m ← β₁ m + (1 − β₁) g            v ← β₂ v + (1 − β₂) g²
    m̂ = m / (1 − β₁ᵗ)                v̂ = v / (1 − β₂ᵗ)             t = 1, 2, 3, …
    x ← x − rate · m̂ / (√v̂ + ε)

Write one step (Kingma & Ba 2015, algorithm 1): return the new x, m and v.
""",
    hints=(
        "In the very first step, with m = v = 0, every element moves by nearly the rate, however "
        "large its gradient is.",
        "m after t steps is a sum with weights that add up to 1 − β₁ᵗ, not to 1.",
        "m̂ and v̂ are used in the step; m and v are kept"),
    why=("√v̂ has the unit of the gradient, so the step has only that of the rate: multiplying "
         "the loss by 10 changes nothing but ε's share."),
    unseen=("Without the hats the first steps are too long by a factor of (1 − β₁)/√(1 − β₂): with "
            "the usual numbers three times. It trains, only worse."),
    mistakes=(
        ("m_hat = m / (1 - beta1**step)", "m_hat = m",
         "the first mean starts from 0 and is too small at the beginning: it is divided by "
         "1 − β₁ to the power of the step"),
        ("v_hat = v / (1 - beta2**step)", "v_hat = v",
         "the second mean starts from 0 and is too small at the beginning: it is divided by "
         "1 − β₂ to the power of the step"),
        ("(1 - beta2) * g**2", "(1 - beta2) * g",
         "v is the mean of squares"),
        ("(np.sqrt(v_hat) + epsilon)", "np.sqrt(v_hat + epsilon)",
         "ε is outside of the root"),
        ("(1 - beta1**step)", "(1 - beta1*step)",
         "a power of the step, not a multiple"),
        ("(np.sqrt(v_hat) + epsilon), m, v", "(np.sqrt(v_hat) + epsilon), m_hat, v_hat",
         "m and v go on to the next step as they are: m̂ and v̂ serve only this step"),
        ("return x - rate * m_hat", "return x + rate * m_hat",
         "a step goes against the gradient")))
