"""Right calls of metrics, analysis, plotting and the gradient check, and their arguments' kinds."""

import functools
import json
import math

import numpy as np
from hostility.kinds import (Kind, file, flag, function, generator, made, new_file, number, one_of,
                             sentences, tokens, values, whole)
from hostility.uses_data import PAIRS, links, raw, some_pairs, without
from hostility.uses_models import (IDS, READ, attentive_writer, plain_writer, translator,
                                   writer)
from hostility.uses_training import LINE, SOME_LINES, texts
from matplotlib.figure import Figure

from numpy_attention import analysis, gradcheck, metrics, plotting
from numpy_attention.data.batching import TextBatches
from numpy_attention.layers.linear import Linear
from numpy_attention.recipes import results
from numpy_attention.trace import traced
from numpy_attention.trace.weights import weight_gradients

WEIGHTS = [np.full((len(pair.target), len(pair.source)), 0.5) for pair in PAIRS]
HISTORY = [{"epoch": 1, "train_loss": 2.0, "valid_perplexity": 5.0},
           {"epoch": 2, "train_loss": 1.0, "valid_perplexity": None}]
LONG = TextBatches([2, *range(4, 8)] * 8, 2, 3)
BUCKETS = metrics.bleu_by_length([["a"] * 4] * 2, [["a"] * 4] * 2, [1, 5], [1, 3, 9])


def matrix(*shape):
    right = np.full(shape, 0.25)
    bad = [np.full(shape, math.nan), np.full(shape, math.inf), np.full(shape, "x"),
           np.zeros((*shape, 1)), right[:, :1], right.astype(object), right * 1j, right.tolist()[0]]
    return made(lambda: right.copy(), *bad, same=values(right.tolist(), right[::1, ::1]))


def weights_of_pairs():
    bad = [WEIGHTS[:2], [*WEIGHTS[:2], None], [*WEIGHTS[:2], np.full((2, 1), math.nan)],
           [*WEIGHTS[:2], np.full((2, 1), "x")], [*WEIGHTS[:2], np.zeros((7, 7))],
           [*WEIGHTS[:2], np.full((2, 1), 1j)]]
    return made(lambda: [one.copy() for one in WEIGHTS], *bad,
                same=values(tuple(WEIGHTS), [one.tolist() for one in WEIGHTS]))


def link_sets():
    bad = [[{(0, 0)}], [{(0, 0)}, {(9, 9)}, set()], [{(0,)}, set(), set()], [5, 5, 5],
           ["ab", "cd", "ef"], [{("a", "b")}, set(), set()], [{(0.5, 0)}, set(), set()],
           [{(True, 0)}, set(), set()]]
    return made(lambda: [{(0, 0)}, {(1, 0)}, set()], *bad)


def history():
    bad = [[{"epoch": "x", "train_loss": 1.0}], [{"train_loss": 1.0}], [{"epoch": 1}],
           [{"epoch": 1, "train_loss": "x"}], [{"epoch": math.nan, "train_loss": 1.0}],
           [{"epoch": None, "train_loss": 1.0}], [{"epoch": 1, "train_loss": [1]}], [5], HISTORY[0],
           [{"epoch": 10**400, "train_loss": 1.0}], [{"epoch": 1, "train_loss": True}],
           [{"epoch": 1, "train_loss": 1j}]]
    return made(lambda: [dict(line) for line in HISTORY], *bad)


def curves():
    bad = [{"a": []}, {"a": "x"}, {"a": [[1.0]]}, {"a": [math.nan]}, {"a": [-1]}, {"a": None},
           {"a": ["x"]}, {"a": [1j]}, {"a": [0, 0]}, [[0.5]], {"a": [0.5], "b": []}, {"a": {1: 2}}]
    return made(lambda: {"a": [0.5, 0.25], "b": [0.1]}, *bad, same=values(
        {"a": np.array([0.5, 0.25]), "b": (0.1,)}))


