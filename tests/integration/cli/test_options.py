"""What --help says is what the library does: an option's name, its choices, its default.

For each model and each training: what the command line offers is a parameter of `create` or a field
of the training, it may be what registry.py says, and the default that help prints is what arrives.
"""

import os
import re
import subprocess
import sys
from dataclasses import fields
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
from cli_runs import given

from numpy_attention import registry
from numpy_attention.attention.config import AttentionConfig
from numpy_attention.attention.readout_config import ReadoutConfig
from numpy_attention.cli.entry import By, written
from numpy_attention.cli.language_models import model_of, training_for
from numpy_attention.cli.main import COMMANDS, main, parser
from numpy_attention.cli.training_options import LANGUAGE_MODEL, TRANSLATOR
from numpy_attention.data.running_text import Text
from numpy_attention.registry import LANGUAGE_MODELS, SMALL_MODEL_DEFAULTS, TRANSLATORS, resolve
from numpy_attention.experiments.runs.translator import Translator
from numpy_attention.training.settings import TranslatorTraining, LanguageModelTraining

ROOT = Path(__file__).resolve().parents[3]
TEXT = Text([[["a", "b"], ["a", "c", "a"], ["b"]]])
TABLES = {
    "model": registry.TRANSLATORS, "attention": registry.SCORES, "window": registry.WINDOWS,
    "cell": registry.CELLS, "init": registry.INITIAL_VALUES, "readout": registry.READOUTS,
    "reset": registry.RESETS, "update": registry.UPDATES, "query": registry.QUERIES,
    "optimizer": registry.OPTIMIZERS, "schedule": registry.SCHEDULES, "state": registry.STATES,
    "activation": registry.ACTIVATIONS,
}


def help_of(command):
    """{option: what --help prints of it} of a command, in one line each."""
    text = parser()._subparsers._group_actions[0].choices[command].format_help()
    found = {}
    for block in re.split(r"\n(?=  -)", text):
        words = " ".join(block.split("\n\n")[0].split())
        name = re.match(r"--([\w-]+)", words)
        if name:
            found[name[1].replace("-", "_")] = words
    return found


def printed(command, name, value=None):
    """The default that --help prints of an option; value: of what it goes by."""
    default = re.search(r"\(default: (.*)\)$", help_of(command)[name])
    if default is None:
        return ""
    for what, values in re.findall(r"(\S+) for (.+?)(?=, \S+ for |$)", default[1]):
        if value in re.split(", | and ", values):
            return what
    return default[1]


def option_of(options, name):
    return next(option for option in options if option.name == name)


# ---- translators --------------------------------------------------------------------------------

OFFERED = [(model, option.name, option.called.get(model, option.name))
           for option in TRANSLATOR if isinstance(option.default, By)
           for model in option.default.values]


def parameters_of(model, table, choice):
    """{name: default} of what a model's `create` takes: its own, its base's, its attention's."""
    taken = {}
    for kind in reversed(resolve("model", model, table).mro()):
        if "create" in vars(kind):
            taken |= {name: one.default for name, one in signature(kind.create).parameters.items()}
    if "attention" in taken:
        taken |= {one.name: one.default for one in fields(choice)}
    return taken


def translators(model):
    return parameters_of(model, TRANSLATORS, AttentionConfig)


def language_models(model):
    return parameters_of(model, LANGUAGE_MODELS, ReadoutConfig)


def test_every_model_is_offered():
    assert list(option_of(TRANSLATOR, "model").choices) == list(TRANSLATORS) == list(SMALL_MODEL_DEFAULTS)


@pytest.mark.parametrize("model", TRANSLATORS)
def test_every_setting_is_an_option_or_fixed(model):
    offered = {setting for name, _, setting in OFFERED if name == model}
    fixed = {"transformer": {"pre_norm"}}
    assert offered | fixed.get(model, set()) == SMALL_MODEL_DEFAULTS[model].keys()


@pytest.mark.parametrize("model, setting", [(model, setting) for model, _, setting in OFFERED] + [
    ("transformer", "pre_norm")])
def test_create_takes_every_option(model, setting):
    assert setting in translators(model)


@pytest.mark.parametrize("command", ["train", "train lm"])
def test_choices_are_those_of_names(command):
    for option in COMMANDS[command].options:
        if option.name == "attention" and command == "train lm":
            assert list(option.choices) == ["none", *registry.HISTORY_READOUTS]
        elif option.choices:
            assert list(option.choices) == list(TABLES[option.name]), option.name
        elif option.name in TABLES:                 # a number of a language model's
            assert command == "train lm" and option.name in ("window", "init")


