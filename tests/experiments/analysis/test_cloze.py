"""The cloze test: log p compared with a naive loop, accuracy, and baselines."""

import numpy as np
import pytest

from numpy_attention.data.batching import TextBatch
from numpy_attention.data.cloze import Question
from numpy_attention.data.vocabulary import EOS, PAD, UNK, Vocabulary
from numpy_attention.experiments.analysis import Cloze, cloze_test
from numpy_attention.experiments.analysis.cloze import TOGETHER, counts
from numpy_attention.models.attentive_language_model import AttentiveLanguageModel
from numpy_attention.models.ensemble import Ensemble
from numpy_attention.models.language_model import LanguageModel

WORDS = Vocabulary(list("abcdefghij"))
V = len(WORDS)


def some_questions(rng, count=6, words="abcdefghij", sentences=(2, 5)):
    """Return questions of unequal lengths."""
    def sentence(low):
        return tuple(rng.choice(list(words), rng.integers(low, 6)).tolist())
    return [Question(tuple(sentence(1) for _ in range(rng.integers(*sentences))), sentence(0),
                     sentence(0), tuple(rng.permutation(list(words))[:4].tolist()),
                     int(rng.integers(4)))
            for _ in range(count)]


def large(model, rng):
    """Return the model with weights large enough for every token read to matter."""
    model.vector[:] = rng.normal(0, 0.7, model.size)
    return model


def models(rng):
    more = {"hidden": 6, "dtype": np.float64}
    found = {
        "plain": LanguageModel.create(rng, V, **more),
        "combined": AttentiveLanguageModel.create(rng, V, "combined", **more),
        "carried": AttentiveLanguageModel.create(rng, V, "key-value-predict", carried=4, **more),
        "windowed": AttentiveLanguageModel.create(rng, V, "single", window=3, carried=2, **more),
        "ngram": AttentiveLanguageModel.create(rng, V, "ngram", carried=2, **more),
    }
    found = {name: large(model, rng) for name, model in found.items()}
    return found | {"ensemble": Ensemble([found["plain"], found["carried"]])}


def naive(model, question, word, state, steps):
    """Return log p of a query, reading everything again in one row and predicting all targets."""
    sentences = [] if state == "sentence" else list(question.context)
    past = [EOS, *(id for one in sentences for id in [*WORDS.encode(one), EOS])]
    query = [*WORDS.encode(question.filled(word)), EOS]
    ids = np.array(past + query)[:, None]
    losses, carried = [], None
    for start in range(0, len(ids) - 1, steps or len(ids)):
        end = min(start + (steps or len(ids)), len(ids) - 1)
        batch = TextBatch(ids[start:end], ids[start + 1:end + 1], np.arange(1))
        found, carried = model.losses(batch, carried)
        losses += found[:, 0].tolist()
    return -sum(losses[-len(query):])


# ---- log p --------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [1, 3, 7, 1000, None])
@pytest.mark.parametrize("name", models(np.random.default_rng(0)))
def test_log_p_matches_the_naive_loop(name, steps, rng):
    model = models(rng)[name]
    questions = some_questions(rng)
    found = cloze_test(model, WORDS, questions, rng, "carried", steps)
    for question, log_p, choice in zip(questions, found.log_p, found.choices):
        expected = [naive(model, question, word, "carried", steps) for word in question.candidates]
        np.testing.assert_allclose(log_p, expected, rtol=1e-9)
        assert choice == np.argmax(expected)
    assert np.array_equal(found.right, [choice == one.answer for choice, one in
                                        zip(found.choices, questions)])
    assert found.accuracy.mean == found.right.mean()


def test_contexts_that_end_at_and_after_a_window(rng):
    """Windows have 4 tokens; </s>, n tokens and the final </s> are read."""
    model = models(rng)["carried"]
    for length in range(1, 10):
        question = Question((tuple("abcdefghij"[:length]),),
                            ("c",), ("d", "e"), ("a", "b"), 0)
        found, = cloze_test(model, WORDS, [question], rng, "article", 4).log_p
        np.testing.assert_allclose(
            found, [naive(model, question, word, "article", 4) for word in "ab"], rtol=1e-9)


def test_more_questions_than_one_batch_holds(rng):
    model = models(rng)["carried"]
    questions = some_questions(rng, 2 * TOGETHER + 3, sentences=(3, 5))
    found = cloze_test(model, WORDS, questions, rng, "carried", 9)
    back = cloze_test(model, WORDS, questions[::-1], rng, "carried", 9)
    for question, one, other in zip(questions, found.log_p, back.log_p[::-1]):
        single, = cloze_test(model, WORDS, [question], rng, "carried", 9).log_p
        np.testing.assert_allclose(one, single, rtol=1e-9)
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_only_log_p_with_context_depends_on_it(rng):
    model = models(rng)["plain"]
    questions = some_questions(rng, 40)
    other = [Question((("j", "j"),), one.before, one.after, one.candidates, one.answer)
             for one in questions]
    found, changed = (cloze_test(model, WORDS, some, np.random.default_rng(0), "article", 5)
                      for some in (questions, other))
    assert all(np.abs(a - b).max() > 1e-6 for a, b in zip(found.log_p, changed.log_p))
    assert found.others["without the context"] == changed.others["without the context"]
    assert found.gain.mean == pytest.approx(
        found.accuracy.mean - found.others["without the context"].mean)
    assert found.gain.low <= found.gain.mean <= found.gain.high


