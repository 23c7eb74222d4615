"""A model with its vocabularies, settings and training, which can be trained, saved and loaded."""

import dataclasses
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from numpy_attention.custom.code import CustomClass
from numpy_attention.data.protocols import Batches
from numpy_attention.data.selection import Selection, Unknown, selected
from numpy_attention.data.subwords import restored
from numpy_attention.data.text_form import TextForm, lowered
from numpy_attention.data.vectors import read_vectors, vector_size
from numpy_attention.data.vocabulary import SPECIAL_TOKENS
from numpy_attention.experiments.runs.custom_code import (
    by_name,
    confirmed,
    digests,
    keep,
    with_classes,
)
from numpy_attention.experiments.runs.provenance import check_rank_consistency
from numpy_attention.experiments.runs.resume import check_same
from numpy_attention.experiments.runs.saved import (
    CHECKPOINT,
    Limited,
    check_saved_settings,
    kind_in,
    known_of,
    parameters_of,
    training_from,
)
from numpy_attention.models.registry import build, check_settings, settings_of
from numpy_attention.module import Module
from numpy_attention.registry import OPTIMIZERS, RUNS, accepted_kwargs, resolve
from numpy_attention.training import checkpoint
from numpy_attention.training.distributed.ranks import SINGLE_PROCESS, SingleProcess, adds_as_one
from numpy_attention.training.protocols import Schedule
from numpy_attention.training.schedules import Constant, Decay, LinearDecay, Warmup
from numpy_attention.training.schema import TRAINING, check
from numpy_attention.training.settings import Training
from numpy_attention.training.threads import crowded
from numpy_attention.training.trainer import Trainer
from numpy_attention.validation.arguments import check_kind, is_list
from numpy_attention.validation.arrays import at_least
from numpy_attention.validation.messages import plural
from numpy_attention.validation.paths import as_path, exists

CORPORA = {"translator": "parallel", "writer": "text"}       # kind of corpus by kind of run
One = TypeVar("One", bound="Trained")       # Translator methods return a Translator


