"""The command line as a whole: its help, what is refused, and how errors are told."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_runs import told

from numpy_attention.cli import main as cli
from numpy_attention.cli import translators
from numpy_attention.cli.main import COMMANDS, in_flags, main, parse

ROOT = Path(__file__).resolve().parents[3]
CHOICES = [name for name, command in COMMANDS.items() if command.actions]
EVERY = [*COMMANDS, *(f"{name} {action}" for name in CHOICES for action in COMMANDS[name].actions)]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Runs and results land in a folder of the test's own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command_of(words):
    first, _, action = words.partition(" ")
    return COMMANDS.get(words) or COMMANDS[first].actions[action]


# ---- help ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", EVERY)
def test_help_shows_an_example(command, capsys):
    with pytest.raises(SystemExit) as end:
        main([*command.split(), "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert end.value.code == 0
    assert f"example: numpy-attention {command}" in text
    assert "None" not in text and "SUPPRESS" not in text


@pytest.mark.parametrize("command", EVERY)
def test_help_tells_every_option(command, capsys):
    with pytest.raises(SystemExit):
        main([*command.split(), "--help"])
    text = "".join(capsys.readouterr().out.split())
    for option in command_of(command).options:
        assert "".join(option.help_text().split()) in text, option.name


@pytest.mark.parametrize("command", EVERY)
def test_examples_parse(command):
    example = command_of(command).example.replace('"in the beginning"', "beginning")
    found, _ = parse(example.split()[1:])
    assert found == command_of(command) or command in CHOICES


@pytest.mark.parametrize("command", [name for name in EVERY if name not in CHOICES])
def test_every_command_is_done(command):
    work = command_of(command).work
    for place in [work] if isinstance(work, str) else work.values():
        file, _, function = place.partition(":")
        module = __import__(f"numpy_attention.cli.{file}", fromlist=[function])
        assert callable(getattr(module, function))


def test_a_translator_is_what_train_trains():
    words = ["--corpus", "copy", "--epochs", "3"]
    assert parse(["train", *words]) == parse(["train", "translator", *words])
    assert parse(["train", "lm", *words])[1].command == "train lm"


@pytest.mark.parametrize("words", ["", "train ", "train lm ", "evaluate "])
def test_help_waits_for_nothing_heavy(words):
    code = (f"import sys, runpy\nsys.argv = 'numpy-attention {words}--help'.split()\ntry:\n"
            "    runpy.run_module('numpy_attention', run_name='__main__')\nfinally:\n"
            "    assert not {'numba', 'numpy', 'matplotlib'} & sys.modules.keys()")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment,
                          capture_output=True, text=True)
    assert done.returncode == 0 and "usage: numpy-attention" in done.stdout, done.stderr


# ---- what is refused ----------------------------------------------------------------------------

COPY = "train --corpus copy "
REFUSED = [
    ("", "COMMAND"),
    ("trian", "no such command, did you mean train; see numpy-attention --help"),
    ("translat RUN", "did you mean translate"),
    ("train", "--corpus NAME"),
    ("train transformer", "expected `train lm`"),
    ("train --source a.txt", "--target FILE"),
    ("train --corpus nix", "'nix' is unknown"),
    ("train --corpus ptb", "is text, not parallel"),
    ("train --corpus bible-en-es --part psalms", "psalms"),
    (COPY + "--part verses", "verses"),
    (COPY + "--source a --target b", "choose one"),
    (COPY + "--lowercase", "prepared already"),
    (COPY + "--tokenize", "--tokenize is given"),
    ("train --text novel.txt",
     "unrecognized arguments: --text novel.txt; see numpy-attention train --help, or for a "
     "language model numpy-attention train lm --help"),
    ("train --attention combined", "numpy-attention train lm --help"),
    ("train lm --beam 3", "see numpy-attention train lm --help"),
    ("train --corpus bible-en", "it is for numpy-attention train lm"),
    ("train copy", "as in train --corpus NAME"),
    ("translate RUN a --hidden 3",
     "unrecognized arguments: --hidden 3; see numpy-attention translate --help"),
    ("train --source a --target b", "does not exist"),
    ("train --source a --target b --part x", "--part"),
    ("train --corpus dates --max-length 4", "--max-length"),
    (COPY + "--epochs 0", "at least 1"),
    (COPY + "--epochs two", "'two'"),
    (COPY + "--dropout 1.5", "below 1"),
    (COPY + "--dropout nan", "below 1"),
    (COPY + "--minutes 0", "positive"),
    (COPY + "--minutes inf", "positive"),
    (COPY + "--clip -1", "inf to clip nothing"),
    (COPY + "--clip nan", "positive"),
    (COPY + "--learning-rate 0", "positive"),
    (COPY + "--hidden 1", "at least 2"),
    (COPY + "--batch-size 0", "at least 1"),
    (COPY + "--seed -1", "at least 0"),
    (COPY + "--divisor 3", "belongs to --schedule decay"),
    (COPY + "--schedule decay --divisor 0.5", "at least 1"),
    (COPY + "--threads 0", "at least 1"),
    (COPY + "--model transformed", "transformed"),
    (COPY + "--pairs 50 --min-count 99999", "leaves no token"),
    ("translate nowhere hello", "no checkpoint at nowhere"),
    ("translate nowhere hello --beam 0", "at least 1"),
    ("translate nowhere hello --length-penalty -1", "at least 0"),
    ("evaluate nowhere", "no checkpoint"),
    ("evaluate nowhere --split dev", "dev"),
    ("heatmap nowhere --output a.png", "no checkpoint"),
    ("heatmap nowhere", "--output"),
    ("gradcheck Transformatron", "no gradient check is named Transformatron"),
    ("gradcheck mine:Mine",
     "Linear without bias, Embedding; or a class of your own, FILE.py:CLASS"),
    ("corpora", "ACTION"),
    ("corpora show", "NAME"),
    ("corpora show nix", "unknown"),
    ("corpora fetch nix", "unknown"),
    ("reproduce", "no recipe is named"),
    ("reproduce nix", "unknown recipe 'nix'"),
    (COPY + "--max-length 99999999999999999999", "at most 10⁹"),
    (COPY + "--max-length 1000000000", "≤ 1,000"),
    (COPY + "--layers 1000000", "at most 1,000"),
    (COPY + "--threads 100000", "at most 1,024"),
    (COPY + "--schedule linear --epochs 1000000000", "give at most 10,000"),
    ("translate nowhere hello --beam 1000000", "at most 1,000"),
    ("train --source /dev/zero --target b", "is a device"),
    (COPY + "--learning-rate " + "a" * 100_000, "--learning-rate: 'aaaaa"),
]


@pytest.mark.parametrize("arguments, message", REFUSED)
def test_refused(arguments, message, capsys, elsewhere):
    assert message in told(capsys, *arguments.split())
    assert not list(elsewhere.iterdir())


def test_an_endless_command_is_told_in_a_short_line(capsys, elsewhere):
    assert len(told(capsys, "a" * 5000)) < 200


# ---- how errors are told ------------------------------------------------------------------------


@pytest.mark.parametrize("error, code, line", [
    (KeyboardInterrupt(), 130, "numpy-attention: interrupted\n"),
    (KeyboardInterrupt("stopped, saved to x"), 130, "numpy-attention: stopped, saved to x\n"),
    (MemoryError("9 TiB"), 2, "numpy-attention: error: not enough memory (9 TiB): choose smaller "
                              "sizes, or a smaller --batch-size\n"),
    (FileNotFoundError("no x:\nlook"), 2, "numpy-attention: error: no x: look\n"),
    (ConnectionError("down"), 2, "numpy-attention: error: down\n"),
    (ValueError("give valid_source"), 2, "numpy-attention: error: give --valid-source\n"),
    (TypeError(), 2, "numpy-attention: error: TypeError\n"),
])
def test_errors_become_one_line(error, code, line, capsys, monkeypatch):
    def fails(options):
        raise error

    monkeypatch.setattr(translators, "train", fails)
    assert main(["train"]) == code
    assert capsys.readouterr().err == line


def test_an_error_of_ours_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr(translators, "train", lambda options: {}["missing"])
    with pytest.raises(KeyError):
        main(["train"])


def test_a_reader_that_leaves_is_no_error():
    """As in `numpy-attention corpora list | head -0`: exit code 141, nothing told."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "numpy_attention", "corpora", "list"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, env=environment,
                          text=True)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("message, flags", [
    ("allow more with max_length, or", "allow more with --max-length, or"),
    ("max_length=3; expected", "--max-length 3; expected"),
    ("count = 0; expected at least 1 pair", "--pairs 0; expected at least 1 pair"),
    ("hidden = 9 cannot be shared", "--hidden 9 cannot be shared"),
    ("size = 9: expected", "--hidden 9: expected"),
    ("give source and target", "give source and target"),
    ("no hidden state, and no window", "no hidden state, and no window"),
    ("/data/max_length/a.txt, max_length.csv", "/data/max_length/a.txt, max_length.csv"),
    ("{'input_feeding': True}", "{'input_feeding': True}"),
    ("the --max-length", "the --max-length"),
    ("give other files as source and target", "give other files with --source and --target"),
    ("train again in another folder", "train anew in another folder with --run"),
])
def test_arguments_become_flags(message, flags):
    assert in_flags(message, cli.COMMANDS["train"].options) == flags


def test_a_command_knows_its_own_flags_alone():
    of_translate = COMMANDS["translate"].options
    code = "trained with Adam(learning_rate=0.001, beta1=0.9)"
    assert in_flags(code, COMMANDS["train"].options) == code
    assert in_flags("max_length and top_k", of_translate) == "max_length and --top-k"
    assert in_flags("run = 3, names = 4", COMMANDS["compare"].options) == "run = 3, names = 4"
