"""With NUMBA_DISABLE_JIT=1 the kernels run as plain Python and give the same loss and gradient."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PROGRAM = """
import json
import numba
import numpy as np
from numpy_attention.gradcheck.cases.models import PAIRS
from numpy_attention.models.rnnsearch import RNNSearch

def figures(dtype, **settings):
    model = RNNSearch.create(np.random.default_rng(1), 8, 9, embedding=3, hidden=4, maxout=2,
                             init="modern", dropout=0.2, dtype=dtype, **settings)
    grads = model.zeros_like()
    loss, _ = model.loss_and_grad(PAIRS, None, 0.5, grads, np.random.default_rng(2))
    return [float(loss), grads.vector.astype(float).tolist()]

modern = dict(readout="current", reset="after", update="old")
paper = dict(readout="previous", reset="before", update="new")
found = [figures(dtype, **settings)
         for dtype in (np.float32, np.float64) for settings in (modern, paper)]
print(json.dumps([numba.config.DISABLE_JIT] + found))
"""


def run(disable_jit):
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join([root] + os.environ.get("PYTHONPATH", "").split(os.pathsep))
    environment = os.environ | {"NUMBA_DISABLE_JIT": disable_jit, "PYTHONPATH": path}
    command = [sys.executable, "-W", "error", "-c", PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_uncompiled_equals_compiled():
    (off, *compiled), (on, *plain) = run("0"), run("1")
    assert not off and on
    tolerances = 1e-5, 1e-5, 1e-12, 1e-12
    for (loss, grads), (plain_loss, plain_grad), tolerance in zip(compiled, plain, tolerances):
        assert plain_loss == pytest.approx(loss, rel=tolerance)
        scale = np.abs(grads).max()
        assert scale > 0.01 and np.abs(np.subtract(grads, plain_grad)).max() < tolerance * scale
