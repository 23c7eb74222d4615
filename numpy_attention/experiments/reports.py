"""Describe runs, their figures, and corpora in lines of text; plot learning curves."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from numpy_attention import metrics, plotting
from numpy_attention.bootstrap import Interval
from numpy_attention.data.cloze import Question
from numpy_attention.data.datasets import corpora
from numpy_attention.experiments.analysis.ablation import CHANGES, Ablation
from numpy_attention.experiments.analysis.distance import Distances
from numpy_attention.experiments.analysis.recovery import Recovery
from numpy_attention.experiments.recipes.recipe import Recipe
from numpy_attention.experiments.runs.language_model_run import LanguageModelRun
from numpy_attention.models.registry import settings_of
from numpy_attention.module import Array
from numpy_attention.registry import SPLITS
from numpy_attention.validation.messages import decimals, plural

COLUMNS = (1, 2, 5, 10, 20)     # distances in the table of recoveries
EXAMPLES = 3                    # examples of a corpus
MANY_UNKNOWN = 0.2              # share of <unk> among the words to predict
NO_FOUR_WORDS = ("BLEU measures nothing here: it counts groups of four words, and no translation, "
                 "or no reference, has four; look at chrF instead")

# ---- runs ---------------------------------------------------------------------------------------


def describe(run: Any) -> str:
    """Describe a run's model and its number of parameters in one line."""
    line = run.name
    if run.KIND == "writer":
        settings = settings_of(run.name) | run.settings
        line = f"{settings['cell']} of {settings['layers']} × {settings['hidden']}"
        if "attention" in settings:
            line += f" with {settings['attention']}"
        if settings.get("window"):
            line += f", window {settings['window']}"
        if settings.get("attention") == "ngram":
            line += f", order {settings['order']}"
    return f"{line}, {run.model.size:,} parameters"


def describe_reading(writer: LanguageModelRun, streams: int) -> str:
    """Describe how a language model reads a text, and when its state and memory are reset."""
    how = writer.training
    if how.state == "sentence":
        return "state reset at every sentence"
    memory = ""
    if writer.name == "attentive-language-model":
        carried = writer.settings.get("carried")
        memory = f"; memory empty every {how.steps} {how.unit}"
        if carried:
            memory = f"; memory of {carried} states carried on"
    steps = f"{how.steps} {how.unit} at a time{memory}"
    if how.state == "carried":
        return f"state carried through the text, {streams} stream{'s' * (streams > 1)}, {steps}"
    return f"state reset at every {how.state}, {steps}"


def describe_data(data: Any, run: Any, streams: int) -> str:
    """Describe the data of a run: the number of sentence pairs, or how running text is read."""
    if run.KIND == "translator":
        return plural(len(data), "pair")
    return describe_reading(run, streams)


def lines_of_vectors(run: Any) -> Iterator[str]:
    """For each vocabulary with pretrained vectors, yield how many of its words have a vector."""
    for name, part in zip(run.VOCABULARIES, run.EMBEDDINGS):
        if part in run.vectors:
            read = run.vectors[part]
            words = len(getattr(run, name).tokens)
            case = f", {read['other_case']:,} in another case" if read["other_case"] else ""
            skipped = (f"; {plural(read['skipped'], 'word')} of the file skipped, not UTF-8"
                       if read["skipped"] else "")
            frozen = ", not trained" if run.frozen() else ""
            yield (f"{name.replace('_', ' ')}: {read['found']:,} of {words:,} words "
                   f"({100 * read['found'] / words:.1f} %) have pretrained vectors{case}{frozen}"
                   f"{skipped}")


