"""Encoding of standard output."""

import io
import sys

import pytest

from numpy_attention.cli import streams


@pytest.mark.parametrize("terminal, printed", [(False, "пёс".encode()), (True, b"???")])
def test_files_use_utf8_and_terminals_replace_characters(terminal, printed, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    monkeypatch.setattr(sys, "stdout", stream)
    streams.prepare()
    print("пёс", end="", flush=True)
    assert stream.buffer.getvalue() == printed
