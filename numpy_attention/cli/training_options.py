"""The options of `train` and `train lm`: of a model, and of its training.

Translators' models and their defaults come from registry.SMALL_MODEL_DEFAULTS, what a training may be from
training/settings.py. For one more option, name it as the library names its argument, and then,

    of a translator's model     its default in registry.SMALL_MODEL_DEFAULTS, a line `of_models(…)` in TRANSLATOR
    of a language model         a line `Option(…)` in LANGUAGE_MODEL
    of a training               a field in training/settings.py, and nothing here
    of another command          a line in its groups; the command reads options.NAME
"""

from dataclasses import fields, replace
from typing import Any

from numpy_attention import registry
from numpy_attention.cli.entry import Against, By, Group, Option, With, Without
from numpy_attention.cli.options import (
    Conditions, MOST_LAYERS, PARALLEL, PREPARED, RUNNING, THREADS, VALID_PARALLEL)
from numpy_attention.cli.values import not_negative, positive, share, whole
from numpy_attention.training.settings import Training, TranslatorTraining, LanguageModelTraining

# ---- translators' models ------------------------------------------------------------------------


def of_models(name: str, help: str, only: Conditions = (), **more: Any) -> Option:
    """A setting of the models that have it in registry.SMALL_MODEL_DEFAULTS, with its defaults there."""
    called = more.get("called", {})
    defaults = {}
    for model, settings in registry.SMALL_MODEL_DEFAULTS.items():
        setting = called.get(model, name)
        if setting in settings:
            defaults[model] = settings[setting]
    if defaults.keys() != registry.SMALL_MODEL_DEFAULTS.keys():
        only = [With("model", list(defaults), "--model {} has none"), *only]
    return Option(name, help, default=By("model", defaults), only=only, **more)


TRANSLATOR = (
    Option("model", "GRUs with additive attention (Bahdanau), the same with one fixed vector, "
           "Luong's family, or a Transformer (normalisation first)", default="rnnsearch",
           choices=registry.TRANSLATORS),
    of_models("hidden", "size of the states", read=whole(2), called={"transformer": "size"}),
    of_models("embedding", "size of the word vectors", read=whole(1)),
    of_models("layers", "of encoder and of decoder", read=whole(1, MOST_LAYERS)),
    of_models("dropout", "share of values set to 0 in training", read=share),
    of_models("init", "initial values: the paper's, for its sizes, or Glorot's and orthogonal ones",
              choices=registry.INITIAL_VALUES),
    of_models("readout", "predict a word from the state before or after the context was read",
              choices=registry.READOUTS),
    of_models("reset", "the GRU's reset gate: before or after the recurrent product",
              choices=registry.RESETS),
    of_models("update", "the state that the update gate weights", choices=registry.UPDATES),
    of_models("attention", "how the decoder scores a source position", choices=registry.SCORES,
              own=True),
    of_models("window", "the positions it may see: all, or some beside the target's place, or "
              "beside a predicted place", choices=registry.WINDOWS),
    of_models("width", "positions that a window has to either side", read=whole(1),
              only=[Without("window", {"global": "window global sees all positions"})]),
    of_models("heads", "of multi-head attention", read=whole(1),
              only=[With("attention", ["multi-head"], "--attention {} has one", words="")]),
    of_models("query", "the state that asks: h_t, the word's own, or h_{t−1}, as in RNNsearch",
              choices=registry.QUERIES),
    of_models("input_feeding", "the cell reads the last attentional state too", kind="switch"),
    of_models("bias", "a bias within the attentional state", kind="switch"),
    of_models("cell", "the recurrent cell", choices=registry.CELLS, own=True),
    of_models("bidirectional", "the source is read both ways", kind="switch"),
    of_models("inner", "size within feed-forward", read=whole(1)),
    of_models("smoothing", "label smoothing", read=share),
)

# ---- language models ----------------------------------------------------------------------------

SIZE = 200      # of word vectors, where no option says otherwise
UNATTENTIVE = {"none": "a model without attention has none of it"}
NGRAM = {"ngram": "an N-gram model looks back --order − 1 states"}
PASTLESS = UNATTENTIVE | {"projection": "a projection looks at no past"}
AT_ONCE = {"sentence": "a sentence is read at once where the state begins anew with it"}
SIZED = Against("parameters", "--parameters chooses the sizes")

