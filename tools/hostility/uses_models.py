"""Right calls of models and decoding, and of what kind each argument is."""

import functools
import math
from dataclasses import replace

import numpy as np
from hostility.kinds import Kind, flag, generator, made, number, one_of, values, whole
from hostility.uses_data import (IDS, PAIRS, TEXT, array_of_ids, ids, optional_generator,
                                 vocabulary)

from numpy_attention.data.batching import PairBatches, TextBatch, pair_batch
from numpy_attention.decoding import hypothesis, sampling
from numpy_attention.decoding.beam import beam_search
from numpy_attention.decoding.greedy import greedy
from numpy_attention.models import budget, registry
from numpy_attention.models.attentive_language_model import AttentiveLanguageModel
from numpy_attention.models.encoder_decoder import EncoderDecoder
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.models.luong import LuongTranslator
from numpy_attention.models.rnnsearch import RNNSearch
from numpy_attention.models.transformer import Transformer
from numpy_attention.names import CELLS, READERS, SCORES, TRANSLATORS
from numpy_attention.runs.translator import Translator
from numpy_attention.runs.writer import Writer

BATCH = pair_batch(IDS, IDS)
READ = TextBatch(np.array([[2, 2], [4, 5], [5, 4]]), np.array([[4, 5], [5, 4], [6, 0]]),
                 np.arange(2))
BATCHES = PairBatches(IDS, IDS, 2)
SMALL = {"embedding": 3, "hidden": 4}


def rng():
    return np.random.default_rng(0)


@functools.cache
def rnnsearch(vocabulary=8):
    return RNNSearch.create(rng(), vocabulary, vocabulary, **SMALL, init="modern")


@functools.cache
def luong():
    return LuongTranslator.create(rng(), 8, 8, **SMALL, layers=1, init="modern")


@functools.cache
def transformer():
    return Transformer.create(rng(), 8, 8, size=4, layers=1, heads=2)


@functools.cache
def plain_writer():
    return LanguageModel.create(rng(), 8, hidden=4, layers=1)


@functools.cache
def attentive_writer():
    return AttentiveLanguageModel.create(rng(), 8, hidden=4, layers=1, carried=2)


@functools.cache
def translator():
    return Translator.create(PAIRS, "rnnsearch", SMALL | {"init": "modern"})


@functools.cache
def writer():
    return Writer.create(TEXT, "attentive-language-model", {"hidden": 4, "layers": 1})


def translator_kind():
    others = {"a language model": lambda folder: plain_writer()}
    return made(rnnsearch, RNNSearch, others=others)


def writer_kind():
    return made(plain_writer, LanguageModel)


def source_mask():
    bad = [np.zeros((3, 2), bool), np.ones((3, 2), int), np.ones((2, 3), bool), [[True]],
           np.ones(3, bool), np.zeros((0, 2), bool)]
    return made(lambda: np.array([[True, True], [True, True], [True, False]]), *bad)


def dtype():
    bad = [np.int32, np.float16, "nope", complex, int, "float64x"]
    right = (np.float32, np.float64, float, "float32", "float64")
    return Kind(lambda folder: np.float32, lambda value: any(value is one for one in right),
                values(*bad), values(np.dtype("float32"), "float32"))


def dropout():
    return number(0.2, 0, 0.99)


def init():
    def fits(value):
        return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e30

    return Kind(lambda folder: "modern", fits, values("zero", ["paper"], math.nan, -1), {})


def size(right, low=1, optional=False):
    """A size of a model."""
    return whole(right, low, 50, optional)


def created(create):
    """A model, as {name: its parameters}, so that two can be compared."""
    def call(**arguments):
        return dict(create(**arguments).named_parameters())
    return call


def pair_batch_kind():
    short = replace(BATCH, target_out=BATCH.target_out)
    short.target_out = BATCH.target_out[:2]
    far = replace(BATCH, target_in=BATCH.target_in + 90)
    return made(lambda: BATCH, READ, BATCHES, IDS, short, far)


def text_batch_kind():
    far = replace(READ, inputs=READ.inputs + 90)
    short = replace(READ)
    short.targets = READ.targets[:2]
    return made(lambda: READ, BATCH, BATCHES, IDS, short, far)


def twin(model):
    """The gradient twin of a model."""
    others = {"the twin of a larger one": lambda folder: rnnsearch(11).zeros_like(),
              "the model's class": lambda folder: RNNSearch}
    if model is not transformer:
        others["the twin of another model"] = lambda folder: transformer().zeros_like()
    return made(lambda: model().zeros_like(), others=others)


