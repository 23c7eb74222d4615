"""Does a language model use what it read? Words left out of sentences: cloze."""

import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from numpy_attention.experiments.analysis.cloze import Cloze, cloze_test
from numpy_attention.bootstrap import Interval
from numpy_attention.cli.language_models import how_state_goes, text_to_measure_on, what_it_is
from numpy_attention.cli.shared import refuse, report, runs_of, voices
from numpy_attention.data.cloze import Question, make_questions, read_questions, write_questions
from numpy_attention.data.selection import selected
from numpy_attention.experiments.runs.provenance import provenance
from numpy_attention.experiments.runs.trained import kind_of
from numpy_attention.experiments.runs.writer import LanguageModelRun
from numpy_attention.training.threads import Threads

GAP = "_____"


def cloze(options: Namespace) -> None:
    """Make questions or read them, save them where asked to, and ask them."""
    if kind_of(options.run) == "translator":
        raise ValueError(f"{options.run} holds a translator: expected the run of a language model, "
                         "which numpy-attention train lm makes")
    writer = runs_of(LanguageModelRun, options)
    how = writer.training
    if how.unit != "words":
        raise ValueError(f"{options.run} reads {how.unit}: a question leaves out a word, so "
                         "choose a run of words")
    rng = np.random.default_rng(options.seed)
    questions, name, split = questions_of(options, writer, rng)
    if options.write:
        write_questions(questions, options.write)
        print(f"saved {options.write}", file=sys.stderr)
    with Threads(1):
        found = cloze_test(writer.model, writer.vocabulary, questions, rng, how.state, how.steps)
    figures = {"run": str(options.run), "corpus": name, "split": split, "state": how.state,
               "steps": None if how.state == "sentence" else how.steps,
               "questions": len(questions), "seed": options.seed, **as_dict(found),
               "depends_on": provenance(writer, sentences_of(questions), 1)}
    report(options, writer, voices(options) + what_it_is(writer), how_state_goes(writer, 1),
           figures, show_figures)
    for question, log_p in zip(questions[:options.show or 0], found.log_p):
        print("\n".join(lines_of(question, log_p)))


def questions_of(options: Namespace, writer: LanguageModelRun,
                 rng: np.random.Generator) -> tuple[list[Question], str, str | None]:
    """→ the questions of --questions, or made from a text; its name, its split."""
    if options.questions:
        lowercase = selected(writer.corpus).form(options.lowercase).lowercase
        return read_questions(options.questions, lowercase), Path(options.questions).name, None
    refuse(options, "questions that are made are in the case of their text", "lowercase")
    text, name, split = text_to_measure_on(options, writer)
    return make_questions(text, writer.vocabulary, options.number, rng), name, split


def sentences_of(questions: Sequence[Question]) -> list[Sequence[str]]:
    """All that is read for the questions, by which a digest tells them from others."""
    return list(chain.from_iterable(
        [*question.context, question.filled(question.word), question.candidates]
        for question in questions))


def as_dict(found: Cloze) -> dict[str, Any]:
    """What JSON can hold."""
    return {
        "accuracy": found.accuracy._asdict(),
        "others": {name: accuracy._asdict() for name, accuracy in found.others.items()},
        "gain": found.gain._asdict(),
        "chance": found.chance,
        "unknown": found.unknown,
    }


def show_figures(figures: Mapping[str, Any]) -> None:
    print(f"  {figures['questions']:,} questions; {100 * figures['unknown']:.1f} % of the answers "
          "are <unk>")
    for name, found in [("accuracy", figures["accuracy"]), *figures["others"].items()]:
        print(f"  {name:<25} {Interval(**found)}")
    print(f"  {'chance':<25} {figures['chance']:.3f}")
    gain = figures["gain"]
    print(f"  the context is worth {gain['mean']:+.3f} ({gain['low']:+.3f} to "
          f"{gain['high']:+.3f})", flush=True)


def lines_of(question: Question, log_p: np.ndarray) -> list[str]:
    """The query, the answer, and the candidates with their log p, the likeliest first."""
    ranked = [f"{question.candidates[k]} {log_p[k]:.2f}" for k in np.argsort(-log_p, kind="stable")]
    return ["", f"  {' '.join(question.filled(GAP))}", f"    answer: {question.word}",
            f"    log p: {', '.join(ranked)}"]
