"""Public calls of the library, each with valid arguments.

CALLS is {name: make}, and make() returns (function, {argument: value}). The arguments are new each
time, because some calls write to them.
"""

from inspect import signature
from itertools import islice

import numpy as np

from numpy_attention import metrics
from numpy_attention.attention.config import AttentionConfig
from numpy_attention.attention.key_value import KeyValueReadout
from numpy_attention.attention.local import LocalPredictive
from numpy_attention.attention.ngram import NGramReadout
from numpy_attention.attention.readout_config import ReadoutConfig
from numpy_attention.cells.stacked import Stacked
from numpy_attention.data.batching import (
    DocumentBatches,
    PairBatch,
    PairBatches,
    TextBatch,
    TextBatches,
    pair_batch,
)
from numpy_attention.data.pairs import Pair
from numpy_attention.data.vocabulary import Vocabulary
from numpy_attention.decoding.beam import beam_search
from numpy_attention.decoding.greedy import greedy
from numpy_attention.decoding.sampling import choose, read, sample
from numpy_attention.layers.deep_output import DeepOutput
from numpy_attention.layers.dropout import Dropout
from numpy_attention.layers.embedding import Embedding
from numpy_attention.layers.feed_forward import FeedForward
from numpy_attention.layers.layer_norm import LayerNorm
from numpy_attention.layers.linear import Linear
from numpy_attention.layers.output import Output
from numpy_attention.models.attentive_language_model import AttentiveLanguageModel
from numpy_attention.models.budget import translator_within_budget, within_budget
from numpy_attention.models.encoder_decoder import EncoderDecoder
from numpy_attention.models.ensemble import Ensemble
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.models.luong import LuongTranslator
from numpy_attention.models.rnnsearch import RNNSearch
from numpy_attention.models.transformer import Transformer
from numpy_attention.registry import CELLS, HISTORY_SCORES, SCORES, resolve

F = np.float32
T, B, S, H = 5, 2, 6, 4
KINDS = {name: resolve("a class", name, table) for table in (CELLS, SCORES, HISTORY_SCORES)
         for name in table}
# valid arguments of each `create`
CREATE = {
    **{KINDS[name]: dict(inputs=3, hidden=4) for name in CELLS},
    **{KINDS[name]: dict(query_size=4, value_size=4) for name in SCORES if name != "location"},
    **{KINDS[name]: dict(query_size=4, key_size=3, size=5) for name in HISTORY_SCORES},
    KINDS["concat"]: dict(query_size=4, value_size=4, size=5),
    KINDS["multi-head"]: dict(query_size=4, value_size=4, size=6, outputs=5, heads=2),
    KINDS["location"]: dict(query_size=4, longest=9),
    LocalPredictive: dict(attention=KINDS["dot"](), query_size=4, size=4, width=2),
    Linear: dict(inputs=3, outputs=4),
    Embedding: dict(vocabulary=9, size=4),
    Output: dict(size=4, vocabulary=9),
    LayerNorm: dict(size=4),
    FeedForward: dict(size=4, inner=5),
    DeepOutput: dict(hidden=4, embedding=3, context=5, size=2),
    KeyValueReadout: dict(hidden=4, outputs=3, parts=2, window=2, carried=0),
    NGramReadout: dict(hidden=6, outputs=3, order=4),
    LanguageModel: dict(vocabulary=9, hidden=4, layers=2, cell="lstm", embedding=3, tied=False,
                        dropout=0.1, init=0.1, forget_bias=0.0),
    AttentiveLanguageModel: dict(vocabulary=9, hidden=4, layers=2, embedding=3, window=2),
    RNNSearch: dict(source_vocabulary=9, target_vocabulary=9, embedding=3, hidden=4, maxout=2,
                    attention="concat", alignment=5, readout="previous", reset="before"),
    EncoderDecoder: dict(source_vocabulary=9, target_vocabulary=9, embedding=3, hidden=4),
    LuongTranslator: dict(source_vocabulary=9, target_vocabulary=9, embedding=3, hidden=4,
                          layers=2, window="local-p", alignment=5, input_feeding=True),
    Transformer: dict(source_vocabulary=9, target_vocabulary=9, size=4, layers=1, heads=2,
                      inner=5, tied=True, smoothing=0.1),
}


