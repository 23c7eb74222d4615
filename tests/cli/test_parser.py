"""The command line parser: options, their rules, help, and errors reported before any work."""

import argparse
import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from numpy_attention import __version__
from numpy_attention.cli import main as cli
from numpy_attention.cli.commands import COMMANDS
from numpy_attention.cli.main import main, parse
from numpy_attention.cli.messages import in_flags, memory_message
from numpy_attention.cli.parser import Option, flag, joined, positional, settle
from numpy_attention.cli.train import print_next
from numpy_attention.cli.values import (
    files,
    folders,
    not_negative,
    picture,
    positive,
    seeds,
    share,
    share_kept,
    whole,
)

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = [
    Option("model", "which", default="a", choices=["a", "b", "c"]),
    Option("size", "how large", whole(1), {"a": 1, "b": 2, "c": 2}, by="model"),
    Option("window", "which words", default="all", choices=["all", "near", "far"],
           needs={"model": ["b", "c"]}),
    Option("width", "how wide", whole(1), 10, excludes={"window": ["all"]}),
    Option("rate", "how fast", float, 0.5, needs={"model": ["c"]}),
    flag("sample", "draw"),
    Option("beam", "search", whole(1), 5, excludes={"sample": [True]}),
    Option("seed", "of the samples", whole(0), 0, needs={"sample": [True]}),
    Option("file", "a text", excludes={"corpus": (), "model": ["b", "c"]}),
    Option("corpus", "a corpus"),
    Option("pair", "the other side", needs={"file": ()}),
]

# ---- options ------------------------------------------------------------------------------------


@pytest.mark.parametrize("given, expected", [
    ({}, dict(model="a", size=1, window=None, rate=None, beam=5, seed=None, sample=False)),
    ({"model": "b"}, dict(size=2, window="all", width=10, rate=None)),
    ({"model": "c", "window": "near"}, dict(window="near", width=10, rate=0.5)),
    ({"sample": True}, dict(seed=0, sample=True)),
    ({"size": 9}, dict(size=9)),
])
def test_defaults(given, expected):
    values = settle(OPTIONS, given)
    assert {name: values[name] for name in expected} == expected


@pytest.mark.parametrize("given, message", [
    ({"window": "near"},
     "--window has no effect with --model a; omit --window, or choose --model b or c"),
    ({"model": "b", "width": 3},
     "--width has no effect with --window all; omit --width, or choose --window near or far"),
    ({"seed": 0}, "--seed needs --sample; add --sample, or omit --seed"),
    ({"sample": True, "beam": 2}, "--beam has no effect with --sample; omit --beam"),
    ({"file": "x", "corpus": "y"}, "--file has no effect with --corpus y; omit --file"),
    ({"pair": "x"}, "--pair needs --file; add --file, or omit --pair"),
])
def test_option_without_effect_is_an_error(given, message):
    with pytest.raises(ValueError) as error:
        settle(OPTIONS, given)
    assert str(error.value) == message


@pytest.mark.parametrize("name, text", [
    ("model", "which (default: a)"),
    ("size", "how large (default: 1 for a, else 2)"),
    ("window", "which words (with --model b or c; default: all)"),
    ("width", "how wide (not with --window all; default: 10)"),
    ("sample", "draw"),
    ("seed", "of the samples (with --sample; default: 0)"),
    ("file", "a text (not with --corpus, --model b or --model c)"),
])
def test_help_prints_rules_and_defaults(name, text):
    assert {option.name: option.help_text() for option in OPTIONS}[name] == text


