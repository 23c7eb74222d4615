"""Runs with a user-defined class: what is saved, and that code runs only on request."""

import copy
import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
from custom_files import CELL, MINE, PAST, changed, written

from numpy_attention.custom.code import read
from numpy_attention.custom.kinds import custom_class
from numpy_attention.data.pairs import Pair
from numpy_attention.data.running_text import Text
from numpy_attention.experiments.runs.custom_code import is_own
from numpy_attention.experiments.runs.ensemble import load_ensemble
from numpy_attention.experiments.runs.language_model_run import (
    LanguageModelRun,
    LanguageModelTraining,
)
from numpy_attention.experiments.runs.resume import check_same
from numpy_attention.experiments.runs.translator import Translator, TranslatorTraining

PAIRS = [Pair(("a", "b"), ("x", "y")), Pair(("b",), ("y", "x")), Pair(("b", "a", "a"), ("x",))]
TEXT = Text([[["a", "b", "c"], ["b", "a"]], [["c", "c", "a", "b"]]], has_articles=True)
RAN = "\nopen(__file__ + '.ran', 'a').write('x')\n"


def made(kind, name="luong", **settings):
    settings = dict(hidden=4, embedding=3, init="modern", attention=kind) | settings
    training = TranslatorTraining(epochs=1, batch_size=2)
    return Translator.create(PAIRS, name, settings, training)


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "code").mkdir()
    return written(tmp_path / "code", MINE + RAN)


@pytest.fixture
def folder(mine, tmp_path):
    """Return the folder of a run with a user-defined class, whose file has not been run since."""
    made(custom_class(str(mine))).fit(PAIRS, PAIRS, tmp_path / "run", 1, progress=False)
    mine.with_name("mine.py.ran").unlink()
    return tmp_path / "run"


def ran(mine):
    return mine.with_name("mine.py.ran").exists()


