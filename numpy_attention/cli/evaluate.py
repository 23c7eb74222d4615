"""Commands that measure a trained model: evaluate, ablate, cloze."""

import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from numpy_attention import metrics, plotting
from numpy_attention.bootstrap import Interval
from numpy_attention.cli.shared import limits_of, load_run, part_of, print_json, target_of
from numpy_attention.data import running_text
from numpy_attention.data.alignments import read_alignments
from numpy_attention.data.cloze import Question, make_questions, read_questions, write_questions
from numpy_attention.data.pairs import Pair, limited
from numpy_attention.data.selection import selected
from numpy_attention.experiments import reports
from numpy_attention.experiments.analysis import ablation
from numpy_attention.experiments.analysis.cloze import cloze_test
from numpy_attention.experiments.runs import confidence
from numpy_attention.experiments.runs.language_model_run import LanguageModelRun
from numpy_attention.experiments.runs.provenance import provenance
from numpy_attention.training.distributed.ranks import world
from numpy_attention.training.settings import LanguageModelTraining
from numpy_attention.training.threads import Threads, available
from numpy_attention.validation.messages import plural

# ---- text to evaluate on ------------------------------------------------------------------------


def data_to_measure(options: Namespace, run: Any) -> tuple[Any, str, str | None]:
    """Load the data that the options select. Return (data, name of the corpus or file, split).

    By default, the data are the last split of the run's corpus. For a file, `split` is None.
    """
    if options.text:
        text = running_text.read(options.text, run.selection().form())
        return replace(text, has_articles=True), Path(
            options.text).name, None     # a file is one article
    if getattr(options, "source", None):
        name = Path(options.source).name
        return limited(own_pairs(options, run), name, **limits_of(options)), name, None
    writer = run.KIND == "writer"
    selection = selected(corpus_to_measure(options, run), "text" if writer else "parallel",
                         run.folder)
    data, split = part_of(selection, options.split)
    if writer and data.unit != run.training.unit:
        raise ValueError(f"the text {selection.label!r} is split into {data.unit}, but this "
                         f"run's model was trained on {run.training.unit}; choose another corpus")
    return data, selection.label, split


def own_pairs(options: Namespace, run: Any) -> list[Pair]:
    """Read the pairs of --source and --target, with the links of --alignments if given.

    With --alignments, set `options.count_from` to the number (0 or 1) of a sentence's first word.
    """
    pairs = run.selection().form().pairs(options.source, target_of(options), options.columns,
                                         options.skip_blank)
    if getattr(options, "alignments", None):
        # printed with the figures, because it may depend on the file
        pairs, options.count_from = read_alignments(options.alignments, pairs, options.count_from)
    return pairs


def corpus_to_measure(options: Namespace, run: Any) -> dict[str, Any]:
    """Return the run's corpus as a dict, changed by --corpus, --part, --max-length and --pairs."""
    saved = run.corpus
    if run.KIND == "writer":
        if options.corpus in (None, saved.get("name")):
            return saved
        characters = {"characters": True} if run.training.unit == "characters" else {}
        return {"name": options.corpus} | characters
    part = {"part": options.part} if options.part else {}
    if options.corpus and options.corpus != saved.get("name"):
        saved = {"name": options.corpus}
    elif options.part and options.part != saved.get("part"):
        if "source" in saved:
            raise ValueError("--part selects a part of a corpus, but this run was trained on "
                             "files; omit --part, or add --corpus")
        saved = {"name": saved["name"]}             # another part has its own lengths
    return saved | part | limits_of(options)

# ---- evaluate -----------------------------------------------------------------------------------


def evaluate(options: Namespace) -> None:
    run = load_run(options)
    data, name, split = data_to_measure(options, run)
    figures: dict[str, Any] = {"run": str(options.run), "corpus": name, "split": split}
    threads = options.threads or available(world())
    if options.kind == "writer":
        figures |= how_read(run.training) | {"carried": run.settings.get("carried", 0)}
        if run.training.state == "carried":
            threads = options.threads or 1
    figures |= measure(run, data, threads, options.beam)
    if getattr(options, "alignments", None):
        sure = sum(len(pair.sure) for pair in data)
        figures["links"] = {"linked": sum(bool(pair.possible) for pair in data), "sure": sure,
                            "possible": sum(len(pair.possible) for pair in data) - sure,
                            "count_from": options.count_from}
    if options.known:
        figures["known"] = measure(run, data, threads, options.beam, known=True) | {"unknown": 0.0}
    figures["depends_on"] = provenance(run, run.sentences(data), threads * world().count)
    report(options, run, reports.describe_data(data, run, 1), figures)


def how_read(how: LanguageModelTraining) -> dict[str, Any]:
    return {"state": how.state, "steps": None if how.state == "sentence" else how.steps}


