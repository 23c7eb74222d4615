"""The options of all commands except `train`. Imports must be fast, because --help needs them."""

from dataclasses import replace

from numpy_attention import registry
from numpy_attention.cli import values
from numpy_attention.cli.parser import Option, file, flag, positional
from numpy_attention.cli.values import text, thread_count, whole

Groups = dict[str, tuple[Option, ...]]      # {title of the help, or "": options}

RUN = positional("run", "folder of a trained run", "RUN")
THREADS = Option("threads", "number of threads; on Linux, of processes that share memory",
                 thread_count, note="depends on the model's size")
SEED = Option("seed", "random seed", values.seed, 0)
JSON = flag("json", "print one JSON object")
PLOT = file("output", "plot the result: .png, .pdf or .svg", read=values.picture)
HOW = (PLOT, SEED, JSON)

# ---- texts --------------------------------------------------------------------------------------

LISTED = "pass all values at once, separated by commas"
JOINED = "join several files first, for example with cat a b > c"
BOTH_JOINED = f"{JOINED}, in the same order on both sides"
A_NAME = "name of a corpus, as in `numpy-attention corpora list`"
CORPUS = Option("corpus", A_NAME, again="use one corpus")
PART = Option("part", "part of the corpus, such as verses for bible-en-es, or raw for multi30k-*",
              note="clauses for bible-en-es", excludes={"source": (), "target": ()})
LIMITS = (
    Option("max_length", "maximum tokens per sentence, source or target", whole(1),
           note="for bible-en-es, 12 for clauses and 50 for verses"),
    Option("pairs", "maximum number of sentence pairs per split; a random sample if the text is "
           "your own", whole(1)),
)
OWN = {"corpus": ()}        # for your own text: not with --corpus
SOURCE = file("source", "your own text, one sentence per line", excludes=OWN, again=BOTH_JOINED)
TARGET = file("target", "its translation, line by line", needs={"source": ()}, excludes=OWN,
              again=BOTH_JOINED)
TEXT = file("text", "your own text, one sentence per line", excludes=OWN, again=JOINED)
HELD_OUT = "5 % of the pairs, held out"
COLUMNS = Option("columns", "source and target columns of tab-separated files, such as 1,2; "
                 "without --target, both are in --source", values.columns, needs={"source": ()})
SKIP_BLANK = flag("skip_blank", "omit pairs with an empty line", needs={"source": ()})
PARALLEL = (
    CORPUS, PART, *LIMITS, SOURCE, TARGET, COLUMNS, SKIP_BLANK,
    file("valid_source", "validation text", note=HELD_OUT, excludes=OWN, again=BOTH_JOINED),
    file("valid_target", "its translation", note=HELD_OUT, excludes=OWN, again=BOTH_JOINED),
)
RUNNING = (
    CORPUS, TEXT,
    file("valid_text", "validation text", note="the last 5 % of --text", excludes=OWN,
         again=JOINED),
    flag("characters", "predict characters instead of words"),
)
PREPARED = (
    flag("lowercase", "lowercase your own text", excludes=OWN),
    flag("tokenize", "split your own text into words and punctuation", excludes=OWN),
)
SPLIT = Option("split", "split of the corpus", choices=registry.SPLITS,
               note="test, or valid for a run on your own text")
SPLIT_OF_TEXT = replace(SPLIT, excludes={"text": ()})
CASE = Option("lowercase", "lowercase the input first", note="as in training", kind="switch")

# ---- decoding -----------------------------------------------------------------------------------

ENSEMBLE = Option("ensemble", "average the probabilities with those of other runs trained on the "
                  "same text, such as runs/b,runs/c", values.folders, metavar="RUNS", again=LISTED)
CODE = Option("code", "files with the run's user-defined classes, such as mine.py,other.py; only "
              "files given here are executed", values.files, metavar="FILES", again=LISTED)
BEAM = Option("beam", "hypotheses that the search keeps; 1 is greedy search", whole(1, 1000), 5)
WEIGHTS = file("heatmap", "plot the attention weights: .png, .pdf or .svg", read=values.picture)
SAMPLING = (
    Option("temperature", "sampling temperature: below 1 sharpens the distribution, above 1 "
           "flattens it; 0 always takes the most likely word", values.not_negative, 1.0),
    Option("top_k", "sample from this many of the most likely words", whole(1)),
    Option("top_p", "sample from the fewest most likely words whose probabilities add up to "
           "at least this", values.share_kept),
    replace(SEED, help="random seed; the same seed writes the same text"),
)
SAMPLED = {"sample": (True,)}

