"""One training at a time writes a checkpoint, and one that was killed locks nothing."""

import os
import signal
import subprocess
import sys

import pytest
from small import trainer

from numpy_attention.training import checkpoint, lock

pytestmark = pytest.mark.skipif(lock.fcntl is None, reason="the system has no flock")

# holds the lock of a checkpoint, says so, and waits to be killed
HOLDER = """
import sys
from numpy_attention.training import lock
with lock.held(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def other(tmp_path):
    """Another process, at work on run.npz."""
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path / "run.npz")],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_a_second_training_is_refused_until_the_first_is_dead(other, tmp_path):
    path = tmp_path / "run.npz"
    run = trainer(path=path)
    before = run.model.vector.copy()
    for use in (lambda: run.fit(1), run.save, lambda: lock.check_free(path)):
        with pytest.raises(BlockingIOError, match=r"another training is at work on .*run\.npz"):
            use()
    assert (run.model.vector == before).all() and not path.exists()
    other.send_signal(signal.SIGKILL)
    other.wait()
    assert (tmp_path / "run.npz.lock").exists()             # left behind, and locks nothing
    lock.check_free(path)
    run.fit(1)
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]


def test_another_trainer_of_the_same_process_is_refused_too(tmp_path):
    first, second, elsewhere = (trainer(path=tmp_path / name)
                                for name in ("run.npz", "run.npz", "other.npz"))
    with first.alone():
        with pytest.raises(BlockingIOError, match="another training"):
            second.fit(1)
        elsewhere.fit(1)
        first.fit(1)                                        # it is alone already
        with pytest.raises(BlockingIOError, match="another training"):
            second.fit(1)
    assert second.resume() and second.epoch == 1
    second.fit(2)


def test_a_run_may_be_read_while_it_trains(other, tmp_path):
    trainer(path=tmp_path / "elsewhere.npz").fit(1)
    os.rename(tmp_path / "elsewhere.npz", tmp_path / "run.npz")
    assert checkpoint.load(tmp_path / "run.npz")[1]["trainer"]["epoch"] == 1
    with pytest.raises(BlockingIOError, match="another training"):      # to go on is no reading
        trainer(path=tmp_path / "run.npz").resume()


def test_the_lock_ends_with_an_error(tmp_path):
    run = trainer(path=tmp_path / "run.npz", threads=1)
    run.threads = 0
    with pytest.raises(ValueError, match="threads = 0"):
        run.fit(1)
    lock.check_free(tmp_path / "run.npz")
    assert not list(tmp_path.iterdir())


def test_a_lock_file_that_was_taken_away_meanwhile_is_no_lock(tmp_path, monkeypatch):
    """Opened just before its holder removed it: the lock must be of the file that stands there."""
    path = tmp_path / "run.npz"
    opened = os.open
    names = []

    def open_and_lose(name, *rest):
        number = opened(name, *rest)
        names.append(name)
        if len(names) == 1:
            os.unlink(name)
        return number
    monkeypatch.setattr(os, "open", open_and_lose)
    with lock.held(path):
        assert len(names) == 2
        with pytest.raises(BlockingIOError):
            lock.check_free(path)


def test_what_a_killed_process_left_half_written_goes(tmp_path):
    names = ["run.npz.123.partial", "run.npz.4.partial"]
    others = ["other.npz.123.partial", "run.npz.txt"]
    for name in names + others:
        (tmp_path / name).write_text("half")
    trainer(path=tmp_path / "run.npz").fit(1)
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(["run.npz", *others])


def test_a_folder_that_cannot_be_written_to_is_told_before_the_training(tmp_path):
    (tmp_path / "file").write_text("")
    run = trainer(path=tmp_path / "file" / "run.npz")
    with pytest.raises(OSError, match="file is a file: give the path of a folder"):
        run.fit(1)
    assert run.step == 0


def test_a_system_without_locks_takes_none(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "fcntl", None)
    with lock.held(tmp_path / "run.npz"):
        trainer(path=tmp_path / "run.npz").fit(1)
        assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]


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

    monkeypatch.setattr(lock, "_is", is_no_more)        # taken away twice by its holder
    with lock.held(tmp_path / "own.npz"):
        assert not gone
    assert open_files() == before


def test_a_lock_file_that_is_gone_already_is_no_error(tmp_path):
    with lock.held(tmp_path / "run.npz"):
        (tmp_path / "run.npz.lock").unlink()


def test_whoever_may_write_may_lock(tmp_path):
    before = os.umask(0)
    try:
        with lock.held(tmp_path / "run.npz"):
            assert (tmp_path / "run.npz.lock").stat().st_mode & 0o777 == 0o666
    finally:
        os.umask(before)


def test_what_cannot_be_made_is_told(tmp_path):
    (tmp_path / "run.npz.lock").mkdir()
    with pytest.raises(OSError, match="run.npz.lock cannot be written: Is a directory"):
        with lock.held(tmp_path / "run.npz"):
            pass