def measure(run: Any, data: Any, threads: int | None, beam: int | None = None,
            known: bool = False) -> dict[str, Any]:
    """Measure a run on data. Return a dict of metrics and the fraction of unknown words.

    The dict of a translator also has the signatures of BLEU and chrF. known: whether to measure a
    translator only on pairs without unknown words; see `Translator.evaluate_without_unk`.
    """
    rng = confidence.draws(run.training.seed)
    if run.KIND == "writer":
        unknown = run.vocabulary.unknown_share(data.sentences)
        return run.measure(data, threads, world(), rng) | {"unknown": unknown}
    do = run.evaluate_without_unk if known else run.measure
    found = do(data, beam, threads, ranks=world(), rng=rng)
    unit = "pieces" if run.training.subwords else "words"
    unknown = run.target_vocabulary.unknown_share([pair.target for pair in data])
    return {"beam": beam, "pairs": len(data), "unit": unit, "unknown": unknown} | found | {
        "bleu_signature": metrics.signature(metrics.bleu),
        "chrf_signature": metrics.signature(metrics.chrf)}


def report(options: Namespace, run: Any, text: str, figures: Mapping[str, Any]) -> None:
    """Print the metrics `figures` as JSON or as lines. text: a description of the data."""
    if options.json:
        print_json(figures)
        return
    count = 1 + len(options.ensemble or ())
    ensemble = f"ensemble of {count}, the first: " if count > 1 else ""
    epochs = plural(len(run.history), "epoch")
    print(f"{options.run}: {ensemble}{reports.describe(run)}, {epochs}")
    print(f"{place_of(figures)}: {text}")
    print(*reports.lines_of_figures(figures), sep="\n", flush=True)
    print(*reports.lines_of_provenance(figures["depends_on"]), sep="\n")


def place_of(figures: Mapping[str, Any]) -> str:
    """Return the name of the measured corpus or file and its split, such as "bible-en, test"."""
    return ", ".join(filter(None, (figures["corpus"], figures["split"])))


# ---- ablate -------------------------------------------------------------------------------------


def ablate(options: Namespace) -> None:
    """Measure how much each change of the attention weights increases the loss of a run."""
    run = load_run(options)
    data, name, split = data_to_measure(options, run)
    found = ablation.ablate(run.model, run.batches(data), np.random.default_rng(options.seed))
    figures = {"run": str(options.run), "corpus": name, "split": split, "loss": found.loss,
               "tokens": found.tokens, "alive": found.alive, "costs": found.costs}
    if options.json:
        print_json(figures)
    else:
        print(f"{options.run}: {reports.describe(run)}")
        print(f"{place_of(figures)}: {reports.describe_data(data, run, run.training.batch_size)}; "
              f"{found.tokens:,} tokens, {found.loss:.3f} nats each")
        print(*reports.lines_of_ablation(found), sep="\n")
    if options.output:
        bars: dict[str, dict[str, Interval]] = {}
        for one in found.costs:
            bars.setdefault(reports.group_of(one.words), {})[one.change] = one.more
        title = f"{options.run} on {place_of(figures)}"
        plotting.save(plotting.costs(bars, title=title), options.output)


# ---- cloze --------------------------------------------------------------------------------------

def cloze(options: Namespace) -> None:
    """Make or read cloze questions, save them in the file of --write if given, and answer them."""
    run = load_run(options)
    how = run.training
    if how.unit != "words":
        raise ValueError(f"{options.run} was trained on {how.unit}, but a cloze question leaves "
                         "out a word; choose a run trained on words")
    rng = np.random.default_rng(options.seed)
    questions, name, split = questions_of(options, run, rng)
    if options.write:
        write_questions(questions, options.write)
        print(f"saved {options.write}", file=sys.stderr)
    with Threads(1):
        found = cloze_test(run.model, run.vocabulary, questions, rng, how.state, how.steps)
    # the text of the questions, for its digest
    sentences = chain.from_iterable(
        [*question.context, question.filled(question.word), question.candidates]
        for question in questions)
    report(options, run, reports.describe_reading(run, 1), {
        "run": str(options.run), "corpus": name, "split": split, **how_read(how),
        "questions": len(questions), "seed": options.seed, "accuracy": found.accuracy,
        "others": found.others, "gain": found.gain, "chance": found.chance,
        "unknown": found.unknown, "depends_on": provenance(run, sentences, 1)})
    for question, log_p in zip(questions[:options.show or 0], found.log_p):
        print(*reports.lines_of_question(question, log_p), sep="\n")


def questions_of(options: Namespace, run: LanguageModelRun,
                 rng: np.random.Generator) -> tuple[Sequence[Question], str, str | None]:
    """Read or make cloze questions. Return the questions, the corpus or file, and the split."""
    if options.questions:
        lowercase = run.selection().form(options.lowercase).lowercase
        return read_questions(options.questions, lowercase), Path(options.questions).name, None
    text, name, split = data_to_measure(options, run)
    return make_questions(text, run.vocabulary, options.number, rng), name, split
