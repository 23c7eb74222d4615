"""Find the statement that computes a wrong gradient of a parameter from correct operands."""

import numpy as np

from numpy_attention.gradcheck.report.finding import Finding


def parameter_finding(name, events, wrong, wrong_elements):
    """Return the Finding of the statement that makes the gradient of the parameter `name` wrong.

    events: pairs (statement, gradient after this statement). wrong({name: array}) returns the names
    of wrong gradients. wrong_elements(array) returns booleans, True for wrong elements of `array`.
    """
    was_right = [i for i, (_, value) in enumerate(events)
                 if name not in wrong({name: value})]
    places = list(dict.fromkeys(place for place, _ in events))
    if was_right and was_right[-1] + 1 < len(events):
        place = events[was_right[-1] + 1][0]
    else:
        place = max(places, key=lambda one: share(events, one, wrong_elements))
    return Finding(place, f"the gradient of {name}", [one for one in places if one != place],
                   found=events[-1][1], follows=[name])


def share(events, place, wrong_elements):
    """Return the overlap, from 0 to 1, of the elements that `place` changes and wrong elements."""
    changed = np.zeros(np.shape(events[-1][1]), bool)
    before = np.zeros(changed.shape)
    for one, value in events:
        if np.shape(value) != changed.shape:
            return 0.0
        if one == place:
            changed |= value != before
        before = value
    wrong = wrong_elements(before)
    both = np.count_nonzero(changed & wrong)
    return both / max(1, np.count_nonzero(changed | wrong))
