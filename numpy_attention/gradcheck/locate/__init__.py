"""The search for the first wrong line of a backward pass.

Both passes run with instrumented code, so that every value can be read, perturbed or replaced.
The docstrings of this package use these words:

    X, dX        X is a value that the forward computes; dX is its gradient ∂L/∂X in the backward.
    place        A `Place` is a statement or expression; its number is its index in `places`.
    n, time      Execution n of a place, counted from 0, computes the n-th X.
    use          A use of X is a place in the forward that reads X.
    Value        A `Value` records what one variable of the backward holds until it is reassigned.
    group        A `Group` has the Values that one statement of the backward computes, one per run.
    right        A gradient is right if it agrees with central differences, and otherwise wrong.
    fits, times  For each Value of a group, they say whether it is right and which n its X has.
    suspect      A suspect is a group whose first wrong Value is computed from right gradients only.
    kind         The kind of a place is its role, such as "assign"; the kind of an edit is the
                 mistake that it fixes, such as "sign".
    alternative  An alternative is code that an edit puts in place of a statement or expression.
    instead      The dict {(place, n): array} has arrays that replace values of the backward.
"""