def save_curves(history: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Save a plot of a run's learning curves in the folder of the run.

    Raises ArithmeticError if no perplexity in the history is finite.
    """
    kinds = ("train_perplexity", "valid_perplexity")
    known = [line[kind] for line in history for kind in kinds if kind in line]
    if not any(map(math.isfinite, known)):
        raise ArithmeticError("training has diverged (no perplexity is finite); train again with "
                              f"a smaller learning_rate, in a folder other than {folder}")
    plotting.save(plotting.learning_curves(history), folder / "learning_curves.png")


# ---- figures ------------------------------------------------------------------------------------


def lines_of_figures(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines with the results of `measure` or of the cloze test, with their intervals."""
    if "gain" in figures:
        yield from lines_of_cloze(figures)
    elif "bleu" in figures:
        yield from lines_of_translator(figures)
    else:
        yield from lines_of_writer(figures)


def lines_of_translator(figures: Mapping[str, Any]) -> Iterator[str]:
    what = "tokens"
    per_word = ""
    if figures["unit"] == "pieces":
        what = "pieces of words"
        per_word = f"; {decimals(figures['perplexity_word'], 2)} per word"
    rows = [
        ("perplexity", "perplexity", 2,
         f"over {figures['tokens']:,} {what}, ends of sentences included{per_word}"),
        ("BLEU", "bleu", 2, f"beam {figures['beam']}, {figures['bleu_greedy']:.2f} greedy; "
                            f"{figures['bleu_signature']}"),
        ("BLEU 13a", "bleu_13a", 2, "with sacreBLEU's own tokenizer"),
        ("chrF", "chrf", 2, figures["chrf_signature"]),
        ("exact", "exact", 3, "of the greedy translations equal the reference"),
    ]
    links = ""
    if "links" in figures:
        links = ("; {sure:,} sure and {possible:,} possible links in {linked:,} of the pairs, "
                 "words counted from {count_from}").format(**figures["links"])
    if "pointing" in figures:
        rows += [
            ("pointing", "pointing", 3, f"of the sure links, {figures['near']:.3f} within one "
                                        f"word; diagonal {figures['diagonal']:.3f}"),
            ("AER", "aer", 3, f"alignment error rate{links}")]
    for title, name, digits, note in rows:
        yield f"  {title:<10}  {value_of(figures, name, digits)}   {note}"
    if figures.get("bleu_empty"):
        yield ("every translation is empty" if figures.get("empty") else NO_FOUR_WORDS)
    yield from lines_on_unknown(figures)
    if figures["pairs"] == 1:
        yield "one pair: there is no interval"
    if "known" in figures:
        known = figures["known"]
        yield (f"without unknown words: {known['pairs']:,} pairs contain none, and <unk> is not "
               "written")
        yield from lines_of_translator(known)


def lines_of_writer(figures: Mapping[str, Any]) -> Iterator[str]:
    split = f"  {figures['split']:<5}" if figures["split"] else " "
    unknown = f"; {100 * figures['unknown']:.1f} % are <unk>" if figures["unknown"] else ""
    if "bits_per_character" in figures:
        yield (f"{split} {figures['bits_per_character']:8.3f} bits per character   perplexity "
               f"{value_of(figures, 'perplexity', 3).strip()} over {figures['tokens']:,} "
               f"characters{unknown}")
    else:
        yield (f"{split} perplexity {value_of(figures, 'perplexity')}   over "
               f"{figures['tokens']:,} tokens, ends of sentences included{unknown}")
    if "perplexity_skip_first" in figures:
        yield (f"{'':{len(split)}}            {value_of(figures, 'perplexity_skip_first')}   with "
               "first words of sentences counted but not predicted")
    yield from lines_on_unknown(figures)
    if "perplexity_low" not in figures:
        yield "one sentence, or one stretch of text: there is no interval"


def lines_on_unknown(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield a warning if many of the predicted words are <unk>, which makes perplexity small."""
    if figures.get("unknown", 0) >= MANY_UNKNOWN:
        yield (f"{100 * figures['unknown']:.0f} % of the words to predict are <unk>, which is easy "
               "to predict: this perplexity is too small, and compares only with that of models of "
               "the same vocabulary; train with more words in the vocabulary, or with subwords")


def value_of(figures: Mapping[str, Any], name: str, digits: int = 2) -> str:
    """Format the figure called `name`, followed by its interval " [low, high]" if that is known."""
    text = f"{decimals(figures[name], digits):>8}"
    if f"{name}_low" in figures:
        low, high = (figures[f"{name}_{end}"] for end in ("low", "high"))
        text += f" [{decimals(low, digits)}, {decimals(high, digits)}]"
    return text


def signed(more: Interval) -> str:
    """Format a difference between two losses or accuracies with its sign and its interval."""
    return f"{more.mean:+.3f} ({more.low:+.3f} to {more.high:+.3f})"


def lines_of_cloze(figures: Mapping[str, Any]) -> Iterator[str]:
    yield (f"  {figures['questions']:,} questions; {100 * figures['unknown']:.1f} % of the answers "
           "are <unk>")
    for name, found in [("accuracy", figures["accuracy"]), *figures["others"].items()]:
        yield f"  {name:<25} {found}"
    yield f"  {'chance':<25} {figures['chance']:.3f}"
    yield f"  {'gain from the context':<24} {signed(figures['gain'])}"


def lines_of_question(question: Question, log_p: Array) -> Iterator[str]:
    """Yield lines with a cloze question, its answer, and the candidates, ordered by their log p."""
    ranked = [f"{question.candidates[k]} {log_p[k]:.2f}" for k in np.argsort(-log_p, kind="stable")]
    yield f"\n  {' '.join(question.filled('_____'))}\n    answer: {question.word}"
    yield f"    log p: {', '.join(ranked)}"


def lines_of_provenance(known: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines with the result of `provenance`: the data, the seed, versions and the machine."""
    yield (f"  depends on  parameters {known['parameters']}, text {known['text']}, seed "
           f"{known['seed']}, {plural(known['threads'], 'thread')};")
    yield (f"              numpy_attention {known['version']}, NumPy {known['numpy']}, numba "
           f"{known['numba']}, {known['blas']}, {known['processor']}")


def lines_of_recipe(recipe: Recipe, lines: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield lines of text with the recorded figures of a recipe, each next to its baseline.

    lines: the figures of one run, as `recipes.recipe.run` returns them.
    """
    first = lines[0]
    yield (f"{first['parameters']:,} parameters, {first['minutes']:.1f} minutes of training, "
           f"{plural(first['threads'], 'thread')}")
    for line in lines:
        figure = line["split"], line["metric"]
        baseline = ""
        if figure in recipe.baselines:
            value, source = recipe.baselines[figure]
            baseline = f"   baseline {value:g} ({source})"
        yield f"{line['split']:<5}  {line['metric']:<11}  {line['value']:8.3f}{baseline}"
    for metric, tokenize in (("bleu", "none"), ("bleu_13a", "13a")):
        if any(line["metric"] == metric for line in lines):
            yield f"signature  {metrics.signature(metrics.bleu, tokenize=tokenize)}"


def lines_of_ablation(found: Ablation) -> Iterator[str]:
    """Yield a row for each change of the attention and each group of words, then the verdict."""
    for change, what in CHANGES.items():
        yield f"  {change}: {what}"
        for one in found.costs:
            if one.change == change:
                yield (f"    {one.words:<13} {one.tokens:9,} tokens   {one.loss:7.3f} nats   "
                       f"{signed(one.more)}")
    yield found.verdict()


def lines_of_recovery(found: Mapping[str, Recovery], more: Mapping[str, Any]) -> Iterator[str]:
    """Yield a table with each run's recovery and, if in `more`, its excess over the first run's."""
    excess = next(iter(found.values())).excess
    distances = [distance for distance in COLUMNS if distance in excess]
    head = ["", "undisturbed", f"mean of the next {max(excess)}",
            *(f"at {distance}" for distance in distances),
            "mean more than the first's" if more else ""]
    return lines_of_table([head, *(
        [folder, f"{one.loss:.3f}", signed(one.mean),
         *(f"{one.excess[distance].mean:+.3f}" for distance in distances),
         signed(more[folder][1]) if folder in more else ""]
        for folder, one in found.items())])


def lines_of_distances(found: Mapping[str, Distances],
                       more: Mapping[str, Mapping[str, Interval]]) -> Iterator[str]:
    """Yield tables of the losses on each group of words, with a row for each folder's run."""
    yield ("  words, by how long ago they last occurred: nats per token"
           + ", and more than the first's" * bool(more))
    for words, count in next(iter(found.values())).tokens.items():
        yield f"  {words}: {count:,} tokens"
        yield from lines_of_table([[f"  {folder}", str(one.loss[words]),
                                    signed(more[folder][words]) if folder in more else ""]
                                   for folder, one in found.items()])


def group_of(words: str) -> str:
    """Return the label of a group of words: "all words" for "all", otherwise the name itself."""
    return "all words" if words == "all" else words


def lines_of_table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield rows as aligned lines: the first column is left-aligned, the others right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    for first, *others in rows:
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:])]
        yield "   ".join([f"  {first:<{widths[0]}}", *cells]).rstrip()