def loss_and_grad(model):
    def call(batch, state, scale, grad, rng):
        loss, _ = model().loss_and_grad(batch, state, scale, grad, rng)
        return loss, grad.vector
    return call


def next_of(model):
    """A step of decoding after a start."""
    def call(tokens, state):
        log_probs, weights, _ = model().next(tokens, state)
        return log_probs, weights
    return call


def started(model, rows=2):
    one = pair_batch(IDS[:rows], IDS[:rows])
    return model().start(one.source, one.source_mask)


def carried():
    """None, or a state; as a list of no states it is none."""
    return made(lambda: None, started(rnnsearch), optional=True,
                fits=lambda value: isinstance(value, list) and value == [None])


def state_of(model):
    others = {"the state of another model": lambda folder: started(
        luong if model is rnnsearch else rnnsearch)}
    return made(lambda: started(model), others=others)


def tokens_alone():
    """Tokens before a first step, in any number."""
    kind = tokens_before()
    return kind._replace(wrong={name: make for name, make in kind.wrong.items()
                                if name not in ("array([4])", "array([4, 5, 6])")})


def tokens_before():
    return made(lambda: np.array([4, 5]), [4, 5], np.array([4]), np.array([4, 5, 6]),
                np.array([4.0, 5.0]), np.array([[4, 5]]), np.array([4, 99]), np.array([-1, 4]))


def reading():
    def right():
        return sampling.read(plain_writer(), [2, 4])
    return made(right, others={"a tuple of nothing": lambda folder: (None, None, None)})


def sampled(model, start, rng, length, sentences, temperature, top_k, top_p, never):
    choices = sampling.sample(model, start, rng, length, sentences, temperature, top_k, top_p,
                              never)
    return [choice.id for choice, _ in zip(choices, range(8))]


def generated(rng, prompt, length, sentences, temperature, top_k, top_p):
    words = writer().generate(rng, prompt, length, sentences, temperature, top_k, top_p)
    return [word.token for word, _ in zip(words, range(8))]


def search(kind=translator_kind):
    return {"model": kind(), "source": array_of_ids(), "source_mask": source_mask()}


LIMIT = whole(3, optional=True)
SAMPLING = {"length": whole(5), "sentences": whole(2, optional=True),
            "temperature": number(0.7, 0), "top_k": whole(3, optional=True),
            "top_p": number(0.9, 1e-300, 1, optional=True)}
TRANSLATOR_SIZES = {"source_vocabulary": size(8), "target_vocabulary": size(8)}
RECURRENT = {"embedding": size(3), "hidden": size(4), "layers": size(1), "dropout": dropout(),
             "dtype": dtype(), "rng": generator(), "init": init()}
SCORING = {"attention": one_of("general", *SCORES),
           "window": one_of("local-p", "global", "local-m"),
           "width": size(2), "heads": size(2), "alignment": size(3, optional=True),
           "longest": size(9)}