def test_without_context_reads_only_the_query(rng):
    model = models(rng)["combined"]
    questions = some_questions(rng, 30)
    found = cloze_test(model, WORDS, questions, rng, "carried", 4)
    right = [np.argmax([naive(model, one, word, "sentence", 4) for word in one.candidates])
             == one.answer for one in questions]
    assert found.others["without the context"].mean == pytest.approx(np.mean(right))


@pytest.mark.parametrize("name", ["plain", "combined", "ensemble"])
def test_sentence_state_reads_a_sentence_at_once(name, rng):
    model = models(rng)[name]
    questions = some_questions(rng)
    found = cloze_test(model, WORDS, questions, rng, "sentence", 2)
    for question, log_p in zip(questions, found.log_p):
        np.testing.assert_allclose(log_p, [naive(model, question, word, "sentence", None)
                                           for word in question.candidates], rtol=1e-9)
    assert found.others["without the context"].mean == found.accuracy.mean
    assert tuple(found.gain) == (0, 0, 0)


# ---- fake models --------------------------------------------------------------------------------


class Fixed:
    """A model with a fixed −log p for each id; counts the tokens read."""

    def __init__(self, costs):
        self.costs = np.array(costs, float)
        self.read = 0

    def losses(self, batch, state=None):
        self.read += int((batch.inputs != PAD).sum())
        return np.where(batch.targets == PAD, 0, self.costs[batch.targets]), state


QUESTIONS = [
    Question((("a", "b", "c"), ("b", "c", "c")), ("d",), ("e", "e"), ("b", "a", "c"), 1),
    Question((("e", "f"),), (), (), ("e", "f", "g", "h"), 1),
]


def test_model_that_knows_the_answers():
    costs = np.ones(V)
    for one in QUESTIONS:
        costs[WORDS.encode([one.word])] = 0.5
    rng = np.random.default_rng(0)
    found = cloze_test(Fixed(costs), WORDS, QUESTIONS, rng)
    assert isinstance(found, Cloze) and found.choices == [1, 1]
    assert found.right.tolist() == [1, 1] and tuple(found.accuracy) == (1, 1, 1)
    np.testing.assert_allclose(found.log_p[0], [-5, -4.5, -5])          # b, then d e e </s>
    np.testing.assert_allclose(found.log_p[1], [-2, -1.5, -2, -2])
    found = cloze_test(Fixed(-costs), WORDS, QUESTIONS, rng)
    assert found.right.tolist() == [0, 0] and found.accuracy.mean == 0


def test_ties_share_the_credit():
    found = cloze_test(Fixed(np.ones(V)), WORDS, QUESTIONS, np.random.default_rng(0))
    np.testing.assert_allclose(found.right, [1 / 3, 1 / 4])
    assert found.choices == [0, 0]
    assert found.chance == pytest.approx((1 / 3 + 1 / 4) / 2) == found.accuracy.mean


@pytest.mark.parametrize("answer, right, unknown", [(0, 0, 0), (1, 1 / 2, 1), (2, 1 / 2, 1)])
def test_unknown_candidates_are_ties(answer, right, unknown, rng):
    """x and y are both <unk>, and share one row of the batch."""
    question = Question((("a",),), ("b",), (), ("a", "x", "y"), answer)
    model = models(rng)["plain"]
    model.output.b[UNK] = 50.0
    found = cloze_test(model, WORDS, [question], rng)
    assert found.log_p[0][1] == found.log_p[0][2] > found.log_p[0][0]
    assert found.right[0] == right and found.unknown == unknown
    assert found.others["most frequent"].mean == (answer == 0)


def test_context_is_read_once():
    model = Fixed(np.ones(V))
    question = Question((tuple("abcdefghi"),) * 20, ("a",), ("b",), tuple("abcdefghij"), 0)
    cloze_test(model, WORDS, [question], np.random.default_rng(0), "carried", 20)
    # </s> and 20 · 10 tokens: ten windows, and the last token in each of ten rows before the query;
    # then only the query, after </s>
    assert model.read == 200 + 10 * (1 + 3) + 10 * (1 + 3)
    model = Fixed(np.ones(V))
    cloze_test(model, WORDS, [question], np.random.default_rng(0), "sentence")
    assert model.read == 10 * (1 + 3)


# ---- baselines ----------------------------------------------------------------------------------


def test_baselines_by_hand():
    found = cloze_test(Fixed(np.ones(V)), WORDS, QUESTIONS, np.random.default_rng(0))
    assert list(found.others) == ["without the context", "most often in the context",
                                  "most frequent"]
    # c is wrong; e and f tie, so half right
    assert found.others["most often in the context"].mean == 0.25
    # a is right; e is wrong
    assert found.others["most frequent"].mean == 0.5
    assert counts(QUESTIONS[0]).tolist() == [2, 1, 3]
    assert counts(QUESTIONS[1]).tolist() == [1, 1, 0, 0]