# ---- corpora ------------------------------------------------------------------------------------


def lines_of_corpus(corpus: Any) -> Iterator[str]:
    """Yield lines with the size of each split of a corpus, and examples with their word links."""
    pairs: Any
    for split in SPLITS:
        if corpus.kind == "parallel":
            pairs = corpora.load_parallel(corpus.name, split)
            source = sum(len(pair.source) for pair in pairs)
            target = sum(len(pair.target) for pair in pairs)
            yield f"{split}: {len(pairs):,} pairs, {source:,} source and {target:,} target tokens"
            continue
        text = corpora.load_text(corpus.name, split)
        if isinstance(text, str):
            yield f"{split}: {len(text):,} characters"
        else:
            yield f"{split}: {len(text):,} lines, {sum(map(len, text)):,} tokens"
    yield f"for example ({split}):"
    if corpus.kind == "text":
        lines = text.splitlines() if isinstance(text, str) else map(" ".join, text)
        yield from [f"  {line}" for line in lines if line][:EXAMPLES]
        return
    for pair in pairs[:EXAMPLES]:
        yield f"  {corpus.form.text(pair.source)}\n  {corpus.form.text(pair.target)}"
        for kind, links in (("sure", pair.sure), ("possible", pair.possible - pair.sure)):
            if links:
                words = [f"{pair.source[i]}–{pair.target[j]}" for i, j in sorted(links)]
                yield f"    {kind}: {' '.join(words)}"
