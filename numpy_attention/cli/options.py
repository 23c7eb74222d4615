"""The options of all commands except `train`; nothing here is slow to import, for --help waits."""

from dataclasses import replace

from numpy_attention import registry
from numpy_attention.cli.parser import Option, file, flag, positional
from numpy_attention.cli.values import (
    columns,
    files,
    folders,
    names,
    not_negative,
    page_name,
    picture,
    positive,
    seconds,
    seed,
    seeds,
    share_kept,
    text,
    thread_count,
    whole,
)

Groups = dict[str, tuple[Option, ...]]      # {title of the help, or "": options}

RUN = positional("run", "folder of a trained run", "RUN")
THREADS = Option("threads", "threads that share the work", thread_count, note="chosen by its size")
SEED = Option("seed", "seed of everything random", seed, 0)
JSON = flag("json", "print one JSON object")
PLOT = file("output", "draw the result: .png, .pdf or .svg", read=picture)
HOW = (PLOT, SEED, JSON)

# ---- texts --------------------------------------------------------------------------------------

LISTED = "give all of them at once, with commas between them"
JOINED = "join several files first, such as with cat a b > c"
BOTH_JOINED = f"{JOINED}, in the same order on both sides"
CORPUS = Option("corpus", "a corpus of `numpy-attention corpora list`", again="give one corpus")
PART = Option("part", "a part, such as verses of bible-en-es, raw of multi30k-*",
              note="clauses of bible-en-es", excludes={"source": (), "target": ()})
LIMITS = (
    Option("max_length", "longest sentence, in tokens, on both sides", whole(1),
           note="bible-en-es: 12 for clauses and 50 for verses"),
    Option("pairs", "largest number of sentence pairs of a split; of your own text, drawn by the "
           "seed", whole(1)),
)
OWN = {"corpus": ()}        # for your own text: not with --corpus
SOURCE = file("source", "your own text, one sentence a line", excludes=OWN, again=BOTH_JOINED)
TARGET = file("target", "its translation, line by line", needs={"source": ()}, excludes=OWN,
              again=BOTH_JOINED)
TEXT = file("text", "your own text, one sentence a line", excludes=OWN, again=JOINED)
HELD_OUT = "5 % of the pairs, held out"
COLUMNS = Option("columns", "read these columns of tab-separated files, the source's and the "
                 "target's, such as 1,2; of --source alone, or of both files", columns,
                 needs={"source": ()})
SKIP_BLANK = flag("skip_blank", "leave out pairs in which a line is empty", needs={"source": ()})
PARALLEL = (
    CORPUS, PART, *LIMITS, SOURCE, TARGET, COLUMNS, SKIP_BLANK,
    file("valid_source", "text to validate on", note=HELD_OUT, excludes=OWN, again=BOTH_JOINED),
    file("valid_target", "its translation", note=HELD_OUT, excludes=OWN, again=BOTH_JOINED),
)
RUNNING = (
    CORPUS, TEXT,
    file("valid_text", "text to validate on", note="the last 5 % of --text", excludes=OWN,
         again=JOINED),
    flag("characters", "predict characters instead of words"),
)
PREPARED = (
    flag("lowercase", "lowercase your own text", excludes=OWN),
    flag("tokenize", "split your own text into words and punctuation", excludes=OWN),
)
SPLIT = Option("split", "split of the corpus", choices=registry.SPLITS,
               note="test; valid for a run on your own text")
SPLIT_OF_TEXT = replace(SPLIT, excludes={"text": ()})
CASE = Option("lowercase", "lowercase the input first", note="as the run's text was",
              kind="switch")

# ---- decoding -----------------------------------------------------------------------------------

ENSEMBLE = Option("ensemble", "average the probabilities with more runs of the same text, "
                  "runs/b,runs/c", folders, metavar="RUNS", again=LISTED)
CODE = Option("code", "your own code that the run was trained with, mine.py,other.py; it is never "
              "run unless given here", files, metavar="FILES", again=LISTED)
BEAM = Option("beam", "hypotheses kept by the search; 1 is greedy", whole(1, 1000), 5)
WEIGHTS = file("heatmap", "save the attention weights: .png, .pdf or .svg", read=picture)
SAMPLING = (
    Option("temperature", "below 1 favours likely words, above 1 surprising ones; 0 takes the "
           "likeliest", not_negative, 1.0),
    Option("top_k", "choose among this many of the likeliest words", whole(1)),
    Option("top_p", "choose among the likeliest words with together this probability", share_kept),
    replace(SEED, help="the same seed writes the same text"),
)
SAMPLED = {"sample": (True,)}