class Trained:
    """Base class of `Translator` and `LanguageModelRun`: training, saving, loading.

    A subclass is a dataclass with the fields of this class and, after `model`, a field for each
    name in VOCABULARIES. It sets the class variables in capitals, and defines two methods:
    `batches` encodes a text, and `sentences` returns the token lists of a text.
    """

    KIND: ClassVar[str]
    MODELS: ClassVar[dict[str, str]]
    VOCABULARIES: ClassVar[tuple[str, ...]]
    EMBEDDINGS: ClassVar[tuple[str, ...]]           # the model's part for each vocabulary
    TRAINING: ClassVar[type[Training]]
    batches: ClassVar[Callable[..., Batches]]       # batches(text): the Batches of a text
    sentences: ClassVar[Callable[..., list]]        # sentences(text): lists of tokens

    model: Module
    name: str
    settings: dict[str, Any]
    training: Any                   # an instance of the class TRAINING
    corpus: dict[str, Any]
    history: list[dict[str, Any]]
    own: dict[str, CustomClass]             # {name in settings: user-defined class}
    vectors: dict[str, dict[str, Any]]      # {part of the model: result of set_vectors}
    threads: int | None = None      # the number that `fit` used
    folder: Path | None = None      # the folder that `load` read

    @classmethod
    def _checked(
        cls, name: str, settings: dict[str, Any] | None, training: Any,
        corpus: dict[str, Any] | None,
    ) -> tuple[dict[str, Any], Any, dict[str, Any]]:
        """Check and return settings, training and corpus of `create`, with defaults for None."""
        resolve(RUNS[cls.KIND], name, cls.MODELS)
        for argument, value in (("settings", settings), ("corpus", corpus)):
            if value is not None:
                check_kind(argument, value, dict, "a dict")
        if training is None:
            training = cls.TRAINING()
        check_kind("training", training, cls.TRAINING, f"a {cls.TRAINING.__name__}")
        settings = settings or {}
        check_settings(name, settings)
        if "dtype" in settings:
            raise ValueError("the models of runs are float32, so dtype cannot be set; omit dtype")
        selected(corpus or {}, CORPORA[cls.KIND])
        return settings, training, corpus or {}

    @classmethod
    def _built(cls: type[One], name: str, settings: dict[str, Any], training: Training,
               corpus: dict[str, Any], vocabularies: Sequence[Any],
               vectors: Sequence[str | Path | None]) -> One:
        """Build an untrained run from checked arguments. vectors: a file or None per vocabulary."""
        if training.freeze_vectors and not any(vectors):
            raise ValueError("freeze_vectors has no effect without pretrained vectors; pass a file "
                             "of vectors, or omit freeze_vectors")
        settings, own = by_name(settings)
        model = build(name, np.random.default_rng(training.seed), *vocabularies,
                      **with_classes(settings, own))
        make: Callable[..., One] = cls
        run = make(model, *vocabularies, name, settings, training, corpus, own=own)
        setting = "size" if "size" in settings_of(name) else "embedding"
        for part, vocabulary, path in zip(cls.EMBEDDINGS, vocabularies, vectors):
            if path is not None:
                run.vectors[part] = set_vectors(getattr(model, part), vocabulary, path, setting)
        return run

    def batches_to_learn(self, text: Any) -> Batches:
        """Return the training batches of a text."""
        return self.batches(text)

    def batches_to_validate(self, text: Any) -> Batches:
        """Return the validation batches of a text."""
        return self.batches(text)

    def trainer(self, train: Any, valid: Any = None, folder: str | Path | None = None,
                threads: int | None = None, progress: bool = True,
                ranks: SingleProcess = SINGLE_PROCESS) -> Trainer:
        """Return the Trainer that `fit` uses, for user-defined training loops.

        threads: the total number of threads of all ranks. The other arguments are those of `fit`.
        Raises ValueError if a batch has fewer rows than there are ranks.
        """
        how = self.training
        if how.batch_size < ranks.count:
            raise ValueError(f"{ranks.count} ranks cannot share batches of {how.batch_size} rows; "
                             f"start at most {how.batch_size} ranks, or increase batch_size")
        settings = vars(how)
        order_seed = how.seed if how.order_seed is None else how.order_seed
        optimizer = resolve("optimizer", how.optimizer, OPTIMIZERS)
        no_pairs = is_list(valid) and not len(valid)
        own = dict(
            model=self.model,
            optimizer=optimizer(**accepted_kwargs(optimizer, **settings)),
            train=self.batches_to_learn(train),
            valid=None if valid is None or no_pairs else self.batches_to_validate(valid),
            rng=np.random.default_rng([order_seed, 1]),
            schedule=Constant(),        # until the steps can be counted
            path=None if folder is None else as_path(folder, "folder") / CHECKPOINT,
            about=self.configuration(),
            frozen=self.frozen(),
            threads=threads,
            progress=progress and ranks.is_first,
            ranks=ranks)
        trainer = Trainer(**accepted_kwargs(Trainer, **settings) | own)
        # only the Trainer knows how many steps its epochs have
        trainer.schedule = schedule_of(how, trainer.steps_of)
        return trainer

    def frozen(self) -> tuple[str, ...]:
        """Return the names of the parameters that training does not change."""
        return tuple(f"{part}.E" for part in self.vectors) if self.training.freeze_vectors else ()

    def fit(self: One, train: Any, valid: Any = None, folder: str | Path | None = None,
            threads: int | None = None, progress: bool = True,
            ranks: SingleProcess = SINGLE_PROCESS) -> One:
        """Train, or resume the training in `folder`, and return self.

        train, valid: Pairs or, for a language model, a Text. The final parameters are those of the
        epoch that is best on `valid` or, without `valid`, of the last epoch. With the setting
        average_parameters_from, they are a mean over epochs; with keep="last", they are always
        those of the last epoch. threads: the number of threads of each rank. progress: print it.

        Raises ValueError if the run in the folder differs in kind, settings, vocabularies, files of
        text or threads, or if the ranks differ. Raises BlockingIOError if another training uses the
        folder.
        """
        at_least(1, threads=threads)
        check_rank_consistency(ranks, self, train, valid, threads)
        shares = None if threads is None else threads * ranks.count
        trainer = self.trainer(train, valid, folder, shares, progress, ranks)
        with trainer.alone():
            if folder is not None:
                # a checkpoint that could not be loaded again would cost the whole training
                saved = json.loads(json.dumps(self.configuration()))
                known = known_of({"about": saved}, self.VOCABULARIES)
                check_saved_settings(self.name, known["settings"], self.model.size)
                ranks.first(lambda: check_same(folder, self, shares))
                ranks.first(lambda: keep(self.own, as_path(folder)))
            moved = ranks.first(lambda: corpus_in(trainer.path) not in (None, self.corpus))
            if trainer.resume() and trainer.progress:
                print(f"resumed after {trainer.step:,} steps and {trainer.epoch} whole epochs"
                      f"{how_shared(trainer)}")
            if moved:
                trainer.save()      # with the current paths of the text
            warning = crowded(ranks, trainer.threads_here()) if ranks.count > 1 else ""
            if warning and trainer.progress:
                print(f"numpy-attention: {warning}", file=sys.stderr)
            self.history = trainer.fit(self.training.epochs, self.training.minutes)
            if trainer.stopped and trainer.progress:
                print(f"stopped after {plural(trainer.epoch, 'epoch')}: the validation perplexity "
                      f"did not improve for {plural(trainer.bad_epochs, 'epoch')}")
        self.threads = trainer.threads_here()
        if self.training.keep == "best":
            trainer.use_best()
        return self

    def selection(self, kind: str | None = None) -> Selection:
        """Return the training text as a Selection. `kind` and errors: as in `selected`."""
        found = selected(self.corpus, kind, self.folder)
        if isinstance(found, Unknown):          # a text that was made in Python
            words = (vocabulary.token(id)
                     for vocabulary in (getattr(self, name) for name in self.VOCABULARIES)
                     for id in range(len(SPECIAL_TOKENS), len(vocabulary)))
            found.likely = TextForm(getattr(self.training, "unit", "words"),
                                    all(word == lowered(word) for word in words))
        return found

    def configuration(self) -> dict[str, Any]:
        """Return what identifies the run, as a dict that JSON can represent.

        The dict has kind, name, settings, corpus, training, vocabularies, user code and vectors.
        """
        vocabularies = {name: getattr(self, name).saved() for name in self.VOCABULARIES}
        return {
            "kind": self.KIND,
            "name": self.name,
            "settings": self.settings,
            "corpus": self.corpus,
            "training": dataclasses.asdict(self.training),
            **({"own": digests(self.own)} if self.own else {}),
            **({"vectors": self.vectors} if self.vectors else {}),
            **vocabularies,
        }

    @classmethod
    def load(cls: type[One], folder: str | Path,
             code: str | Path | type | Sequence[str | Path | type] | None = None) -> One:
        """Load a trained model from the folder of its run, with the parameters that training kept.

        code: the file or class of the run's user-defined code, or a list of them. No other code
        runs, and a file runs only if it has not changed since training.

        Raises FileNotFoundError if there is no run. Raises ValueError for a checkpoint that is
        damaged, of another kind or from a newer version, and for missing or changed code.
        """
        path = as_path(folder, "folder") / CHECKPOINT
        arrays, about = checkpoint.load(path)
        kind = kind_in(about)
        if kind != cls.KIND:
            raise ValueError(f"{path} is the checkpoint of a {RUNS.get(kind, kind)}; expected the "
                             f"folder of a {RUNS[cls.KIND]}")
        with checkpoint.understood(path, about):
            check(about, TRAINING)
            known = known_of(about, cls.VOCABULARIES)
            vocabularies = {name: restored(known[name]) for name in cls.VOCABULARIES}
            training = training_from(cls.TRAINING, known["training"])
            check_saved_settings(known["name"], known["settings"], parameters_of(arrays))
        own = confirmed(known.get("own", {}), code, folder)
        with checkpoint.understood(path, about):
            model = build(known["name"], Limited(arrays), *vocabularies.values(),
                          **with_classes(known["settings"], own))
            best = training.keep == "best" and any(name.startswith("best/") for name in arrays)
            checkpoint.restore(model, arrays, "best" if best else "parameters")
        make: Callable[..., One] = cls
        loaded = make(
            model=model,
            name=known["name"],
            settings=known["settings"],
            training=training,
            corpus=known["corpus"],
            own=own,
            vectors=known.get("vectors", {}),
            history=about["trainer"]["history"],
            **vocabularies)
        loaded.folder = path.parent
        return loaded


