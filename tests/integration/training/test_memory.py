"""Freed arrays are reused in the next step: page faults, counted in a separate process."""

import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource, sys
import numpy as np
from numpy_attention.training.threads import Threads

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    np.ones(8_000_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

np.ones(8_000_000)
without = faults()
with Threads(1):
    np.ones(8_000_000)
    kept = faults()
print(without, kept)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library has no mallopt")
def test_freed_memory_is_reused():
    """A separate process, because another test may have changed the settings already."""
    run = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    without, kept = map(int, run.stdout.split())
    # pages of 2 MB make 30 faults, of 4 KB 15,625
    assert without > 25 and kept < 0.2 * without