TRANSLATE: Groups = {"": (
    RUN,
    positional("sentence", "sentences to translate; default: the lines of the standard input",
               "SENTENCE", "*", text),
    ENSEMBLE,
    CODE,
    replace(BEAM, excludes=SAMPLED),
    Option("length_penalty", "a in the rank, log p / ((5 + length) / 6)^a; 0 favours short ones",
           not_negative, 1.0, excludes={**SAMPLED, "beam": (1,)}),
    flag("all", "print every hypothesis: score, log p, length, translation", excludes=SAMPLED),
    WEIGHTS,
    flag("replace_unknown", "write for each <unk> the source word with its largest weight",
         excludes=SAMPLED),
    flag("sample", "sample the translation instead of searching for it"),
    *(replace(option, needs=SAMPLED) for option in SAMPLING),
    CASE,
)}
GENERATE: Groups = {"": (
    RUN,
    ENSEMBLE,
    CODE,
    Option("prompt", "beginning of the text; one with a hyphen as --prompt=-like-this", text),
    Option("length", "words, or characters, to write; without --window in training, attention sees "
           "at most the last 64", whole(1), 60),
    Option("sentences", "stop after this many sentences", whole(1)),
    *SAMPLING,
    flag("unknown", "allow <unk> to be written"),
    WEIGHTS,
    CASE,
)}

# ---- measuring ----------------------------------------------------------------------------------

OF_FILES = {"source": (), "target": (), "text": ()}
DATA = {"what to measure on; default: the run's own corpus": (
    replace(CORPUS, excludes=OF_FILES),
    *(replace(option, note="", run="translator")
      for option in (PART, *LIMITS, SOURCE, TARGET, COLUMNS, SKIP_BLANK)),
    replace(TEXT, run="writer"),
    replace(SPLIT, excludes=OF_FILES),
)}
OF_PAIRS = {"run": "translator", "needs": {"source": ()}}
ALIGNMENTS = (
    file("alignments", "word links of --source and --target: 0-0 1p2 on the line of each pair "
         "(Pharaoh), or lines 1 1 2 S (NAACL)", **OF_PAIRS),
    Option("count_from", "what the first word is in --alignments, 0 or 1", whole(0, 1),
           note="as the file's links fit, else 0, and 1 for NAACL", run="translator",
           needs={"alignments": ()}),
)
EVALUATE: Groups = {"": (RUN, ENSEMBLE, CODE), **DATA, "how to measure": (
    *ALIGNMENTS,
    replace(BEAM, run="translator"),
    flag("known", "also measure the pairs without unknown words, with <unk> never written",
         run="translator"),
    replace(THREADS, note="all processors; one if a language model's state is carried"),
    JSON,
)}
ABLATE: Groups = {"": (RUN, CODE), **DATA, "how to measure": HOW}
MADE = {"questions": ()}
CLOZE: Groups = {
    "": (RUN, ENSEMBLE, CODE),
    "the questions; default: made from the run's own corpus": (
        *(replace(option, excludes={**MADE, **option.excludes})
          for option in (CORPUS, TEXT, SPLIT_OF_TEXT)),
        Option("number", "how many questions", whole(1), 500, excludes=MADE),
        file("write", "save them in the format of the Children's Book Test", excludes=MADE),
        file("questions", "read them from a file of that format"),
        replace(CASE, help="lowercase the questions first", needs=MADE)),
    "how to measure": (
        Option("show", "print this many questions, and what the model chooses", whole(1),
               note="none", excludes={"json": (True,)}),
        SEED,
        JSON),
}
RUNS = positional("runs", "folders of language models with one vocabulary; the others are compared "
                  "with the first", "RUN", "+")
TEXT_OF_RUNS = {"what to measure on; default: the first run's own corpus": (
    CORPUS, TEXT, SPLIT_OF_TEXT)}
RECOVER: Groups = {"": (RUNS, CODE), **TEXT_OF_RUNS, "how to measure": (
    Option("words", "number of words that are replaced", whole(1), 5),
    Option("next", "number of words measured after them", whole(1), 20),
    Option("past", "words read before the measured ones, replaced ones included", whole(1), 35),
    Option("number", "largest number of passages, chosen at random", whole(1), 500),
    *HOW,
)}
DISTANCES: Groups = {"": (RUNS, CODE), **TEXT_OF_RUNS, "how to measure": HOW}

# ---- looking at a run, and at code --------------------------------------------------------------

