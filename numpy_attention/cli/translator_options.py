"""Translators' options on the command line: the models, and which options each of them takes."""

import argparse

from numpy_attention.cli.values import share, whole

RECURRENT = {"hidden": 256, "embedding": 256, "dropout": 0.2}
GATED = RECURRENT | {"readout": "current", "reset": "after", "update": "old", "init": "modern"}
# model → {option: what it is unless given}
MODELS = {
    "rnnsearch": GATED,
    "encoder-decoder": GATED,
    "luong": RECURRENT | {"attention": "dot", "window": "global", "width": 10, "heads": 4, "layers": 1, "cell": "lstm",
                          "bidirectional": False, "input_feeding": True, "init": "modern"},
    "transformer": {"hidden": 256, "layers": 3, "heads": 4, "inner": 1024, "dropout": 0.1, "smoothing": 0.1},
}
SETTING = {"width": "D"}                            # option → the model's own name for it, where it differs


def add(command):
    """The group of options that describe the model; each is None unless given, for another model may not have it."""
    group = command.add_argument_group("the model")
    group.add_argument("--model", choices=tuple(MODELS), default="rnnsearch", help="GRUs with additive attention (Bahdanau), "
                       "the same with one fixed vector, Luong's family, or a Transformer (normalisation first)")
    group.add_argument("--hidden", type=whole(2), help="size of the states; 256 unless given")
    group.add_argument("--embedding", type=whole(1), help="size of the word vectors; 256 unless given")
    group.add_argument("--dropout", type=share, help="share of values set to 0 in training; 0.2, of a transformer 0.1, "
                       "unless given")
    group = command.add_argument_group("--model rnnsearch and encoder-decoder")
    group.add_argument("--readout", choices=("previous", "current"), help="predict a word from the state before or after the "
                       "context was read; current unless given")
    group.add_argument("--reset", choices=("before", "after"), help="the GRU's reset gate: before or after the recurrent "
                       "product; after unless given")
    group.add_argument("--update", choices=("old", "new"), help="the state that the update gate weights; old unless given")
    group = command.add_argument_group("--model luong")
    group.add_argument("--attention", choices=("dot", "general", "concat", "location", "scaled-dot", "multi-head"),
                       help="how h_t scores a source position; dot unless given")
    group.add_argument("--window", choices=("global", "local-m", "local-p"), help="the positions it may see: all, or some "
                       "beside the target's place, or beside a predicted place; global unless given")
    group.add_argument("--width", type=whole(1), metavar="D", help="of a local window: D positions to either side; 10 unless "
                       "given")
    group.add_argument("--input-feeding", action=argparse.BooleanOptionalAction, help="the cell reads the last attentional "
                       "state too; on unless given")
    group.add_argument("--cell", choices=("lstm", "gru", "rnn"), help="lstm unless given")
    group.add_argument("--bidirectional", action=argparse.BooleanOptionalAction, help="the source is read both ways; off "
                       "unless given")
    group = command.add_argument_group("--model rnnsearch, encoder-decoder and luong")
    group.add_argument("--init", choices=("paper", "modern"), help="initial values: the paper's, for its sizes, or Glorot's "
                       "and orthogonal ones; modern unless given")
    group = command.add_argument_group("--model luong and transformer")
    group.add_argument("--layers", type=whole(1), help="of encoder and of decoder; 1, of a transformer 3, unless given")
    group.add_argument("--heads", type=whole(1), help="of multi-head attention; 4 unless given")
    group = command.add_argument_group("--model transformer")
    group.add_argument("--inner", type=whole(1), help="size within feed-forward; 1024 unless given")
    group.add_argument("--smoothing", type=share, help="label smoothing; 0.1 unless given")


def settings_of(options, longest):
    """The settings of the model that the options describe; longest(): how many ids the longest source has.

    ValueError: an option that this model does not have.
    """
    known = MODELS[options.model]
    for name in dict.fromkeys(name for defaults in MODELS.values() for name in defaults):
        if name not in known and getattr(options, name) is not None:
            having = ", ".join(model for model, defaults in MODELS.items() if name in defaults)
            raise ValueError(f"--{name.replace('_', '-')} is given, but --model {options.model} has none: leave it out, or "
                             f"choose {having}")
    settings = {SETTING.get(name, name): default if getattr(options, name) is None else getattr(options, name)
                for name, default in known.items()}
    if options.model == "transformer":
        return settings_of_transformer(settings)
    if options.model == "luong":
        return settings_of_luong(settings, options, longest)
    return settings


def settings_of_luong(settings, options, longest):
    attention, window = settings["attention"], settings["window"]
    if window == "global" and options.width is not None:
        raise ValueError("--width is given, but window global sees all positions: leave it out, or choose --window local-m "
                         "or local-p")
    if attention != "multi-head" and options.heads is not None:
        raise ValueError(f"--heads is given, but --attention {attention} has one: leave it out, or choose multi-head")
    if attention == "multi-head" and settings["hidden"] % settings["heads"]:
        raise ValueError(f"--hidden {settings['hidden']} and --heads {settings['heads']}: expected a --hidden that --heads "
                         "divides")
    if attention == "location":
        settings["longest"] = longest() + 1         # and its </s>
    if window == "local-m" and options.reverse_source:
        settings["backwards"] = True
    return settings


def settings_of_transformer(settings):
    hidden, heads = settings["hidden"], settings["heads"]
    if hidden % 2 or hidden % heads:
        raise ValueError(f"--hidden {hidden} and --heads {heads}: expected an even --hidden that --heads divides")
    settings["size"] = settings.pop("hidden")
    return settings | {"pre_norm": True}
