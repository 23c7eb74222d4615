"""What the tests of the commands share: a folder, and what a command prints."""

import pytest

from numpy_attention.cli.main import main


@pytest.fixture(autouse=True)
def cache_folder(tmp_path_factory, monkeypatch):
    """The cache of signatures is a folder of these tests, not the user's."""
    monkeypatch.setenv("NUMPY_ATTENTION_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def say(tmp_path, monkeypatch, capsys):
    """say("check", "softmax") → the exit status, and what was printed."""
    monkeypatch.chdir(tmp_path)

    def run(*words):
        status = main(["exercise", *words])
        out, err = capsys.readouterr()
        return status, out + err
    return run
