"""Cases that test_mpirun.py starts on several ranks; each prints its result on standard output.

    mpirun -n 2 python at_ranks.py trained 1        parameters of small trainings, 1 thread a rank
"""

import os
import sys
from dataclasses import replace

import numpy as np

from numpy_attention.data.pairs import Pair
from numpy_attention.data.running_text import Text
from numpy_attention.experiments.runs import provenance
from numpy_attention.experiments.runs.language_model_run import (
    LanguageModelRun,
    LanguageModelTraining,
)
from numpy_attention.experiments.runs.provenance import digest
from numpy_attention.experiments.runs.translator import Translator, TranslatorTraining
from numpy_attention.training.distributed import row_sums
from numpy_attention.training.distributed.ranks import world
from numpy_attention.training.threads import crowded

WORDS = "the a red green blue house tree river sees finds and old new".split()
RANKS = world()


def sentences(count, seed):
    rng = np.random.default_rng(seed)
    return [[WORDS[k] for k in rng.integers(len(WORDS), size=size)]
            for size in rng.integers(1, 7, count)]


def pairs(count, seed=1):
    return [Pair(tuple(words), tuple(words[::-1])) for words in sentences(count, seed)]


def translator(**settings):
    how = TranslatorTraining(epochs=2, batch_size=10, learning_rate=0.01)
    return Translator.create(pairs(93), "rnnsearch",
                             dict(hidden=8, embedding=6, dropout=0.3) | settings, how)


def text():
    return Text([sentences(4, seed) for seed in range(12)], has_articles=True)


def writer(state, **settings):
    how = LanguageModelTraining(epochs=2, batch_size=4, steps=5, learning_rate=0.01, state=state)
    name = "attentive-language-model" if "attention" in settings else "language-model"
    return LanguageModelRun.create(text(), name,
                                   dict(hidden=8, embedding=8, dropout=0.3) | settings, how)


def report(name, made, *figures):
    history = [made.history[-1][key] for key in ("train_loss", "valid_loss")]
    print(RANKS.rank, name, digest(made.model.vector.tobytes()), *history, *figures, flush=True)


def trained(threads):
    """Train models of every kind that carries state or shares work between ranks."""
    made = translator().fit(pairs(93), pairs(25, 2), None, threads, False, RANKS)
    found = made.translate(sentences(30, 3), 3, batch_size=4, threads=threads, ranks=RANKS)
    report("translator", made, digest(repr(found).encode()),
         made.measure(pairs(25, 2), 2, threads, ranks=RANKS)["perplexity"])
    row_sums.MANY = 5               # so that these small tables send only their touched rows
    row_sums.MOST = 0.9
    report("rows", translator().fit(pairs(93), pairs(25, 2), None, threads, False, RANKS))
    row_sums.MANY = 4096
    report("carried", writer("carried").fit(text(), text(), None, threads, False, RANKS))
    report("memory", writer("carried", attention="key-value", window=3).fit(
        text(), text(), None, threads, False, RANKS))
    report("articles", writer("article").fit(text(), text(), None, threads, False, RANKS))


def disagree(threads, name, value):
    """Give rank 1 a different version, seed, text or number of threads."""
    made = translator()
    if RANKS.rank == 1:
        if name == "version":
            provenance.__version__ = value
        if name == "seed":
            made.training = replace(made.training, seed=int(value))
    train = pairs(93, 5 if RANKS.rank == 1 and name == "text" else 1)
    threads += RANKS.rank == 1 and name == "threads"
    try:
        made.fit(train, pairs(25, 2), None, threads, False, RANKS)
    except ValueError as error:
        print(RANKS.rank, error, flush=True)


def agreed(threads):
    """Print results of collective operations, and an error of rank 0 on every rank."""
    print(RANKS.rank, RANKS.count, RANKS.is_first, RANKS.allgather(RANKS.rank ** 2),
          RANKS.broadcast(RANKS.rank + 5), flush=True)
    try:
        RANKS.first(lambda: {}[f"of {RANKS.rank}"])
    except KeyError as error:
        print(RANKS.rank, "KeyError", error, flush=True)
    for size in (0, 1, 5, 1000):
        vector = np.random.default_rng([size, RANKS.rank]).standard_normal(size).astype(np.float32)
        RANKS.add(vector)
        print(RANKS.rank, size, digest(vector.tobytes()), flush=True)
    print(RANKS.rank, crowded(RANKS, 500), flush=True)


def failed(threads):
    """Run a command that fails only on rank 1."""
    from numpy_attention.cli import main
    if RANKS.rank == 1:
        def fail(*arguments):
            raise ValueError("no such thing here")
        main.parse = fail
    sys.exit(main.main(["train", "--corpus", "copy", "--pairs", "60", "--hidden", "8", "--epochs",
                        "1", "--threads", "1"]))


def broken(threads):
    """Run a training with a bug only on rank 1."""
    from numpy_attention.training.trainer import Trainer
    if RANKS.rank == 1:
        Trainer.train_step = lambda *arguments: {}["forgotten"]
    from numpy_attention.cli.main import main
    sys.exit(main(["train", "--corpus", "copy", "--pairs", "60", "--hidden", "8", "--epochs", "1",
                   "--threads", "1"]))


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    case, number, *more = sys.argv[1:]
    globals()[case](int(number), *more)