CATALOGUE = {
    "RNNSearch.create": (created(RNNSearch.create), RECURRENT | TRANSLATOR_SIZES | SCORING | {
        "bidirectional": flag(True), "maxout": size(2, optional=True),
        "readout": one_of("previous", "current"), "reset": one_of("before", "after"),
        "update": one_of("old", "new")}),
    "EncoderDecoder.create": (created(EncoderDecoder.create), RECURRENT | TRANSLATOR_SIZES),
    "LuongTranslator.create": (created(LuongTranslator.create),
                               RECURRENT | TRANSLATOR_SIZES | SCORING | {
        "cell": one_of("lstm", *CELLS), "input_feeding": flag(True), "bias": flag(True),
        "query": one_of("current", "previous")}),
    "Transformer.create": (created(Transformer.create), TRANSLATOR_SIZES | {
        "rng": generator(), "size": size(4), "layers": size(1), "heads": size(2),
        "inner": size(5, optional=True), "dropout": dropout(), "smoothing": number(0.1, 0, 0.99),
        "tied": flag(True), "pre_norm": flag(True), "dtype": dtype()}),
    "LanguageModel.create": (created(LanguageModel.create), {
        "rng": generator(), "vocabulary": size(8), "hidden": size(4), "layers": size(1),
        "cell": one_of("lstm", *CELLS), "embedding": size(3, optional=True), "dropout": dropout(),
        "init": number(0.1, 0), "forget_bias": number(1.0), "dtype": dtype()}),
    "AttentiveLanguageModel.create": (created(AttentiveLanguageModel.create), {
        "rng": generator(), "vocabulary": size(8), "hidden": size(6), "layers": size(1),
        "attention": one_of("combined", *READERS), "window": whole(3, optional=True),
        "carried": whole(2, 0), "dropout": dropout(), "init": number(0.1, 0), "dtype": dtype()}),
    "build": (lambda name, rng, source, target: dict(
        registry.build(name, rng, source, target, hidden=4, embedding=3).named_parameters()), {
            "name": one_of("rnnsearch", "luong"), "rng": generator(),
            "source": vocabulary(), "target": made(lambda: range(9))}),
    "model_of": (registry.model_of, {"name": one_of("luong", *TRANSLATORS)}),
    "settings_of": (registry.settings_of, {"name": one_of("luong", *TRANSLATORS)}),
    "within_budget": (budget.within_budget, {
        "parameters": whole(5000), "vocabulary": size(20),
        "attention": one_of("combined", *READERS, optional=True), "layers": size(1)}),
    "translator_within_budget": (budget.translator_within_budget, {
        "parameters": whole(50000), "source": size(20), "target": size(20),
        "name": one_of("rnnsearch", *TRANSLATORS), "layers": size(1)}),
    **{f"{model.__name__}.loss_and_grad": (loss_and_grad(model), {
        "batch": pair_batch_kind(), "state": made(lambda: None, fits=lambda value: True),
        "scale": number(0.5), "grad": twin(model), "rng": optional_generator()})
       for model in (rnnsearch, luong, transformer)},
    **{f"{model.__name__}.loss_and_grad": (loss_and_grad(model), {
        "batch": text_batch_kind(), "state": carried(),
        "scale": number(0.5), "grad": twin(model), "rng": optional_generator()})
       for model in (plain_writer, attentive_writer)},
    **{f"{model.__name__}.loss": (lambda batch, model=model: model().loss(batch)[0],
                                  {"batch": pair_batch_kind()})
       for model in (rnnsearch, luong, transformer)},
    **{f"{model.__name__}.weights": (lambda batch, model=model: model().weights(batch),
                                     {"batch": pair_batch_kind()})
       for model in (rnnsearch, luong, transformer)},
    **{f"{model.__name__}.start": (lambda source, mask, model=model: model().start(source, mask),
                                   {"source": array_of_ids(), "mask": source_mask()})
       for model in (rnnsearch, luong, transformer)},
    **{f"{model.__name__}.next": (next_of(model), {
        "tokens": tokens_before(), "state": state_of(model)})
       for model in (rnnsearch, luong, transformer)},
    **{f"{model.__name__}.next": (next_of(model), {
        "tokens": tokens_alone(), "state": carried()})
       for model in (plain_writer, attentive_writer)},
    "attentive_writer.weights": (lambda batch, state: attentive_writer().weights(batch, state)[0], {
        "batch": made(lambda: READ, BATCH, BATCHES, IDS),
        "state": made(lambda: None, optional=True)}),
    "greedy": (greedy, search() | {"max_length": LIMIT}),
    "beam_search": (beam_search, search() | {
        "beam": whole(3), "length_penalty": number(0.7), "max_length": LIMIT}),
    "longest": (hypothesis.longest, {"source_mask": made(
        lambda: np.ones((3, 2), bool), np.zeros((3, 2), bool), np.ones((3, 2), int), [[True]]),
        "max_length": LIMIT}),
    "Hypothesis.score": (
        lambda length_penalty: hypothesis.Hypothesis([4, 2], -1.5, None).score(length_penalty),
        {"length_penalty": number(0.7)}),
    "read": (lambda model, ids: sampling.read(model, ids).log_probabilities, {
        "model": writer_kind(), "ids": ids(2, 4, high=7)}),
    "sample": (sampled, {"model": writer_kind(), "start": reading(), "rng": generator(),
                         "never": ids(3, high=7, least=0)} | SAMPLING),
    "choose": (sampling.choose, {
        "log_p": made(lambda: np.log(np.array([0.25, 0.5, 0.25])), np.full(3, np.nan),
                      np.full(3, -np.inf), [0.5], fits=lambda value: (
                          isinstance(value, np.ndarray) and value.shape == (3,)
                          and value.dtype == float and np.isfinite(value).all())),
        "rng": generator(), "temperature": SAMPLING["temperature"], "top_k": SAMPLING["top_k"],
        "top_p": SAMPLING["top_p"]}),
}
