"""Malformed calls of the rooms above the layers: data, models, decoding, training, runs, pictures.

Each is refused in one line that the package raises itself; the layers' share is in
test_bad_input.py, what the checks themselves say in test_arguments.py and test_shapes.py.
"""

import math
import traceback
from pathlib import Path

import numpy as np
import pytest

import numpy_attention
from numpy_attention import gradcheck, metrics, plotting
from numpy_attention.experiments import analysis
from numpy_attention.gradcheck import cases as checks
from numpy_attention.data.datasets import corpora, generators
from numpy_attention.data import held_out, pairs, reading, selection
from numpy_attention.data.batching import (DocumentBatches, PairBatch, PairBatches, TextBatch,
                                           TextBatches, grouped, padded, pair_batch)
from numpy_attention.data.user_text import UserPairs
from numpy_attention.data.pairs import Pair
from numpy_attention.data.running_text import Text
from numpy_attention.data.splits import split_of
from numpy_attention.data.text_form import TextForm
from numpy_attention.data.vocabulary import Vocabulary
from numpy_attention.decoding.beam import beam_search
from numpy_attention.decoding.greedy import greedy
from numpy_attention.decoding.sampling import choose, read, sample
from numpy_attention.layers.linear import Linear
from numpy_attention.models import budget
from numpy_attention.models.attentive_language_model import AttentiveLanguageModel
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.models.luong import LuongTranslator
from numpy_attention.models.registry import build
from numpy_attention.models.rnnsearch import RNNSearch
from numpy_attention.models.transformer import Transformer
from numpy_attention.experiments.recipes import find_recipe, results
from numpy_attention.experiments.runs.resume import check_same
from numpy_attention.experiments.runs.translator import Translator
from numpy_attention.experiments.runs.writer import LanguageModelRun
from numpy_attention.training.evaluation import evaluate
from numpy_attention.training.optimizers import Adam
from numpy_attention.training.threads import Threads
from numpy_attention.training.trainer import Trainer

PACKAGE = str(Path(numpy_attention.__file__).parent)
RNG = np.random.default_rng(0)
IDS = [[4, 5], [6]]
PAIRS = [Pair(("a", "b"), ("x",), {(0, 0)}), Pair(("b",), ("x", "y"))]
BATCH = pair_batch(IDS, IDS)
BATCHES = PairBatches(IDS, IDS, 2)
TEXT = Text([[["a", "b"], ["b"]]])
SOURCE = BATCH.source
MASK = BATCH.source_mask
VOCABULARY = Vocabulary(["a", "b"])
rnnsearch = RNNSearch.create(RNG, 8, 8, embedding=3, hidden=4)
luong = LuongTranslator.create(RNG, 8, 8, embedding=3, hidden=4, layers=1)
plain = LanguageModel.create(RNG, 8, hidden=4, layers=1)
attentive = AttentiveLanguageModel.create(RNG, 8, hidden=4, layers=1)
translator = Translator.create(PAIRS, "rnnsearch", {"embedding": 3, "hidden": 4})
writer = LanguageModelRun.create(TEXT, "attentive-language-model", {"hidden": 4, "layers": 1})
reading_of_two = read(plain, [2, 4])
array = np.array([[4, 5], [2, 0]])


def trained(**other):
    """A training of one epoch with one argument replaced."""
    settings = {"model": rnnsearch, "optimizer": Adam(), "train": BATCHES,
                "rng": np.random.default_rng(0), "progress": False, "threads": 1} | other
    return lambda: Trainer(**settings).fit(1)


def drawn(**settings):
    return lambda: sample(plain, reading_of_two, np.random.default_rng(0), **settings)


