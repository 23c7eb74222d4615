"""Standard streams and signals of a command: closed or full streams, and termination."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from numpy_attention.cli import catalogue
from numpy_attention.cli.main import main
from numpy_attention.training.interrupt import Interrupt, Stopped

ROOT = Path(__file__).resolve().parents[3]
ERROR = "numpy-attention: error: "


def shell(command):
    """Run a shell command in which `cli` is numpy-attention; → exit status and output."""
    script = f"cli() {{ {sys.executable} -m numpy_attention \"$@\"; }}; {command}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", script], env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return done.returncode, done.stderr


@pytest.mark.parametrize("command, status, message", [
    ("cli corpora list > /dev/full", 2, f"{ERROR}the output: No space left on device\n"),
    ("cli corpora list >&-", 0, ""),
    ("cli corpora list <&- >&- 2>&-", 0, ""),
    ("cli nix 2> /dev/full", 2, ""),
    ("cli nix 2>&-", 2, ""),
    ("set -o pipefail; cli corpora list | true", 141, ""),
])
def test_closed_and_full_streams(command, status, message):
    assert shell(command) == (status, message)


@pytest.mark.parametrize("name, status, message", [
    ("SIGINT", 130, "interrupted"), ("SIGTERM", 143, "ended by SIGTERM"),
    ("SIGHUP", 129, "ended by SIGHUP")])
def test_signal_ends_a_command_with_one_line(name, status, message, monkeypatch, capsys):
    number = getattr(signal, name)
    before = signal.getsignal(number)
    tidied = []

    def work(options):
        try:
            signal.raise_signal(number)
        finally:
            signal.raise_signal(number)             # a second signal changes nothing
            tidied.append(True)

    monkeypatch.setattr(catalogue, "list_corpora", work)
    assert main(["corpora", "list"]) == status and tidied
    assert capsys.readouterr().err == f"numpy-attention: {message}\n"
    assert signal.getsignal(number) is before


class Finalized:
    """Gets a signal in its finalizer, where Python ignores exceptions."""

    def __init__(self, number):
        self.number = number

    def __del__(self):
        signal.raise_signal(self.number)


@pytest.mark.parametrize("first", [0, 1])
def test_signal_in_a_finalizer_is_raised_again(first, monkeypatch, capsys):
    """The first signal of a command; or, in training, the second, which Interrupt raises."""
    before = sys.unraisablehook

    def work(options):
        with Interrupt() if first else contextlib.nullcontext():
            if first:
                signal.raise_signal(signal.SIGINT)
            thrown_away = Finalized(signal.SIGTERM)
            del thrown_away
            time.sleep(10)

    monkeypatch.setattr(catalogue, "list_corpora", work)
    begin = time.monotonic()
    assert main(["corpora", "list"]) == 143 and time.monotonic() - begin < 5
    message = "interrupted" if first else "ended by SIGTERM"
    assert capsys.readouterr().err == f"numpy-attention: {message}\n"
    assert sys.unraisablehook is before


def test_ignored_signal_stays_ignored(monkeypatch):
    """As with nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        monkeypatch.setattr(catalogue, "list_corpora",
                            lambda options: signal.raise_signal(signal.SIGHUP))
        assert main(["corpora", "list"]) == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_training_stopped_by_a_signal_returns_its_status(monkeypatch, capsys):
    def work(options):
        raise Stopped("stopped after 3 steps, saved", signal.SIGTERM)

    monkeypatch.setattr(catalogue, "list_corpora", work)
    assert main(["corpora", "list"]) == 143
    assert capsys.readouterr().err == "numpy-attention: stopped after 3 steps, saved\n"
