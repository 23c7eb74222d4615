"""Mutants that change no gradient, and why.

A key is the line that mutate.py prints after SURVIVED, without its line number. An entry whose
mutant is not made any more, because its statement reads otherwise now, is reported as STALE: when
the same mutant survives in its new words, put those in its place; else drop the entry.
"""

EQUIVALENT = {
    "numpy_attention/kernels/gates.py elman_backward: negate: hn = h_next[b]":
    "h' occurs in 1 − h'² alone",
    "numpy_attention/kernels/softmax.py cross_entropy: negate: top = row_max(z)":
    "any shift gives the same softmax while nothing overflows; the tests of large logits see it",
}