BAD = {
    # data
    "vocabulary: a dict": (lambda: Vocabulary({"a": 1}), TypeError, "tokens is {'a': 1}"),
    "vocabulary: bytes in the text": (
        lambda: Vocabulary.build([["a", b"b"]]), TypeError, "sentence 0 holds b'b'"),
    "vocabulary: lists for tokens": (
        lambda: Vocabulary.build([[["a"]]]), TypeError, r"sentence 0 holds \['a'\]"),
    "vocabulary: one number": (lambda: Vocabulary.build(7), TypeError, "sentences is 7"),
    "vocabulary: min_count": (
        lambda: Vocabulary.build([["a"]], min_count=0), ValueError, "min_count = 0"),
    "vocabulary: max_size": (
        lambda: Vocabulary.build([["a"]], max_size=math.nan), ValueError, "max_size = nan"),
    "vocabulary: encode nothing": (lambda: VOCABULARY.encode(None), TypeError, "tokens is None"),
    "vocabulary: encode lists": (
        lambda: VOCABULARY.encode([["a"]]), TypeError, r"tokens holds \['a'\]"),
    "vocabulary: decode floats": (
        lambda: VOCABULARY.decode([4.5]), TypeError, "an id is 4.5, of type float"),
    "vocabulary: True for an id": (lambda: VOCABULARY.token(True), TypeError, "an id is True"),
    "padded: shorter than a sentence": (
        lambda: padded([[4, 5, 6]], 2), ValueError, "length = 2: the longest sentence has 3"),
    "padded: a negative id": (lambda: padded([[4, -5]]), ValueError, "the id -5"),
    "grouped: no rng": (
        lambda: grouped(np.arange(3), 2, 2, np.random), TypeError, "rng is module"),
    "grouped: nothing": (lambda: grouped(np.array([]), 2), ValueError, "no lengths"),
    "grouped: block 0": (
        lambda: grouped(np.arange(3), 2, 0, RNG), ValueError, "block = 0: expected a whole"),
    "pair batch: one sentence for all": (
        lambda: pair_batch([4, 5], [4, 5]), TypeError, "number 0 of the sources is 4"),
    "pair batch: flag": (
        lambda: pair_batch(IDS, IDS, "no"), TypeError, "reverse_source is 'no'"),
    "PairBatch: lists": (
        lambda: PairBatch([[4]], array, array, np.arange(2)), TypeError, "source"),
    "PairBatch: rows of another batch": (
        lambda: PairBatch(array, array, array, np.arange(3)), ValueError, "source"),
    "TextBatch: fewer targets": (
        lambda: TextBatch(array, array[:1], np.arange(2)), ValueError, "targets"),
    "share: none such": (lambda: BATCH.share(2, 2), ValueError, "k = 2: expected a whole number"),
    "PairBatches: ids of another kind": (
        lambda: PairBatches([[4, 5.5]], [[4]]), TypeError, "sources hold something of type float"),
    "PairBatches: size that is no number": (
        lambda: PairBatches(IDS, IDS, math.nan), ValueError, "batch_size = nan"),
    "PairBatches: from the end": (
        lambda: BATCHES.batch([-1]), ValueError, "indices hold -1 to -1: expected 0 to 1"),
    "PairBatches: no vocabulary": (
        lambda: PairBatches.encode(PAIRS, None, VOCABULARY), TypeError,
        "source_vocabulary is None"),
    "TextBatches: floats": (
        lambda: TextBatches([4.5] * 9, 2), TypeError, "ids holds float64"),
    "TextBatches: after the end": (
        lambda: TextBatches(range(9), 2, 2).batch(9), ValueError, "start = 9"),
    "documents: negative ids": (
        lambda: DocumentBatches([[2, -4]]), ValueError, "documents hold negative"),
    "Pair: numbers": (lambda: Pair((1, 2), ("x",)), TypeError, "source holds 1, of type int"),
    "Pair: half links": (
        lambda: Pair(("a",), ("x",), {(0,)}), TypeError, r"a link is \(0,\)"),
    "Pair: links of floats": (
        lambda: Pair(("a",), ("x",), {(0.5, 0)}), TypeError, "a link is"),
    "limited: tuples for Pairs": (
        lambda: pairs.limited([("a", "b")], "it"), TypeError, "pairs, number 0"),
    "limited: count": (
        lambda: pairs.limited(PAIRS, "it", count=-1), ValueError, "count = -1"),
    "split: NaN held out": (
        lambda: split_of(["a"], math.nan), ValueError, "held_out = nan"),
    "reading: a number for a path": (
        lambda: reading.read_lines(3), TypeError, "path is 3, of type int"),
    "reading: a cut into numbers": (
        lambda: reading.read_text(__file__, lambda line: [1]), TypeError, "what `tokens` gives"),
    "form: another cut": (lambda: TextForm("lines"), ValueError, "tokenizer = 'lines': expected one of"),
    "form: no text": (lambda: TextForm().tokens(None), TypeError, "text is None"),
    "text: words for sentences": (
        lambda: Text([["a", "b"]]), TypeError, "a sentence of article 0 is the string 'a'"),
    "held out: a share of NaN": (
        lambda: held_out.hold_out_pairs(PAIRS, RNG, math.nan), ValueError, "share = nan"),
    "own text: seed": (
        lambda: UserPairs("a", "b", held_out_seed=-1), ValueError, "held_out_seed = -1"),
    "selection: a list": (lambda: selection.selected(["copy"]), TypeError, "saved is"),
    "selection: another key": (
        lambda: selection.selected({"text": "x", "shape": 3}),
        ValueError, "with shape that is unknown"),
    "selection: half": (
        lambda: selection.selected({"source": "x"}), ValueError, "without target"),
    "corpus: a list": (lambda: corpora.find_corpus(["copy"]), ValueError, "is unknown"),
    "corpus: a seed": (
        lambda: corpora.load_parallel("copy", "train", 7), TypeError, "rng is int"),
    "corpus: part of no name": (
        lambda: corpora.load_parallel("bible-en-es", "test", part=["verses"]), ValueError, "part"),
    "generators: a number without an end": (
        lambda: generators.copy(RNG, math.inf), ValueError, "count = inf"),
    "generators: more than a memory holds": (
        lambda: generators.copy(RNG, 10**20), ValueError, "count = 100,?000"),
    "generators: a draw of words": (
        lambda: generators.distinct(lambda rng: "a b", RNG, 1), TypeError, "what `draw` gives"),
    # models
    "model: flag": (
        lambda: Transformer.create(RNG, 8, 8, 4, 1, 2, tied="no"), TypeError, "tied is 'no'"),
    "model: layers of True": (
        lambda: LanguageModel.create(RNG, 8, 4, True), ValueError, "layers = True"),
    "model: no hidden size": (
        lambda: RNNSearch.create(RNG, 8, 8, 3, None), ValueError, "hidden = None"),
    "model: a list for a name": (
        lambda: LanguageModel.create(RNG, 8, cell=["gru"]), ValueError, r"cell \['gru'\]"),
    "model: another setting": (
        lambda: build("luong", RNG, range(8), range(8), depth=3), ValueError,
        "depth: expected settings of an attention"),
    "model: another setting, of a model that passes none on": (
        lambda: build("transformer", RNG, range(8), range(8), depth=3), ValueError,
        "a setting of transformer = 'depth': expected one of size, layers"),
    "model: one vocabulary": (
        lambda: build("luong", RNG, range(8)), ValueError, "1 vocabularies for a luong"),
    "budget: NaN": (
        lambda: budget.within_budget(math.nan, 9), ValueError, "parameters = nan"),
    "loss: ids for a batch": (lambda: rnnsearch.loss(IDS), TypeError, "batch is"),
    "loss: a batch of pairs for text": (lambda: plain.loss(BATCH), TypeError, "batch is"),
    "loss: scale": (
        lambda: rnnsearch.loss_and_grad(BATCH, None, math.nan, rnnsearch.zeros_like()),
        ValueError, "scale = nan"),
    "loss: another model's twin": (
        lambda: rnnsearch.loss_and_grad(BATCH, None, 1.0, luong.zeros_like()),
        TypeError, "grads is"),
    "loss: a seed": (
        lambda: rnnsearch.loss_and_grad(BATCH, None, 1.0, rnnsearch.zeros_like(), 7),
        TypeError, "rng is int"),
    "start: floats": (
        lambda: rnnsearch.start(SOURCE.astype(float), MASK), TypeError, "source"),
    "next: more words than rows": (
        lambda: rnnsearch.next(np.array([4, 5, 6]), rnnsearch.start(SOURCE, MASK)),
        ValueError, r"tokens \(B,\) has shape \(3,\), expected \(2\)"),
    "next: another model's state": (
        lambda: rnnsearch.next(np.array([4, 5]), luong.start(SOURCE, MASK)),
        TypeError, "expected what this model's `start` gave"),
    "next: half a state": (
        lambda: attentive.next(np.array([4]), ()), TypeError, r"state is \(\), of type tuple"),
    # decoding
    "greedy: a language model": (lambda: greedy(plain, SOURCE, MASK), TypeError, "model is"),
    "greedy: a mask of integers": (
        lambda: greedy(rnnsearch, SOURCE, MASK.astype(int)), TypeError, "source_mask"),
    "beam: half": (
        lambda: beam_search(rnnsearch, SOURCE, MASK, 2.5), ValueError, "beam = 2.5"),
    "beam: endless": (
        lambda: beam_search(rnnsearch, SOURCE, MASK, 10**20), ValueError, "at most 10,000"),
    "beam: a penalty that overflows": (
        lambda: beam_search(rnnsearch, SOURCE, MASK, 2, 1e20), ValueError, "length_penalty"),
    "read: floats": (lambda: read(plain, [2.0]), TypeError, "ids holds float64"),
    "sample: no Reading": (
        lambda: sample(plain, (1, 2, 3), RNG), TypeError, "start is"),
    "sample: length": (drawn(length=2.5), ValueError, "length = 2.5"),
    "sample: never outside": (drawn(never=[9]), ValueError, "never holds 9 to 9"),
    "sample: temperature in words": (drawn(temperature="hot"), ValueError, "temperature = 'hot'"),
    "choose: NaN": (
        lambda: choose(np.full(3, np.nan), RNG), ArithmeticError, "NaN in it"),
    # metrics, analysis, pictures, the gradient check
    "metrics: dicts": (lambda: metrics.bleu({"a": 1}, ["a"]), TypeError, "hypotheses is"),
    "metrics: None for a sentence": (
        lambda: metrics.exact_match([None], [None]), TypeError, "sentence 0 is None"),
    "metrics: lengths in words": (
        lambda: metrics.bleu_by_length(["a"], ["a"], ["1"], [1, 2]), ValueError, "one of the len"),
    "metrics: complex weights": (
        lambda: metrics.pointing_accuracy([np.ones((1, 2)) * 1j] * 2, PAIRS), TypeError,
        "the weights of pair 0"),
    "metrics: halves of links": (
        lambda: metrics.alignment_error_rate([{(0,)}, set()], PAIRS), TypeError, "a link is"),
    "analysis: longest": (
        lambda: analysis.attention_span(attentive, TextBatches(range(9), 2, 2), -1),
        ValueError, "longest = -1"),
    "analysis: batches of pairs": (
        lambda: analysis.attention_span(attentive, BATCHES), TypeError, "a batch is"),
    "heatmap: text for weights": (
        lambda: plotting.attention_heatmap([["x"]], ["a"], ["b"]), TypeError, "weights is"),
    "heatmap: half of a character": (
        lambda: plotting.attention_heatmap([[1.0]], ["a"], ["b"], title="\ud800"),
        ValueError, "title is .*surrogate"),
    "heatmap: a figure for Axes": (
        lambda: plotting.attention_heatmap([[1.0]], ["a"], ["b"], ax="ax"), TypeError, "ax is"),
    "heatmap: links of floats": (
        lambda: plotting.attention_heatmap([[1.0]], ["a"], ["b"], [(0.5, 0)]), TypeError, "link"),
    "curves: text": (
        lambda: plotting.learning_curves([{"epoch": 1, "train_loss": "x"}]), TypeError, "'x'"),
    "curves: epoch of NaN": (
        lambda: plotting.learning_curves([{"epoch": math.nan, "train_loss": 1.0}]),
        ValueError, "epoch = nan"),
    "save: a number": (lambda: plotting.save(None, 7), TypeError, "path is 7"),
    "gradcheck: a seed": (
        lambda: gradcheck.gradcheck(None, rng=7, forward=len, backward=len), TypeError, "rng"),
    "gradcheck: nothing forward": (
        lambda: gradcheck.gradcheck(None, np.ones(2), rng=RNG, forward=lambda x: None,
                                    backward=len), TypeError, "forward gives None"),
    "gradcheck: a loss in words": (
        lambda: gradcheck.numeric_gradient(lambda: "a", np.ones(2)), TypeError, "the loss is"),
    "gradcheck: integers": (
        lambda: gradcheck.numeric_gradient(lambda: 1.0, np.ones(2, int)), TypeError, "array is"),
    "gradcheck: scale": (
        lambda: gradcheck.randomize(Linear.create(RNG, 2, 2), RNG, math.nan), ValueError, "scale"),
    "checks: unknown": (lambda: checks.check("nope", RNG), ValueError, "in all"),
    # training
    "trainer: a class": (trained(model=RNNSearch), TypeError, "model is"),
    "trainer: lists for batches": (trained(train=IDS), TypeError, "train is"),
    "trainer: no schedule": (trained(schedule="decay"), TypeError, "schedule is"),
    "trainer: a schedule of NaN": (
        trained(schedule=lambda step, epoch: math.nan), ValueError, "what the schedule gives"),
    "trainer: a set to keep": (trained(about={"a": {1}}), TypeError, "about cannot be kept"),
    "trainer: patience": (trained(patience=0), ValueError, "patience = 0"),
    "trainer: a folder for the file": (
        trained(path=Path(__file__).parent), IsADirectoryError, "path is the folder"),
    "trainer: minutes of NaN": (
        lambda: Trainer(rnnsearch, Adam(), BATCHES, rng=RNG, threads=1).fit(1, math.nan),
        ValueError, "minutes = nan"),
    "threads: half": (lambda: Threads(1.5), ValueError, "threads = 1.5"),
    "evaluate: a class": (lambda: evaluate(rnnsearch, PairBatches), TypeError, "batches is"),
    # runs and recipes
    "translator: words for Pairs": (
        lambda: Translator.create(["a b"]), TypeError, "pairs, number 0"),
    "translator: settings": (
        lambda: Translator.create(PAIRS, "luong", {5: 6}), ValueError, "a setting of luong = 5"),
    "translator: settings of the run": (
        lambda: Translator.create(PAIRS, "luong", {"rng": 3}), ValueError, "= 'rng'"),
    "translator: a number in a sentence": (
        lambda: translator.translate([["a", 7]]), TypeError, "sentence 1 holds 7"),
    "translator: threads": (
        lambda: translator.translate([["a"]], threads=0), ValueError, "threads = 0"),
    "writer: a list for a Text": (lambda: LanguageModelRun.create([["a"]]), TypeError, "text is"),
    "writer: a prompt of numbers": (
        lambda: writer.generate(RNG, [1, 2]), TypeError, "prompt holds 1"),
    "run: a file for a folder": (
        lambda: check_same(__file__, translator), NotADirectoryError, "is no folder"),
    "recipe: a list": (lambda: find_recipe(["dates"]), ValueError, "unknown recipe"),
    "results: a list": (lambda: results.tables([7]), ValueError, "a result has the fields 7"),
}


