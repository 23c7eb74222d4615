"""Training, validation and test sets that share no source sentence.

The split of a sentence is read off a hash of its words (`split_of`), so it is the same on every
machine, for every seed, and however often a sentence is drawn or translated: all of its copies land
in one split.
"""

import hashlib
from collections.abc import Sequence

from numpy_attention.registry import SPLITS as SPLITS  # noqa: F401
from numpy_attention.validation.arguments import check_number, check_tokens


def split_of(tokens: Sequence[str], held_out: float = 0.1) -> str:
    """Return the split that a sentence belongs to: "train", "valid" or "test".

    The lowercased tokens that hold a letter or a digit (all tokens, if there is none) are joined by
    spaces; the first 8 bytes of their sha256 are u · 2⁶⁴, and u < held_out/2 means test,
    u < held_out valid, else train. So "go ." and "Go !" belong together.
    """
    check_tokens("tokens", tokens)
    check_number("held_out", held_out, 0, 1, "a fraction from 0 to 1")
    words = [token.lower() for token in tokens if any(map(str.isalnum, token))] or tokens
    digest = hashlib.sha256(" ".join(words).encode("utf-8", "surrogatepass")).digest()
    u = int.from_bytes(digest[:8], "big") / 2**64
    if u < held_out / 2:
        return "test"
    return "valid" if u < held_out else "train"
