"""The options of all commands except `train`. Imports must be fast, because --help needs them."""

from dataclasses import replace

from numpy_attention import registry
from numpy_attention.cli import values
from numpy_attention.cli.parser import Option, file, flag, positional
from numpy_attention.cli.values import text, thread_count, whole

Groups = dict[str, tuple[Option, ...]]      # {title of the help, or "": options}

RUN = positional("run", "folder of a trained run", "RUN")
THREADS = Option("threads", "number of parallel workers: processes on Linux, threads elsewhere",
                 thread_count, note="depends on the model's size")
SEED = Option("seed", "random seed", values.seed, 0)
JSON = flag("json", "print the results as one JSON object")
PLOT = file("output", "plot the results as .png, .pdf or .svg", read=values.picture)
DRAWS = replace(SEED, help="random seed; the same seed gives the same results")
HOW = (PLOT, DRAWS, JSON)

# ---- texts --------------------------------------------------------------------------------------

LISTED = "pass all values at once, separated by commas"
JOINED = "join the files first, for example with `cat a b > c`"
BOTH_JOINED = "join the files of each side first, in the same order, with `cat a b > c`"
A_NAME = "a corpus listed by `numpy-attention corpora list`"
CORPUS = Option("corpus", A_NAME, again="use one corpus")
PART = Option("part", "part of the corpus. bible-en-es: clauses, verses or both; multi30k-*: raw "
              "for text without tokenization", note="clauses, or the tokenized text of multi30k-*",
              excludes={"source": (), "target": ()})
MAX_LENGTH = Option("max_length", "omit pairs in which a sentence has more than N tokens", whole(1),
                    note="for bible-en-es, 12 for clauses and 50 for verses")
PAIRS = Option("pairs", "maximum number of sentence pairs per split: the first pairs of a corpus, "
               "or random pairs of your own text", whole(1))
OWN = {"corpus": ()}        # `excludes` of options for your own text: no effect with --corpus
SOURCE = file("source", "your source text, one sentence per line", excludes=OWN, again=BOTH_JOINED)
TARGET = replace(SOURCE, name="target", help="translation of the source text, line by line",
                 needs={"source": ()})
TEXT = file("text", "your own text, one sentence per line", excludes=OWN, again=JOINED)
HELD_OUT = "5 % of the pairs, held out"
COLUMNS = Option("columns", "for tab-separated text: columns of source and target, such as 1,2; "
                 "without --target, both are in --source", values.columns, needs={"source": ()})
SKIP_BLANK = flag("skip_blank", "omit pairs in which a line is empty", needs={"source": ()})
PARALLEL = (
    CORPUS, PART, MAX_LENGTH, PAIRS, SOURCE, TARGET, COLUMNS, SKIP_BLANK,
    replace(SOURCE, name="valid_source", help="source text for validation", note=HELD_OUT),
    replace(SOURCE, name="valid_target", help="translation of the validation text", note=HELD_OUT),
)
RUNNING = (
    CORPUS, TEXT,
    replace(TEXT, name="valid_text", help="text for validation", note="the last 5 % of --text"),
    flag("characters", "predict characters instead of words"),
)
PREPARED = (
    flag("lowercase", "lowercase your own text", excludes=OWN),
    flag("tokenize", "split your own text into words and punctuation", excludes=OWN),
)
SPLIT = Option("split", "split of the corpus", choices=registry.SPLITS,
               note="test, or valid if the run was trained on your own text")
SPLIT_OF_TEXT = replace(SPLIT, excludes={"text": ()})
CASE = Option("lowercase", "lowercase the input first", note="as in training", kind="switch")

# ---- decoding -----------------------------------------------------------------------------------

ENSEMBLE = Option("ensemble", "average the probabilities with those of other runs on the same "
                  "text, such as runs/b,runs/c", values.folders, metavar="RUNS", again=LISTED)
CODE = Option("code", "Python files with the run's user-defined classes, such as a.py,b.py; "
              "no other file is executed", values.files, metavar="FILES", again=LISTED)
BEAM = Option("beam", "number of hypotheses to keep; 1 is greedy search", whole(1, 1000), 5)
WEIGHTS = file("heatmap", "plot the attention weights as .png, .pdf or .svg", read=values.picture)
SAMPLING = (
    Option("temperature", "sampling temperature: below 1 sharpens the distribution, above 1 "
           "flattens it; 0 always takes the most likely word", values.not_negative, 1.0),
    Option("top_k", "sample only from the N most likely words", whole(1)),
    Option("top_p", "sample only from the smallest set of most likely words whose total "
           "probability is at least X", values.share_kept),
    replace(SEED, help="random seed; the same seed gives the same text"),
)
SAMPLED = {"sample": (True,)}

