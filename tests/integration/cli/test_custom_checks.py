"""gradcheck FILE.py:CLASS: a user-defined class is checked in a separate process."""

import pytest
from cli_runs import failure
from custom_files import MINE, PAST, changed, in_score, written

from numpy_attention.cli.main import main
from numpy_attention.gradcheck import running


def test_class_from_the_shell(tmp_path, capfd, monkeypatch):
    """The folder has files with the names of standard modules."""
    monkeypatch.chdir(tmp_path)
    for name in ("random.py", "copy.py", "numpy.py"):
        written(tmp_path, "1 / 0", name)
    path = str(written(tmp_path, PAST))
    assert main(["gradcheck", f"{path}:Past"]) == 0
    assert capfd.readouterr().out.endswith("\n1 of 1 passed\n")
    assert "mine.py does not define 'Now': it" in failure(capfd, "gradcheck", f"{path}:Now")


def test_full_report_of_a_class(tmp_path, capfd):
    name = f"{written(tmp_path, changed('return dp @ self.W.T', 'return dp @ self.W.T * 2'))}:Mine"
    assert main(["gradcheck", name, "--full"]) == 1
    full = capfd.readouterr().out
    assert "right with `dp @ self.W.T`" in full and "0 of 3 passed" in full
    assert "input[0], central differences:" in full and "input[0], backward:" in full


@pytest.mark.parametrize("text, where", [
    (in_score("while True: query = query + 0"), ", in line 22 of mine.py, in score"),
    (MINE + "while True: pass\n", f", in line {len(MINE.splitlines()) + 1} of mine.py"),
])
def test_endless_loop(text, where, tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, text)
    before = sorted(tmp_path.iterdir())
    assert failure(capfd, "gradcheck", "mine.py:Mine", "--seconds", "2.5") == (
        f"numpy-attention: error: mine.py:Mine took longer than 2.5 seconds and was ended{where}; "
        "allow more with --seconds, unless the code loops forever\n")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("line, how", [
    ("import os; os._exit(0)", "exit status 0"),
    ("import os; os.kill(os.getpid(), 9)", "signal 9"),
])
def test_code_that_ends_its_process(line, how, tmp_path, capfd):
    error = failure(capfd, "gradcheck", str(written(tmp_path, line)))
    assert f"mine.py ended its process with {how}: nothing was checked\n" in error


@pytest.mark.parametrize("names, message", [
    (["mine.py:A", "GRU"], "cannot check mine.py:A and GRU together; check one user-defined"),
    (["nowhere.py:A"], "nowhere.py does not exist; check the spelling"),
    (["mine.py", "--seconds", "0"], "got '0'; expected seconds from 0.1 to 86,400"),
])
def test_errors_before_a_process_starts(names, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(running, "ended", None)
    written(tmp_path)
    assert message in failure(capsys, "gradcheck", *names)
