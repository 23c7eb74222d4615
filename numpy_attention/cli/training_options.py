"""The options of `train` and `train lm`, for a model and for its training.

The defaults of translators are in registry.SMALL_MODEL_DEFAULTS, the training options in
training/settings.py. To add an option, name it as the library names its argument, and add

    for a translator        its default to registry.SMALL_MODEL_DEFAULTS, and a line to TRANSLATOR
    for a language model    a line to LANGUAGE_MODEL
    for training            a field to training/settings.py, and nothing here
"""

from dataclasses import fields, replace
from typing import Any

from numpy_attention import registry
from numpy_attention.cli.messages import ARGUMENTS
from numpy_attention.cli.options import PARALLEL, PREPARED, RUNNING, THREADS, Groups
from numpy_attention.cli.parser import Option, file, with_values
from numpy_attention.cli.values import not_negative, positive, share, whole
from numpy_attention.training.settings import LanguageModelTraining, Training, TranslatorTraining

LAYERS = whole(1, 1000)     # so that a typo does not build a model for hours

# ---- translators --------------------------------------------------------------------------------


def setting_of(model: str, name: str) -> str:
    """Return the name of the setting of `model` that the option `name` sets, or "" if none."""
    names = (name, *ARGUMENTS.get(name, ()))
    return next((one for one in names if one in registry.SMALL_MODEL_DEFAULTS[model]), "")


def of_models(name: str, help: str, **more: Any) -> Option:
    """Return the Option `name`, for the translators that have it in SMALL_MODEL_DEFAULTS."""
    defaults = {model: settings[setting_of(model, name)]
                for model, settings in registry.SMALL_MODEL_DEFAULTS.items()
                if setting_of(model, name)}
    if len(defaults) < len(registry.SMALL_MODEL_DEFAULTS):
        more["needs"] = {"model": list(defaults)} | more.get("needs", {})
    return Option(name, help, default=defaults, by="model", **more)


PRETRAINED = ("pretrained {}word vectors, in the text format of GloVe, word2vec or fastText, plain "
              "or .gz; they set the size of the model's word vectors")
VECTORS = tuple(file(f"{side}_vectors", PRETRAINED.format(f"{side} "), excludes={"subwords": ()})
                for side in ("source", "target"))
TRANSLATOR = (
    Option("model", "architecture. rnnsearch: GRUs with additive attention (Bahdanau et al.); "
           "hard-rnnsearch: GRUs with hard attention; encoder-decoder: GRUs without attention; "
           "luong: models of Luong et al.; transformer: a pre-norm Transformer",
           default="rnnsearch", choices=registry.TRANSLATORS),
    of_models("hidden", "size of the hidden states, or width of a transformer", read=whole(2)),
    of_models("embedding", "size of the word vectors", read=whole(1)),
    of_models("layers", "number of layers in the encoder, and in the decoder", read=LAYERS),
    of_models("dropout", "fraction of values set to 0 in training", read=share),
    of_models("init", "initial values. paper: as in the model's paper, suitable only for models "
              "as large as the paper's; modern: Glorot, and orthogonal recurrent matrices",
              choices=registry.INITIAL_VALUES),
    of_models("readout", "decoder state from which a word is predicted. previous: before "
              "the context is read; current: after it is read", choices=registry.READOUTS),
    of_models("reset", "apply the GRU's reset gate before or after the recurrent product",
              choices=registry.RESETS),
    of_models("update", "what the GRU's update gate multiplies. old: the previous state; new: the "
              "candidate", choices=registry.UPDATES),
    of_models("attention", "attention score. additive or concat: Bahdanau et al.; dot, general, "
              "location: Luong et al.; scaled-dot, multi-head: Vaswani et al.; hard-rnnsearch has "
              "no multi-head", choices=registry.SCORES, aliases=registry.ALIASES, custom=True),
    of_models("window", "source positions that attention sees. global: all; local-m: around "
              "the target word's position; local-p: around a predicted position. "
              "Multi-head attention does not support local-p; location supports only global",
              choices=registry.WINDOWS),
    of_models("width", "number of positions on each side of the window's centre", read=whole(1),
              excludes={"window": ("global",)}),
    of_models("heads", "number of heads of a transformer, or of multi-head attention",
              read=whole(1), needs={"attention": ("multi-head",)}),
    of_models("query", "decoder state used as the query. current: h_t; previous: h_{t−1}, as in "
              "RNNsearch", choices=registry.QUERIES),
    of_models("input_feeding", "feed the previous attentional state into the cell", kind="switch"),
    of_models("bias", "add a bias to the attentional state", kind="switch"),
    of_models("cell", "recurrent cell", choices=registry.CELLS, custom=True),
    of_models("bidirectional", "read the source in both directions", kind="switch"),
    of_models("inner", "size of the feed-forward layers", read=whole(1)),
    of_models("discount", "discount of later losses in the gradient of hard attention: the loss k "
              "words later is multiplied by X^k", read=not_negative),
    of_models("soft", "fraction of sentences trained with soft attention", read=not_negative),
    of_models("smoothing", "label smoothing (Szegedy et al. 2016): spread this fraction of the "
              "target probability evenly over all words", read=share),
)


def title_of(option: Option) -> str:
    """Return the title of an option's group in the help, with the models that have the option."""
    models = option.needs.get("model")
    return f"only with {with_values('--model', models)}" if models else "model"


