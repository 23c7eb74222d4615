"""Small trainings with different state in their checkpoints, which kills.py kills.

TRAININGS[name](folder, texts) trains or resumes in `folder` until the end. texts: the folder of the
files that `write_texts` writes. It returns the trained run, or None for the command line.
"""

import subprocess
import sys

import numpy as np

from numpy_attention.cli.main import main
from numpy_attention.data.pairs import Pair
from numpy_attention.data.running_text import Text
from numpy_attention.data.user_text import UserPairs, UserText
from numpy_attention.experiments.runs.language_model_run import (
    LanguageModelRun,
    LanguageModelTraining,
)
from numpy_attention.experiments.runs.translator import Translator, TranslatorTraining
from numpy_attention.training.distributed.ranks import SINGLE_PROCESS

WORDS = "the a red green blue house tree river sees finds and old new".split()
SMALL = {"hidden": 8, "embedding": 6, "dropout": 0.3}


def sentences(count, seed, shortest=1, longest=7):
    """Return random sentences that depend only on the arguments."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(shortest, longest + 1, count)
    return [[WORDS[k] for k in rng.integers(len(WORDS), size=length)] for length in lengths]


def pairs(count, seed):
    """Return pairs whose target is the source with its words in reversed order."""
    return [Pair(tuple(words), tuple(words[::-1])) for words in sentences(count, seed)]


def write_texts(folder):
    """Write source.txt and target.txt, parallel line by line, and text.txt."""
    lines = [" ".join(words) + "\n" for words in sentences(120, 7, 2)]
    (folder / "source.txt").write_text("".join(lines))
    (folder / "target.txt").write_text("".join(line.upper() for line in lines))
    (folder / "text.txt").write_text("".join(lines) * 2)


# ---- through the library ------------------------------------------------------------------------


def translator(folder, name="rnnsearch", settings=SMALL, corpus=None, threads=1,
               ranks=SINGLE_PROCESS, **training):
    how = {"epochs": 4, "batch_size": 8, "learning_rate": 0.01, "save_steps": 3} | training
    learn, valid = pairs(90, 1), pairs(20, 2)
    if corpus is not None:
        learn, valid = corpus.load("train", "valid")
    made = Translator.create(learn, name, settings, TranslatorTraining(**how),
                             corpus.saved() if corpus else {})
    return made.fit(learn, valid, folder, threads, progress=False, ranks=ranks)


def writer(folder, settings=SMALL, corpus=None, threads=1, ranks=SINGLE_PROCESS, **training):
    how = {"epochs": 4, "batch_size": 4, "steps": 5, "learning_rate": 0.01, "save_steps": 3}
    how |= training
    articles = [sentences(4, seed) for seed in range(12)]
    learn, valid = Text(articles, has_articles=True), Text(articles[:3], has_articles=True)
    if corpus is not None:
        learn, valid = corpus.load("train", "valid")
    name = "attentive-language-model" if "attention" in settings else "language-model"
    made = LanguageModelRun.create(learn, name, settings, LanguageModelTraining(**how),
                                   corpus.saved() if corpus else {})
    return made.fit(learn, valid, folder, threads, progress=False, ranks=ranks)


def early_stopping(folder, texts):
    """Train with too large a learning rate, so that training stops long before its last epoch."""
    return translator(folder, optimizer="sgd", learning_rate=3.0, clip=5.0, epochs=40, patience=4)


def two_threads(folder, texts):
    return translator(folder, threads=2, optimizer="adadelta", learning_rate=1.0)


def warm_up(folder, texts):
    settings = dict(size=8, inner=12, heads=2, layers=2, dropout=0.1, smoothing=0.1)
    return translator(folder, "transformer", settings, schedule="warmup", warmup=15)


def decay_of_luong(folder, texts):
    settings = SMALL | dict(layers=2, attention="general", window="local-p", width=2)
    return translator(folder, "luong", settings, schedule="decay", full_epochs=1, divisor=1.5)


def subwords(folder, texts):
    return translator(folder, subwords=24, average="token")


def own_pairs(folder, texts):
    return translator(folder, reverse_source=True, keep="last",
                      corpus=UserPairs(str(texts / "source.txt"), str(texts / "target.txt")))


def carried_state(folder, texts):
    return writer(folder, SMALL | dict(layers=2), schedule="linear", frequencies=True)


def carried_memory(folder, texts):
    settings = dict(attention="key-value", hidden=8, layers=1, dropout=0.3, carried=7)
    return writer(folder, settings, threads=2)


def carried_ngrams(folder, texts):
    settings = dict(attention="ngram", hidden=9, layers=1, dropout=0.2, order=4, carried=2)
    return writer(folder, settings, optimizer="sgd", learning_rate=0.5)


def articles(folder, texts):
    settings = dict(attention="combined", hidden=8, layers=1, dropout=0.3, cell="gru")
    return writer(folder, settings, state="article", patience=2)


def own_letters(folder, texts):
    corpus = UserText(str(texts / "text.txt"), characters=True)
    return writer(folder, dict(hidden=8, layers=1, cell="gru"), corpus, batch_size=16, steps=20,
                  save_steps=5)


# ---- through the command line -------------------------------------------------------------------


def words_of(folder, texts):
    return ["train", "--source", str(texts / "source.txt"), "--target", str(texts / "target.txt"),
            "--run", str(folder), *"--hidden 8 --embedding 6 --epochs 3 --batch-size 8".split(),
            *"--save-steps 4 --patience 2 --threads 1 --lowercase".split()]


def command_line(folder, texts):
    code = main(words_of(folder, texts))
    if code:
        raise RuntimeError(f"the command line ended with exit status {code}")


def command(folder, texts):
    """Train in a separate process. It is in the same process group, so it is killed too."""
    subprocess.run([sys.executable, "-m", "numpy_attention", *words_of(folder, texts)], check=True)


TRAININGS = {one.__name__.replace("_", " "): one for one in (
    early_stopping, two_threads, warm_up, decay_of_luong, subwords, own_pairs, carried_state,
    carried_memory, carried_ngrams, articles, own_letters, command_line, command)}


def train_all(folder):
    """Run every training once in this process, so that everything is imported and compiled."""
    for name, train in TRAININGS.items():
        if train is not command:
            train(folder / name, folder)