TRANSLATE: Groups = {"": (
    RUN,
    positional("sentence", "sentences to translate (default: the lines of standard input)",
               "SENTENCE", "*", text),
    ENSEMBLE,
    CODE,
    replace(BEAM, excludes=SAMPLED),
    Option("length_penalty", "rank hypotheses by log p / ((5 + length) / 6)^X; 0 favours short "
           "translations", values.not_negative, 1.0, excludes={**SAMPLED, "beam": (1,)}),
    flag("all", "print every hypothesis, with its score, log p and length", excludes=SAMPLED),
    replace(WEIGHTS, help="plot the attention weights of one sentence as .png, .pdf or .svg"),
    flag("replace_unknown", "replace each <unk> with the source word that has the largest "
         "attention weight", excludes=SAMPLED),
    flag("sample", "sample the translation instead of searching for the best"),
    *(replace(option, needs=SAMPLED) for option in SAMPLING),
    CASE,
)}
GENERATE: Groups = {"": (
    RUN,
    ENSEMBLE,
    CODE,
    Option("prompt", "beginning of the text; write --prompt=TEXT if it starts with a hyphen", text),
    Option("length", "number of words or characters to write", whole(1), 60),
    Option("sentences", "stop after N sentences", whole(1)),
    *SAMPLING,
    flag("unknown", "allow the model to write <unk>"),
    WEIGHTS,
    CASE,
)}

# ---- measuring ----------------------------------------------------------------------------------

OF_FILES = {"source": (), "target": (), "text": ()}
DATA = {"data to measure on (default: the run's own corpus)": (
    replace(CORPUS, excludes=OF_FILES),
    *(replace(option, note="as in training if the corpus is the run's own", run="translator")
      for option in (PART, MAX_LENGTH, replace(PAIRS, help="maximum number of sentence pairs"))),
    *(replace(option, run="translator") for option in (SOURCE, TARGET, COLUMNS, SKIP_BLANK)),
    replace(TEXT, run="writer"),
    replace(SPLIT, excludes=OF_FILES),
)}
OF_PAIRS = {"run": "translator", "needs": {"source": ()}}
ALIGNMENTS = (
    file("alignments", "gold word links of the pairs. Pharaoh format: a line per pair, such as "
         "'0-0 1p2', where p marks a possible link; NAACL format: a line per link, such as "
         "'1 1 2 S' (pair, source word, target word, Sure or Possible)", **OF_PAIRS),
    Option("count_from", "whether the links count words from 0 or from 1", whole(0, 1),
           note="0 for Pharaoh, 1 for NAACL, or what the links require",
           run="translator", needs={"alignments": ()}),
)
EVALUATE: Groups = {"": (RUN, ENSEMBLE, CODE), **DATA, "how to measure": (
    *ALIGNMENTS,
    replace(BEAM, run="translator"),
    flag("known", "also measure separately on the pairs without unknown words, and never choose "
         "<unk> in their translations", run="translator"),
    replace(THREADS, note="all processors; 1 for a language model that carries its state"),
    JSON,
)}
ABLATE: Groups = {"": (RUN, CODE), **DATA, "how to measure": HOW}
MADE = {"questions": ()}
CLOZE: Groups = {
    "": (RUN, ENSEMBLE, CODE),
    "questions (default: made from the run's own corpus)": (
        *(replace(option, excludes={**MADE, **option.excludes})
          for option in (CORPUS, TEXT, SPLIT_OF_TEXT)),
        Option("number", "number of questions", whole(1), 500, excludes=MADE),
        file("write", "save the questions in this file, in the format of the Children's Book Test",
             excludes=MADE),
        file("questions", "read the questions from this file, in the same format"),
        replace(CASE, help="lowercase the questions first", needs=MADE)),
    "how to measure": (
        Option("show", "print the first N questions, with the model's choices", whole(1),
               note="none", excludes={"json": (True,)}),
        DRAWS,
        JSON),
}
RUNS = positional("runs", "folders of language models with the same vocabulary; the first is the "
                  "baseline", "RUN", "+")
TEXT_OF_RUNS = {"data to measure on (default: the first run's own corpus)": (
    CORPUS, TEXT, SPLIT_OF_TEXT)}
RECOVER: Groups = {"": (RUNS, CODE), **TEXT_OF_RUNS, "how to measure": (
    Option("words", "number of words to replace", whole(1), 5),
    Option("next", "number of words to measure after the replaced ones", whole(1), 20),
    Option("past", "number of words, including the replaced ones, to read before the measured "
           "words; no effect on models that read single sentences", whole(1), 35),
    Option("number", "maximum number of passages, which are chosen at random", whole(1), 500),
    *HOW,
)}
DISTANCES: Groups = {"": (RUNS, CODE), **TEXT_OF_RUNS, "how to measure": HOW}

# ---- looking at a run, and at code --------------------------------------------------------------

