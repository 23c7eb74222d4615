"""Trace a run line by line: every named array of a forward and a backward pass, in order.

`trace` works for any model. `stepping` goes through a reference implementation, one time step after
the other.
"""

from collections.abc import Sequence
from typing import Any

from numpy_attention.course.trace.recording import recorded
from numpy_attention.course.trace.subjects import subject_of
from numpy_attention.course.trace.table import Row, Trace, measured

__all__ = ["Row", "Trace", "trace", "traced"]


def traced(model: Any, *sentence: Any, forward: Any = None, backward: Any = None) -> Trace:
    """Run a model forward and backward over a sentence; return the Trace of its named arrays.

    model, sentence: a Translator with a sentence and optionally its translation (by default the
    model's); a LanguageModelRun with a sentence; a model of the package with ids or a batch; or any
    object with `forward` and `backward`, as for `gradcheck`, with the arguments of its forward.
    forward, backward: functions to use instead of the object's.

    The loss L is Σ −log p of the sentence's words, without dropout. For any other forward, L is its
    result if that is one number. Otherwise L is ½ Σ y² over its outputs y, so dy = y. Raises
    TypeError for an object without the two passes or for other inputs, and ValueError for an empty
    sentence.
    """
    subject = subject_of(model, sentence, forward, backward)
    recording = recorded(subject.work, measured, subject.model)
    return Trace(f"{subject.title}: L = {recording.result:.6g}", recording)


def trace(model: Any, *sentence: Any, forward: Any = None, backward: Any = None,
          step: int | None = None, layer: str | None = None,
          names: str | Sequence[str] | None = None, depth: int | None = None) -> Trace:
    """Print every named array of a forward and a backward pass, in order; return the Trace.

    Each row has the line number, name, shape and norm of an array (in a loop, its smallest and
    largest norm) and the code that makes it. model, sentence, forward and backward are those of
    `traced`; step, layer, names and depth select what is printed, as in `Trace.text`.
    """
    found = traced(model, *sentence, forward=forward, backward=backward)
    print(found.text(step, layer, names, depth))
    return found
