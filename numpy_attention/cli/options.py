"""The options of all commands, each said once: its name, what it may be, its default, its help.

What may be chosen comes from names.py, translators' models and their defaults from its MODERN, what
a training may be from training/settings.py. Nothing here is slow to import, for --help waits.

For one more option, name it as the library names its argument, and then,

    of a translator's model     its default in names.MODERN, a line `of_models(…)` in TRANSLATOR
    of a language model         a line `Option(…)` in LANGUAGE_MODEL
    of a training               a field in training/settings.py, and nothing here
    of another command          a line in its groups; the command reads options.NAME
"""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from numpy_attention import names
from numpy_attention.cli.entry import Against, By, Group, Option, With, Without, flag, word
from numpy_attention.cli.values import (
    folders, not_negative, picture, positive, seed, seeds, share, share_kept, thread_count, whole)
from numpy_attention.training.settings import Training, TranslatorTraining, WriterTraining

Conditions = Sequence[With | Without | Against]

RUN = word("run", "folder of a run that `train` made", "RUN")
THREADS = Option("threads", "threads that share the work", thread_count,
                 otherwise="chosen by its size")
SEED = Option("seed", "of whatever is drawn at random", seed, 0)

# what a slip of the finger asks for would be built for hours
MOST_LAYERS = 1000

# ---- texts --------------------------------------------------------------------------------------

CORPUS = Option("corpus", "a corpus of `numpy-attention corpora list`")
LIMITS = (
    Option("max_length", "longest sentence, in tokens, on both sides", whole(1),
           otherwise="of bible-en-es 12 for clauses and 50 for verses"),
    Option("pairs", "at most so many sentence pairs of a split", whole(1), argument="count"),
)
PARALLEL = (
    CORPUS,
    Option("part", "a part of it, such as verses of bible-en-es, raw of multi30k-*",
           otherwise="clauses of bible-en-es"),
    *LIMITS,
    Option("source", "your own text, one sentence a line", metavar="FILE"),
    Option("target", "its translation, line by line", metavar="FILE"),
)
HELD_OUT = "5 % of the pairs, held out"
VALID_PARALLEL = (
    Option("valid_source", "text to validate on", otherwise=HELD_OUT, metavar="FILE"),
    Option("valid_target", "its translation", otherwise=HELD_OUT, metavar="FILE"),
)
TEXT = Option("text", "your own text, one sentence a line", metavar="FILE")
RUNNING = (
    CORPUS,
    TEXT,
    Option("valid_text", "text to validate on", otherwise="the last 5 % of --text", metavar="FILE"),
    flag("characters", "predict letters instead of words"),
)
PREPARED = (
    flag("lowercase", "lowercase your own text"),
    flag("tokenize", "cut your own text into words and punctuation"),
)
SPLIT = Option("split", "which part of the corpus", choices=names.SPLITS,
               otherwise="test; valid for a run on your own text")
CASE = Option("lowercase", "lowercase what is given first", otherwise="as the run's text was",
              kind="switch")

# ---- translators' models ------------------------------------------------------------------------


def of_models(name: str, help: str, only: Conditions = (), **more: Any) -> Option:
    """A setting of the models that have it in names.MODERN, with its defaults there."""
    called = more.get("called", {})
    defaults = {}
    for model, settings in names.MODERN.items():
        setting = called.get(model, name)
        if setting in settings:
            defaults[model] = settings[setting]
    if defaults.keys() != names.MODERN.keys():
        only = [With("model", list(defaults), "--model {} has none"), *only]
    return Option(name, help, default=By("model", defaults), only=only, **more)


