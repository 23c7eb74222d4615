"""Shared fixtures for tests of the exercise commands: a cache folder, and running a command."""

import pytest

from numpy_attention.cli.main import main


@pytest.fixture(autouse=True)
def cache_folder(tmp_path_factory, monkeypatch):
    """Keep the cache of signatures in a temporary folder instead of the user's."""
    monkeypatch.setenv("NUMPY_ATTENTION_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def say(tmp_path, monkeypatch, capsys):
    """say("check", "softmax") → exit status and printed text."""
    monkeypatch.chdir(tmp_path)

    def run(*words):
        status = main(["exercise", *words])
        out, err = capsys.readouterr()
        return status, out + err
    return run
