"""The search for the first wrong line of a backward pass.

Both passes run with instrumented code, so that every value can be read, perturbed or replaced.
The docstrings of this package use these words:

    X, dX        X is a value that `forward` computes; dX is its gradient ∂L/∂X in `backward`.
    place        A `Place` is a statement or expression; its number is its index in `places`.
    n, time      Execution n of a place computes the n-th X. The first n is 0.
    use          A use of X is a place in `forward` that reads X.
    Value        A `Value` records what one variable of `backward` holds until it is reassigned.
    group        A `Group` has one Value for each execution of one statement of `backward`.
    wrong        A gradient is wrong if it disagrees with central differences, otherwise correct.
    fits         For each Value of a group: whether this Value is correct.
    times        For each Value of a group: n, if the Value should be the gradient of the n-th X.
    suspect      A suspect is a group whose first wrong Value has only correct operands.
    kind         The kind of a place is its role, such as "assign"; the kind of an edit is the
                 mistake that it fixes, such as "sign".
    part         A part of dX is the gradient of the loss through only one use of X.
    instead      A dict {(place, n): array}. The array replaces the n-th value of the place.
"""
