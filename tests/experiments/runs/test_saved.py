"""Contents of a run's checkpoint: renamed settings, and errors that name both versions."""

import json

import numpy as np
import pytest

from numpy_attention import __version__
from numpy_attention.data.pairs import Pair
from numpy_attention.experiments.runs.resume import check_same
from numpy_attention.experiments.runs.saved import Limited, upgraded
from numpy_attention.experiments.runs.translator import Translator, TranslatorTraining

PAIRS = [Pair(("a", "b"), ("x", "y")), Pair(("b",), ("y", "x")), Pair(("b", "a", "a"), ("x",))]


def translator_of():
    settings = dict(hidden=4, embedding=3, init="modern")
    training = TranslatorTraining(epochs=1, batch_size=2)
    return Translator.create(PAIRS, "rnnsearch", settings, training)


@pytest.fixture
def folder(tmp_path):
    translator_of().fit(PAIRS, PAIRS, tmp_path, 1, progress=False)
    return tmp_path


def rewrite(folder, change, version=None):
    """Change a checkpoint's JSON and set its version; None removes the version."""
    path = folder / "checkpoint.npz"
    with np.load(path) as file:
        contents = dict(file)
    about = json.loads(bytes(contents["about"]))
    assert about.pop("version") == __version__
    if version is not None:
        about["version"] = version
    change(about)
    contents["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    np.savez(path, **contents)


def test_renamed_settings():
    """A Transformer's and Luong's settings as written by 0.1."""
    settings = {"hidden": 4, "first": True, "D": 2}
    before = {"name": "luong", "settings": settings, "training": {"D": 1}}
    now = upgraded(before)
    assert now == before | {"settings": {"hidden": 4, "pre_norm": True, "width": 2}}
    assert upgraded(now) == now
    assert settings == {"hidden": 4, "first": True, "D": 2}


@pytest.mark.parametrize("name, settings, renamed", [
    ("luong", dict(hidden=4, embedding=3, layers=1, window="local-p", width=1), {"width": "D"}),
    ("transformer", dict(size=4, layers=1, heads=2, pre_norm=True), {"pre_norm": "first"}),
    ("hard-rnnsearch", dict(hidden=4, embedding=3, attention="general", soft=0.5), {}),
])
def test_model_is_built_from_old_setting_names(name, settings, renamed, tmp_path):
    def untrained():
        training = TranslatorTraining(epochs=1, batch_size=2)
        return Translator.create(PAIRS, name, settings, training)
    untrained().fit(PAIRS, PAIRS, tmp_path, 1, progress=False)
    vector = Translator.load(tmp_path).model.vector
    old = {renamed.get(setting, setting): value for setting, value in settings.items()}
    rewrite(tmp_path, lambda about: about["about"].update(settings=old))
    again = Translator.load(tmp_path)
    assert again.settings == settings and np.array_equal(again.model.vector, vector)
    resumed = untrained().fit(PAIRS, PAIRS, tmp_path, 1, progress=False)
    assert np.array_equal(resumed.model.vector, vector)


def test_run_of_the_previous_version_loads_and_resumes(folder):
    rewrite(folder, lambda about: None)
    before = Translator.load(folder)
    assert check_same(folder, translator_of())
    again = Translator.load(folder).fit(PAIRS, PAIRS, folder, 1, progress=False)
    assert np.array_equal(again.model.vector, before.model.vector)


def unknown_training(about):
    about["about"]["training"]["momentum"] = 0.9


def unknown_setting(about):
    about["about"]["settings"]["fertility"] = 2


def unknown_model(about):
    about["about"]["name"] = "perceptron"


@pytest.mark.parametrize("change, reason, resumes", [
    (unknown_training, "momentum", False),
    (unknown_setting, "fertility", True), (unknown_model, "model 'perceptron'", True),
])
@pytest.mark.parametrize("version, named", [
    (None, "try another version"), ("9.1", f"version 9.1, and you are running {__version__}")])
def test_unknown_contents_name_both_versions(
        folder, change, reason, resumes, version, named):
    rewrite(folder, change, version)
    message = f"(?s)cannot be loaded.*{reason}.*{named}"
    with pytest.raises(ValueError, match=message) as error:
        Translator.load(folder)
    assert "\n" not in str(error.value)
    before = (folder / "checkpoint.npz").read_bytes()
    other = "different settings" if resumes else message        # settings are compared first
    with pytest.raises(ValueError, match=other):
        translator_of().fit(PAIRS, PAIRS, folder, 1, progress=False)
    assert (folder / "checkpoint.npz").read_bytes() == before


def test_random_numbers_of_a_model_are_limited():
    """The limit is 1000 numbers plus four per saved parameter."""
    def rng():
        return Limited({"parameters/b": np.zeros(10)})

    plain = np.random.Generator(np.random.PCG64(0))
    whole = rng()
    assert np.array_equal(whole.uniform(size=1040), plain.uniform(size=1040))
    with pytest.raises(ValueError, match="far larger"):
        rng().uniform(-1, 1, (2**32, 2**32))
    for draw in (whole.uniform, whole.standard_normal):
        with pytest.raises(ValueError, match="10 parameters are saved, but the saved"):
            draw()
    one = rng()
    assert np.isscalar(one.standard_normal()) and one.uniform(-1, 1, 1039).shape == (1039,)
    with pytest.raises(ValueError, match="far larger"):
        one.standard_normal()


def test_other_format_names_both_versions(folder):
    rewrite(folder, lambda about: about.update(format=2), "9.1")
    message = f"format 2; expected 1. .*written by version 9.1, and you are running {__version__}"
    with pytest.raises(ValueError, match=message):
        Translator.load(folder)
    with pytest.raises(ValueError, match=message):
        check_same(folder, translator_of())


def test_parameters_of_another_model(folder):
    path = folder / "checkpoint.npz"
    with np.load(path) as file:
        contents = dict(file)
    kept = {name: array for name, array in contents.items() if not name.startswith("best/decoder")}
    np.savez(path, **kept)
    with pytest.raises(ValueError, match="cannot be loaded.*missing.*. Use another copy, or train"):
        Translator.load(folder)
