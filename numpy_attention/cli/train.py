"""Commands that train: `train` for translators, `train lm` for language models."""

import shlex
import sys
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from numpy_attention import registry
from numpy_attention.cli.evaluate import measure
from numpy_attention.cli.messages import in_flags
from numpy_attention.cli.options import BEAM
from numpy_attention.cli.shared import limits_of, part_of, path_word, target_of
from numpy_attention.cli.training_options import LANGUAGE_MODEL, TRANSLATOR, setting_of
from numpy_attention.custom.kinds import ATTENTION, CELL, SCORE
from numpy_attention.data import text_report
from numpy_attention.data.running_text import Text
from numpy_attention.data.selection import Selection, selected
from numpy_attention.data.user_text import UserPairs, UserText
from numpy_attention.data.vectors import vector_size
from numpy_attention.experiments import choices
from numpy_attention.experiments.reports import (
    describe,
    describe_reading,
    lines_of_figures,
    lines_of_vectors,
    save_curves,
)
from numpy_attention.experiments.runs.language_model_run import LanguageModelRun
from numpy_attention.experiments.runs.resume import check_same
from numpy_attention.experiments.runs.saved import CHECKPOINT
from numpy_attention.experiments.runs.translator import Translator, vocabularies_of
from numpy_attention.training.distributed.ranks import world
from numpy_attention.training.lock import check_free, held
from numpy_attention.training.settings import LanguageModelTraining, Training, TranslatorTraining
from numpy_attention.validation.messages import plural
from numpy_attention.validation.paths import exists, is_folder, make_folder, short_path

Settings = TypeVar("Settings", bound=Training)

# ---- translators --------------------------------------------------------------------------------


def train(options: Namespace) -> None:
    selection = pairs_to_train_on(options)
    if options.subwords and selection.form().tokenizer == "characters":
        raise ValueError("--subwords splits words into pieces, but the corpus "
                         f"{selection.label!r} is split into characters; omit --subwords")
    training = training_of(TranslatorTraining, options)
    parts = selection.load(*selection.splits)
    vocabularies = vocabularies_of(parts[0], training)
    settings = choices.with_longest(settings_of(options), vocabularies[0], parts)
    if isinstance(selection, UserPairs):
        print_findings(options, text_report.of_pairs(
            parts[0], parts[1], vocabularies, bool(options.valid_source), options.max_length,
            options.tokenize, options.max_vocabulary))
    translator = Translator.create(parts[0], options.model, settings, training, selection.saved(),
                                   vocabularies, options.source_vectors, options.target_vectors)
    name = choices.translator_name(options.model, settings)
    source, target = (f"{len(vocabulary):,}" for vocabulary in vocabularies)
    folder = run_folder(
        options, translator, f"{selection.label.split()[0]}-{name}",
        f"{name}, {translator.model.size:,} parameters; {plural(len(parts[0]), 'pair')} of "
        f"{selection.label}, {source} source and {target} target "
        f"{'pieces' if training.subwords else 'words'}",
        *lines_of_vectors(translator))
    learn, valid, *_ = parts
    pairs = parts[-1]
    fit(translator, learn, valid, folder, options.threads,
        f"measures {plural(len(pairs), 'pair')} ({selection.splits[-1]})")
    figures = measure(translator, pairs, translator.threads, BEAM.default)
    print(*lines_of_figures(figures), sep="\n")
    print_next(translator, "translate", folder, selection.form().text(pairs[0].source))


def pairs_to_train_on(options: Namespace) -> Selection:
    """Return the Selection of --corpus, or of the files --source and --target."""
    if options.corpus:
        part = {"part": options.part} if options.part else {}
        return selected({"name": options.corpus} | part | limits_of(options), "parallel")
    if not options.source:
        raise nothing_to_learn_from("--source FILE and --target FILE")
    return UserPairs(options.source, target_of(options), options.valid_source, options.valid_target,
                     options.seed, **limits_of(options), drawn=bool(options.pairs),
                     columns=options.columns and list(options.columns),
                     skip_blank=options.skip_blank, lowercase=options.lowercase,
                     tokenize=options.tokenize)


def nothing_to_learn_from(files: str) -> ValueError:
    return ValueError("no text to train on; specify --corpus NAME (to see the names: "
                      f"`numpy-attention corpora list`), or {files}")


def settings_of(options: Namespace) -> dict[str, Any]:
    """Return the settings of the translator that the options describe."""
    given = {setting_of(options.model, option.name): getattr(options, option.name)
             for option in TRANSLATOR[1:] if option.name in options.given}
    path = options.source_vectors or options.target_vectors
    if path:
        given = {setting_of(options.model, "embedding")
                 or setting_of(options.model, "hidden"): vector_size(path)} | given
    settings = choices.with_classes(
        registry.SMALL_MODEL_DEFAULTS[options.model] | given, attention=ATTENTION, cell=CELL)
    if settings.get("window") == "local-m" and options.reverse_source:
        settings["backwards"] = True
    return settings


# ---- language models ----------------------------------------------------------------------------


