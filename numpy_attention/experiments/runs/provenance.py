"""Record what a figure depends on in addition to the model: text, seed, threads, libraries.

docs/reproducibility.md explains which of these change a figure, and how much. Ranks that train one
model together compare the same facts before they start.
"""

import hashlib
import json
import platform
from collections.abc import Iterable, Sequence
from typing import Any

import numba
import numpy as np
from numba.core.registry import cpu_target

from numpy_attention import __version__
from numpy_attention.products import numpy_blas
from numpy_attention.training.distributed.ranks import SingleProcess, host

try:
    from numpy._core._multiarray_umath import __cpu_features__ as in_loops
except ImportError:                     # NumPy 1
    from numpy.core._multiarray_umath import __cpu_features__ as in_loops  # type: ignore[no-redef]

SHOWN = 8           # letters of a digest


def provenance(trained: Any, text: Iterable[Sequence[str]], threads: int) -> dict[str, Any]:
    """Return a dict of everything that determines the figures when a run is evaluated on a text.

    "parameters" and "text" are the first digits of the SHA-256 of the parameters and of the tokens.
    """
    return {
        "parameters": digest(trained.model.vector.tobytes()),
        "text": digest_of(text),
        "seed": trained.training.seed,
        "threads": threads,
        "version": __version__,
        "numpy": np.__version__,
        "numba": numba.__version__,
        "blas": blas(),
        "processor": processor(),
    }


def check_rank_consistency(
    ranks: SingleProcess, trained: Any, train: Any, valid: Any, threads: int | None
) -> None:
    """Raise ValueError on all ranks if versions, processors, settings, texts or threads differ."""
    if ranks.count == 1:
        return
    mine = {
        "numpy_attention": __version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "numba": numba.__version__,
        "BLAS": blas(),
        "processor": processor(),
        "settings": digest(json.dumps(trained.configuration(), sort_keys=True).encode()),
        "training text": digest_of(trained.sentences(train)),
        "validation text": None if valid is None else digest_of(trained.sentences(valid)),
        "initial values": digest(trained.model.vector.tobytes()),
        "threads": threads,
    }
    (place, first), *others = ranks.allgather((host(), mine))
    for rank, (where, theirs) in enumerate(others, 1):
        found = [f"{name} ({theirs[name]} instead of {first[name]})"
                 for name in first if theirs[name] != first[name]]
        if found:
            raise ValueError(f"rank {rank} on host {where} differs from rank 0 on host {place} in "
                             f"{', '.join(found)}. Use the same on every rank")


def digest(data: bytes) -> str:
    """Return the first hexadecimal digits of the SHA-256 of data."""
    return hashlib.sha256(data).hexdigest()[:SHOWN]


def digest_of(text: Iterable[Sequence[str]]) -> str:
    """Return the first hexadecimal digits of the SHA-256 of a text, given as lists of tokens."""
    found = hashlib.sha256()
    for sentence in text:
        found.update("\0".join(sentence).encode("utf-8", "surrogatepass") + b"\n\0")
    return found.hexdigest()[:SHOWN]


def blas() -> str:
    """Describe NumPy's BLAS: its name, version, and the processor type that it detected."""
    names = [" ".join(str(one[key]) for key in ("internal_api", "version", "architecture")
                      if one.get(key)) for one in numpy_blas()]
    return ", ".join(sorted(set(names))) or "BLAS of unknown name"


def processor() -> str:
    """Describe the processor for which numba compiles kernels, with a digest of its features."""
    _, name, in_kernels = cpu_target.target_context.codegen().magic_tuple()
    used = [name for name, found in in_loops.items() if found]
    return f"{name} ({digest(repr((in_kernels, used)).encode())})"