LANGUAGE_MODEL = (
    Option("attention", "how the model looks at its own past: Salton's single and combined score, "
           "Daniluk's attention with one, two or three vectors, their N-gram without attention, or "
           "the layer alone that all of these have between state and words",
           default="none", choices=["none", *registry.HISTORY_READOUTS], own=True),
    Option("window", "how many positions back attention may look", whole(1),
           otherwise="all of a chunk", only=[Without("attention", PASTLESS | NGRAM)]),
    Option("carried", "states of the chunk before (see --steps) that attention still sees; an "
           "ngram keeps the order − 2 that it needs", whole(1), otherwise="none",
           only=[Without("attention", PASTLESS), Without("state", AT_ONCE)]),
    Option("order", "its N", whole(2), 4, only=[With("attention", ["ngram"])]),
    Option("activation", "of the layer above the state", default="tanh",
           choices=registry.ACTIVATIONS,
           only=[With("attention", registry.HISTORY_READOUTS, "a model without attention has no such layer",
                      words="with --attention: ", own=True)]),
    Option("cell", "the recurrent cell", default="lstm", choices=registry.CELLS, own=True),
    Option("layers", "cells on top of each other", whole(1, MOST_LAYERS), 1),
    Option("hidden", "size of a state", whole(1), only=[SIZED],
           otherwise="the embedding's, for each vector that attention makes of it"),
    Option("embedding", "size of the word vectors", whole(1), only=[SIZED],
           otherwise=f"{SIZE}, or as --hidden allows"),
    Option("parameters", "the largest sizes within so many parameters", whole(1)),
    Option("tied", "the same word vectors where words are read and predicted", default=True,
           kind="switch"),
    Option("dropout", "share of values set to 0 in training", share, 0.2),
    Option("init", "initial weights lie between this and its negative", positive, 0.1),
    Option("forget_bias", "initial bias of the forget gate", not_negative, 1.0,
           only=[With("cell", ["lstm"], "a {} has no forget gate")]),
)

# ---- training -----------------------------------------------------------------------------------

# what is otherwise on the command line than in the library: of both, of translators, of writers
LEARNING_RATES = By("optimizer", {"adam": 0.001, "adadelta": 1.0, "sgd": 1.0})
CHANGES: dict[str, dict[str, Any]] = {
    "learning_rate": {"default": LEARNING_RATES},
    "full_epochs": {"default": 4},
    "patience": {"default": 2},
}
TRANSLATORS_CHANGES: dict[str, dict[str, Any]] = {
    "min_count": {"default": 2, "only": [Against("subwords", "subwords spell every word")]},
}
WRITERS_CHANGES: dict[str, dict[str, Any]] = {
    "clip": {"default": 5.0},
    "steps": {"only": [Without("state", AT_ONCE)]},
    "min_count": {
        "default": None,
        "otherwise": "2, or 1 for characters and for text that has <unk> in it",
    },
    "frequencies": {"default": True, "kind": "switch"},
}


def training(settings: type[Training], changes: dict[str, dict[str, Any]]) -> list[Option]:
    """The options of a training's fields; changes: {field: what is otherwise}, beside CHANGES."""
    changes = CHANGES | changes
    made = []
    for one in fields(settings):
        about = one.metadata
        if not about["offered"]:
            continue
        values = about["values"]
        option = Option(
            one.name, about["help"], values.read, one.default, choices=values.choices,
            only=[With(other, among) for other, among in about["of"].items()],
            kind="flag" if values.kind is bool else "value")
        made.append(replace(option, **changes.get(one.name, {})))
    return made


def run_folder(default: str) -> Option:
    return Option("run", "where to save", otherwise=default, metavar="FOLDER")


TRAIN = (
    Group("what to learn from: --corpus, or --source and --target",
          (*PARALLEL, *VALID_PARALLEL, *PREPARED)),
    Group("the model", TRANSLATOR),
    Group("the training", (
        *training(TranslatorTraining, TRANSLATORS_CHANGES),
        THREADS, run_folder("runs/CORPUS-MODEL, and attention and window"))),
)
TRAIN_LM = (
    Group("what to learn from: --corpus or --text", (*RUNNING, *PREPARED)),
    Group("the model", LANGUAGE_MODEL),
    Group("the training", (
        *training(LanguageModelTraining, WRITERS_CHANGES),
        THREADS, run_folder("runs/CORPUS-ATTENTION, or -CELL without attention"))),
)
