"""What a figure depends on beside the model: the text, the seed, threads, and the libraries.

docs/reproducibility.md says which of them change it, and by how much.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numba
import numpy as np

from numpy_attention import __version__
from numpy_attention.experiments.runs.libraries import blas, digest, digest_of, processor
from numpy_attention.experiments.runs.trained import Trained


def circumstances(trained: Trained, text: Iterable[Sequence[str]], threads: int) -> dict[str, Any]:
    """What measuring a model on sentences of tokens, with so many threads, depends on.

    parameters, text: digests (SHA-256), of the parameters in use and of the tokens.
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