def test_given_options_are_recorded():
    parser = argparse.ArgumentParser()
    options = [
        positional("run", "folder", "RUN"), positional("more", "words", "WORD", "*"),
        Option("max_length", "5 % of it", whole(1), 7), flag("all", "print"),
        Option("tied", "share", default=True, kind="switch"),
        Option("cell", "which", choices=["gru"], custom=True),
    ]
    for option in options:
        option.add_to(parser)
    nothing = dict(run="a", more=[], max_length=None, all=None, tied=None, cell=None)
    assert vars(parser.parse_args(["a"])) == nothing
    words = "a b c --max-length 3 --all --no-tied --cell mine.py:Mine".split()
    assert vars(parser.parse_args(words)) == dict(
        run="a", more=["b", "c"], max_length=3, all=True, tied=False, cell="mine.py:Mine")
    assert "--max-length N        5 % of it (default: 7)" in parser.format_help()
    with pytest.raises(argparse.ArgumentTypeError, match="got '0'; expected an integer"):
        options[2].value("0")
    with pytest.raises(argparse.ArgumentTypeError, match="'lstm' .*'gru', or a user-defined FILE"):
        options[5].value("lstm")


def test_words_are_joined():
    assert [joined(list(words), "or") for words in ("", "a", "ab", "abc")] == [
        "", "a", "a or b", "a, b or c"]


@pytest.mark.parametrize("read, text, value", [
    (whole(2), "2", 2), (positive, "1e-3", 0.001), (share, "0", 0.0), (not_negative, "0", 0.0),
    (share_kept, "1", 1.0), (seeds, "5,0-1,3", (5, 0, 1, 3)), (seeds, "7-7", (7,)),
    (seeds, "0-999", tuple(range(1000))), (picture, "B.SVG", "B.SVG"),
])
def test_values_are_parsed(read, text, value):
    assert read(text) == value


@pytest.mark.parametrize("read, text, expected", [
    (whole(2), "1", "an integer from 2 to"), (whole(0), "1.5", "an integer"),
    (positive, "nan", "a positive number"), (share, "1", "below 1"),
    (not_negative, "inf", "at least 0"), (share_kept, "0", "above 0"),
    (seeds, "2-0", "swap the two seeds: '0-2'"), (seeds, "0-2,1", "expected each seed once"),
    (seeds, "0-18446744073709551615", "at most 1,000 seeds"),
    (folders, "b,b", ", which repeats 'b'; expected f"), (folders, "b,", "'; expected folders"),
    (picture, "a.gif", ".png"), (picture, "no/folder.png", "does not exist; create it"),
])
def test_invalid_values_are_errors(read, text, expected):
    with pytest.raises(ValueError) as error:
        read(text)
    assert repr(text) in str(error.value) and expected in str(error.value)


# ---- commands -----------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_every_option_and_an_example_that_parses(command, capsys):
    with pytest.raises(SystemExit) as end:
        main([*command.split(), "--help"])
    printed = capsys.readouterr().out
    text = "".join(printed.split())
    assert end.value.code == 0 and "None" not in text and "-\n" not in printed
    example = f"{command} {COMMANDS[command].example}".strip()
    assert text.startswith(f"usage:numpy-attention{command.replace(' ', '')}[options]")
    assert f"example:numpy-attention{''.join(example.split())}" in text
    assert all("".join(title.split()) in text for title in COMMANDS[command].groups)
    for option in COMMANDS[command].options:
        assert "".join(option.help_text().split()) in text, option.name
    found, options = parse(example.replace('"in the beginning"', "beginning").split())
    assert found is COMMANDS[command] and options.command == command


def test_documentation_examples_parse():
    text = (ROOT / "docs/commands.md").read_text("utf-8")
    examples = re.findall(r"^(?:mpirun -n 9 )?numpy-attention (.*)$", text, re.M)
    assert len(examples) > 30
    for example in examples:
        parse(shlex.split(example, comments=True))


def test_options_between_positional_arguments():
    assert parse("recover a --words 2 b".split())[1].runs == ["a", "b"]
    assert parse("translate run a --beam 1 b -- -x".split())[1].sentence == ["a", "b", "-x"]


