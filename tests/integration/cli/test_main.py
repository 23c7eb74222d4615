"""Errors of the library are reported in one line with flags, and leave no files behind."""

import pytest
from cli_runs import SMALL, failure

COPY = "train --corpus copy "
REFUSED = [
    ("train", "no text to train on; specify --corpus NAME"),
    ("train lm", "or --text FILE"),
    ("train --corpus nix", "'nix' is unknown"),
    ("train --corpus ptb", "it is for numpy-attention train lm"),
    ("train lm --corpus copy", "it is for numpy-attention train;"),
    ("train --corpus bible-en-es --part psalms", "psalms"),
    ("train --source a --target b", "does not exist"),
    ("train --source /dev/zero --target b", "is a device"),
    (COPY + "--max-length 1000000000", "≤ 1,000"),
    (COPY + "--pairs 50 --min-count 99999", "leaves no token"),
    (COPY + "--schedule linear --epochs 1000000000", "--epochs 1000000000 is too large"),
    (COPY + "--attention dot", "choose --attention 'general' or 'scaled-dot'"),
    (COPY + "--model transformer --heads 3", "heads"),
    (COPY + "--model luong --attention location --window local-p", "words in a window. Choose"),
    ("train --corpus dates --pairs 50 --subwords 60", "the corpus 'dates' is split into char"),
    (COPY + "--run file", "file is a file; choose a folder with --run"),
    ("translate nowhere hello", "no checkpoint at nowhere"),
    ("evaluate nowhere", "no checkpoint"),
    ("translate file hello", "no checkpoint at file/checkpoint.npz; pass a run's folder"),
    ("gradcheck Transformatron", "no gradient check is named Transformatron"),
    ("gradcheck GRU --seconds 3", "--seconds has an effect only with a user-defined class"),
    ("corpora show nix", "unknown"),
    ("reproduce", "no recipe specified"),
    ("reproduce nix", "unknown recipe 'nix'"),
]


@pytest.mark.parametrize("words, message", REFUSED)
def test_errors(words, message, capsys, here):
    (here / "file").write_text("")
    assert message in failure(capsys, *words.split())
    assert [path.name for path in here.iterdir()] == ["file"]


@pytest.mark.parametrize("source, target, message", [
    ("x\ny z\n", "x\n", "line 2 has no partner"),
    ("x\n\n", "x\ny\n", "or pass --skip-blank to leave out such lines, 1 of 2"),
    (b"\xff\xfe\n", "x\n", "UTF-16"),
    ("x\nx\n", "y\nz\n", "needs at least 2. Add more text, or pass "
                         "--valid-source and --valid-target"),
])
def test_malformed_files(here, source, target, message, capsys):
    for name, text in (("a.txt", source), ("b.txt", target)):
        (here / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    files = ["--source", "a.txt", "--target", "b.txt"]
    assert message in failure(capsys, "train", *files, "--min-count", "1", *SMALL)
    assert not (here / "runs").exists()


@pytest.mark.parametrize("words, message", [
    ("--text nowhere.txt", "does not exist"),
    ("--text own.txt --characters --tokenize",
     "--tokenize (into words) and --characters (into single characters) cannot both"),
    ("--text empty.txt", "contains no text"),
    ("--text latin.txt", "not UTF-8"),
    ("--text one.txt", "or pass --valid-text"),
    ("--text own.txt --batch-size 400", "343 tokens is too short for --batch-size 400"),
    ("--text own.txt --vectors own.txt", "line 1 has no numbers after 'red'"),
    ("--text own.txt --freeze-vectors", "--freeze-vectors needs --vectors"),
    ("--text own.txt --state article", "is not divided into articles"),
    ("--text own.txt --hidden 8 --embedding 9", "8 and --embedding 9 must be equal with tied"),
    ("--text own.txt --attention key-value-predict --hidden 8", "--hidden 8; expected a multiple"),
    ("--text own.txt --parameters 3", "3 parameters are too few"),
    ("--text own.txt --attention multi-head", "multi-head"),
])
def test_language_model_errors(words, message, here, capsys):
    (here / "own.txt").write_text("".join(f"red green {n % 4} blue it's\n" for n in range(60)))
    (here / "empty.txt").write_text(" \n\n")
    (here / "latin.txt").write_bytes("é\n".encode("latin-1"))
    (here / "one.txt").write_text("a b c\n")
    assert message in failure(capsys, "train", "lm", *words.split())
    assert not (here / "runs").exists()


@pytest.mark.parametrize("damage", [lambda data: data[:len(data) // 2], lambda data: b"no archive"])
@pytest.mark.parametrize("command", ["translate {} 1", "train --corpus copy --run {}"])
def test_damaged_checkpoint_is_reported_and_kept(runs, command, damage, capsys, tmp_path):
    data = damage((runs / "copy/checkpoint.npz").read_bytes())
    (tmp_path / "checkpoint.npz").write_bytes(data)
    assert "checkpoint.npz" in failure(capsys, *command.format(tmp_path).split())
    assert (tmp_path / "checkpoint.npz").read_bytes() == data


@pytest.mark.parametrize("words, message", [
    ("translate plain red", "language model; expected the folder of a translator"),
    ("generate copy", "translator; expected the folder of a language model"),
    ("cloze copy", "translator; expected the folder of a language model"),
    ("evaluate plain --beam 3", "--beam is only for a translator, but plain holds a language"),
    ("evaluate copy --text own.txt", "--text is only for a language model, but copy holds a tra"),
    ("ablate plain --pairs 3", "--pairs is only for a translator"),
])
def test_run_of_the_other_kind(words, message, runs, capsys, monkeypatch):
    monkeypatch.chdir(runs)
    assert message in failure(capsys, *words.split())
