"""The gradient of the loss with respect to attention weights, taken from a traced backward pass.

The gradient is found by its name in the backward pass: dalpha or dweights.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from numpy_attention.course.trace.recording import Entry, recorded
from numpy_attention.course.trace.subjects import (
    batch_of,
    pair_of,
    subject_of,
    text_of,
    tokens_read,
)
from numpy_attention.course.trace.table import GIVEN
from numpy_attention.experiments.runs.language_model_run import LanguageModelRun
from numpy_attention.experiments.runs.translation import in_source_order
from numpy_attention.experiments.runs.translator import Translator
from numpy_attention.module import Array

END = "</s>"
GRADIENTS = "dalpha", "dweights"
WEIGHTS = "weights", "alpha"
AS_LARGE = 1e-5     # largest difference between weights that count as equal


class WeightGradients(NamedTuple):
    """Attention weights α and their gradients ∂L/∂α for a sentence.

    The boolean array `visible` is False where the model cannot attend, such as to later words. The
    three arrays have a row for each token in `targets` and a column for each token in `sources`.
    """

    weights: Array
    gradients: Array
    visible: Array
    sources: list[str]
    targets: list[str]


def weight_gradients(run: Translator | LanguageModelRun, *sentence: Any) -> WeightGradients:
    """Return the attention weights α and their gradients ∂L/∂α for a sentence.

    The loss L is Σ −log p of the predicted words. run, sentence: the model and the sentence, as for
    `trace`. If the weights are averaged over heads, the derivative is taken with respect to an
    equal change in every head. For a translator of subwords, each subword has its own row or
    column. The gradients ignore that each row of weights sums to 1. A constant added to a row of
    gradients therefore leaves the gradient of the scores unchanged (but not with local-p).

    Raises TypeError if `run` is not a trained run. Raises ValueError if the model has no attention
    weights, or if its backward pass has no array named dalpha or dweights that fits the weights.
    """
    if isinstance(run, LanguageModelRun):
        return of_writer(run, *sentence)
    if isinstance(run, Translator):
        return of_translator(run, *sentence)
    raise TypeError(f"run is of type {type(run).__name__}; expected the trained run "
                    "itself (Translator or LanguageModelRun), not its model")


def of_translator(run: Translator, source: Any, target: Any = None) -> WeightGradients:
    words, translation = pair_of(run, source, target)
    batch = batch_of(run, words, translation)
    if run.name == "encoder-decoder":
        raise ValueError("the encoder-decoder has no attention weights; use a run with attention")
    if run.name == "hard-rnnsearch":
        raise ValueError("hard-rnnsearch reads one word at each step instead of a weighted sum, so "
                         "its loss has no gradient with respect to attention weights; use a run of "
                         "another translator with attention")
    weights = run.model.weights(batch)[:, 0]
    gradients = gradients_of(run, (words, translation), weights)
    if run.training.reverse_source:
        weights, gradients = in_source_order(weights), in_source_order(gradients)
    columns = labels(run.source_vocabulary, words, run)
    rows = labels(run.target_vocabulary, translation, run)
    return WeightGradients(weights, gradients, np.ones(weights.shape, bool), columns, rows)


def of_writer(run: LanguageModelRun, sentence: Any) -> WeightGradients:
    tokens = tokens_read(run, sentence)
    attended = run.attend(tokens)
    batch = text_of(run.vocabulary.encode(tokens))
    weights = run.model.weights(batch)[0][:, 0]
    gradients = gradients_of(run, (tokens,), weights)
    return WeightGradients(attended, gradients, ~np.isnan(attended), [END, *tokens], [*tokens, END])


def labels(vocabulary: Any, words: list[str], run: Translator) -> list[str]:
    """Return the tokens that label rows or columns: the words or the run's subwords, then </s>."""
    if not run.training.subwords:
        return [*words, END]
    return [*(vocabulary.token(id) for id in vocabulary.encode(words)), END]


def gradients_of(run: Any, sentence: tuple, weights: Array) -> Array:
    """Return ∂L/∂α (T, S) from the backward pass of the layer that computed `weights`.

    sentence: the inputs of `subject_of`. Raises ValueError if no array named dalpha or dweights in
    the backward pass fits the weights.
    """
    subject = subject_of(run, sentence)
    entries = recorded(subject.work, np.array, subject.model).entries
    known = by_owner(entries, GRADIENTS[:1]) or by_owner(entries, GRADIENTS[1:])
    forward = by_owner(entries, WEIGHTS)
    for owner in sorted(known, key=lambda owner: owner.count(".")):
        found = as_rows(known[owner], weights.shape, np.sum)
        own = as_rows(forward.get(owner, []), weights.shape, np.mean)
        if found is not None and own is not None and np.allclose(own, weights, atol=AS_LARGE):
            return found
    raise ValueError("the backward pass has no gradient of the attention weights; name this array "
                     "dalpha or dweights, and give it the shape of the attention weights")


def by_owner(entries: Iterable[Entry], names: tuple[str, ...]) -> dict[str, list[Entry]]:
    """Return {Module path: Entries}: the last array in each call that has one of these names."""
    last: dict[tuple, Entry] = {}
    for one in entries:
        owner = one.call.owner
        if one.name in names and owner is not None and one.place.kind not in GIVEN:
            last[owner, id(one.call)] = one
    found: dict[str, list[Entry]] = {}
    for (owner, _), one in last.items():
        found.setdefault(owner, []).append(one)
    return found


def as_rows(entries: list[Entry], shape: tuple[int, ...], over_heads: Any) -> Array | None:
    """Return recorded values as one array (T, S), or None if their sizes do not fit `shape`.

    entries: one Entry, or one for each target word. over_heads: np.sum or np.mean over the heads.
    """
    T, S = shape
    if len(entries) == 1 and entries[0].value.size % (T * S) == 0:
        return over_heads(entries[0].value.reshape(-1, T, S), axis=0)
    if len(entries) == T and all(one.value.size % S == 0 for one in entries):
        inorder = sorted(entries, key=lambda one: [step.label for step in one.every_step])
        return np.stack([over_heads(one.value.reshape(-1, S), axis=0) for one in inorder])
    return None
