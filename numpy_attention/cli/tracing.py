"""Line by line: a run over a sentence (`trace`), a lesson's reference implementation (`step`)."""

from argparse import Namespace
from pathlib import Path
from typing import Any

from numpy_attention import plotting
from numpy_attention.cli.shared import warn_of_unknown_words
from numpy_attention.data.selection import selected
from numpy_attention.experiments.runs.trained import kind_of
from numpy_attention.experiments.runs.translator import Translator
from numpy_attention.experiments.runs.writer import LanguageModelRun
from numpy_attention.course.trace import stepping, traced
from numpy_attention.course.trace.lessons import lesson_named, reference_cell, reference_of
from numpy_attention.course.trace.weights import weight_gradients

# ---- trace --------------------------------------------------------------------------------------


def trace(options: Namespace) -> None:
    run, sentences = run_and_sentences(options)
    found = traced(run, *sentences)
    print(found.text(options.step, options.layer, options.names, options.depth))


def run_and_sentences(options: Namespace) -> tuple[Any, list[list[str]]]:
    """The run of a command, and the tokens of its sentences. ValueError: too few, or too many."""
    kind = kind_of(options.run)
    if kind == "translator":
        run: Any = Translator.load(options.run, options.code)
        most, expected = 2, "a source sentence, and perhaps its translation"
        vocabularies = [run.source_vocabulary, run.target_vocabulary]
    else:
        run = LanguageModelRun.load(options.run, options.code)
        most, expected = 1, "one sentence, a language model reads no more"
        vocabularies = [run.vocabulary]
    if not 1 <= len(options.sentences) <= most:
        raise ValueError(f"{len(options.sentences)} sentences given: expected {expected}")
    form = selected(run.corpus).form()
    sentences = [form.tokens(text) for text in options.sentences]
    if not all(sentences):
        raise ValueError("an empty sentence: expected at least one token")
    for vocabulary, sentence in zip(vocabularies, sentences):
        warn_of_unknown_words(vocabulary, [sentence])
    return run, sentences


# ---- heatmap --gradients ------------------------------------------------------------------------


def draw_gradients(run: Any, sentences: list[Any], path: str | Path) -> None:
    """Save the attention weights of a sentence, ∂L/∂α beside them."""
    found = weight_gradients(run, *sentences)
    figure = plotting.gradient_heatmap(found.weights, found.gradients, found.sources,
                                       found.targets, found.visible)
    plotting.save(figure, path)


# ---- step ---------------------------------------------------------------------------------------


def step(options: Namespace) -> None:
    lesson = lesson_named(options.lesson, options.lessons)
    reference_cell(lesson)                              # refused before anything is printed
    print(f"{lesson.path.name}: runs its cells up to the reference implementation", flush=True)
    stepping.go(reference_of(lesson), options.steps)