TRANSLATE: Groups = {"": (
    RUN,
    positional("sentence", "sentences to translate; default: the lines of standard input",
               "SENTENCE", "*", text),
    ENSEMBLE,
    CODE,
    replace(BEAM, excludes=SAMPLED),
    Option("length_penalty", "exponent in the score log p / ((5 + length) / 6)^exponent; 0 favours "
           "short translations", values.not_negative, 1.0, excludes={**SAMPLED, "beam": (1,)}),
    flag("all", "print every hypothesis: score, log p, length, translation", excludes=SAMPLED),
    WEIGHTS,
    flag("replace_unknown", "replace each <unk> with the source word that has the largest weight",
         excludes=SAMPLED),
    flag("sample", "sample the translation instead of searching for the best"),
    *(replace(option, needs=SAMPLED) for option in SAMPLING),
    CASE,
)}
GENERATE: Groups = {"": (
    RUN,
    ENSEMBLE,
    CODE,
    Option("prompt", "beginning of the text; --prompt=-text if it starts with a hyphen", text),
    Option("length", "number of words, or characters, to write; attention sees at most the last 64 "
           "if the model was trained without --window", whole(1), 60),
    Option("sentences", "stop after this many sentences", whole(1)),
    *SAMPLING,
    flag("unknown", "allow the model to write <unk>"),
    WEIGHTS,
    CASE,
)}

# ---- measuring ----------------------------------------------------------------------------------

OF_FILES = {"source": (), "target": (), "text": ()}
DATA = {"data to measure on; default: the run's own corpus": (
    replace(CORPUS, excludes=OF_FILES),
    *(replace(option, note="", run="translator")
      for option in (PART, *LIMITS, SOURCE, TARGET, COLUMNS, SKIP_BLANK)),
    replace(TEXT, run="writer"),
    replace(SPLIT, excludes=OF_FILES),
)}
OF_PAIRS = {"run": "translator", "needs": {"source": ()}}
ALIGNMENTS = (
    file("alignments", "gold word links of --source and --target, in Pharaoh format ('0-0 1p2', "
         "one line per pair) or NAACL format (lines such as '1 1 2 S')", **OF_PAIRS),
    Option("count_from", "index of the first word in --alignments, 0 or 1", whole(0, 1),
           note="0, or 1 if only 1 fits; NAACL: 1, or 0 if that occurs and fits", run="translator",
           needs={"alignments": ()}),
)
EVALUATE: Groups = {"": (RUN, ENSEMBLE, CODE), **DATA, "how to measure": (
    *ALIGNMENTS,
    replace(BEAM, run="translator"),
    flag("known", "also measure on the pairs without unknown words, with <unk> excluded from the "
         "output", run="translator"),
    replace(THREADS, note="all processors, or one if the state of a language model is carried"),
    JSON,
)}
ABLATE: Groups = {"": (RUN, CODE), **DATA, "how to measure": HOW}
MADE = {"questions": ()}
CLOZE: Groups = {
    "": (RUN, ENSEMBLE, CODE),
    "questions (by default made from the run's own corpus)": (
        *(replace(option, excludes={**MADE, **option.excludes})
          for option in (CORPUS, TEXT, SPLIT_OF_TEXT)),
        Option("number", "number of questions", whole(1), 500, excludes=MADE),
        file("write", "save the questions in the format of the Children's Book Test",
             excludes=MADE),
        file("questions", "read the questions from a file in that format"),
        replace(CASE, help="lowercase the questions first", needs=MADE)),
    "how to measure": (
        Option("show", "print this many questions with the model's choices", whole(1),
               note="none", excludes={"json": (True,)}),
        SEED,
        JSON),
}
RUNS = positional("runs", "folders of language models with the same vocabulary; the first is the "
                  "baseline", "RUN", "+")
TEXT_OF_RUNS = {"data to measure on; default: the first run's own corpus": (
    CORPUS, TEXT, SPLIT_OF_TEXT)}
