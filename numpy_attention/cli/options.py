"""Options that several commands have, each said once: its name, what it may be, default and help.

Those of trainings and models stand in training_options.py, those of what is done with a run in
run_options.py. What may be chosen comes from registry.py. Nothing in these files is slow to import,
for --help waits.
"""

from collections.abc import Sequence

from numpy_attention import registry
from numpy_attention.cli.entry import Against, Option, With, Without, flag, word
from numpy_attention.cli.values import seed, thread_count, whole

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
SPLIT = Option("split", "which part of the corpus", choices=registry.SPLITS,
               otherwise="test; valid for a run on your own text")
CASE = Option("lowercase", "lowercase what is given first", otherwise="as the run's text was",
              kind="switch")
