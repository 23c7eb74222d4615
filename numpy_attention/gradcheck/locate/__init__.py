"""The search for the first wrong line of a backward pass.

Both passes run with instrumented code, so that every value can be read, perturbed or replaced.
The code of this package uses these words:

    X, dX        X is a value that `forward` computes; dX is its gradient ∂L/∂X in `backward`.
    place        A `Place` is a statement or expression; its number is its index in `places`.
    n, time      Execution n of a place computes the n-th X. The first n is 0.
    use          A use of X is a place in `forward` that reads X.
    part         A part of dX is the gradient of the loss through only one use of X.
    Value        A `Value` records what one variable of `backward` holds until it is reassigned.
    group        A `Group` has one Value for each execution of one statement of `backward`.
    suspect      A suspect is a group whose first wrong Value has only correct operands.
    instead      A dict {(place, n): array}. The array replaces the n-th value of the place.
"""
