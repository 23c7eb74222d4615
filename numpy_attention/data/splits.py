"""Training, validation and test sets that share no source sentence.

`split_of` assigns a sentence to a split by a hash of its words. The split is therefore the same on
every machine and for every seed. All copies of a sentence are in the same split, however often the
sentence is drawn or translated.
"""

import hashlib
from collections.abc import Sequence

from numpy_attention.registry import SPLITS as SPLITS  # noqa: F401
from numpy_attention.validation.arguments import check_number, check_tokens


def split_of(tokens: Sequence[str], held_out: float = 0.1) -> str:
    """Return the split that a sentence belongs to: "train", "valid" or "test".

    The tokens that contain a letter or a digit are lowercased and joined by spaces. If there are
    none, all tokens are joined. Let u be the first 8 bytes of the SHA-256 of this text, as an
    integer, divided by 2⁶⁴. The split is "test" if u < held_out/2, else "valid" if u < held_out,
    else "train". So "go ." and "Go !" are in the same split.
    """
    check_tokens("tokens", tokens)
    check_number("held_out", held_out, 0, 1, "a fraction from 0 to 1")
    words = [token.lower() for token in tokens if any(map(str.isalnum, token))] or tokens
    digest = hashlib.sha256(" ".join(words).encode("utf-8", "surrogatepass")).digest()
    u = int.from_bytes(digest[:8], "big") / 2**64
    if u < held_out / 2:
        return "test"
    return "valid" if u < held_out else "train"
