"""Commands that show the inside of a model (heatmap, page, trace) or a lesson (step)."""

from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np

from numpy_attention import plotting
from numpy_attention.cli.evaluate import own_pairs
from numpy_attention.cli.shared import END, example_of, load_run, part_of, warn_of_unknown_words
from numpy_attention.course.trace import stepping, traced
from numpy_attention.course.trace.lessons import lesson_named, reference_cell, reference_of
from numpy_attention.course.trace.weights import weight_gradients
from numpy_attention.data.pairs import Pair
from numpy_attention.page.export import megabytes
from numpy_attention.page.runs import page_of_runs
from numpy_attention.validation.messages import plural

EXPECTED = {            # sentences, (fewest, most): in words
    (1, 1): "one sentence, because the run is a language model",
    (1, 2): "a source sentence, and optionally its translation",
    (2, 2): "a source and a target sentence, or none",
}


def heatmap(options: Namespace) -> None:
    run = load_run(options)
    if options.kind == "writer":
        run.check_attention()
    example = example_to_draw(options, run)
    pair = isinstance(example, Pair)
    sentences = [list(example.source), list(example.target)] if pair else [example]
    figure: Any
    if options.gradients:
        found = weight_gradients(run, *sentences)
        figure = plotting.gradient_heatmap(
            found.weights, found.gradients, source_tokens=found.sources,
            target_tokens=found.targets, visible=found.visible)
    elif pair:
        figure = plotting.attention_heatmap(
            run.attend([example])[0], source_tokens=[*example.source, END],
            target_tokens=[*example.target, END], gold=example.sure, possible=example.possible)
    else:
        weights = run.attend(example)
        figure = plotting.history_heatmap(np.nan_to_num(weights), [END, *example], [*example, END],
                                          ~np.isnan(weights))
    plotting.save(figure, options.output)
    form = run.selection().form()
    print(*map(form.text, sentences), f"saved {options.output}", sep="\n")


def example_to_draw(options: Namespace, run: Any) -> Any:
    """Return the Pair or sentence that the user typed, or the one that --index selects."""
    pairs = options.kind == "translator"
    if options.sentences:
        first, *others = tokens_of(options, run, 2 if pairs else 1)
        return Pair(tuple(first), tuple(others[0])) if pairs else first
    if pairs and options.source:
        return example_of(options.index, own_pairs(options, run), options.source, "pairs")
    data, split = part_of(run.selection(), options.split)
    if pairs:
        return example_of(options.index, data, f"the {split} split", "pairs")
    if data.unit == "characters":
        raise ValueError("a corpus of characters has no sentences; pass your own sentence")
    sentences = [sentence for sentence in data.sentences if sentence]
    return example_of(options.index, sentences, f"the {split} split", "sentences")


def tokens_of(options: Namespace, run: Any, fewest: int) -> list[list[str]]:
    """Return the tokens of each sentence that the user typed; warn about words unknown to the run.

    Raises ValueError for fewer than `fewest` sentences, too many sentences or an empty sentence.
    """
    most = len(run.VOCABULARIES)
    if not fewest <= len(options.sentences) <= most:
        raise ValueError(f"got {plural(len(options.sentences), 'sentence')}; expected "
                         f"{EXPECTED[fewest, most]}")
    form = run.selection().form()
    sentences = [form.tokens(text) for text in options.sentences]
    if not all(sentences):
        raise ValueError("a sentence is empty; expected at least one token")
    for vocabulary, sentence in zip(run.VOCABULARIES, sentences):
        warn_of_unknown_words(getattr(run, vocabulary), [sentence])
    return sentences


def page(options: Namespace) -> None:
    size = page_of_runs(options.output, options.runs, options.precision, options.corpus,
                        options.split, options.examples, options.checkpoints or (), options.code,
                        options.script)
    print(f"saved {options.output}: {megabytes(size)}, {options.precision}; open it in a browser")


def trace(options: Namespace) -> None:
    run = load_run(options)
    found = traced(run, *tokens_of(options, run, 1))
    print(found.text(options.step, options.layer, options.names, options.depth))


def step(options: Namespace) -> None:
    lesson = lesson_named(options.lesson, options.lessons)
    reference_cell(lesson)                              # raises before anything is printed
    print(f"{Path(lesson.path).name}: runs its cells up to the reference implementation",
          flush=True)
    stepping.go(reference_of(lesson), options.steps)