def set_vectors(embedding: Any, vocabulary: Any, path: str | Path,
                setting: str) -> dict[str, Any]:
    """Copy the pretrained vectors of a file into the rows of an embedding.

    Rows of words that are not in the file keep their initial values. Return a dict with "digest",
    "other_case" and "skipped" as in Vectors, and "found", the number of words with a vector.
    setting: for messages. Raises ValueError if sizes differ, or if no word has a vector.
    """
    V, size = embedding.E.shape
    given = vector_size(path)
    if given != size:
        raise ValueError(f"{setting} = {size}, but the vectors of {path} have {given} dimensions; "
                         f"set {setting} = {given}")
    read = read_vectors(path, [vocabulary.token(id) for id in range(V)])
    found = int(read.found[len(SPECIAL_TOKENS):].sum())
    if not found:
        raise ValueError(f"{path} has no vector for any of the {len(vocabulary.tokens):,} words of "
                         "the vocabulary; use vectors of the same language and tokenization")
    embedding.E[read.found] = read.array[read.found]
    return {"digest": read.digest, "found": found, "other_case": read.other_case,
            "skipped": read.skipped}


def how_shared(trainer: Trainer) -> str:
    """Describe the new number of ranks of a resumed run. Return "" if the number is the same."""
    ranks, before = trainer.ranks.count, trainer.ranks_before
    if ranks == before:
        return ""
    threads = trainer.threads_here()
    earlier = threads * ranks // before
    sums = "equal to rounding"
    if adds_as_one(ranks, threads) and adds_as_one(before, earlier):
        sums = "bit-identical"
    now = f"{ranks} rank{'s' * (ranks > 1)} × {threads} thread{'s' * (threads > 1)}"
    return f", on {now} instead of {before} × {earlier}; sums are {sums}"


def corpus_in(path: str | Path | None) -> dict[str, Any] | None:
    """Return the corpus in a checkpoint as a dict, or None if there is no checkpoint."""
    if path is None or not exists(path):
        return None
    corpus: dict[str, Any] = checkpoint.load_about(path)["about"]["corpus"]
    return corpus


def run_kind(folder: str | Path) -> str:
    """Return the kind of the run in a folder, "translator" or "writer" (a language model).

    A bare model has the kind "plain model". Raises the errors of `checkpoint.load_about`.
    """
    return kind_in(checkpoint.load_about(as_path(folder, "folder") / CHECKPOINT))


def schedule_of(how: Training, steps_of: Callable[[int], int]) -> Schedule:
    """Return the learning rate schedule that the settings `how` describe.

    steps_of: a function that converts a number of epochs to a number of steps.
    """
    if how.schedule == "decay":
        return Decay(how.full_epochs, how.divisor)
    if how.schedule == "linear":
        return LinearDecay(steps_of(how.epochs))
    if how.schedule == "warmup":
        return Warmup(how.warmup)
    return Constant()
