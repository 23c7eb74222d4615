"""One training at a time writes a checkpoint, and one that was killed locks nothing."""

import os

import pytest
from small import trainer

from numpy_attention.training import lock

pytestmark = pytest.mark.skipif(lock.fcntl is None, reason="the system has no flock")


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


def test_a_trainer_that_has_finished_holds_no_lock(tmp_path):
    first, second = (trainer(path=tmp_path / "run.npz") for _ in range(2))
    first.fit(1)
    with second.alone():
        with pytest.raises(BlockingIOError, match="another training"):
            first.fit(2)


def test_no_lock_file_stays_open(tmp_path, monkeypatch):
    opened = os.open
    numbers = []

    def open_and_record(*arguments):
        numbers.append(opened(*arguments))
        return numbers[-1]
    monkeypatch.setattr(os, "open", open_and_record)
    with lock.held(tmp_path / "run.npz"):
        assert not (tmp_path / "run.npz.lock").stat().st_mode & 0o111      # not executable
        with pytest.raises(BlockingIOError):
            lock.check_free(tmp_path / "run.npz")
    monkeypatch.setattr(lock, "_is_open_as", lambda *_: len(numbers) == 4)
    with lock.held(tmp_path / "run.npz"):
        pass
    assert len(numbers) == 4
    for number in numbers:
        with pytest.raises(OSError):
            os.fstat(number)


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


def test_a_folder_that_cannot_be_written_to_is_reported_before_the_training(tmp_path):
    (tmp_path / "file").write_text("")
    run = trainer(path=tmp_path / "file" / "run.npz")
    with pytest.raises(OSError, match="file is a file; pass the path of a folder"):
        run.fit(1)
    assert run.step == 0


def test_a_system_without_locks_takes_none(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "fcntl", None)
    with lock.held(tmp_path / "run.npz"):
        trainer(path=tmp_path / "run.npz").fit(1)
        assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]


def test_a_lock_file_that_is_gone_already_is_no_error(tmp_path):
    with lock.held(tmp_path / "run.npz"):
        (tmp_path / "run.npz.lock").unlink()


def test_what_cannot_be_made_is_reported(tmp_path):
    (tmp_path / "run.npz.lock").mkdir()
    with pytest.raises(OSError, match="run.npz.lock cannot be written: Is a directory"):
        with lock.held(tmp_path / "run.npz"):
            pass
