"""Locks between processes: held during training, and released however a process ends."""

import os
import signal
import subprocess
import sys

import pytest
from small import trainer

from numpy_attention.training import checkpoint, lock

pytestmark = pytest.mark.skipif(lock.fcntl is None, reason="the system has no flock")

# locks a checkpoint, prints a line, and waits to be killed
HOLDER = """
import sys
from numpy_attention.training import lock
with lock.held(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def other(tmp_path):
    """Another process that holds the lock of run.npz."""
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path / "run.npz")],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_second_training_raises_until_the_first_has_ended(other, tmp_path):
    path = tmp_path / "run.npz"
    run = trainer(path=path)
    before = run.model.vector.copy()
    for use in (lambda: run.fit(1), run.save, lambda: lock.check_free(path)):
        with pytest.raises(BlockingIOError, match=r"another training run is using .*run\.npz"):
            use()
    assert (run.model.vector == before).all() and not path.exists()
    other.send_signal(signal.SIGKILL)
    other.wait()
    assert (tmp_path / "run.npz.lock").exists()             # left behind, but locks nothing
    lock.check_free(path)
    run.fit(1)
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]


def test_run_may_be_read_during_training(other, tmp_path):
    trainer(path=tmp_path / "elsewhere.npz").fit(1)
    os.rename(tmp_path / "elsewhere.npz", tmp_path / "run.npz")
    assert checkpoint.load(tmp_path / "run.npz")[1]["trainer"]["epoch"] == 1
    with pytest.raises(BlockingIOError, match="another training"):      # resuming needs the lock
        trainer(path=tmp_path / "run.npz").resume()


def open_files():
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="the system has no /proc")
def test_no_file_stays_open(other, tmp_path, monkeypatch):
    before = open_files()
    for name in ("own.npz", "run.npz"):
        for _ in range(3):
            try:
                with lock.held(tmp_path / name):
                    pass
            except BlockingIOError:
                assert name == "run.npz"
    gone = [True, True]

    def is_no_more(number, file):
        return not (gone and gone.pop())

    monkeypatch.setattr(lock, "_is_open_as", is_no_more)        # removed twice by its holder
    with lock.held(tmp_path / "own.npz"):
        assert not gone
    assert open_files() == before
