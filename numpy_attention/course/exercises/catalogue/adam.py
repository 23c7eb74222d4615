"""Exercise adam: an optimizer with two running means, and bias corrections."""

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise, Source, instead


def adam(x, g, m, v, step, rate, beta1, beta2, epsilon):
    """One step of Adam (Kingma & Ba 2015, algorithm 1) → new x, m, v. step counts from 1."""
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    m_hat = m / (1 - beta1**step)
    v_hat = v / (1 - beta2**step)
    return x - rate * m_hat / (np.sqrt(v_hat) + epsilon), m, v


def cases(rng, its):
    for step in (2, 3, 30):                         # in step 1 most mistakes divide by 0
        x, g, m = rng.standard_normal((3, 4))
        v = rng.random(4)
        g[1], m[1], v[1] = 0, 0.01, 0               # finite where v̂ < 0 makes the others NaN
        yield Case(its.adam, (x, g, m, v, step, 0.2, 0.9, 0.97, 0.02))


HATS = "    m_hat = m / (1 - beta1**step)\n    v_hat = v / (1 - beta2**step)\n"
EXCHANGED = ("you exchanged β and 1 − β; the old mean should be multiplied by β, because it keeps "
             "most of its value")
EXERCISE = Exercise(
    "adam", "two means and their corrections", "02_recurrent_network", position=6,
    source=Source(__file__, ("adam",)), blanks=("adam",), cases=cases,
    text="""
    m ← β₁ m + (1 − β₁) g            v ← β₂ v + (1 − β₂) g²
    m̂ = m / (1 − β₁ᵗ)                v̂ = v / (1 − β₂ᵗ)             t = 1, 2, 3, …
    x ← x − rate · m̂ / (√v̂ + ε)

Write one step (Kingma & Ba 2015, algorithm 1): return the new x, m and v.
""",
    hints=(
        "In the very first step, with m = v = 0, every element moves by nearly the rate, whatever "
        "the size of its gradient.",
        "m after t steps is a sum with weights that add up to 1 − β₁ᵗ, not to 1.",
        "m̂ and v̂ are used in the step; m and v are kept"),
    why=("√v̂ has the unit of the gradient, so m̂ / √v̂ has none: multiplying the loss by 10 "
         "changes nothing except the effect of ε."),
    unseen=("Without the corrections the first step is longer by a factor of (1 − β₁)/√(1 − β₂), "
            "about 3 with the usual numbers. It still trains."),
    mistakes=(
        ("m_hat = m / (1 - beta1**step)", "m_hat = m", "you left out the correction of m; it "
         "should be divided by 1 − β₁ᵗ, because m starts at 0 and is too small at first"),
        ("v_hat = v / (1 - beta2**step)", "v_hat = v", "you left out the correction of v; it "
         "should be divided by 1 − β₂ᵗ, because v starts at 0 and is too small at first"),
        ("(1 - beta2) * g**2", "(1 - beta2) * g",
         "you averaged g in v; it should be g², because v is a mean of squares"),
        ("(np.sqrt(v_hat) + epsilon)", "np.sqrt(v_hat + epsilon)", "you put ε inside the root; it "
         "should be outside, √v̂ + ε, because that is how the algorithm is defined"),
        *((right, right.replace("**", " * "),
           f"you multiplied β{one} by t; it should be β{one} to the power t, because each step "
           f"multiplies the old mean by β{one}") for right, one in (
            ("(1 - beta1**step)", "₁"), ("(1 - beta2**step)", "₂"),
            ("(1 - beta1**step) … (1 - beta2**step)", ""))),
        ("(np.sqrt(v_hat) + epsilon), m, v", "(np.sqrt(v_hat) + epsilon), m_hat, v_hat", "you "
         "returned m̂ and v̂; it should be m and v, because the corrections serve this step only"),
        ("return x - rate * m_hat", "return x + rate * m_hat",
         "you added the step; it should be subtracted, because x moves against the gradient"),
        (HATS, "    m_hat = m\n    v_hat = v\n",
         "you left out both corrections; m and v should be divided by 1 − β₁ᵗ and 1 − β₂ᵗ, "
         "because both start at 0 and are too small at first"),
        ("    m = beta1 * m + (1 - beta1) * g\n",
         "    beta1, beta2 = beta2, beta1\n    m = beta1 * m + (1 - beta1) * g\n",
         "you exchanged β₁ and β₂; m should use β₁ and v should use β₂, because the two means "
         "average over different spans"),
        (HATS, "    m_hat = m / (1 - beta1**(step + 1))\n    v_hat = v / (1 - beta2**(step + 1))\n",
         "you used t + 1 in the corrections; it should be t, because step counts from 1 "
         "already"),
        ("beta1**step … beta2**step", "beta1**(step - 1) … beta2**(step - 1)", "you used t − 1 in "
         "the corrections; it should be t, because step counts from 1, and 1 − β⁰ is 0"),
        (HATS, "    m_hat = m / (1 - beta2**step)\n    v_hat = v / (1 - beta1**step)\n",
         "you exchanged β₁ and β₂ in the corrections; m should be divided by 1 − β₁ᵗ and v by "
         "1 − β₂ᵗ, because each mean has its own β"),
        ("    m = beta1 * m + (1 - beta1) * g\n    v = beta2 * v + (1 - beta2) * g**2\n",
         "    m = (1 - beta1) * m + beta1 * g\n    v = (1 - beta2) * v + beta2 * g**2\n",
         EXCHANGED),
        ("m = beta1 * m + (1 - beta1) * g", "m = beta1 * m + g",
         "you left out 1 − β₁; it should multiply g, because m is a mean and not a sum"),
        ("(np.sqrt(v_hat) + epsilon)", "(v_hat + epsilon)", "you divided by v̂; it should be √v̂, "
         "because the step is the gradient divided by its usual size"),
        ("    m = beta1 * m + (1 - beta1) * g\n    v = beta2 * v + (1 - beta2) * g**2\n",
         "    m = beta2 * m + (1 - beta2) * g\n    v = beta1 * v + (1 - beta1) * g**2\n",
         "you exchanged β₁ and β₂ in the means; m should use β₁ and v should use β₂, because "
         "the corrections belong to these"),
        (HATS, "    m_hat = m / (1 - beta1)\n    v_hat = v / (1 - beta2)\n",
         "you left out the power t; m and v should be divided by 1 − β₁ᵗ and 1 − β₂ᵗ, because "
         "the correction shrinks with each step"),
        *((f"= {b} * {one} + (1 - {b})", f"= (1 - {b}) * {one} + {b}", EXCHANGED)
          for one, b in (("m", "beta1"), ("v", "beta2"))),
        *instead("(1 - beta2) * g**2", "(1 - beta2) * g**2",
                 ("(1 - beta2) * (g - m)**2", "you averaged (g − m)², as AdaBelief does; it should "
                  "be g², because Adam's v is a mean of squared gradients"),
                 ("(1 - beta2) * m**2", "you averaged m²; it should be g², because v is a mean of "
                  "squared gradients"),
                 ("(1 - beta2) * np.abs(g)", "you averaged |g|; it should be g², because the root "
                  "is taken later"),
                 ("g**2", "you left out 1 − β₂; it should multiply g², because v is a mean and not "
                  "a sum"),
                 ("((1 - beta2) * g)**2", "you squared 1 − β₂ too; it should be (1 − β₂) g², "
                  "because the weights of a mean add up to 1"),
                 ("(1 - beta1) * g**2", "you used 1 − β₁ in v; it should be 1 − β₂, because the "
                  "weights of a mean add up to 1")),
        *instead("m = beta1 * m + (1 - beta1) * g\n    v", "m = beta1 * m + (1 - beta1) * g",
                 ("m = beta1 * m + (1 - beta2) * g", "you used 1 − β₂ in m; it should be 1 − β₁, "
                  "because the weights of a mean add up to 1"),
                 ("m = g", "you left the old m out; m should be β₁ m + (1 − β₁) g, because it is a "
                  "running mean")),
        *instead("return x - rate * m_hat / (np.sqrt(v_hat) + epsilon), m, v",
                 "x - rate * m_hat / (np.sqrt(v_hat) + epsilon), m, v",
                 ("x - rate * m_hat / (np.sqrt(v_hat) + epsilon), v, m", "you returned v before m; "
                  "it should be x, m, v, because the task says so"),
                 ("x - rate * m_hat / np.sqrt(v_hat), m, v", "you left out ε; it should be added "
                  "to √v̂, because v̂ may be 0"),
                 ("x - rate * m_hat / np.sqrt(v_hat) + epsilon, m, v", "you added ε to x; it "
                  "should be added to √v̂ before the division, because it guards that"),
                 ("x - rate * g / (np.sqrt(v_hat) + epsilon), m, v", "you took the step along g; "
                  "it should be m̂, because Adam moves along the mean"),
                 ("x - rate * m_hat, m, v", "you did not divide by √v̂ + ε; it should be m̂ / (√v̂ "
                  "+ ε), because each element has its own step"),
                 ("x - m_hat / (np.sqrt(v_hat) + epsilon), m, v", "you left out the rate; it "
                  "should multiply the step"),
                 ("rate * m_hat / (np.sqrt(v_hat) + epsilon), m, v", "you returned the step; it "
                  "should be x minus the step, because the new x is asked for"),
                 ("x - rate * np.sqrt(1 - beta2**step) / (1 - beta1**step) * m "
                  "/ (np.sqrt(v) + epsilon), m, v", "you corrected the rate and not v; it should "
                  "be √v̂ + ε, because otherwise ε is corrected too")),
        (HATS, "    m_hat = (m - (1 - beta1) * g) / beta1 / (1 - beta1**step)\n"
         "    v_hat = (v - (1 - beta2) * g**2) / beta2 / (1 - beta2**step)\n",
         "you corrected the old m and v; it should be the new ones, because the step uses g too"),
        ("    m_hat = m / (1 - beta1**step)\n", "    m_hat = m * (1 - beta1**step)\n",
         "you multiplied m by 1 − β₁ᵗ; it should be divided, because m is too small at first"),
        (HATS, "    m_hat = m * (1 - beta1**step)\n    v_hat = v * (1 - beta2**step)\n",
         "you multiplied by the corrections; m and v should be divided by them, because both are "
         "too small at first")))