GIVEN = {"sentences": ()}
HEATMAP: Groups = {"": (
    RUN,
    CODE,
    positional("sentences", "a source and a target sentence, or one sentence for a language model "
               "(default: chosen by --index)", "SENTENCE", "*", text),
    Option("index", "number of the pair or sentence to plot, counted from 0, in the split or in "
           "--source and --target", whole(0), 0, excludes=GIVEN),
    replace(SPLIT, excludes=GIVEN | {"source": ()}),
    *(replace(option, run="translator", excludes=GIVEN)
      for option in (SOURCE, TARGET, COLUMNS, SKIP_BLANK)),
    *ALIGNMENTS,
    replace(PLOT, help="save the plot as .png, .pdf or .svg", required=True),
    flag("gradients", "also plot ∂L/∂α, the gradients of the attention weights α"),
)}
PAGE: Groups = {"": (
    replace(RUNS, help="folders of translators, or of language models, to show side by side"),
    file("output", "the HTML file to write", read=values.page_name, required=True, short="o"),
    CODE,
    file("script", "your JavaScript version of the user-defined classes, for the page"),
    Option("precision", "number format of the stored arrays. byte: 8 bits, with a scale per row",
           default="float32", choices=registry.PRECISIONS),
    Option("checkpoints", "show these earlier checkpoints on a slider, such as a.npz,b.npz; only "
           "for a single run", values.files, metavar="FILES", again=LISTED),
    Option("examples", "number of example sentences from the corpus", whole(0, 1000), 20),
    replace(CORPUS, note="the first run's own"),
    SPLIT,
)}
TRACE: Groups = {
    "": (RUN, CODE, positional("sentences", "a sentence and, for a translator, its translation "
                               "(if omitted, the model's own)", "SENTENCE", "+", text)),
    "what to list (default: every array)": (
        Option("step", "only this step of each loop, counted from 0", whole(0)),
        Option("layer", "only the layer or function with this name, such as decoder"),
        Option("names", "only arrays with these names, such as a,b, or patterns such as 'd*'",
               values.names, again=LISTED),
        Option("depth", "expand only N levels of nested calls, and print one line for each call "
               "below them", whole(0), note="expand all")),
}
STEP: Groups = {"": (
    positional("lesson", "number or name of a lesson", "LESSON"),
    Option("steps", "print N steps and exit", whole(1),
           note="all; in a terminal, press Enter for the next step, or q to quit"),
    Option("lessons", "folder of the lessons", metavar="FOLDER",
           note="lessons in the current folder, if it exists, else the installed ones"),
)}
GRADCHECK: Groups = {"": (
    positional("names", "names of checks, parts of names, or one user-defined class, "
               "FILE.py:CLASS (default: all checks)", "NAME", "*"),
    replace(SEED, help="random seed for inputs and parameters"),
    Option("seconds", "time limit for a user-defined class", values.seconds, 60.0),
    flag("full", "print all that the check found, such as the wrong gradients"),
)}

# ---- the course ---------------------------------------------------------------------------------

FOLDER = Option("folder", "folder of your exercises", default="exercises", metavar="FOLDER")
EXERCISES: Groups = {"": (FOLDER,)}
EXERCISE = positional("name", "an exercise listed by `numpy-attention exercise list`", "NAME")
AN_EXERCISE: Groups = {"": (EXERCISE, FOLDER)}
CHECK_EXERCISE: Groups = {"": (
    EXERCISE, FOLDER, Option("seconds", "time limit for your code", values.seconds, 30.0),
    flag("why", "also print the evidence: likely mistakes, wrong elements, and inputs that work"))}
PROGRESS: Groups = {"": (FOLDER, replace(PLOT, help="plot your progress as .png, .pdf or .svg"))}
COPY_LESSONS: Groups = {"": (
    positional("to", "folder to copy to, created if it does not exist", "FOLDER"),
    Option("only", "numbers of lessons to copy, such as 1,2", values.names, metavar="NUMBERS",
           note="all", again=LISTED),
    flag("notebooks", "copy the lessons as notebooks (needs jupytext)"),
    flag("force", "overwrite existing files"),
)}
RUN_LESSON: Groups = {"": (
    positional("lesson", "number of a lesson", "NUMBER"),
    Option("outputs", "folder for the figures", default="outputs", metavar="FOLDER"),
)}

# ---- corpora and recipes ------------------------------------------------------------------------

A_CORPUS: Groups = {"": (positional("name", A_NAME, "NAME"),)}
REPRODUCE: Groups = {"": (
    positional("name", "a recipe listed by --list", "NAME", "?"),
    flag("list", "list all recipes and exit"),
    SEED,
    THREADS,
    Option("results", "folder for the results", default="results", metavar="FOLDER"),
)}
COMPARE: Groups = {"": (
    positional("names", "a translator recipe listed by `reproduce --list`; a pattern such as "
               "'clauses-*'; or FILE.py:CLASS, your own attention in Luong's decoder",
               "NAME", "+"),
    Option("epochs", "number of passes through the text", whole(1), note="as in the recipes"),
    Option("minutes", "stop each training run after X minutes", values.positive),
    replace(SEED, excludes={"seeds": ()}),
    Option("seeds", "train each recipe once per seed, such as 0-2 or 0,3,5", values.seeds,
           note="the seed of --seed", again=LISTED),
    replace(THREADS, note="depends on the model's size; 1 under mpirun"),
    Option("index", "plot heatmaps of test pair number N, counted from 0", whole(0), 0),
    Option("output", "folder for the figures", default="runs/compare", metavar="FOLDER"),
)}
