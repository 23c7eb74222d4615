"""The options of what is done with a run, and with what the package knows by name."""

from dataclasses import replace

from numpy_attention import registry as named
from numpy_attention.cli.entry import Against, Group, Option, With, Without, flag, word
from numpy_attention.cli.options import (
    CASE, Conditions, CORPUS, PARALLEL, RUN, SEED, SPLIT, TEXT, THREADS)
from numpy_attention.cli.values import (
    files, folders, names, not_negative, page_name, picture, positive, seconds, seed, seeds,
    share_kept, whole)

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
CODE = Option("code", "files of your own code that the run was trained with, mine.py,other.py; a "
              "run alone runs none", files, metavar="FILES")
BEAM = Option("beam", "hypotheses kept in search; 1 is greedy", whole(1, 1000), 5)
PICTURE = Option("heatmap", "save the attention weights as .png, .pdf or .svg", picture,
                 metavar="FILE")

TRANSLATE = (Group("", (
    RUN,
    word("sentence", "what to translate; without any, lines are read from the input", "SENTENCE",
         "*"),
    TOGETHER,
    CODE,
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
    CODE,
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
    Group("", (RUN, TOGETHER, CODE)),
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
    Group("", (RUN, CODE)),
    Group("what to measure on, the run's own corpus unless given", EVALUATE[1].options),
    Group("how", (
        Option("output", "draw what each change costs: .png, .pdf or .svg", picture,
               metavar="FILE"),
        SEED,
        flag("json", "print one JSON object"))),
)
FROM_FILE = [Against("questions", "the questions of --questions are made already")]
CLOZE = (
    Group("", (replace(RUN, help="folder of a run that `train lm` made"), TOGETHER, CODE)),
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
    Group("", (RUNS, CODE)),
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
    Group("", (RUNS, CODE)),
    TEXT_OF_RUNS,
    Group("how", (
        Option("output", "draw what words cost more than the first run's, or of one run alone what "
               "they cost: .png, .pdf or .svg", picture, metavar="FILE"),
        SEED,
        flag("json", "print one JSON object"))),
)
HEATMAP = (Group("", (
    RUN,
    CODE,
    word("sentences", "a source and a target sentence of your own, or one sentence for a language "
         "model", "SENTENCE", "*"),
    Option("index", "number of the pair, or sentence, in the split, from 0", whole(0), 0),
    SPLIT,
    Option("output", "the picture: .png, .pdf or .svg", picture, metavar="FILE", required=True),
    flag("gradients", "draw, beside the weights α, what the loss would make of more of each: "
         "∂L/∂α"),
)),)
PAGE = (Group("", (
    word("runs", "folders of translators' runs, or of language models'; several stand side by side",
         "RUN", "+"),
    Option("output", "the page, one file with everything in it", page_name, metavar="FILE",
           required=True, short="o"),
    Option("precision", "how the page keeps a number: in 4 bytes, in 2, or those of matrices in 1 "
           "with a scale a row", default="float32", choices=named.PRECISIONS),
    Option("checkpoints", "of one run: files or folders of the same training's earlier "
           "checkpoints, a.npz,b.npz, to slide through", files, metavar="FILES"),
    Option("examples", "sentences of the corpus to choose from; 0 for none", whole(0, 1000), 20,
           argument="count"),
    replace(CORPUS, otherwise="the first run's own"),
    SPLIT,
)),)
TRACE = (
    Group("", (
        RUN,
        CODE,
        word("sentences", "a sentence; for a translator a translation may follow, else its own is "
             "taken", "SENTENCE", "+"))),
    Group("what to print, instead of every array", (
        Option("step", "what is made in this step of a loop over time, from 0", whole(0)),
        Option("layer", "a part of the model by its path, such as decoder or attention, or a "
               "function"),
        Option("names", "arrays of these names, with commas between them; patterns such as 'd*'",
               names),
        Option("depth", "calls within so many calls take one line each", whole(0),
               otherwise="told whole"))),
)
STEP = (Group("", (
    word("lesson", "number or name of a lesson", "LESSON"),
    Option("steps", "print so many steps and end; without it, in a terminal, Enter goes on and q "
           "ends", whole(1), otherwise="all"),
    Option("lessons", "folder of the lessons", metavar="FOLDER",
           otherwise="lessons here, or those of the course"),
)),)

COPY_LESSONS = (Group("", (
    word("to", "made where it is missing", "FOLDER"),
    Option("only", "numbers of lessons, with commas between them", names, metavar="NUMBERS",
           otherwise="all lessons"),
    flag("notebooks", "as notebooks, which jupytext makes"),
    flag("force", "write over files that are there"),
)),)
RUN_LESSON = (Group("", (
    word("lesson", "number of a lesson", "NUMBER"),
    Option("outputs", "where its figures are saved", default="outputs", metavar="FOLDER"),
)),)

# ---- what the package knows by name -------------------------------------------------------------

GRADCHECK = (Group("", (
    word("names", "a check, or a part of its name; all without any; or a class of your own, "
         "FILE.py:CLASS", "NAME", "*"),
    SEED,
    Option("seconds", "of a class of your own: end its code after so long", seconds, 60.0),
    flag("full", "of what is wrong, also what would be right, what could not be followed, and the "
         "elements of gradients beside their central differences"),
)),)
A_CORPUS = (Group("", (word("name", "a corpus of `numpy-attention corpora list`", "NAME"),)),)
FOLDER = Option("folder", "where your exercises are", default="exercises", metavar="FOLDER")
EXERCISES = (Group("", (FOLDER,)),)
EXERCISE = word("name", "an exercise of `numpy-attention exercise list`", "NAME")
AN_EXERCISE = (Group("", (EXERCISE, FOLDER)),)
CHECK_EXERCISE = (Group("", (
    EXERCISE,
    FOLDER,
    Option("seconds", "end your code after so long", seconds, 30.0),
)),)
PROGRESS = (Group("", (
    FOLDER,
    replace(PICTURE, name="output", help="save the path as .png, .pdf or .svg"),
)),)
REPRODUCE = (Group("", (
    word("name", "a recipe of --list", "NAME", "?"),
    flag("list", "list the recipes"),
    SEED,
    THREADS,
    Option("results", "where the figures are recorded", default="results", metavar="FOLDER"),
)),)
COMPARE = (Group("", (
    word("names", "translators' recipes of `reproduce --list`, or patterns: 'clauses-*'; or an "
         "attention of your own, FILE.py:CLASS, in Luong's decoder", "NAME", "+"),
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
