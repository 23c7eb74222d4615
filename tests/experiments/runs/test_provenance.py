"""Provenance: everything a figure depends on, recorded so that runs can be compared."""

import os
import subprocess
import sys

import numba
import numpy as np

from numpy_attention import __version__
from numpy_attention.data.running_text import Text
from numpy_attention.experiments.runs.language_model_run import (
    LanguageModelRun,
    LanguageModelTraining,
)
from numpy_attention.experiments.runs.provenance import blas, digest_of, processor, provenance

MODULE = "numpy_attention.experiments.runs.provenance"
SENTENCES = [["a", "b"], ["c"]]


def test_different_texts_have_different_digests():
    texts = [SENTENCES, [["a"], ["b", "c"]], [["a", "b"]], [["ab"], ["c"]], [["a", "b"], ["c"], []],
             [["b", "a"], ["c"]], [["c"], ["a", "b"]], [["a", "b", "c"]]]
    assert len(set(map(digest_of, texts))) == len(texts)
    assert digest_of(SENTENCES) == digest_of(tuple(map(tuple, SENTENCES)))
    assert len(digest_of([["ü\udc80"]])) == 8


def test_differences_in_model_seed_and_threads_are_reported():
    one, same, other = (
        LanguageModelRun.create(Text([SENTENCES]), settings=dict(hidden=3, layers=1),
                                training=LanguageModelTraining(seed=seed)) for seed in (0, 0, 4))
    known = provenance(one, SENTENCES, 2)
    assert known == provenance(same, SENTENCES, 2)
    assert (known["seed"], known["threads"], known["text"]) == (0, 2, digest_of(SENTENCES))
    assert (known["numpy"], known["numba"]) == (np.__version__, numba.__version__)
    assert (known["version"], known["blas"]) == (__version__, blas())
    assert known["processor"] == processor()
    changed = provenance(other, SENTENCES, 1)
    assert {name for name in known if known[name] != changed[name]} == {
        "parameters", "seed", "threads"}
    same.model.vector[0] += 1
    assert provenance(same, SENTENCES, 2)["parameters"] != known["parameters"]


def test_blas_library_is_reported(monkeypatch):
    assert blas()
    where = "/lib/python3/site-packages"
    libraries = [
        {"user_api": "openmp", "internal_api": "openmp", "filepath": "/lib/libgomp.so"},
        {"user_api": "blas", "internal_api": "openblas", "version": "0.3", "architecture": "Zen",
         "filepath": f"{where}/numpy.libs/libscipy_openblas64_.so"},
        {"user_api": "blas", "internal_api": "openblas", "version": "0.2",
         "filepath": f"{where}/scipy.libs/libscipy_openblas.so"}]     # loaded by numba
    for known in (libraries, libraries[::-1]):
        monkeypatch.setattr("numpy_attention.products.threadpool_info", lambda: known)
        assert blas() == "openblas 0.3 Zen"
    monkeypatch.setattr("numpy_attention.products.threadpool_info", list)
    assert blas() == "BLAS of unknown name"


def test_processor_of_kernels_and_loops():
    def printed(**named):
        code = f"from {MODULE} import processor; print(processor())"
        return subprocess.run([sys.executable, "-c", code], env=os.environ | named, check=True,
                              capture_output=True, text=True).stdout.strip()

    here = processor()
    assert printed() == here
    old = printed(NUMBA_CPU_NAME="nehalem", NUMBA_CPU_FEATURES="")
    assert old.startswith("nehalem (") and old != printed(NUMBA_CPU_NAME="nehalem",
                                                          NUMBA_CPU_FEATURES="+avx")


def test_disabled_numpy_loops_are_reported(monkeypatch):
    here = processor()
    monkeypatch.setattr(f"{MODULE}.in_loops", {"SSE": True, "AVX2": False})
    less = processor()
    monkeypatch.setattr(f"{MODULE}.in_loops", {"SSE": True, "AVX2": True})
    assert len({here, less, processor()}) == 3
    assert len({text.partition(" (")[0] for text in (here, less, processor())}) == 1
