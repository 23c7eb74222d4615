"""What figures and sums depend on beside the settings: the libraries, and which text it is."""

import hashlib
from collections.abc import Iterable, Sequence

from numba.core.registry import cpu_target
from threadpoolctl import threadpool_info

try:
    from numpy._core._multiarray_umath import __cpu_features__ as in_loops
except ImportError:                     # NumPy 1
    from numpy.core._multiarray_umath import (  # type: ignore[no-redef]
        __cpu_features__ as in_loops)

SHOWN = 8           # letters of a digest


def digest(data: bytes) -> str:
    """The beginning of a SHA-256."""
    return hashlib.sha256(data).hexdigest()[:SHOWN]


def digest_of(text: Iterable[Sequence[str]]) -> str:
    """Of sentences of tokens; the same for the same tokens in the same sentences."""
    found = hashlib.sha256()
    for sentence in text:
        found.update("\0".join(sentence).encode("utf-8", "surrogatepass") + b"\n\0")
    return found.hexdigest()[:SHOWN]


def blas() -> str:
    """The library of matrix products, its version, and the processor that it has chosen."""
    known = [one for one in threadpool_info() if one["user_api"] == "blas"]
    names = [" ".join(str(one[key]) for key in ("internal_api", "version", "architecture")
                      if one.get(key)) for one in known]
    return ", ".join(dict.fromkeys(names)) or "BLAS of unknown name"


def processor() -> str:
    """The processor that kernels are compiled for; a digest of what they and NumPy use of it.

    Where either differs, an update of the same weights may, in the last digit.
    """
    _, name, in_kernels = cpu_target.target_context.codegen().magic_tuple()
    used = [name for name, found in in_loops.items() if found]
    return f"{name} ({digest(repr((in_kernels, used)).encode())})"
