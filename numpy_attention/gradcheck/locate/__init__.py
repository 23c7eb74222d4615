"""The search for the first wrong line of a backward pass.

Both passes run with instrumented code, so that every value can be read, perturbed or replaced.
The docstrings of this package use these words:

    X, dX       a value that the forward computes, and its gradient ∂L/∂X in the backward
    place       a statement or expression (`Place`); its number is its index in a list of places
    n, time     the number of an execution of a place, from 0; execution n computes the n-th X
    use         a place in the forward that reads an X
    group       the gradients that one statement of the backward computes, one per execution
    fits        whether a gradient in the backward equals ∂L/∂X, measured by central differences
    times       for each gradient of a group, the n of the X to which the gradient belongs
    wrong       disagrees with central differences; "right" is the opposite
    instead     values that replace those of the backward, {(place, n): array}
"""
