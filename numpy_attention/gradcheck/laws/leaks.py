"""Find the line of a forward pass that reads words that a mask should hide.

The forward runs on two inputs that differ only in hidden words. After each line, the arrays
(…, B, S, …) of the two runs should differ only at hidden words. If an array also differs at a
visible word, the line has read a hidden word.
"""

import numpy as np

from numpy_attention.gradcheck.locate.watching import arrays_within, lines_of, nearest, place_of

SAME = 1e-9             # difference that counts as rounding, relative to the largest element


def leak(run, other, mask):
    """Return the Place of the line that lacks a mask, or None if the line is unknown.

    run, other: functions that run `forward` with inputs that differ only in hidden words.
    """
    found = first_leak(recorded(run), recorded(other), mask)
    if found is None:
        return None
    frame, line, calls, sources = found
    while not has(frame, mask):
        frame = nearest(frame.f_back)
        if frame is None:
            return None
        line = calls[frame]
    return place_of(frame, sources.get(frame, line))


def first_leak(records, others, mask):
    """Return (frame, line, calls, sources) where two runs first differ at a visible word, or None.

    records, others: results of `recorded`. sources: {frame: line}, the last line that
    computed an array with differences only at hidden words.
    """
    sources = {}
    known = {}
    for (frame, line, calls, arrays), (_, other_line, _, there) in zip(records, others):
        if line != other_line:
            return None
        for name, array in arrays.items():
            before = known.get((frame, name))
            if name not in there or (before is not None and np.array_equal(before, array)):
                continue
            known[frame, name] = array
            where = places_of(array, there[name], mask.shape)
            if where is None:
                continue
            if where.shape != mask.shape:
                return None                         # an array without these axes: unknown
            if (where & mask).any():
                return frame, line, calls, sources
            if line != frame.f_code.co_firstlineno:
                sources[frame] = line
    return None


def places_of(array, other, shape):
    """Return a boolean array, True where two float arrays differ, or None if they do not differ.

    The result has `shape`, the mask's shape, or is a single True if the arrays lack these axes.
    """
    if array.shape != other.shape or array.dtype.kind != "f":
        return None
    differ = np.abs(array - other) > SAME * np.abs(array).max(initial=0)
    if not differ.any():
        return None
    for axis in range(array.ndim - 1):
        if array.shape[axis:axis + 2] == shape:
            rest = tuple(i for i in range(array.ndim) if i not in (axis, axis + 1))
            return differ.any(rest)
    return np.array(True)


def has(frame, mask):
    """Return whether a local variable of a frame is the mask or contains the mask."""
    return any(array.dtype == bool and np.array_equal(array, mask)
               for _, array in arrays_within(dict(frame.f_locals), ""))


def recorded(run):
    """Call run(); return a list with (frame, line, calls, {name: array}) for each line that ran.

    calls: {caller: the line of its call}, where a caller is a frame of user code.
    """
    lines = []

    def record(frame, line):
        arrays = {name: value.copy() for name, value in frame.f_locals.items()
                  if isinstance(value, np.ndarray)}
        calls = {}
        caller = nearest(frame.f_back)
        while caller is not None:
            calls[caller] = caller.f_lineno
            caller = nearest(caller.f_back)
        lines.append((frame, line, calls, arrays))
        return ()

    lines_of(run, record)
    return lines