TRANSLATOR = (
    Option("model", "GRUs with additive attention (Bahdanau), the same with one fixed vector, "
           "Luong's family, or a Transformer (normalisation first)", default="rnnsearch",
           choices=names.TRANSLATORS),
    of_models("hidden", "size of the states", read=whole(2), called={"transformer": "size"}),
    of_models("embedding", "size of the word vectors", read=whole(1)),
    of_models("layers", "of encoder and of decoder", read=whole(1, MOST_LAYERS)),
    of_models("dropout", "share of values set to 0 in training", read=share),
    of_models("init", "initial values: the paper's, for its sizes, or Glorot's and orthogonal ones",
              choices=names.INITIAL_VALUES),
    of_models("readout", "predict a word from the state before or after the context was read",
              choices=names.READOUTS),
    of_models("reset", "the GRU's reset gate: before or after the recurrent product",
              choices=names.RESETS),
    of_models("update", "the state that the update gate weights", choices=names.UPDATES),
    of_models("attention", "how the decoder scores a source position", choices=names.SCORES),
    of_models("window", "the positions it may see: all, or some beside the target's place, or "
              "beside a predicted place", choices=names.WINDOWS),
    of_models("width", "positions that a window has to either side", read=whole(1),
              only=[Without("window", {"global": "window global sees all positions"})]),
    of_models("heads", "of multi-head attention", read=whole(1),
              only=[With("attention", ["multi-head"], "--attention {} has one", words="")]),
    of_models("query", "the state that asks: h_t, the word's own, or h_{t−1}, as in RNNsearch",
              choices=names.QUERIES),
    of_models("input_feeding", "the cell reads the last attentional state too", kind="switch"),
    of_models("bias", "a bias within the attentional state", kind="switch"),
    of_models("cell", "the recurrent cell", choices=names.CELLS),
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
           default="none", choices=["none", *names.READERS]),
    Option("window", "how many positions back attention may look", whole(1),
           otherwise="all of a chunk", only=[Without("attention", PASTLESS | NGRAM)]),
    Option("carried", "states of the chunk before (see --steps) that attention still sees; an "
           "ngram keeps the order − 2 that it needs", whole(1), otherwise="none",
           only=[Without("attention", PASTLESS), Without("state", AT_ONCE)]),
    Option("order", "its N", whole(2), 4, only=[With("attention", ["ngram"])]),
    Option("activation", "of the layer above the state", default="tanh",
           choices=names.ACTIVATIONS,
           only=[With("attention", names.READERS, "a model without attention has no such layer",
                      words="with --attention: ")]),
    Option("cell", "the recurrent cell", default="lstm", choices=names.CELLS),
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
        *training(WriterTraining, WRITERS_CHANGES),
        THREADS, run_folder("runs/CORPUS-ATTENTION, or -CELL without attention"))),
)

# ---- what is done with a run --------------------------------------------------------------------

IN_SEARCH = [Against("sample", "--sample does not search")]


def sampling(only: Conditions = ()) -> list[Option]:
    """The options of drawing words at random."""
    return [
        Option("temperature", "below 1 likelier words, above 1 more surprising ones; 0 always the "
               "likeliest", not_negative, 1.0, only=only),
        Option("top_k", "choose among the so many likeliest words", whole(1), only=only),
        Option("top_p", "choose among the likeliest words that together have this probability",
               share_kept, only=only),
        Option("seed", "the same seed writes the same text", seed, 0, only=only),
    ]


TOGETHER = Option("together_with", "further runs of the same text, runs/b,runs/c: the "
                  "probabilities of all are averaged", folders, metavar="RUNS")
BEAM = Option("beam", "hypotheses kept in search; 1 is greedy", whole(1, 1000), 5)
PICTURE = Option("heatmap", "save the attention weights as .png, .pdf or .svg", picture,
                 metavar="FILE")

TRANSLATE = (Group("", (
    RUN,
    word("sentence", "what to translate; without any, lines are read from the input", "SENTENCE",
         "*"),
    TOGETHER,
    replace(BEAM, only=IN_SEARCH),
    Option("length_penalty", "a: translations are ranked by log p / ((5 + length) / 6)^a; 0 "
           "favours short ones", not_negative, 1.0,
           only=[*IN_SEARCH, Without("beam", {1: "--beam 1 compares no lengths"})]),
    flag("all", "print every hypothesis: score, log p, length, translation", IN_SEARCH),
    PICTURE,
    flag("replace_unknown", "write, for each <unk>, the source word that has its largest attention "
         "weight", [Against("sample", "--sample never draws <unk>")]),
    flag("sample", "draw the translation at random instead of searching for it"),
    *sampling([With("sample", [True])]),
    CASE,
)),)
GENERATE = (Group("", (
    replace(RUN, help="folder of a run that `train lm` made"),
    TOGETHER,
    Option("prompt", "how the text begins; if with a hyphen, write --prompt=-like-this"),
    Option("length", "words, or letters, to write; without --window in training attention looks at "
           "the last 64 at most", whole(1), 60),
    Option("sentences", "stop after so many sentences, of words", whole(1)),
    *sampling(),
    flag("unknown", "allow <unk> to be written"),
    PICTURE,
    CASE,
)),)

OF_TRANSLATOR = With("kind", ["translator"], "this run is a language model's", "of a translator: ")
OF_WRITER = With("kind", ["writer"], "a translator's run is measured on sentence pairs, give "
                 "--source and --target", "of a language model: ")

