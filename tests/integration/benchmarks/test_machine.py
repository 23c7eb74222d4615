"""Benchmarks let OpenBLAS choose its kernels, and record nothing if kernels are forced."""

import json
import os
import subprocess
import sys
from pathlib import Path

import machine
import pytest

RUN = """
import json, os, sys
import machine
machine.restart_clean()
print(json.dumps([{name: os.environ.get(name) for name in machine.FORCING}, sys.argv[1:]]))
"""
HASWELL = {"OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_L2_SIZE": "512"}


@pytest.mark.parametrize("coretype, kept", [
    (None, {}), ("SkylakeX", {"OPENBLAS_CORETYPE": "SkylakeX"})])
def test_clean_environment(coretype, kept):
    environment = HASWELL | {"OMP_NUM_THREADS": "2"}
    assert machine.clean(environment, coretype) == kept | {"OMP_NUM_THREADS": "2"}
    assert environment["OPENBLAS_CORETYPE"] == "Haswell"


@pytest.mark.parametrize("words, coretype", [([], None), (["--coretype", "Nehalem"], "Nehalem")])
def test_program_restarts_without_forced_kernels(words, coretype):
    words = [*words, "--rounds", "3"]
    done = subprocess.run(
        [sys.executable, "-c", RUN, *words], env=os.environ | HASWELL, check=True,
        cwd=Path(machine.__file__).parent, capture_output=True, text=True)
    assert json.loads(done.stdout) == [
        {"OPENBLAS_CORETYPE": coretype, "OPENBLAS_L2_SIZE": None}, words]


def test_forced_kernels_are_not_recorded(monkeypatch):
    def error(message):
        raise ValueError(message)

    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    machine.check_recordable(None, error)
    with pytest.raises(ValueError, match="forced .OPENBLAS_CORETYPE=Haswell"):
        machine.check_recordable("figures.jsonl", error)
    for name in machine.FORCING:
        monkeypatch.delenv(name, raising=False)
    machine.check_recordable("figures.jsonl", error)


def test_machine_description_includes_kernels_in_use():
    first, versions, *kernels = machine.machine(2, "no_such_library").splitlines()
    assert first.endswith("threads: 2") and versions.startswith("numpy ")
    assert "no_such_library" not in versions and kernels[0].startswith("kernels of ")