GIVEN = {"sentences": ()}
HEATMAP: Groups = {"": (
    RUN,
    CODE,
    positional("sentences", "a source and a target sentence, or one sentence for a language model",
               "SENTENCE", "*", text),
    Option("index", "index of the pair, or sentence, in the split or in --source and --target",
           whole(0), 0, excludes=GIVEN),
    replace(SPLIT, excludes=GIVEN | {"source": ()}),
    *(replace(option, run="translator", excludes=GIVEN)
      for option in (SOURCE, TARGET, COLUMNS, SKIP_BLANK)),
    *ALIGNMENTS,
    replace(PLOT, help="the picture: .png, .pdf or .svg", required=True),
    flag("gradients", "draw ∂L/∂α, the gradients of the weights, next to the weights α"),
)}
PAGE: Groups = {"": (
    replace(RUNS, help="folders of translators or of language models, shown side by side"),
    file("output", "the page, one file", read=page_name, required=True, short="o"),
    CODE,
    file("script", "JavaScript that adds the classes of --code to the page, which then runs them"),
    Option("precision", "bytes of a number: 4, 2, or 1 with a scale for each row of a matrix",
           default="float32", choices=registry.PRECISIONS),
    Option("checkpoints", "earlier checkpoints of the one run, a.npz,b.npz, to slide through",
           files, metavar="FILES", again=LISTED),
    Option("examples", "number of sentences of the corpus to choose from", whole(0, 1000), 20),
    replace(CORPUS, note="the first run's own"),
    SPLIT,
)}
TRACE: Groups = {
    "": (RUN, CODE, positional("sentences", "a sentence; for a translator a translation may "
                               "follow, default: its own", "SENTENCE", "+", text)),
    "what to print, instead of every array": (
        Option("step", "only this step of a loop over time, from 0", whole(0)),
        Option("layer", "only a part of the model, such as decoder or attention, or a function"),
        Option("names", "only arrays with these names, a,b, or patterns such as 'd*'", names,
               again=LISTED),
        Option("depth", "calls deeper than this take one line each", whole(0), note="unlimited")),
}
STEP: Groups = {"": (
    positional("lesson", "number or name of a lesson", "LESSON"),
    Option("steps", "print this many steps and end; else Enter continues and q ends", whole(1),
           note="all"),
    Option("lessons", "folder of the lessons", metavar="FOLDER",
           note="lessons here, or those of the course"),
)}
GRADCHECK: Groups = {"": (
    positional("names", "checks, or parts of their names; default: all; or a user-defined class, "
               "FILE.py:CLASS", "NAME", "*"),
    SEED,
    Option("seconds", "time limit of a user-defined class", seconds, 60.0),
    flag("full", "print all that is known about a wrong gradient, with all of its elements"),
)}

# ---- the course ---------------------------------------------------------------------------------

FOLDER = Option("folder", "where your exercises are", default="exercises", metavar="FOLDER")
EXERCISES: Groups = {"": (FOLDER,)}
EXERCISE = positional("name", "an exercise of `numpy-attention exercise list`", "NAME")
AN_EXERCISE: Groups = {"": (EXERCISE, FOLDER)}
CHECK_EXERCISE: Groups = {"": (
    EXERCISE, FOLDER, Option("seconds", "time limit of your code", seconds, 30.0),
    flag("why", "print the evidence too: kinds of mistake, elements, smaller checks"))}
PROGRESS: Groups = {"": (FOLDER, replace(PLOT, help="draw the course: .png, .pdf or .svg"))}
COPY_LESSONS: Groups = {"": (
    positional("to", "folder, created if it does not exist", "FOLDER"),
    Option("only", "numbers of lessons, such as 1,2", names, metavar="NUMBERS", note="all lessons",
           again=LISTED),
    flag("notebooks", "as notebooks, made by jupytext"),
    flag("force", "overwrite existing files"),
)}
RUN_LESSON: Groups = {"": (
    positional("lesson", "number of a lesson", "NUMBER"),
    Option("outputs", "where its figures are saved", default="outputs", metavar="FOLDER"),
)}

# ---- corpora and recipes ------------------------------------------------------------------------

A_CORPUS: Groups = {"": (positional("name", "a corpus of `numpy-attention corpora list`", "NAME"),)}
REPRODUCE: Groups = {"": (
    positional("name", "a recipe of --list", "NAME", "?"),
    flag("list", "list the recipes"),
    SEED,
    THREADS,
    Option("results", "where the figures are recorded", default="results", metavar="FOLDER"),
)}
COMPARE: Groups = {"": (
    positional("names", "translators' recipes of `reproduce --list`, or patterns: 'clauses-*'; or "
               "a user-defined attention, FILE.py:CLASS, in Luong's decoder", "NAME", "+"),
    Option("epochs", "passes through the text", whole(1), note="the recipes' own"),
    Option("minutes", "stop each training after this many minutes", positive),
    replace(SEED, excludes={"seeds": ()}),
    Option("seeds", "train each recipe with all of these, such as 0-2 or 0,3,5", seeds,
           note="--seed alone", again=LISTED),
    replace(THREADS, note="chosen by its size; 1 under mpirun"),
    Option("index", "index of the test pair whose heatmaps are drawn", whole(0), 0),
    Option("output", "where the figures are saved", default="runs/compare", metavar="FOLDER"),
)}