EVALUATE = (
    Group("", (RUN, TOGETHER)),
    Group("what to measure on, the run's own corpus unless given", (
        CORPUS,
        *(replace(option, otherwise="", only=[OF_TRANSLATOR]) for option in PARALLEL
          if option is not CORPUS),
        replace(TEXT, only=[OF_WRITER]),
        SPLIT)),
    Group("how", (
        replace(BEAM, only=[OF_TRANSLATOR]),
        flag("known", "measure the pairs without unknown words beside all, <unk> not written",
             [OF_TRANSLATOR]),
        replace(THREADS, otherwise="all processors; one where a language model's state is carried"),
        flag("json", "print one JSON object"))),
)
ABLATE = (
    Group("", (RUN,)),
    Group("what to measure on, the run's own corpus unless given", EVALUATE[1].options),
    Group("how", (
        Option("output", "draw what each change costs: .png, .pdf or .svg", picture,
               metavar="FILE"),
        SEED,
        flag("json", "print one JSON object"))),
)
FROM_FILE = [Against("questions", "the questions of --questions are made already")]
CLOZE = (
    Group("", (replace(RUN, help="folder of a run that `train lm` made"), TOGETHER)),
    Group("the questions, made from the run's own corpus unless given", (
        *(replace(option, only=FROM_FILE) for option in (CORPUS, TEXT, SPLIT)),
        Option("number", "how many of them", whole(1), 500, only=FROM_FILE),
        Option("write", "save them in the form of the Children's Book Test", metavar="FILE",
               only=FROM_FILE),
        Option("questions", "a file in that form", metavar="FILE"),
        replace(CASE, help="lowercase the questions of --questions first"))),
    Group("how", (
        Option("show", "print the first questions, and what the model chooses", whole(1),
               otherwise="none", only=[Against("json", "--json prints one object")]),
        SEED,
        flag("json", "print one JSON object"))),
)
RUNS = word("runs", "folders of language models' runs of one vocabulary; the others are compared "
            "with the first", "RUN", "+")
TEXT_OF_RUNS = Group("what to measure on, the first run's own corpus unless given",
                     (CORPUS, TEXT, SPLIT))
RECOVER = (
    Group("", (RUNS,)),
    TEXT_OF_RUNS,
    Group("how", (
        Option("words", "how many of the words just read are replaced", whole(1), 5),
        Option("next", "how many words are measured after them", whole(1), 20,
               argument="following"),
        Option("past", "words read before the first that is measured, those replaced among them; "
               "a run whose state begins anew with a sentence reads what the sentence has",
               whole(1), 35),
        Option("number", "passages of the text, drawn at random, or all that there are", whole(1),
               500),
        Option("output", "draw what is lost at each distance: .png, .pdf or .svg", picture,
               metavar="FILE"),
        SEED,
        flag("json", "print one JSON object"))),
)
DISTANCES = (
    Group("", (RUNS,)),
    TEXT_OF_RUNS,
    Group("how", (
        SEED,
        flag("json", "print one JSON object"))),
)
HEATMAP = (Group("", (
    RUN,
    word("sentences", "a source and a target sentence of your own, or one sentence for a language "
         "model", "SENTENCE", "*"),
    Option("index", "number of the pair, or sentence, in the split, from 0", whole(0), 0),
    SPLIT,
    Option("output", "the picture: .png, .pdf or .svg", picture, metavar="FILE", required=True),
)),)

# ---- what the package knows by name -------------------------------------------------------------

GRADCHECK = (Group("", (
    word("names", "a check, or a part of its name; all without any", "NAME", "*"),
    SEED,
)),)
A_CORPUS = (Group("", (word("name", "a corpus of `numpy-attention corpora list`", "NAME"),)),)
REPRODUCE = (Group("", (
    word("name", "a recipe of --list", "NAME", "?"),
    flag("list", "list the recipes"),
    SEED,
    THREADS,
    Option("results", "where the figures are recorded", default="results", metavar="FOLDER"),
)),)
COMPARE = (Group("", (
    word("names", "translators' recipes of `reproduce --list`, or patterns: 'clauses-*'", "NAME",
         "+"),
    Option("epochs", "passes through the text", whole(1), otherwise="the recipes' own"),
    Option("minutes", "stop each after so many minutes of training", positive),
    replace(SEED, only=[Against("seeds", "--seeds names them all")]),
    Option("seeds", "train each recipe with all of these, such as 0-2 or 0,3,5", seeds,
           otherwise="--seed alone"),
    replace(THREADS, help="threads that share the work of a training",
            otherwise="chosen by its size; 1 under mpirun"),
    Option("index", "number of the test pair whose heatmaps are drawn", whole(0), 0),
    Option("output", "where the figures go", default="runs/compare", metavar="FOLDER"),
)),)