@pytest.mark.parametrize("name", BAD)
def test_refused(name):
    call, error, words = BAD[name]
    with pytest.raises(error, match=words) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message and len(message) < 300
    frame, line = list(traceback.walk_tb(caught.value.__traceback__))[-1]
    assert frame.f_code.co_filename.startswith(PACKAGE), f"told by {frame.f_code.co_filename}"


def test_a_refused_training_leaves_the_model_as_it_was():
    before = rnnsearch.vector.copy()
    with pytest.raises(ValueError, match="what the schedule gives = -1"):
        trained(schedule=lambda step, epoch: -1)()
    np.testing.assert_array_equal(rnnsearch.vector, before)


def test_numbers_of_numpy_are_numbers(tmp_path):
    """A count or a rate out of an array is as good, also in a checkpoint."""
    trainer = Trainer(rnnsearch.copy(), Adam(), BATCHES, rng=np.random.default_rng(0),
                      clip=np.float32(1), threads=np.int64(1), progress=False,
                      path=tmp_path / "checkpoint.npz")
    trainer.fit(np.int64(1))
    assert trainer.resume()
    plain = beam_search(rnnsearch, SOURCE, MASK, 2, 1.0, 3)
    numpys = beam_search(rnnsearch, SOURCE, MASK, np.int32(2), np.float32(1), np.int64(3))
    assert [[one.ids for one in found] for found in plain] == [
        [one.ids for one in found] for found in numpys]
