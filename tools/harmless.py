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
    "NumPy's own default, said for the reader: tests show that no pickle is loaded": [
        "numpy_attention/training/checkpoint.py _read: argument left out: "
        "np.load(path, allow_pickle=False) → np.load(path)",
    ],
    "how often a bar is drawn anew while batches pass: any pace that the eye can follow serves": [
        "numpy_attention/training/progress.py bar_of: constant: 0.5 → 1.0",
        # the end of it is cut off: mininterval=0.5
        "numpy_attention/training/progress.py bar_of: argument left out: "
        "* → tqdm(total=batches, initial=done, disable=not shown, unit='batch', leave=False, "
        "desc=f'epoch {epoch…",
    ],
    "a size of step, measured, from which threads pay: what they compute is the same": [
        "numpy_attention/training/trainer.py : constant: 300000000.0 → 600000000.0",
    ],
}
