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
         "you left out the correction of m; divide it by 1 − β₁ᵗ, because m starts from 0 and is "
         "too small at the beginning"),
        ("v_hat = v / (1 - beta2**step)", "v_hat = v",
         "you left out the correction of v; divide it by 1 − β₂ᵗ, because v starts from 0 and is "
         "too small at the beginning"),
        ("    m_hat = m / (1 - beta1**step)\n    v_hat = v / (1 - beta2**step)\n",
         "    m_hat = m\n    v_hat = v\n",
         "you left out both corrections; divide m by 1 − β₁ᵗ and v by 1 − β₂ᵗ, because both start "
         "from 0"),
        ("    m_hat = m / (1 - beta1**step)\n    v_hat = v / (1 - beta2**step)\n",
         "    m_hat = m / (1 - beta1**(step + 1))\n    v_hat = v / (1 - beta2**(step + 1))\n",
         "you took step + 1 in the corrections; it should be step, which counts from 1 here"),
        ("    m = beta1 * m", "    beta1, beta2 = beta2, beta1\n    m = beta1 * m",
         "you exchanged β₁ and β₂; β₁ belongs to the mean of gradients m, β₂ to that of squares v"),
        ("(1 - beta2) * g**2", "(1 - beta2) * g",
         "you took the mean of g for v; it should be that of g², the mean of squares"),
        ("(np.sqrt(v_hat) + epsilon)", "np.sqrt(v_hat + epsilon)",
         "you took ε into the root; it is added to √v̂"),
        ("(1 - beta1**step)", "(1 - beta1*step)",
         "you multiplied β₁ by the step; it should be the power β₁ᵗ"),
        ("(np.sqrt(v_hat) + epsilon), m, v", "(np.sqrt(v_hat) + epsilon), m_hat, v_hat",
         "you returned m̂ and v̂; return m and v, because the corrections serve only this step"),
        ("return x - rate * m_hat", "return x + rate * m_hat",
         "you went with the gradient; a step goes against it, because the loss should fall")))
