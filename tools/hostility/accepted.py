"""What is accepted in silence and is right, and the one end that nobody can prevent, and why.

A key is a regular expression that the whole finding, "kind: what → text", holds somewhere.
"""

import re

ACCEPTED: dict[str, str] = {
    r"^uses: .*array\(\[\], shape=\(0, 2\).*accepted":
        "an array without rows is a list without anything in it",
    r"^uses: exact_match.*array\(\[\[0":
        "sentences may be lists of any ids, and rows of an array are such lists",
    r"^low_memory: .*(LLVM ERROR: Unable to allocate|OpenBLAS error: Memory allocation)":
        "LLVM and OpenBLAS end the process themselves where a kernel or a product finds no memory, "
        "and Python cannot catch that; they say so, and nothing is left half-written",
}


def reason(line):
    """Why this finding is none; None where nothing says so."""
    for pattern, why in ACCEPTED.items():
        if re.search(pattern, line):
            return why
    return None
