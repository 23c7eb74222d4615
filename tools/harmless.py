"""Mutants that no test can tell from the code, or need not, and why: {reason: keys}.

A key is what mutate_rooms.py prints after SURVIVED, without its line number; * stands for anything.
One that explains no survivor any more is reported as STALE.
"""

HARMLESS = {
    "a shortcut: what it lets through too many is sorted and cut two lines below": [
        "numpy_attention/decoding/beam.py _largest: compare: count < len(flat) → *",
        "numpy_attention/decoding/beam.py _largest: sign: -flat → flat",
        "numpy_attention/decoding/beam.py _largest: arithmetic: count - 1 → count + 1",
        "numpy_attention/decoding/beam.py _largest: constant: 1 → 2",
        "numpy_attention/decoding/beam.py _largest: left out: smallest = flat.min()",
        "numpy_attention/decoding/beam.py _largest: call: flat.min() → flat.max()",
    ],
    "NumPy tells the kind of a sort by its first letter": [
        "numpy_attention/* constant: 'stable' → 'stable_'",
    ],
}