# ---- language models ----------------------------------------------------------------------------

SIZED = {"parameters": ()}

LANGUAGE_MODEL = (
    Option("attention", "how the model reads its past states. none: not at all; single, combined: "
           "Salton et al. 2017; attention, key-value, key-value-predict: Daniluk et al. 2017, with "
           "1, 2 or 3 vectors per state; ngram: Daniluk's N-gram model, without attention; "
           "projection: no attention, only the extra layer above the state. "
           "FILE.py:CLASS: your own class",
           default="none", choices=["none", *registry.HISTORY_READOUTS], custom=True),
    Option("window", "number of past states that attention sees", whole(1), note="all in the chunk",
           excludes={"attention": ("none", "projection", "ngram")}),
    Option("carried", "also let the model see the last N states before the current chunk (see "
           "--steps); with --attention ngram, any N means order − 2 states", whole(1), note="none",
           excludes={"attention": ("none", "projection"), "state": ("sentence",)}),
    Option("order", "order of the N-gram model", whole(2), 4, needs={"attention": ("ngram",)}),
    Option("activation", "activation of the layer above the state; linear: no activation",
           default="tanh", choices=registry.ACTIVATIONS, excludes={"attention": ("none",)}),
    Option("cell", "recurrent cell", default="lstm", choices=registry.CELLS, custom=True),
    Option("layers", "number of stacked recurrent layers", LAYERS, 1),
    Option("embedding", "size of the word vectors", whole(1), excludes=SIZED,
           note="derived from --hidden or --vectors, else 200"),
    Option("hidden", "size of the state", whole(1), excludes=SIZED, note="--embedding, multiplied "
           "by 2 for key-value, 3 for key-value-predict and order − 1 for ngram"),
    Option("parameters", "choose the largest --hidden and --embedding with at most N parameters",
           whole(1)),
    Option("tied", "use the same word vectors for input and output; with --attention none, "
           "--embedding must then equal --hidden", default=True, kind="switch"),
    Option("dropout", "fraction of values set to 0 in training", share, 0.2),
    Option("init", "draw the initial weights uniformly between −X and X", positive, 0.1),
    Option("forget_bias", "initial bias of the forget gate", not_negative, 1.0,
           needs={"cell": ("lstm",)}),
)

# ---- training -----------------------------------------------------------------------------------

FREEZE = TranslatorTraining.__dataclass_fields__["freeze_vectors"].metadata["help"]
# differences from the library: for all models, for translators, for language models
CHANGES: dict[str, dict[str, Any]] = {
    "learning_rate": {"by": "optimizer", "default": {"adam": 0.001, "adadelta": 1.0, "sgd": 1.0},
                      "metavar": "RATE"},
    "full_epochs": {"default": 4},
    "patience": {"default": 2},
}
TRANSLATOR_CHANGES: dict[str, dict[str, Any]] = {
    "freeze_vectors": {"help": f"{FREEZE} (with --source-vectors or --target-vectors)"},
    "min_count": {"default": 2, "excludes": {"subwords": ()}},
    "seed": {"help": "random seed for the initial values, the order of the text and dropout. It "
                     "also decides which of your own pairs are used for training"},
    "max_vocabulary": {"excludes": {"subwords": ()}},
}
WRITER_CHANGES: dict[str, dict[str, Any]] = {
    "freeze_vectors": {"needs": {"vectors": ()}},
    "clip": {"default": 5.0},
    "steps": {"needs": {}, "excludes": {"state": ("sentence",)}},
    "min_count": {
        "default": None, "note": "2, or 1 for characters and for text that contains <unk>"},
    "frequencies": {"default": True, "kind": "switch"},
}


def training(settings: type[Training], changes: dict[str, dict[str, Any]],
             folder: str) -> tuple[Option, ...]:
    """Return Options for the fields of `settings` that users can set, and for --threads and --run.

    changes: {name of a field: new attributes of its Option}, in addition to CHANGES.
    folder: the default of --run, in words.
    """
    changes = CHANGES | changes
    found = []
    for one in fields(settings):
        about = one.metadata
        if about["offered"]:
            values = about["values"]
            option = Option(
                one.name, about["help"], values.read, one.default, choices=values.choices,
                needs=about["of"], kind="flag" if values.kind is bool else "value")
            found.append(replace(option, **changes.get(one.name, {})))
    run = Option("run", "folder of a new run, or of one to resume", note=folder, metavar="FOLDER")
    return (*found, THREADS, run)


TRAIN: Groups = {
    "training data: --corpus, or --source with --target or --columns": (*PARALLEL, *PREPARED),
    **{title: tuple(one for one in (*TRANSLATOR, *VECTORS) if title_of(one) == title)
       for title in map(title_of, TRANSLATOR)},
    "training": training(TranslatorTraining, TRANSLATOR_CHANGES,
                         "named after corpus and model, such as runs/bible-en-es-rnnsearch"),
}
TRAIN_LM: Groups = {
    "training data: --corpus or --text": (*RUNNING, *PREPARED),
    "model": (*LANGUAGE_MODEL, file("vectors", PRETRAINED.format(""), excludes=SIZED)),
    "training": training(LanguageModelTraining, WRITER_CHANGES,
                         "named after corpus and attention or cell, such as runs/bible-en-lstm"),
}
