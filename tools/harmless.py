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
    "a draw that hits the share itself, to the last of 53 bits, is met by no seed": [
        "numpy_attention/data/grammar.py * compare: rng.random() < 0.* → rng.random() <= 0.*",
    ],
    "no word begins with what stands here besides the vowels": [
        "numpy_attention/data/grammar.py _starts_with_vowel: constant: 'aeiouœ' → 'aeiouœ_'",
        "numpy_attention/data/grammar.py _noun_phrase: constant: 'aeiou' → 'aeiou_'",
    ],
    "keys of a sentence's phrases: that they differ is all, and both sides are given the same": [
        "numpy_attention/data/grammar.py _sentence: constant: 'subject' → 'subject_'",
        "numpy_attention/data/grammar.py _doing: constant: 'object' → 'object_' (3)",
        "numpy_attention/data/grammar.py _doing: constant: 'place' → 'place_'",
    ],
    "of an adverb, an object or a place, with which nothing agrees": [
        "numpy_attention/data/grammar.py Phrase: constant: 'il' → 'il_'",
        "numpy_attention/data/grammar.py Phrase: constant: 'm' → 'm_'",
        "numpy_attention/data/grammar.py Phrase: constant: False → True",
    ],
}
