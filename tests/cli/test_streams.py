"""The encoding of what a command prints."""

import io
import sys

import pytest

from numpy_attention.cli import streams


@pytest.mark.parametrize("terminal, printed", [(False, "пёс".encode()), (True, b"???")])
def test_a_file_gets_utf8_and_a_terminal_what_it_can_show(terminal, printed, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    monkeypatch.setattr(sys, "stdout", stream)
    streams.prepare()
    print("пёс", end="", flush=True)
    assert stream.buffer.getvalue() == printed