def generator():
    return np.random.default_rng(0)


def create_call(kind):
    known = signature(kind.create).parameters
    shared = {"rng": generator(), "dtype": F}
    return kind.create, CREATE[kind] | {name: shared[name] for name in shared if name in known}


def create(kind, **changed):
    function, arguments = create_call(kind)
    return function(**arguments | changed)


def floats(*shape):
    return generator().standard_normal(shape).astype(F)


# ---- objects that the calls use ------------------------------------------------------------------

cells = {name: create(KINDS[name]) for name in CELLS}
cells["stacked"] = Stacked.create(lambda below, above: cells["gru"].create(generator(), below,
                                                                           above), (3, H, H))
attentions = {name: create(KINDS[name]) for name in SCORES}
attentions["local-p"] = create(LocalPredictive)
translators = [create(kind) for kind in (RNNSearch, EncoderDecoder, LuongTranslator, Transformer)]
language_models = [create(LanguageModel), create(AttentiveLanguageModel)]
translator, language_model = translators[0], language_models[0]
pairs = pair_batch([[4, 5, 2], [6, 2]], [[7, 2], [4, 5, 8, 2]])
text = TextBatch(np.array([[4, 5], [6, 7], [8, 0]]), np.array([[6, 7], [8, 2], [4, 0]]),
                 np.arange(2))
PAIRS = [Pair(("a", "b"), ("x",), {(0, 0)}), Pair(("b",), ("x", "y"), {(0, 1)})]
WEIGHTS = [np.ones((1, 2)), np.ones((2, 1))]
LINKS = [{(0, 0)}, {(0, 1)}]


def step_of(model, batch):
    return model.loss_and_grad, dict(batch=batch, state=None, scale=0.5, grads=model.zeros_like(),
                                     rng=generator())


def begin_of(cell):
    return (lambda a, state, mask: cell.begin(a, state, mask).hs[0]), dict(
        a=floats(T, B, cell.gates_size), state=cell.zero_state(B), mask=np.ones((T, B), bool))


def read_of(attention):
    def call(values, mask):
        memory = attention.read(values, mask)
        return memory.values, memory.keys, attention.step(floats(B, H), memory, 0)[:2]
    return call, dict(values=floats(B, S, H), mask=np.ones((B, S), bool))


def sampled(**given):
    choices = sample(language_model, rng=generator(), **given)
    return [choice.id for choice in islice(choices, 9)]


def searched(search):
    """Return only the ids: the other fields of a hypothesis are computed by the search itself."""
    return lambda **given: [one if isinstance(one, list) else one.ids for one in search(**given)]