def rewrite(folder, change):
    path = folder / "checkpoint.npz"
    with np.load(path) as file:
        contents = dict(file)
    about = json.loads(bytes(contents["about"]))
    change(about["about"])
    contents["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    np.savez(path, **contents)


@pytest.mark.parametrize("name", ["luong", "rnnsearch"])
def test_saved_configuration(name, mine):
    translator = made(custom_class(str(mine)), name)
    kept = translator.configuration()
    assert kept["settings"]["attention"] == "mine.py:Mine"
    assert kept["own"] == {"mine.py:Mine": read(mine).digest}
    assert str(mine.parent) not in json.dumps(kept)
    assert type(translator.model.attention).__name__ == "Mine"
    assert "own" not in made("dot").configuration()


def test_load_with_a_file_or_a_class(mine, folder):
    kind = custom_class(str(mine))
    vectors = [Translator.load(folder, code).model.vector
               for code in ([mine], str(mine), mine, kind, (folder / "mine.py", mine))]
    assert all(np.array_equal(one, vectors[0]) for one in vectors)
    again = Translator.load(folder, [mine])
    assert again.own["mine.py:Mine"].code.digest == read(mine).digest
    before = again.model.vector.copy()
    again.fit(PAIRS, PAIRS, folder, 1, progress=False)
    assert np.array_equal(again.model.vector, before)
    assert load_ensemble(Translator, [folder, folder], [mine]).model.size


@pytest.mark.parametrize("code", [None, (), "other"])
def test_load_without_code_runs_nothing(code, mine, folder, monkeypatch):
    monkeypatch.chdir(mine.parent)              # even if the file is in the current folder
    advice = "which is not run without your consent; inspect it"
    if code == "other":
        code = [written(mine.parent, MINE + RAN, "other.py")]
        advice = "but you passed other.py; inspect the code of the run"
    with pytest.raises(ValueError) as error:
        Translator.load(folder, code)
    assert str(error.value) == (
        f"{folder} was trained with the user-defined code mine.py:Mine, {advice}, then pass "
        "code = 'mine.py'")
    assert not ran(mine) and not (mine.parent / "other.py.ran").exists()


def test_changed_file_raises_and_is_not_run(mine, folder):
    then = read(mine).digest[:8]
    mine.write_text(MINE + RAN + "# more\n")
    now = read(mine).digest[:8]
    with pytest.raises(ValueError) as error:
        Translator.load(folder, [mine])
    assert str(error.value) == (
        f"mine.py has changed since {folder} was trained: its SHA-256 began with {then} "
        f"and now begins with {now}. The run kept a copy; inspect it, then "
        f"pass code = {str(folder / 'mine.py')!r}")
    assert not ran(mine)
    with pytest.raises(ValueError, match="SHA-256"):
        Translator.load(folder, [custom_class(str(mine))])
    assert Translator.load(folder, [folder / "mine.py"]).name == "luong"
    (folder / "mine.py").write_text("x")
    with pytest.raises(ValueError, match="Restore the original file, or train again in another f"):
        Translator.load(folder, [mine])
    (folder / "mine.py").unlink()
    with pytest.raises(ValueError, match="Restore the original file, or train again in another f"):
        Translator.load(folder, [mine])


def test_run_without_custom_code(tmp_path):
    made("dot").fit(PAIRS, PAIRS, tmp_path, 1, progress=False)
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.npz"]
    assert Translator.load(tmp_path, [tmp_path / "whatever.py"]).own == {}


def test_resume_requires_the_same_file(mine, folder):
    assert check_same(folder, made(custom_class(str(mine))))
    mine.write_text(MINE + "# more\n")
    with pytest.raises(ValueError, match="SHA-256 of mine.py:Mine was [0-9a-f]{8} and is "
                                         "now [0-9a-f]{8}"):
        check_same(folder, made(custom_class(str(mine))))
    with pytest.raises(ValueError, match="attention was mine.py:Mine and is now dot"):
        check_same(folder, made("dot"))


def test_file_in_the_run_folder_is_kept(folder):
    kept = folder / "mine.py"
    before = kept.read_bytes()
    made(custom_class(str(kept))).fit(PAIRS, PAIRS, folder, 1, progress=False)
    assert kept.read_bytes() == before
    assert sorted(path.suffix for path in folder.iterdir()) == [".npz", ".py", ".ran"]


def test_two_files_with_the_same_name(mine, tmp_path):
    cell = custom_class(str(written(tmp_path, CELL, "mine.py")))
    with pytest.raises(ValueError, match="another file named mine.py is used too; rename one"):
        made(custom_class(str(mine)), cell=cell)


def test_language_model_with_a_custom_score_and_cell(tmp_path):
    files = [written(tmp_path, PAST, "past.py"), written(tmp_path, CELL, "cell.py")]
    score, cell = map(custom_class, map(str, files))
    settings = dict(hidden=6, embedding=6, attention=score, cell=cell)
    how = LanguageModelTraining(epochs=1, batch_size=2, steps=2)
    writer = LanguageModelRun.create(TEXT, "attentive-language-model", settings, how)
    reader = writer.model.reader
    assert type(reader.attention) is score and (reader.parts, reader.b) == (1, None)
    assert all(type(one) is cell for one in writer.model.cells.cells)
    writer.fit(TEXT, TEXT, tmp_path / "run", 1, progress=False)
    again = LanguageModelRun.load(tmp_path / "run", ",".join(map(str, files)))
    assert np.array_equal(again.model.vector, writer.model.vector)
    assert again.settings["cell"] == "cell.py:MinimalGatedUnit"
    with pytest.raises(ValueError, match="past.py:Past and cell.py:MinimalGatedUnit, but you "
                                         "passed past.py; .* code = 'past.py,cell.py'$"):
        LanguageModelRun.load(tmp_path / "run", files[:1])


# ---- forged checkpoints --------------------------------------------------------------------------

DIGEST = "0123456789abcdef" * 4


@pytest.mark.parametrize("own, good", [
    ({"mine.py:Mine": DIGEST, "mine.py:B": DIGEST}, True),
    ({"mine.py:Mine": DIGEST, "mine.py:B": DIGEST[::-1]}, False),
    ({f"m{n}.py:A": DIGEST for n in range(8)}, True),
    ({f"m{n}.py:A": DIGEST for n in range(9)}, False),
    ({}, False), ("mine.py:Mine", False), ({"mine.py:Mine": DIGEST + "\n"}, False),
    ({"mine.py:Mine": 3}, False), ({"../mine.py:Mine": DIGEST}, False),
    ({"$(rm x).py:Mine": DIGEST}, False), ({"mine.py": DIGEST}, False),
])
def test_valid_names_and_digests(own, good):
    assert is_own(own) is good


def test_inconsistent_names(mine, folder):
    rewrite(folder, lambda about: about["own"].update({"mine.py:Other": about["own"].popitem()[1]}))
    with pytest.raises(ValueError, match="code that no setting uses: mine"):
        Translator.load(folder, [mine])
    rewrite(folder, lambda about: about.pop("own"))
    with pytest.raises(ValueError, match="attention 'mine.py:Mine'; expected one of dot, general"):
        Translator.load(folder, [mine])
    assert not ran(mine)


def test_arrays_of_another_class(folder, mine, tmp_path):
    """The name and digest match, but the class has no such arrays."""
    text = changed("    W: Array", "    V: Array", MINE.replace("self.W", "self.V"))
    other = written(tmp_path, text, "mine.py")
    rewrite(folder, lambda about: about["own"].update({"mine.py:Mine": read(other).digest}))
    with pytest.raises(ValueError, match="cannot be loaded: these parameters do not fit t"):
        Translator.load(folder, [other])


def test_run_can_be_copied_and_pickled(mine, tmp_path):
    run = made(custom_class(str(mine)))
    sentence = ["a", "b", "a"]
    expected = run.translate([sentence])[0].log_probability
    for twin in (copy.deepcopy(run), pickle.loads(pickle.dumps(run))):
        assert twin.translate([sentence])[0].log_probability == expected
        assert twin.own["mine.py:Mine"].kind is run.own["mine.py:Mine"].kind
        assert not np.shares_memory(twin.model.vector, run.model.vector)
    (tmp_path / "run.pickle").write_bytes(pickle.dumps((run.model, run)))
    script = ("import pickle, sys; model, run = pickle.load(open(sys.argv[1], 'rb')); "
              "print(run.translate([['a', 'b', 'a']])[0].log_probability, model.size)")
    found = subprocess.run([sys.executable, "-c", script, str(tmp_path / "run.pickle")],
                           capture_output=True, text=True, check=True).stdout.split()
    assert found == [str(expected), str(run.model.size)]
