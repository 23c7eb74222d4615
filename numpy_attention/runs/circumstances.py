"""What a figure depends on beside the model: the text, the seed, threads, and the libraries.

docs/same_numbers.md says which of them change it, and by how much.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numba
import numpy as np
from threadpoolctl import threadpool_info

from numpy_attention import __version__
from numpy_attention.runs.trained import Trained

SHOWN = 8           # letters of a digest


def circumstances(trained: Trained, text: Iterable[Sequence[str]], threads: int) -> dict[str, Any]:
    """What measuring a model on sentences of tokens, with so many threads, depends on.

    parameters, text: digests (SHA-256), of the parameters in use and of the tokens.
    """
    return {
        "parameters": hashlib.sha256(trained.model.vector.tobytes()).hexdigest()[:SHOWN],
        "text": digest_of(text),
        "seed": trained.training.seed,
        "threads": threads,
        "version": __version__,
        "numpy": np.__version__,
        "numba": numba.__version__,
        "blas": blas(),
    }


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