def systems():
    bad = [{"a": []}, {"a": [1]}, {"a": "x"}, {"a": BUCKETS, "b": BUCKETS[:1]}, [BUCKETS],
           {"a": [BUCKETS[0]._replace(bleu="x")]}, {"a": [BUCKETS[0]._replace(count=None)]},
           {"a": [(1, 3, 2)]}]
    return made(lambda: {"a": BUCKETS, "b": BUCKETS}, *bad)


def axes():
    return made(lambda: None, Figure, optional=True, others={
        "a figure": lambda folder: Figure(), "an array of axes": lambda folder:
        Figure().subplots(2, 2)})


def title():
    def fits(value):
        return value is None or isinstance(value, str) and value != "\ud800"

    return Kind(lambda folder: "t", fits)


def label():
    return title()._replace(fits=lambda value: isinstance(value, str) and value != "\ud800")


def bars():
    """Curves of intervals by place."""
    bad = [{"a": {1: (0, 1, 3)}}, {"a": {1: (1, 1)}}, {"a": {"x": (1, 1, 1)}}, {"a": [1]},
           {"a": {1: (1, math.nan, 1)}}, {"a": {}}]
    return made(lambda: {"a": {1: (1, 0, 2), 2: (2, 1, 3)}}, *bad)


def is_long(value, length):
    """Whether a value is so long; an array without dimensions has no length."""
    if isinstance(value, np.ndarray) and not value.ndim:
        return False
    return hasattr(value, "__len__") and len(value) == length


def labels(*right):
    """Tokens as labels: anything that has a text will do."""
    return tokens(*right)._replace(
        fits=lambda value: is_long(value, len(right)),
        wrong=values(right[0] * 9, 7, None, right[:1]))


def drawn(draw):
    """What is drawn, as the texts of the Axes, so that two can be compared."""
    def call(**given):
        ax = draw(**given)
        ax.figure.canvas.draw()
        return [text.get_text() for text in ax.get_xticklabels()]
    return call


def gridded(**given):
    return len(plotting.heatmap_grid(**given).axes)


def saved(ax_or_figure, path):
    return plotting.save(ax_or_figure, path).suffix


def checked(inputs, epsilon, tolerance, rng):
    layer = Linear.create(np.random.default_rng(0), 3, 2, dtype=np.float64)
    report = gradcheck.gradcheck(layer, inputs, rng=rng, epsilon=epsilon, tolerance=tolerance)
    return sorted(report.errors)


def checked_function(forward, backward):
    return gradcheck.gradcheck(None, np.ones((2, 2)), rng=np.random.default_rng(0),
                               forward=forward, backward=backward).errors


def squares(x):
    return x * x, x


def functions(right, *bad):
    return function(right, values(*bad))


@functools.cache
def a_trace():
    return traced(translator(), "a b", "x")


def told_of(**given):
    return a_trace().told(**given).count("\n")


def sentence(*right, optional=False):
    """A sentence of tokens, or a text with spaces between them."""
    def fits(value):
        text = isinstance(value, str) and value.split() != [] and value != "\ud800"
        some = type(value) in (list, tuple) or isinstance(value, np.ndarray) and value.ndim == 1
        return text or some and len(value) > 0 and all(map(fits, value))

    return made(lambda: list(right), 7, [7], [], "", " ", fits=fits, optional=optional,
                same=values(tuple(right), " ".join(right)))


def choice(right, *others):
    """A part of a trace, or names, and None for all."""
    def fits(value):
        return value is None or any(type(value) is type(one) and value == one for one in others)

    return made(lambda: right, "nix", 7, "", fits=fits)


def numeric(loss, array, epsilon):
    return gradcheck.numeric_gradient(loss, array, epsilon)


PLACE = np.ones(2)


def some_metrics():
    return sentences(["a", "b", "c", "d"], ["e", "f", "g", "h"], strings=True)


