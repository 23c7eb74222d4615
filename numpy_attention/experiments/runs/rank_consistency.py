"""Ranks that train one model together agree beforehand: on libraries, text, settings, threads."""

import json
import platform
from typing import Any

import numba
import numpy as np

from numpy_attention import __version__
from numpy_attention.experiments.runs.libraries import blas, digest, digest_of, processor
from numpy_attention.training.distributed.ranks import SingleProcess, host


def check_agreement(
    ranks: SingleProcess, trained: Any, train: Any, valid: Any, threads: int | None
) -> None:
    """trained: a Translator or Writer.

    ValueError, on every rank: they are not about to train the same; it names the first one that
    differs from rank 0.
    """
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
        found = [f"{name} {theirs[name]} there, {first[name]} here" for name in first
                 if theirs[name] != first[name]]
        if found:
            raise ValueError(f"rank {rank} on {where} does not agree with rank 0 on {place}: "
                             f"{'; '.join(found)}. Give every host the same")
