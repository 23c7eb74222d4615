"""Checkpoint locks: one training at a time; errors and killed processes release the lock."""

import os

import pytest
from small import trainer

from numpy_attention.training import lock

pytestmark = pytest.mark.skipif(lock.fcntl is None, reason="the system has no flock")


def test_second_trainer_in_the_same_process_raises(tmp_path):
    first, second, elsewhere = (trainer(path=tmp_path / name)
                                for name in ("run.npz", "run.npz", "other.npz"))
    with first.alone():
        with pytest.raises(BlockingIOError, match="another training"):
            second.fit(1)
        elsewhere.fit(1)
        first.fit(1)                                        # it holds the lock
        with pytest.raises(BlockingIOError, match="another training"):
            second.fit(1)
    assert second.resume() and second.epoch == 1
    second.fit(2)


def test_finished_trainer_releases_its_lock(tmp_path):
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


def test_lock_is_released_after_an_error(tmp_path):
    run = trainer(path=tmp_path / "run.npz", threads=1)
    run.threads = 0
    with pytest.raises(ValueError, match="threads = 0"):
        run.fit(1)
    lock.check_free(tmp_path / "run.npz")
    assert not list(tmp_path.iterdir())


def test_lock_file_removed_after_opening_is_opened_again(tmp_path, monkeypatch):
    """The previous holder removes the file just after it was opened."""
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


def test_partial_files_of_killed_processes_are_removed(tmp_path):
    names = ["run.npz.123.partial", "run.npz.4.partial"]
    others = ["other.npz.123.partial", "run.npz.txt"]
    for name in names + others:
        (tmp_path / name).write_text("half")
    trainer(path=tmp_path / "run.npz").fit(1)
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(["run.npz", *others])


def test_unwritable_folder_raises_before_training(tmp_path):
    (tmp_path / "file").write_text("")
    run = trainer(path=tmp_path / "file" / "run.npz")
    with pytest.raises(OSError, match="file is a file; pass the path of a folder"):
        run.fit(1)
    assert run.step == 0


def test_no_lock_without_fcntl(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "fcntl", None)
    with lock.held(tmp_path / "run.npz"):
        trainer(path=tmp_path / "run.npz").fit(1)
        assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]


def test_lock_file_already_removed_is_ignored(tmp_path):
    with lock.held(tmp_path / "run.npz"):
        (tmp_path / "run.npz.lock").unlink()


def test_lock_file_that_cannot_be_created_raises(tmp_path):
    (tmp_path / "run.npz.lock").mkdir()
    with pytest.raises(OSError, match="run.npz.lock cannot be written: Is a directory"):
        with lock.held(tmp_path / "run.npz"):
            pass
