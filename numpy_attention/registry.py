"""Everything that can be chosen by name, and the module that defines it.

A new cell, score or model is one file and one line in a table below. Then the command line offers
it, the models build it, and the gradient checks and `compare` include it. A table may hold the
class itself instead of "package.module:Class". Nothing heavy is imported here, so `--help` is fast.
"""

import os
from importlib import import_module

from numpy_attention.validation.messages import short_repr

CELLS = {
    "rnn": "cells.rnn:RNN",
    "lstm": "cells.lstm:LSTM",
    "gru": "cells.gru:GRU",
}

# the scores of a decoder's attention
SCORES = {
    "dot": "attention.dot:DotAttention",
    "general": "attention.general:GeneralAttention",
    "concat": "attention.additive:AdditiveAttention",
    "location": "attention.location:LocationAttention",
    "scaled-dot": "attention.dot:ScaledDotAttention",
    "multi-head": "attention.multi_head:MultiHeadAttention",
}

ALIASES = {"additive": "concat"}        # {another name of a score: the name in SCORES}

# the source positions that a decoder may attend to
WINDOWS = {
    "global": None,
    "local-m": "attention.local:LocalMonotonic",
    "local-p": "attention.local:LocalPredictive",
}

# the readouts of a language model's history
HISTORY_SCORES = {
    "single": "attention.single:Single",
    "combined": "attention.combined:Combined",
}
HISTORY_READOUTS = ("single", "combined", "attention", "key-value", "key-value-predict", "ngram",
                    "projection")
# the activations of a history readout
ACTIVATIONS = ("tanh", "linear")

TRANSLATORS = {
    "rnnsearch": "models.rnnsearch:RNNSearch",
    "hard-rnnsearch": "models.hard_rnnsearch:HardRNNSearch",
    "encoder-decoder": "models.encoder_decoder:EncoderDecoder",
    "luong": "models.luong:LuongTranslator",
    "transformer": "models.transformer:Transformer",
}
LANGUAGE_MODELS = {
    "language-model": "models.language_model:LanguageModel",
    "attentive-language-model": "models.attentive_language_model:AttentiveLanguageModel",
}

RUNS = {"translator": "translator", "writer": "language model"}     # {in checkpoints: in messages}

# environment variables in which launchers such as mpirun set the number of ranks and the rank
STARTERS = (("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"), ("PMI_SIZE", "PMI_RANK"))

OPTIMIZERS = {
    "adam": "training.optimizers:Adam",
    "adadelta": "training.optimizers:Adadelta",
    "sgd": "training.optimizers:SGD",
}
SCHEDULES = ("constant", "decay", "linear", "warmup")
AVERAGES = ("sentence", "token")
KEPT = ("best", "last")
STATES = ("carried", "sentence", "article")
UNITS = ("words", "characters")
INITIAL_VALUES = ("paper", "modern")
READOUTS = ("previous", "current")
QUERIES = ("current", "previous")
RESETS = ("before", "after")
UPDATES = ("old", "new")
SPLITS = ("train", "valid", "test")
PRECISIONS = ("float32", "float16", "byte")     # of a page's numbers
MOST_THREADS = 1024     # more than any machine can run

# default settings of translators on the command line, for models much smaller than the papers'
RECURRENT = {"hidden": 256, "embedding": 256, "layers": 1, "dropout": 0.2, "init": "modern"}
GRUS = RECURRENT | {"readout": "current", "reset": "after", "update": "old"}
WINDOW_AND_HEADS = {"window": "global", "width": 10, "heads": 4}
SMALL_MODEL_DEFAULTS: dict[str, dict] = {
    "rnnsearch": GRUS | WINDOW_AND_HEADS | {
        "bidirectional": True, "attention": "concat", "smoothing": 0.0,
    },
    "hard-rnnsearch": GRUS | {
        "bidirectional": True, "attention": "concat", "discount": 0.5, "soft": 0.0,
        "smoothing": 0.0,
    },
    "encoder-decoder": GRUS | {"bidirectional": False},
    "luong": RECURRENT | WINDOW_AND_HEADS | {
        "cell": "lstm", "bidirectional": False, "input_feeding": True, "bias": False,
        "query": "current", "attention": "dot",
    },
    "transformer": {
        "size": 256, "layers": 3, "dropout": 0.1,
        "heads": 4, "inner": 1024, "smoothing": 0.1, "pre_norm": True,
    },
}


def started():
    """Return (rank, number of ranks) as a launcher such as mpirun has set them, else (0, 1)."""
    for count, rank in STARTERS:
        if count in os.environ and rank in os.environ:
            return int(os.environ[rank]), int(os.environ[count])
    return 0, 1


def is_custom_code(value):
    """Return whether a value names user-defined code, FILE.py or FILE.py:NAME."""
    return isinstance(value, str) and (value.endswith(".py") or ".py:" in value)


def resolve(what, name, table):
    """Return the class that a table has for `name`, or None if the entry is None.

    A class with `create`, instead of a name, is returned unchanged. what: the kind of name, for the
    error message. Raises ValueError for a name that is neither in the table nor in ALIASES.
    """
    name = ALIASES.get(name, name) if isinstance(name, str) else name
    if isinstance(name, type) and hasattr(name, "create"):
        return name
    if not isinstance(name, str) or name not in table:
        raise ValueError(f"unknown {what} {short_repr(name)}; expected one of {', '.join(table)}")
    place = table[name]
    if not isinstance(place, str):
        return place
    module, _, attribute = place.partition(":")
    return getattr(import_module(f"{__package__}.{module}"), attribute)


def accepted_kwargs(create, **offered):
    """Return a dict of those offered arguments that `create` has as parameters."""
    from inspect import signature  # here, so that `--help` does not wait for it
    parameters = signature(create).parameters
    return {name: value for name, value in offered.items() if name in parameters}


def build(kind, rng, **offered):
    """Return kind.create(rng, …), with those offered arguments that `create` has as parameters."""
    built = kind.create(rng, **accepted_kwargs(kind.create, **offered))
    if "dtype" in offered:
        from numpy_attention.validation.results import check_created  # as above
        check_created(kind.create, built, offered["dtype"])
    return built
