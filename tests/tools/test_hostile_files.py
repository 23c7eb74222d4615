"""The hostile kinds of files, commands, signals and memory: what they call a finding, and a few."""

import os
import signal

import pytest
from hostility import child, checkpoints, command_line, commands, files, signals, small_runs
from hostility.engine import run
from hostility.outcome import REFUSED, RIGHT, UNTRIED, Outcome

from numpy_attention.cli import catalogue
from numpy_attention.shapes import flat


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def of_list(monkeypatch, work):
    """The Outcome of a command that does this."""
    monkeypatch.setattr(catalogue, "list_corpora", work)
    return command_line.outcome(["corpora", "list"], folder=os.getcwd())


def own(options):
    catalogue.checks_named(["nix"])


def foreign(options):
    int("three")


def ours(options):
    {}["missing"]


def half(options):
    open("checkpoint.npz.7.partial", "w").close()


@pytest.mark.parametrize("work, verdict", [
    (lambda options: None, RIGHT), (own, REFUSED), (foreign, "traceback"), (half, "silence"),
    (lambda options: 99, "traceback"),
])
def test_what_a_command_ends_in(work, verdict, monkeypatch):
    assert of_list(monkeypatch, work).verdict == verdict


def test_an_error_of_ours_is_not_hidden(monkeypatch):
    with pytest.raises(KeyError):
        of_list(monkeypatch, ours)


def test_a_child_tells_what_it_ends_in():
    def nothing():
        pass
    assert child.outcome(nothing, lambda: Outcome(RIGHT, "ü")) == (RIGHT, "ü")
    assert child.outcome(nothing, lambda: flat([1])).verdict == "traceback"
    dies = child.outcome(nothing, lambda: os.kill(os.getpid(), signal.SIGKILL))
    assert dies == ("crash", "the process died of SIGKILL")
    verdict, text = child.outcome(nothing, os.abort)
    assert verdict == "crash" and "SIGABRT" in text and "Fatal Python error: Aborted" in text


def test_without_rights_nothing_is_tried_where_the_package_cannot_be_read(tmp_path, monkeypatch):
    (tmp_path / "closed").mkdir(0o700)
    monkeypatch.setattr(child, "PACKAGE", tmp_path / "closed" / "package")
    found = child.outcome(child.of_nobody, lambda: Outcome(RIGHT, "tried"))
    assert found == (UNTRIED, f"a user without rights may not read {child.PACKAGE}")


def test_a_user_without_rights_may_read_the_texts():
    """Else it would be refused for these, whatever else it may not do."""
    folder = small_runs.texts()
    assert folder.stat().st_mode & 0o777 == 0o755
    assert all(path.stat().st_mode & 0o004 for path in folder.iterdir())


def test_a_pickle_that_is_executed_is_told(tmp_path, rng, monkeypatch):
    def executing(rng, data, executed):
        return "a pickle", checkpoints.pickle.dumps(checkpoints.Payload(executed))

    def trusting(run, place):
        return checkpoints.pickle.loads((place / "checkpoint.npz").read_bytes())

    monkeypatch.setattr(files, "USES", [trusting])
    monkeypatch.setattr(checkpoints, "altered", executing)
    assert files.altered_checkpoint(rng, tmp_path).run().verdict == "code"


@pytest.mark.parametrize("status, told, sent, verdict", [
    (143, "numpy-attention: ended by SIGTERM\n", [signal.SIGTERM], None),
    (0, "", [signal.SIGTERM], None),
    (143, "", [signal.SIGTERM], "silence"),
    (130, "numpy-attention: interrupted\n", [signal.SIGTERM], "traceback"),
    (98, "Traceback: KeyError('x')\n", [signal.SIGINT], "traceback"),
])
def test_how_a_signal_may_end_a_command(status, told, sent, verdict, tmp_path):
    found = signals.of_end(status, told, sent, tmp_path)
    assert (found and found.verdict) == verdict


def test_a_few_of_each():
    """Without low memory, whose end depends on where the system has put what."""
    kinds = {"commands": commands, "files": files, "signals": signals}
    found = run({name: kind.attempt for name, kind in kinds.items()}, range(6), seed=7, seconds=120)
    assert [one for one in found if one.verdict not in (RIGHT, REFUSED, UNTRIED)] == []
