"""Trace a run line by line: every named array of a forward and a backward pass, in order.

`trace` works for any model. `stepping` goes through the reference implementation of a lesson (a
whole mechanism in one cell), one step after another.
"""

from collections.abc import Sequence
from typing import Any

from numpy_attention.course.trace.recording import recorded
from numpy_attention.course.trace.subjects import subject_of
from numpy_attention.course.trace.table import Row, Trace, measured

__all__ = ["Row", "Trace", "trace", "traced"]


def traced(model: Any, *sentence: Any, forward: Any = None, backward: Any = None) -> Trace:
    """Run a model forward and backward over a sentence; return the Trace of its named arrays.

    model: a Translator, a LanguageModelRun, a model of the package, or any object with `forward`
    and `backward`, as for `gradcheck`. sentence: the inputs. A Translator takes a sentence and,
    optionally, a translation to use instead of its own. A LanguageModelRun takes a sentence. A
    model of the package takes token ids or a batch. Otherwise, pass the arguments of `forward`.
    forward, backward: functions to use instead of the model's methods. `model` may then be None.

    For a sentence or a batch, the loss L is Σ −log p of its words, without dropout. For any other
    input, L is the output of `forward` if this is one number. Otherwise L is ½ Σ y² over the
    outputs y, so dy = y. Raises TypeError if a pass is missing or if the inputs do not fit the
    model, and ValueError if a sentence is empty.
    """
    subject = subject_of(model, sentence, forward, backward)
    recording = recorded(subject.work, measured, subject.model)
    return Trace(f"{subject.title}: L = {recording.result:.6g}", recording)


def trace(model: Any, *sentence: Any, forward: Any = None, backward: Any = None,
          step: int | None = None, layer: str | None = None,
          names: str | Sequence[str] | None = None, depth: int | None = None) -> Trace:
    """Print every named array of a forward and a backward pass, in order; return the Trace.

    Each row has the line number, the name, the shape and the norm of an array, and the code that
    computes the array. If the line is in a loop, the row has the smallest and the largest norm.
    model, sentence, forward and backward are the arguments of `traced`; step, layer, names and
    depth select what is printed, as in `Trace.text`.
    """
    found = traced(model, *sentence, forward=forward, backward=backward)
    print(found.text(step, layer, names, depth))
    return found