BOTH = {"hypotheses": some_metrics(), "references": some_metrics()}
PICTURE = {"ax": axes(), "title": title()}
CATALOGUE = {
    "bleu": (metrics.bleu, BOTH | {"tokenize": one_of("none", "13a", "intl", "char", "zh")}),
    "chrf": (metrics.chrf, BOTH | {"word_order": whole(2, 0, 50)}),
    "bleu_by_length": (metrics.bleu_by_length, BOTH | {
        "lengths": made(lambda: [4, 4], [4, math.nan], [4, "x"], [4, 99], [4, None]),
        "edges": made(lambda: [1, 3, 9], [3, 1], [1, math.nan], ["a", "b"], [1, 1, 9], [1, None])}),
    "exact_match": (metrics.exact_match, {
        "hypotheses": some_metrics()._replace(wrong=values(5, [5], [None, None])),
        "references": some_metrics()._replace(wrong=values(5, [5], [None, None]))}),
    "pointing_accuracy": (metrics.pointing_accuracy, {
        "weights": weights_of_pairs(), "pairs": some_pairs()}),
    "near_pointing": (metrics.near_pointing, {
        "weights": weights_of_pairs(), "pairs": some_pairs(), "distance": number(1, 0)}),
    "diagonal_pointing": (metrics.diagonal_pointing, {
        "pairs": some_pairs(), "rule": one_of("same", "proportional")}),
    "links_from_weights": (metrics.links_from_weights, {
        "weights": weights_of_pairs(), "pairs": some_pairs()}),
    "alignment_error_rate": (metrics.alignment_error_rate, {
        "links": link_sets(), "pairs": some_pairs()}),
    "analysis.attention_span": (analysis.attention_span, {
        "model": made(attentive_writer, plain_writer()), "batches": texts(),
        "longest": whole(2, 1, 2, optional=True)}),
    "analysis.gradient_flow": (analysis.gradient_flow, {
        "model": made(attentive_writer), "batch": made(
            lambda: type(READ)(READ.inputs[:2], READ.targets[:2], READ.rows), READ, texts),
        "of": one_of("h", "c")}),
    "analysis.disturbed": (lambda **given: analysis.disturbed(**given).disturbed.documents, {
        "batches": made(lambda: LONG, READ, TextBatches, IDS), "rng": generator(),
        "words": whole(2, 1, 5), "following": whole(3, 1, 14), "number": whole(4),
        "past": whole(6, 3, 17)}),
    "analysis.recover": (lambda **given: analysis.recover(**given).mean, {
        "model": made(plain_writer), "rng": generator(), "passages": made(
            lambda: analysis.disturbed(LONG, np.random.default_rng(0), 2, 3, 4, 6), LONG, IDS)}),
    "analysis.loss_by_distance": (lambda **given: analysis.loss_by_distance(**given).loss, {
        "model": made(plain_writer), "batches": texts(), "rng": generator()}),
    "analysis.role_gradients": (lambda **given: analysis.role_gradients(**given).norms, {
        "model": made(attentive_writer, plain_writer()), "batches": texts(), "rng": generator()}),
    "bands": (drawn(plotting.bands), PICTURE | {
        "curves": bars(), "xlabel": label(), "ylabel": label()}),
    "excess_loss": (drawn(plotting.excess_loss), PICTURE | {"curves": bars()}),
    "attention_heatmap": (drawn(plotting.attention_heatmap), PICTURE | {
        "weights": matrix(2, 3), "source_tokens": labels("a", "b", "c"),
        "target_tokens": labels("x", "y"), "gold": links()._replace(fits=lambda value: (
            value is None or hasattr(value, "__next__") or np.size(value) == 0)),
        "vmax": number(0.5, 1e-300, optional=True), "bar": flag(True)}),
    "history_heatmap": (drawn(plotting.history_heatmap), PICTURE | {
        "weights": made(lambda: np.tri(3, 3, -1) / 3, np.full((3, 3), math.nan), np.zeros((2, 2)),
                        np.full((3, 3), "x"), np.full((3, 3), 0.5), -np.tri(3, 3, -1)),
        "tokens": labels("a", "b", "c"),
        "predicted": labels("x", "y", "z")._replace(fits=lambda value: value is None or is_long(
            value, 3)),
        "vmax": number(0.5, 1e-300, optional=True)}),
    "gradient_heatmap": (lambda **given: len(plotting.gradient_heatmap(**given).axes), {
        "weights": matrix(2, 3), "gradients": matrix(2, 3),
        "source_tokens": labels("a", "b", "c"), "target_tokens": labels("x", "y"),
        "visible": made(lambda: np.ones((2, 3), bool), np.ones((2, 3)), np.ones((2, 2), bool),
                        optional=True),
        "title": title(), "vmax": number(0.5, 1e-300, optional=True)}),
    "heatmap_grid": (gridded, {
        "weights": made(lambda: {"a": np.eye(2), "b": np.eye(2)}, {"a": np.eye(3)}, {"a": "x"},
                        [np.eye(2)]),
        "source_tokens": labels("a", "b"), "target_tokens": labels("x", "y"),
        "columns": whole(1, optional=True)}),
    "learning_curves": (drawn(plotting.learning_curves), {"history": history(), "ax": axes()}),
    "bleu_by_length_plot": (drawn(plotting.bleu_by_length_plot), {
        "systems": systems(), "ax": axes()}),
    "attention_span": (drawn(plotting.attention_span), {"curves": curves()} | PICTURE),
    "gradient_flow": (drawn(plotting.gradient_flow), {"curves": curves()} | PICTURE),
    "traced": (lambda **given: len(traced(translator(), *given.values()).rows), {
        "source": sentence("a", "b"), "target": sentence("x", optional=True)}),
    "Trace.told": (told_of, {
        "step": whole(1, 0, 1, optional=True), "layer": choice("attention", "step_backward"),
        "names": choice("dalpha", ["d*"], "x"),
        "depth": whole(2, 0, optional=True)}),
    "weight_gradients": (lambda sentence: weight_gradients(writer(), sentence).gradients, {
        "sentence": sentence("a", "b")}),
    "save": (saved, {"ax_or_figure": made(lambda: Figure(), Figure), "path": new_file("a.png")}),
    "gradcheck": (checked, {
        "inputs": made(lambda: np.ones((2, 3)), np.ones((2, 3), np.float32), np.ones((2, 4)),
                       [[1.0]], fits=lambda value: isinstance(value, np.ndarray)
                       and value.dtype == float and value.shape == (3,)),
        "epsilon": number(1e-4, 1e-300), "tolerance": number(1e-6, 1e-300),
        "rng": generator()}),
    "gradcheck of a function": (checked_function, {
        "forward": functions(squares, lambda x: None, lambda x: x, lambda x: ("a", x)),
        "backward": functions(lambda dy, x, grad: 2 * x * dy, lambda dy, x, grad: None,
                              lambda dy, x, grad: "a", lambda dy, x, grad: (dy, dy))}),
    "numeric_gradient": (numeric, {
        "loss": functions(lambda: 5.0, lambda: "a", lambda: None, lambda: np.ones(2)),
        "array": made(lambda: np.ones(2), [1.0], np.ones(2, int), np.ones((2, 2))[:, 0],
                      fits=lambda value: isinstance(value, np.ndarray) and value.dtype == float),
        "epsilon": number(1e-4, 1e-300)}),
    "randomize": (lambda module, rng, scale: gradcheck.randomize(module, rng, scale).W, {
        "module": made(lambda: Linear.create(np.random.default_rng(0), 3, 2), Linear),
        "rng": generator(), "scale": number(0.5)}),
    "put_tables": (results.put_tables, {
        "text": raw(f"{results.START}\n{results.END}", 10**9)._replace(fits=lambda value: False),
        "tables": raw("t")}),
    "results.append": (lambda path, lines: results.append(path, lines), {
        "path": without(new_file("r.jsonl"), "in no folder", "another suffix")._replace(
            fits=lambda value: isinstance(value, str) and value == "x"), "lines": SOME_LINES}),
    "results.read": (results.read_file, {"path": without(
        file(json.dumps(LINE) + "\n"), "an empty file")}),
}
