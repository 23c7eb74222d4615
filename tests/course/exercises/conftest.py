"""What tests of the commands share: a folder of a reader's own, and what is said there."""

import pytest

from numpy_attention.cli.main import main


@pytest.fixture
def say(tmp_path, monkeypatch, capsys):
    """say("check", "softmax") → the exit status, and what was printed."""
    monkeypatch.chdir(tmp_path)

    def said(*words):
        status = main(["exercise", *words])
        out, err = capsys.readouterr()
        return status, out + err
    return said
