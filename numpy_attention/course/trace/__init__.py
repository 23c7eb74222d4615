"""A run, line by line: every named array of a forward and a backward pass, in their order.

`trace` is for any model; `stepping` goes through a reference implementation, one time step after
the other.
"""

from collections.abc import Sequence
from typing import Any

from numpy_attention.course.trace.recording import recorded
from numpy_attention.course.trace.subjects import subject_of
from numpy_attention.course.trace.table import Row, Trace, measured

__all__ = ["Row", "Trace", "trace", "traced"]


def traced(model: Any, *sentence: Any, forward: Any = None, backward: Any = None) -> Trace:
    """Run a model forward and backward over a sentence; → the Trace of its named arrays.

    model: a Translator with a sentence and, optionally, its translation (default: the model's own);
    a LanguageModelRun with a sentence; a model of the package with ids or a batch; or any object
    with `forward` and `backward`, as for `gradcheck`, with the arguments of its forward. forward,
    backward: functions used instead.

    L = Σ −log p of the sentence's words, without dropout. For another forward, L is its result if
    that is one number, and otherwise ½ Σ y² of its outputs, so that dy = y. Raises TypeError for an
    object without the two passes or for other inputs, and ValueError for an empty sentence.
    """
    subject = subject_of(model, sentence, forward, backward)
    recording = recorded(subject.work, measured, subject.model)
    return Trace(f"{subject.title}: L = {recording.result:.6g}", recording)


def trace(model: Any, *sentence: Any, forward: Any = None, backward: Any = None,
          step: int | None = None, layer: str | None = None,
          names: str | Sequence[str] | None = None, depth: int | None = None) -> Trace:
    """Print every named array of a forward and a backward pass, in order; → the Trace.

    Of each its line, name, shape, norm, and the line of code that makes it; of what a loop makes
    the smallest and the largest norm. model, sentence, forward and backward are those of `traced`,
    step, layer, names and depth those of `Trace.text`: what to print, instead of all.
    """
    found = traced(model, *sentence, forward=forward, backward=backward)
    print(found.text(step, layer, names, depth))
    return found
