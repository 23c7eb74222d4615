"""Prepare a run to trace: of a translator, a language model, or any forward and backward pass."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from numpy_attention.data.batching import PairBatch, TextBatch, pair_batch
from numpy_attention.data.vocabulary import EOS
from numpy_attention.experiments.runs.language_model_run import LanguageModelRun
from numpy_attention.experiments.runs.translator import Translator
from numpy_attention.gradcheck import outputs_of
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.models.teacher_forced import TeacherForced
from numpy_attention.module import Module
from numpy_attention.validation.arguments import (
    as_integers,
    check_function,
    check_text,
    check_tokens,
)
from numpy_attention.validation.messages import plural, typed_repr


class Subject(NamedTuple):
    """A run to trace: a forward and a backward pass over some inputs.

    work: a function that runs both passes and returns the loss. model: the Module whose layers are
    named in the trace. batch: the batch that a model of the library reads, or None.
    """

    work: Callable[[], float]
    title: str
    model: Any
    batch: Any = None


def subject_of(model: Any, inputs: Sequence[Any], forward: Any = None,
               backward: Any = None) -> Subject:
    """Return the Subject (the run to trace) for a model or for two functions.

    The arguments and errors are those of `traced`, where `inputs` are called `sentence`.
    """
    if forward is not None or backward is not None:
        return passes(model, inputs, forward, backward)
    if isinstance(model, Translator):
        return of_translator(model, *check_count(inputs, 1, 2, "a source sentence and, "
                                                 "optionally, its translation"))
    if isinstance(model, LanguageModelRun):
        return of_writer(model, *check_count(inputs, 1, 1, "one sentence"))
    if isinstance(model, TeacherForced):
        if len(inputs) == 1 and isinstance(inputs[0], PairBatch):
            return of_batch(model, inputs[0], "one batch")
        source, target = check_count(inputs, 2, 2, "the ids of a source sentence and of a "
                                     "target sentence, or one PairBatch")
        return of_batch(model, pair_batch([source], [target]),
                        f"{len(source)} → {len(target)} ids")
    if isinstance(model, LanguageModel):
        one, = check_count(inputs, 1, 1, "the ids of a sentence, or a TextBatch")
        if isinstance(one, TextBatch):
            return of_batch(model, one, "one batch")
        return of_batch(model, text_of(one), f"{len(one)} ids")
    return passes(model, inputs, forward, backward)


def check_count(inputs: Sequence[Any], low: int, high: int, expected: str) -> Sequence[Any]:
    """Return the inputs. Raises TypeError if there are fewer than `low` or more than `high`."""
    if not low <= len(inputs) <= high:
        raise TypeError(f"got {plural(len(inputs), 'input')}; expected {expected}")
    return inputs


def tokens_of(name: str, sentence: Any) -> list[str]:
    """Return the tokens of a sentence. If the sentence is a string, it is split at spaces.

    name: the name of the sentence in messages. Raises TypeError if a token is not a string, and
    ValueError if there are no tokens.
    """
    tokens = sentence
    if isinstance(sentence, str):
        check_text(name, sentence)
        tokens = sentence.split()
    check_tokens(name, tokens)
    if not len(tokens):
        raise ValueError(f"{name} is empty; expected at least one token")
    return list(tokens)


def text_of(ids: Any) -> TextBatch:
    """Return ids as a TextBatch, with </s> before and after. Raises ValueError without ids."""
    ids = as_integers("ids", ids)
    if not len(ids):
        raise ValueError("the sentence is empty; expected at least one id")
    read = np.array([EOS, *ids, EOS])[:, None]
    return TextBatch(read[:-1], read[1:], np.arange(1))


# ---- models of the library ----------------------------------------------------------------------


def pair_of(translator: Translator, source: Any, target: Any = None) -> tuple[list[str], list[str]]:
    """Return the tokens of a source sentence and of its translation, by default the translator's.

    Raises ValueError if the sentence or the translation has no tokens.
    """
    source = tokens_of("the sentence", source)
    if target is not None:
        return source, tokens_of("the translation", target)
    found = translator.translate([source], beam=1)[0].target
    if not found:
        raise ValueError("the model's own translation of this sentence is empty; pass a "
                         "translation after the sentence")
    return source, found


def batch_of(translator: Translator, source: list[str], target: list[str]) -> PairBatch:
    """Return a source sentence and a target sentence as a batch of one pair for a translator."""
    return pair_batch([translator.source_vocabulary.encode(source)],
                      [translator.target_vocabulary.encode(target)],
                      translator.training.reverse_source)


def of_translator(translator: Translator, source: Any, target: Any = None) -> Subject:
    source, target = pair_of(translator, source, target)
    return of_batch(translator.model, batch_of(translator, source, target),
                    f"{' '.join(source)} → {' '.join(target)}")


def tokens_read(writer: LanguageModelRun, sentence: Any) -> list[str]:
    """Return the tokens of a sentence: its words or, for a model of characters, its characters."""
    if writer.training.unit == "characters" and isinstance(sentence, str):
        sentence = list(sentence)
    return tokens_of("the sentence", sentence)


def of_writer(writer: LanguageModelRun, sentence: Any) -> Subject:
    tokens = tokens_read(writer, sentence)
    batch = text_of(writer.vocabulary.encode(tokens))
    between = "" if writer.training.unit == "characters" else " "
    return of_batch(writer.model, batch, between.join(tokens))


def of_batch(model: Any, batch: Any, what: str) -> Subject:
    """Return a Subject (the run to trace) for the loss of a batch and its gradient.

    L = Σ −log p of the batch's words, without dropout. what: its name, for the title.
    """
    def work() -> float:
        loss, _ = model.loss_and_grad(batch, None, 1.0, model.zeros_like())
        return float(loss)

    return Subject(work, f"{type(model).__name__}, {what}", model, batch)


# ---- any two passes -----------------------------------------------------------------------------


def passes(model: Any, inputs: Sequence[Any], forward: Any, backward: Any) -> Subject:
    """Return a Subject (the run to trace) for a Module's two passes, or for two functions.

    forward, backward: None for the methods of `model`. The loss is the output of `forward` if this
    is one number. Otherwise the loss is ½ Σ y² over all outputs y, so that dy = y.
    """
    forward = getattr(model, "forward", None) if forward is None else forward
    backward = getattr(model, "backward", None) if backward is None else backward
    if forward is None or backward is None:
        raise TypeError(f"model is {typed_repr(model)}; expected a translator, a language model "
                        "or an object with the methods forward and backward. You can also pass two "
                        "functions: forward=… and backward=…")
    check_function("forward", forward, "a function that returns (output, …, cache)")
    check_function("backward", backward, "a function of (doutput, …, cache, grads)")

    def work() -> float:
        *outputs, cache = outputs_of(forward, inputs)
        numbers = [np.ndim(one) == 0 and one is not None for one in outputs]
        if numbers == [True]:
            upstream, loss = [np.ones(())], float(outputs[0])
        else:
            upstream, loss = [upstream_of(one) for one in outputs], sum(map(half_square, outputs))
        grads = model.zeros_like() if isinstance(model, Module) else None
        backward(*upstream, cache, grads)
        return loss

    name = getattr(forward, "__qualname__", "function") if model is None else type(model).__name__
    return Subject(work, name, model)


def upstream_of(output: Any) -> Any:
    """Return ∂(½ Σ y²)/∂y = y for an output y, which is an array, a tuple of arrays, or None."""
    if isinstance(output, tuple):
        return tuple(map(upstream_of, output))
    return None if output is None else np.array(output, dtype=np.result_type(output, np.float32))


def half_square(output: Any) -> float:
    if isinstance(output, tuple):
        return sum(map(half_square, output))
    return 0.0 if output is None else float(np.sum(np.square(output)) / 2)