def train_lm(options: Namespace) -> None:
    selection = text_to_train_on(options)
    learn, valid = selection.load("train", "valid")
    short = options.state == "carried" and learn.predicted < options.batch_size
    if short and "batch_size" not in options.given:
        print(f"using --batch-size 1, because {learn.predicted} tokens are too few for "
              f"{options.batch_size} streams")
        options.batch_size = 1
    training = training_for(options, learn)
    name, settings = model_of(options, learn, training)
    run = LanguageModelRun.create(learn, name, settings, training, selection.saved(),
                                  options.vectors)
    if isinstance(selection, UserText) and not options.characters:
        print_findings(options, text_report.of_text(
            learn.sentences, valid.sentences, run.vocabulary, bool(options.valid_text),
            options.tokenize, options.max_vocabulary))
    run.batches(learn)           # raises for a short text, before a folder is made
    try:
        run.batches_to_validate(valid)
    except ValueError as error:
        raise ValueError(f"validation text: {error}") from None
    default = choices.brief_name(settings.get("attention", settings["cell"]))
    folder = run_folder(
        options, run, f"{selection.label}-{default}",
        f"{describe(run)}; {sum(map(len, learn.sentences)):,} {learn.unit} of "
        f"{selection.label}, {len(run.vocabulary):,} in the vocabulary",
        describe_reading(run, options.batch_size), *lines_of_vectors(run))
    fit(run, learn, valid, folder, options.threads, describe_reading(run, 1))
    for split in selection.splits[1:]:
        text = valid if split == "valid" else part_of(selection, split)[0]
        figures = measure(run, text, run.threads or 1) | {"split": split}
        print(*lines_of_figures(figures), sep="\n", flush=True)
    prompt = choices.prompt_from(valid, selection.form())
    print_next(run, "generate", folder, "--prompt", prompt)


def text_to_train_on(options: Namespace) -> Selection:
    """Return the Selection of --corpus, or of the file --text."""
    if options.corpus:
        characters = {"characters": True} if options.characters else {}
        return selected({"name": options.corpus} | characters, "text")
    if not options.text:
        raise nothing_to_learn_from("--text FILE")
    return UserText(options.text, options.valid_text, characters=options.characters,
                    lowercase=options.lowercase, tokenize=options.tokenize)


def training_for(options: Namespace, text: Text) -> LanguageModelTraining:
    return training_of(LanguageModelTraining, options, unit=text.unit,
                       min_count=options.min_count or choices.usual_min_count(text))


def model_of(options: Namespace, text: Text,
             training: LanguageModelTraining) -> tuple[str, dict[str, Any]]:
    """Return the name and settings of the language model that the options describe."""
    values = {option.name: getattr(options, option.name) for option in LANGUAGE_MODEL
              if getattr(options, option.name) is not None}
    if options.vectors:
        values = {"embedding": vector_size(options.vectors)} | values
    values = choices.with_classes(values, attention=SCORE, cell=CELL)
    return choices.language_model(text, training, **values)


# ---- both ---------------------------------------------------------------------------------------


def training_of(kind: type[Settings], options: Namespace, **more: Any) -> Settings:
    """Return settings of class `kind`. Fields without a value in `options` keep their defaults.

    more: values of fields that are not options.
    """
    values = {one.name: getattr(options, one.name, None) for one in fields(kind)} | more
    if values["learning_rate"] is None:
        optimizer = registry.resolve("optimizer", options.optimizer, registry.OPTIMIZERS)
        values["learning_rate"] = optimizer().learning_rate
    return kind(**{name: value for name, value in values.items() if value is not None})


def run_folder(options: Namespace, trained: Any, name: str, *about: str) -> Path:
    """Create the folder of --run, by default runs/`name`; return its path.

    Print the lines `about`, then the folder. Raises ValueError if a file or another run is there.
    """
    folder = Path(options.run or Path("runs") / name)
    ranks = world()
    threads = options.threads and options.threads * ranks.count

    def prepare() -> bool:
        if exists(folder) and not is_folder(folder):
            raise ValueError(f"{short_path(folder)} is a file; choose a folder with --run")
        check_free(folder / CHECKPOINT)
        resumes = check_same(folder, trained, threads)
        make_folder(folder)
        with held(folder / CHECKPOINT):         # raises if nothing can be written
            return resumes

    where = "resumes the run in" if ranks.first(prepare) else "saves to"
    print(*about, f"{where} {folder}", sep="\n", flush=True)
    return folder


def print_findings(options: Namespace, findings: Iterator[str]) -> None:
    """On rank 0, print likely problems in the user's text, unless --run is a run that has begun."""
    if options.run and exists(Path(options.run) / CHECKPOINT) or world().rank:
        return
    for finding in findings:
        print(f"numpy-attention: {in_flags(finding, [])}", file=sys.stderr)


def fit(trained: Any, learn: Any, valid: Any, folder: Path, threads: int | None, then: str) -> None:
    """Train, plot the learning curves, and print how long training took.

    then: a description of the measurements that follow, for the printed line.
    """
    trained.fit(learn, valid, folder, threads, ranks=world())
    world().first(lambda: save_curves(trained.history, folder))
    minutes = trained.history[-1]["seconds"] / 60
    epochs = plural(len(trained.history), "epoch")
    print(f"trained for {epochs}, {minutes:.1f} minutes; {then}", flush=True)


def print_next(trained: Any, command: str, folder: Path, *words: str) -> None:
    """Print the command to run next, quoted for the shell.

    words: a sentence, or an option and its value. If the run needs user code, --code is added.
    """
    files = dict.fromkeys(path_word(one.code.path) for one in trained.own.values())
    code = ["--code", ",".join(files)] if files else []
    line = [path_word(folder), *words, *code]
    if words[-1].startswith("-"):       # it is a sentence, and not an option
        text = ["=".join(words)] if len(words) > 1 else ["--", *words]
        line = [*code, path_word(folder), *text]
    print(f"next: numpy-attention {shlex.join([command, *line])}")