RECOVER: Groups = {"": (RUNS, CODE), **TEXT_OF_RUNS, "how to measure": (
    Option("words", "number of words to replace", whole(1), 5),
    Option("next", "number of words to measure after them", whole(1), 20),
    Option("past", "number of words read before the measured ones, including the replaced ones",
           whole(1), 35),
    Option("number", "maximum number of passages, chosen at random", whole(1), 500),
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
    Option("index", "index of the pair or sentence in the split, or in --source and --target",
           whole(0), 0, excludes=GIVEN),
    replace(SPLIT, excludes=GIVEN | {"source": ()}),
    *(replace(option, run="translator", excludes=GIVEN)
      for option in (SOURCE, TARGET, COLUMNS, SKIP_BLANK)),
    *ALIGNMENTS,
    replace(PLOT, help="the image: .png, .pdf or .svg", required=True),
    flag("gradients", "plot ∂L/∂α, the gradients of the weights, next to the weights α"),
)}
PAGE: Groups = {"": (
    replace(RUNS, help="folders of translators or of language models, shown side by side"),
    file("output", "the HTML file to write", read=values.page_name, required=True, short="o"),
    CODE,
    file("script", "JavaScript file with the classes of --code, so that the page can run them"),
    Option("precision", "how the page stores weights: float32, float16, or byte with one scale per "
           "row of a matrix", default="float32", choices=registry.PRECISIONS),
    Option("checkpoints", "earlier checkpoints of a single run, such as a.npz,b.npz, for a slider",
           values.files, metavar="FILES", again=LISTED),
    Option("examples", "number of example sentences from the corpus", whole(0, 1000), 20),
    replace(CORPUS, note="the first run's own"),
    SPLIT,
)}
TRACE: Groups = {
    "": (RUN, CODE, positional("sentences", "a sentence; for a translator, optionally followed by "
                               "a translation (default: the model's own)", "SENTENCE", "+", text)),
    "what to print; default: every array": (
        Option("step", "only this step of each loop over time, counted from 0", whole(0)),
        Option("layer", "only one part of the model, such as decoder, or one function"),
        Option("names", "only arrays with these names, such as a,b, or patterns such as 'd*'",
               values.names, again=LISTED),
        Option("depth", "print calls nested deeper than this on one line each", whole(0),
               note="unlimited")),
}
STEP: Groups = {"": (
    positional("lesson", "number or name of a lesson", "LESSON"),
    Option("steps", "print this many steps and exit; otherwise Enter continues and q quits",
           whole(1), note="all"),
    Option("lessons", "folder of the lessons", metavar="FOLDER",
           note="lessons in the current folder, or those of the course"),
)}
GRADCHECK: Groups = {"": (
    positional("names", "names of checks, or parts of names (default: all checks); or one "
               "user-defined class, FILE.py:CLASS", "NAME", "*"),
    SEED,
    Option("seconds", "time limit for a user-defined class", values.seconds, 60.0),
    flag("full", "print all details of a wrong gradient, with all of its elements"),
)}

# ---- the course ---------------------------------------------------------------------------------

FOLDER = Option("folder", "folder of your exercises", default="exercises", metavar="FOLDER")
EXERCISES: Groups = {"": (FOLDER,)}
EXERCISE = positional("name", "name of an exercise, as in `numpy-attention exercise list`", "NAME")
AN_EXERCISE: Groups = {"": (EXERCISE, FOLDER)}
CHECK_EXERCISE: Groups = {"": (
    EXERCISE, FOLDER, Option("seconds", "time limit for your code", values.seconds, 30.0),
    flag("why", "also print the evidence: kinds of mistake, elements, smaller checks"))}
PROGRESS: Groups = {"": (FOLDER, replace(PLOT, help="plot your progress: .png, .pdf or .svg"))}
COPY_LESSONS: Groups = {"": (
    positional("to", "folder to copy to, created if it does not exist", "FOLDER"),
    Option("only", "numbers of lessons, such as 1,2", values.names, metavar="NUMBERS", note="all",
           again=LISTED),
    flag("notebooks", "copy them as notebooks (needs jupytext)"),
    flag("force", "overwrite existing files"),
)}
RUN_LESSON: Groups = {"": (
    positional("lesson", "number of a lesson", "NUMBER"),
    Option("outputs", "folder for its figures", default="outputs", metavar="FOLDER"),
)}

# ---- corpora and recipes ------------------------------------------------------------------------

A_CORPUS: Groups = {"": (positional("name", A_NAME, "NAME"),)}
REPRODUCE: Groups = {"": (
    positional("name", "a recipe from --list", "NAME", "?"),
    flag("list", "list the recipes"),
    SEED,
    THREADS,
    Option("results", "folder for the results", default="results", metavar="FOLDER"),
)}
COMPARE: Groups = {"": (
    positional("names", "translator recipes from `reproduce --list`, or patterns such as "
               "'clauses-*', or a user-defined attention, FILE.py:CLASS, for Luong's decoder",
               "NAME", "+"),
    Option("epochs", "number of passes through the text", whole(1), note="the recipes' own"),
    Option("minutes", "stop each training run after this many minutes", values.positive),
    replace(SEED, excludes={"seeds": ()}),
    Option("seeds", "train each recipe with these seeds, such as 0-2 or 0,3,5", values.seeds,
           note="only --seed", again=LISTED),
    replace(THREADS, note="depends on the model's size; 1 under mpirun"),
    Option("index", "index of the test pair shown as heatmaps", whole(0), 0),
    Option("output", "folder for the figures", default="runs/compare", metavar="FOLDER"),
)}