def test_train_defaults_to_a_translator():
    words = ["--corpus", "copy", "--epochs", "3"]
    assert parse(["train", *words]) == parse(["train", "translator", *words])
    assert parse(["train", "lm", *words])[1].command == "train lm"


@pytest.mark.parametrize("words", [
    ["--together-with", "a,b"], ["--together-with=a,b"], ["--together", "a,b"]])
def test_renamed_option_is_accepted_with_a_note(words, capsys):
    assert parse(["translate", "run", *words])[1].ensemble == ("a", "b")
    line = capsys.readouterr().err
    assert line.count("\n") == 1 and " is now --ensemble; the old name will be removed" in line
    assert parse(["translate", "run", "--ensemble", "a,b"])[1].ensemble == ("a", "b")
    assert capsys.readouterr().err == ""


def test_renamed_recipe_is_accepted_with_a_note(capsys):
    names = ["clauses-dot", "asks-previous-*"]
    assert parse(["compare", *names])[1].names == ["clauses-dot", "query-previous-*"]
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("words", ["", "train ", "train lm ", "evaluate "])
def test_help_imports_nothing_heavy(words):
    done = subprocess.run([sys.executable, "-X", "importtime", "-m", "numpy_attention",
                           *words.split(), "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "usage: numpy-attention" in done.stdout
    imported = {line.rpartition("|")[2].strip().partition(".")[0]
                for line in done.stderr.splitlines()}
    assert "argparse" in imported and not imported & {"numpy", "numba", "matplotlib"}


@pytest.mark.parametrize("words, text", [([], "train lm"), (["--version"], __version__)])
def test_help_or_version_without_a_command(words, text, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert not ended.value.code and text in capsys.readouterr().out


def test_additive_is_an_alias_of_concat():
    _, options = parse(["train", "--corpus", "bible-en-es", "--attention", "additive"])
    assert options.attention == "concat"


@pytest.mark.parametrize("words, message", [
    ("trian", "unknown command 'trian' (did you mean train?); see `numpy-attention --help`"),
    ("train copy", "use `train lm` for a language model, or `train"),
    ("train --text novel.txt", "--text novel.txt; see `numpy-attention train --help`, or "
                               "`numpy-attention train lm --help` for a language model"),
    ("translate RUN a --hidden 3",
     "unrecognized arguments: --hidden 3; see `numpy-attention translate --help`"),
    ("translate RUN --all a --hidden 3", "unrecognized arguments: a --hidden 3; see"),
    ("corpora", "ACTION"),
    ("exercise check", "the following arguments are required: NAME"),
    ("heatmap nowhere", "--output"),
    ("train --model transformed", "invalid choice: 'transformed'"),
    ("train --layers 1000000", "argument --layers: got '1000000'; expected an integer"),
    ("train --attention combined", "invalid choice: 'combined'"),
    ("train --warmup 3", "--warmup has no effect with --schedule constant; omit --warmup, or "
                         "choose --schedule warmup"),
    ("train --model luong --smoothing 0", "choose --model rnnsearch"),
    ("train --heads 2", "--heads has no effect with --attention concat"),
    ("train --subwords 40 --min-count 2", "--min-count has no effect with --subwords 40"),
    ("train --corpus copy --lowercase", "--lowercase has no effect with --corpus copy"),
    ("train --source a --target b --part x", "--part has no effect with --source a"),
    ("train lm --window 3", "choose --attention single, combined, attention, key-value or key-"),
    ("train lm --state sentence --steps 5", "choose --state carried or article"),
    ("train lm --cell gru --forget-bias 1", "choose --cell lstm"),
    ("train lm --parameters 3000 --hidden 9", "--hidden has no effect with --parameters 3000"),
    ("translate RUN --beam 1 --length-penalty 2", "with --beam 1"),
    ("evaluate RUN --text a --split test", "--split has no effect with --text a"),
    ("heatmap RUN a b --index 3 --output a.png", "--index has no effect with SENTENCE"),
    ("cloze RUN --lowercase", "--lowercase needs --questions"),
    ("cloze RUN --json --show 2", "--show has no effect with --json"),
    ("compare a b --seed 0 --seeds 0-1", "--seed has no effect with --seeds"),
])
def test_invalid_command_line_is_an_error(words, message):
    with pytest.raises(ValueError) as error:
        parse(words.split())
    assert message in str(error.value)


# ---- messages -----------------------------------------------------------------------------------


@pytest.mark.parametrize("message, flags", [
    ("allow more with max_length, or", "allow more with --max-length, or"),
    ("max_length=3; expected", "--max-length 3; expected"),
    ("count = 0; expected at least 1 pair", "--pairs 0; expected at least 1 pair"),
    ("size (30) must be divisible by heads (4)", "--hidden (30) must be divisible by --heads (4)"),
    ("no hidden state (see x), and no window", "no hidden state (see x), and no window"),
    ("/data/max_length/a.txt, max_length.csv", "/data/max_length/a.txt, max_length.csv"),
    ("{'input_feeding': True}", "{'input_feeding': True}"),
    ("the --max-length", "the --max-length"),
    ("Adam(learning_rate=0.001, beta1=0.9)", "Adam(learning_rate=0.001, beta1=0.9)"),
    ("pass other files as source and target", "pass other files with --source and --target"),
])
def test_arguments_become_flags(message, flags):
    assert in_flags(message, COMMANDS["train"].options) == flags


def test_messages_name_only_flags_of_the_command():
    assert in_flags("max_length, top_k", COMMANDS["translate"].options) == "max_length, --top-k"


@pytest.mark.parametrize("error, status, line", [
    (KeyboardInterrupt(), 130, "numpy-attention: interrupted\n"),
    (KeyboardInterrupt("stopped, saved to x"), 130, "numpy-attention: stopped, saved to x\n"),
    (MemoryError("9 TiB"), 2, "numpy-attention: error: not enough memory: 9 TiB; choose a smaller "
                              "--batch-size, --hidden or --embedding\n"),
    (ImportError("no x; install x"), 2, "numpy-attention: error: no x; install x\n"),
    (ImportError("no x", name="x"), 2, "numpy-attention: error: no x; install the missing "
                                       "library, or free memory if it is installed\n"),
    (FileNotFoundError("no x:\nlook"), 2, "numpy-attention: error: no x: look\n"),
    (ValueError("give valid_source"), 2, "numpy-attention: error: give --valid-source\n"),
    (ValueError("a" * 5000), 2, f"numpy-attention: error: {'a' * 40}…{'a' * 20}\n"),
])
def test_errors_are_reported_in_one_line(error, status, line, capsys, monkeypatch):
    def fails(options):
        raise error

    monkeypatch.setattr(cli, "import_module", lambda name: argparse.Namespace(train=fails))
    assert main(["train"]) == status
    assert capsys.readouterr().err == line


@pytest.mark.parametrize("command, values, shape, flags", [
    ("train lm", {"hidden": 20000, "batch_size": 20}, (20000, 80000), "--hidden"),
    ("train lm", {"hidden": 512, "batch_size": 2000}, (200000, 2048), "--batch-size, --hidden or"),
    ("train lm", {"hidden": 512, "batch_size": 20}, (171009, 512), "--hidden, --max-vocabulary"),
    ("train lm", {}, (7,), "--batch-size, --hidden or --embedding"),
    ("evaluate", {}, (7, 7), "--max-length, --pairs or --beam"),
    ("generate", {}, (7, 7), "--length"),
])
def test_memory_error_names_the_shape_and_options_to_reduce(command, values, shape, flags):
    error = MemoryError()
    error.shape, error.dtype = shape, np.dtype(np.float32)
    message = memory_message(error, COMMANDS[command].options, values)
    assert f"{4 * np.prod(shape, dtype=float) / 1e9:.3g} GB" in message
    assert f"choose a smaller {flags}" in message
    known = {one.flag for one in COMMANDS[command].options}
    assert set(re.findall(r"--[\w-]+", message)) <= known


def test_memory_error_without_options_to_reduce():
    threads = MemoryError("cannot start 64 threads")
    assert "smaller --threads" in memory_message(threads, COMMANDS["train"].options, {})
    assert "--" not in memory_message(MemoryError(), COMMANDS["heatmap"].options, {})
    error = MemoryError()
    error.shape, error.dtype = (36000000,), np.dtype(np.float32)
    assert "smaller model" in memory_message(error, COMMANDS["evaluate"].options, {})


def test_bug_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr(cli, "import_module", lambda name: {}["missing"])
    with pytest.raises(KeyError):
        main(["train"])


# ---- paths and repeated options ------------------------------------------------------------------


def test_existing_path_may_contain_commas(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes, 2026").mkdir()
    (tmp_path / "notes, 2026" / "mine.py").touch()
    assert files("notes, 2026/mine.py") == ("notes, 2026/mine.py",)
    assert files("a.py,notes, 2026/mine.py,b.py") == ("a.py", "notes, 2026/mine.py", "b.py")
    assert folders("notes, 2026,b") == ("notes, 2026", "b")


@pytest.mark.parametrize("words, advice", [
    ("train lm --text a --text b", "--text.* given twice.* `cat a b > c`"),
    ("train --source a --source b --target c", "--source.* each side first, in the same order"),
    ("evaluate run --code a.py --code b.py", "--code.* by commas"),
    ("train --corpus a --corpus b", "--corpus.* given twice"),
    ("train lm --text a.txt b.txt", "b.txt.* one file.* `cat a b > c`"),
])
def test_text_given_twice_is_an_error(words, advice):
    with pytest.raises(ValueError, match=advice):
        parse(words.split())


def test_last_of_repeated_numbers_is_used():
    assert parse("train lm --text a --epochs 1 --epochs 2".split())[1].epochs == 2


@pytest.mark.parametrize("folder", ["-x", "a b,c", "it's"])
@pytest.mark.parametrize("text", ["-- no", "-x", "--help", "« é \" '", "plain"])
def test_suggested_command_is_quoted_for_the_shell(folder, text, capsys):
    code = SimpleNamespace(code=SimpleNamespace(path=Path("-mine.py")))
    for run in (SimpleNamespace(own={}), SimpleNamespace(own={"mine": code})):
        print_next(run, "translate", Path(folder), text)
        print_next(run, "generate", Path(folder), "--prompt", text)
        translate, generate = (parse(shlex.split(line)[2:])[1]
                               for line in capsys.readouterr().out.splitlines())
        assert Path(translate.run) == Path(generate.run) == Path(folder)
        assert translate.sentence == [text] and generate.prompt == text
        assert translate.code == (("./-mine.py",) if run.own else None)


# ---- machines -----------------------------------------------------------------------------------


def test_matplotlib_is_imported_only_for_plots():
    modules = ", ".join(f"numpy_attention.cli.{path.stem}"
                        for path in (ROOT / "numpy_attention" / "cli").glob("*.py"))
    script = (f"import sys, {modules}; print('matplotlib' in sys.modules); "
              "from numpy_attention import plotting; import numpy_attention.plotting.diagram; "
              "print(callable(plotting.save), callable(plotting.diagram))")
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["False", "True", "True"]


def test_library_warning_is_one_line_and_printed_once():
    files = (f"{cli.PACKAGE}/a.py", f"{cli.PACKAGE}/b.py", "mine.py")
    with cli.short_warnings():
        texts = [warnings.formatwarning("no folder", RuntimeWarning, file, 3) for file in files]
    assert texts == ["numpy-attention: no folder\n", "", "mine.py:3: RuntimeWarning: no folder\n"]