SOURCES = dict(model=translator, source=pairs.source, source_mask=pairs.source_mask)
CALLS = {
    **{f"{kind.__name__}.create": lambda kind=kind: create_call(kind) for kind in CREATE},
    **{f"{name}.begin": lambda cell=cell: begin_of(cell) for name, cell in cells.items()},
    **{f"{name}.read": lambda attention=attention: read_of(attention)
       for name, attention in attentions.items()},
    **{f"{type(model).__name__}.loss_and_grad": lambda model=model: step_of(model, pairs)
       for model in translators},
    **{f"{type(model).__name__}.loss_and_grad": lambda model=model: step_of(model, text)
       for model in language_models},
    **{f"{type(model).__name__}.losses": lambda model=model: (
        model.losses, dict(batch=text, state=model.losses(text)[1])) for model in language_models},
    **{f"{type(model).__name__}.start": lambda model=model: (
        lambda source, mask, model=model: model.start(source, mask) and None,
        dict(source=pairs.source, mask=pairs.source_mask)) for model in translators},
    **{f"{type(model).__name__}.next": lambda model=model: (
        lambda tokens, state, model=model: model.next(tokens, state)[:2],
        dict(tokens=np.array([4, 5]), state=model.start(pairs.source, pairs.source_mask)))
       for model in translators},
    "LanguageModel.next": lambda: (lambda tokens, state: language_model.next(tokens, state)[0],
                                   dict(tokens=np.array([4, 5]), state=None)),
    "Ensemble": lambda: (lambda models: Ensemble(models).size, dict(models=translators[:2])),
    "AttentionConfig": lambda: (AttentionConfig, dict(attention="dot", window="local-m", width=2,
                                                      backwards=False, alignment=None, heads=2)),
    "ReadoutConfig": lambda: (ReadoutConfig, dict(attention="ngram", carried=0, order=3,
                                                  activation="tanh")),
    "within_budget": lambda: (within_budget, dict(parameters=3000, vocabulary=9, tied=True,
                                                  attention=None)),
    "translator_within_budget": lambda: (translator_within_budget, dict(
        parameters=9000, source=9, target=9, name="luong")),
    "Dropout": lambda: (Dropout, dict(rate=0.1)),
    "greedy": lambda: (searched(greedy), SOURCES | dict(max_length=3, never=[5])),
    "beam_search": lambda: (searched(beam_search), SOURCES | dict(
        beam=2, length_penalty=1.0, max_length=3, never=[5])),
    "read": lambda: (lambda **given: read(**given).log_probabilities,
                     dict(model=language_model, ids=[2, 4])),
    "sample": lambda: (sampled, dict(
        start=read(language_model, [2, 4]), length=3, temperature=1.0, top_k=3, top_p=0.9,
        never=[5], reset=False)),
    "choose": lambda: (choose, dict(log_p=floats(6), rng=generator(), temperature=1.0, top_k=3,
                                    top_p=0.9)),
    "bleu": lambda: (metrics.bleu, dict(hypotheses=["a b c d"], references=["a b c e"],
                                        tokenize="none")),
    "chrf": lambda: (metrics.chrf, dict(hypotheses=["a b"], references=["a c"], word_order=1)),
    "bleu_by_length": lambda: (metrics.bleu_by_length, dict(
        hypotheses=["a b"], references=["a c"], lengths=[2], edges=[1, 5])),
    "exact_match": lambda: (metrics.exact_match, dict(hypotheses=["a"], references=["a"])),
    "pointing_accuracy": lambda: (metrics.pointing_accuracy, dict(weights=WEIGHTS, pairs=PAIRS)),
    "near_pointing": lambda: (metrics.near_pointing, dict(weights=WEIGHTS, pairs=PAIRS,
                                                          distance=1)),
    "diagonal_pointing": lambda: (metrics.diagonal_pointing, dict(pairs=PAIRS, rule="same")),
    "links_from_weights": lambda: (metrics.links_from_weights, dict(weights=WEIGHTS, pairs=PAIRS)),
    "alignment_error_rate": lambda: (metrics.alignment_error_rate, dict(links=LINKS, pairs=PAIRS)),
    # data classes and batching
    "Vocabulary": lambda: (Vocabulary, dict(tokens=["a", "b"])),
    "Vocabulary.encode": lambda: (Vocabulary(["a"]).encode, dict(tokens=["a", "c"])),
    "Vocabulary.decode": lambda: (Vocabulary(["a"]).decode, dict(ids=[4])),
    "pair_batch": lambda: (pair_batch, dict(sources=[[4, 2]], targets=[[5, 2]],
                                            reverse_source=False)),
    "PairBatch": lambda: (PairBatch, dict(source=pairs.source, target_in=pairs.target_in,
                                          target_out=pairs.target_out, rows=pairs.rows)),
    "TextBatch": lambda: (TextBatch, dict(inputs=text.inputs, targets=text.targets,
                                          rows=text.rows)),
    "PairBatches": lambda: (PairBatches, dict(sources=[[4, 2]], targets=[[5, 2]], batch_size=2)),
    "TextBatches": lambda: (TextBatches, dict(ids=range(9), batch_size=2, steps=2)),
    "DocumentBatches": lambda: (DocumentBatches, dict(documents=[[4, 5, 2]])),
    "Pair": lambda: (Pair, dict(source=("a",), target=("x",), sure={(0, 0)})),
}
