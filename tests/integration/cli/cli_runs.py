"""A tiny run for the tests of the command line, and how an error must be told."""

from numpy_attention.cli.main import main, parse

SMALL = ("--hidden 8 --embedding 6 --epochs 2 --batch-size 32 --learning-rate 0.01 "
         "--threads 1").split()
COPY = ["train", "--corpus", "copy", "--max-length", "4", "--pairs", "120", *SMALL]


def given(words):
    """The options of a command line."""
    return parse(words.split())[1]


def told(capsys, *arguments):
    """What a command that must fail with exit code 2 tells: its last line alone is the error."""
    assert main(list(arguments)) == 2
    error = capsys.readouterr().err
    assert error.endswith("\n")
    assert error.splitlines()[-1].startswith("numpy-attention: error: ")
    assert error.count("numpy-attention: error: ") == 1
    assert "Traceback" not in error
    return error