@pytest.mark.parametrize("model", TRANSLATORS)
def test_help_prints_what_create_gets(model, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    got = {}
    defaults = translators(model)

    def create(rng, source, target, **settings):
        got.update(settings)
        raise ValueError("seen")

    monkeypatch.setattr(resolve("model", model, TRANSLATORS), "create", create)
    assert main(["train", "--corpus", "copy", "--pairs", "9", "--model", model]) == 2
    assert capsys.readouterr().err == "numpy-attention: error: seen\n"
    for name, option, setting in OFFERED:
        if name == model:
            value = got.get(setting, defaults[setting])
            assert printed("train", option, model) == written(value), option


# ---- language models ----------------------------------------------------------------------------


@pytest.mark.parametrize("attention, name", [
    ("none", "language-model"), *((name, "attentive-language-model") for name in registry.HISTORY_READOUTS)])
def test_help_prints_what_a_language_model_gets(attention, name):
    options = given(f"train lm --corpus x --attention {attention}")
    found, settings = model_of(options, TEXT, training_for(options, TEXT))
    assert found == name and settings.keys() <= language_models(name).keys()
    for option in LANGUAGE_MODEL:
        if option.name in settings and option.name not in ("attention", "hidden"):
            default = printed("train lm", option.name)
            assert default.split(",")[0] == written(settings[option.name]), option.name
    assert settings["embedding"] == 200
    resolve("model", name, LANGUAGE_MODELS).create(np.random.default_rng(0), 9, **settings)


def test_every_option_of_a_language_model_is_one_of_create():
    taken = {name for model in LANGUAGE_MODELS for name in language_models(model)}
    assert {option.name for option in LANGUAGE_MODEL} - taken == {"parameters"}


# ---- training -----------------------------------------------------------------------------------


def training_that(command, words, monkeypatch):
    """The training that a command really makes of its options."""
    if command == "train lm":
        return training_for(given(f"train lm --corpus x {words}"), TEXT)
    seen = []

    def create(pairs, model, settings, training, *rest):
        seen.append(training)
        raise ValueError("seen")

    monkeypatch.setattr(Translator, "create", create)
    assert main(f"train --corpus copy --pairs 9 {words}".split()) == 2
    return seen[0]


@pytest.mark.parametrize("command, training", [
    ("train", TranslatorTraining), ("train lm", LanguageModelTraining)])
def test_every_field_that_is_offered_is_an_option(command, training):
    offered = {one.name: one for one in fields(training) if one.metadata["offered"]}
    hidden = {one.name for one in fields(training)} - offered.keys()
    options = {option.name: option for option in COMMANDS[command].options}
    assert offered.keys() <= options.keys() and not hidden & options.keys()
    for name, one in offered.items():
        assert options[name].help == one.metadata["help"]
        assert tuple(options[name].choices) == one.metadata["values"].choices


@pytest.mark.parametrize("words", ["", "--schedule decay", "--schedule warmup"])
@pytest.mark.parametrize("command", ["train", "train lm"])
def test_help_prints_what_a_training_gets(command, words, monkeypatch):
    training = training_that(command, words, monkeypatch)
    by_schedule = {"full_epochs": "decay", "divisor": "decay", "warmup": "warmup"}
    for one in fields(training):
        if one.name == "schedule" or not one.metadata["offered"]:
            continue
        value = getattr(training, one.name)
        default = printed(command, one.name, training.optimizer)
        if by_schedule.get(one.name, training.schedule) != training.schedule:
            assert value == one.default             # it belongs to another schedule
        elif value is False:
            assert default == ""
        else:
            assert default.split(",")[0] == written(value), one.name


@pytest.mark.parametrize("optimizer", registry.OPTIMIZERS)
@pytest.mark.parametrize("command", ["train", "train lm"])
def test_the_learning_rate_is_the_optimizers_own(command, optimizer, monkeypatch):
    training = training_that(command, f"--optimizer {optimizer}", monkeypatch)
    own = resolve("optimizer", optimizer, registry.OPTIMIZERS)().learning_rate
    assert training.learning_rate == own == float(printed(command, "learning_rate", optimizer))


# ---- what is added to registry.py ------------------------------------------------------------------

ADDED = """
from numpy_attention import registry
registry.SCORES["my-score"] = registry.SCORES["dot"]
registry.WINDOWS["my-window"] = registry.WINDOWS["local-m"]
registry.CELLS["my-cell"] = registry.CELLS["rnn"]
registry.HISTORY_READOUTS += ("my-reader",)
class Mine:
    learning_rate = 0.125
registry.OPTIMIZERS["my-optimizer"] = Mine
registry.TRANSLATORS["my-model"] = registry.TRANSLATORS["luong"]
registry.SMALL_MODEL_DEFAULTS["my-model"] = {"hidden": 24, "attention": "general"}

from numpy_attention.cli.main import parse
words = "train --model luong --attention my-score --window my-window --width 3 --cell my-cell"
options = parse([*words.split(), "--optimizer", "my-optimizer"])[1]
from numpy_attention.cli.shared import training_of
from numpy_attention.cli.translators import settings_of
from numpy_attention.training.settings import TranslatorTraining
settings = settings_of(options)
assert (settings["attention"], settings["window"]) == ("my-score", "my-window"), settings
assert settings["cell"] == "my-cell"
training = training_of(TranslatorTraining, options)
assert (training.optimizer, training.learning_rate) == ("my-optimizer", 0.125)
options = parse("train lm --attention my-reader --cell my-cell --window 3".split())[1]
assert (options.attention, options.cell, options.window) == ("my-reader", "my-cell", 3)
assert parse(["train", "--model", "my-model"])[1].hidden == 24
assert parse(["train", "--model", "my-model"])[1].dropout is None
"""


def test_what_is_added_to_names_is_offered():
    """A score, a window, a cell, a reader, an optimizer, a model: nothing in cli/ has to change."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", ADDED], env=environment, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("option, table", [
    ("attention", registry.SCORES), ("window", registry.WINDOWS), ("cell", registry.CELLS)])
def test_a_table_that_grows_later_is_offered_too(option, table, monkeypatch):
    monkeypatch.setitem(table, "mine", next(iter(table.values())))
    assert getattr(given(f"train --model luong --{option} mine"), option) == "mine"
