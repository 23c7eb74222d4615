"""Sampling: frequencies from a table with known probabilities, and log p of language models."""

import itertools
import re

import numpy as np
import pytest

from numpy_attention.data.batching import TextBatch
from numpy_attention.data.vocabulary import BOS, EOS, PAD, UNK
from numpy_attention.decoding.sampling import Reading, choose, read, sample
from numpy_attention.models.attentive_language_model import AttentiveLanguageModel
from numpy_attention.models.language_model import LanguageModel

V = 9


class Table:
    """p(next | previous) from a table. The state counts steps; the weights show the count."""

    def __init__(self, rng):
        logits = 1.5 * rng.standard_normal((V, V))
        logits[:, [PAD, BOS]] = 9                       # must never be chosen
        self.log_p = logits - np.log(np.exp(logits).sum(1, keepdims=True))
        self.calls = 0

    def next(self, tokens, state):
        self.calls += 1
        steps = (state or 0) + 1
        return self.log_p[tokens].copy(), np.full((1, steps), 1 / steps), steps


@pytest.fixture
def table(rng):
    return Table(rng)


def sampled_ids(table, rng, **settings):
    return [choice.id for choice in sample(table, read(table, [EOS]), rng, **settings)]


def expected(log_p, temperature=1.0, top_k=None, top_p=None, never=(UNK,)):
    """Return the distribution to sample from, straight from its definition."""
    p = np.exp(log_p / temperature)
    p[[PAD, BOS, *never]] = 0
    order = sorted(range(V), key=lambda id: -p[id])[:top_k]
    p[[id for id in range(V) if id not in order]] = 0
    p /= p.sum()
    if top_p is not None:
        n = next(n for n in range(1, V + 1) if p[order[:n]].sum() >= top_p - 1e-12)
        p[order[n:]] = 0
    return p / p.sum()


@pytest.mark.parametrize("settings", [
    {}, {"temperature": 0.5}, {"temperature": 3.0},
    {"top_k": 1}, {"top_k": 3}, {"top_k": 99},
    {"top_p": 0.6}, {"top_p": 1.0}, {"top_p": 1e-9},
    {"never": ()}, {"never": (UNK, EOS)},
    {"temperature": 2.0, "top_k": 4, "top_p": 0.7},
])
def test_frequencies_match_probabilities(table, rng, settings):
    count = 3_000
    ids = [EOS] + sampled_ids(table, rng, length=count, **settings)
    assert len(ids) == count + 1
    checked = 0
    for previous in range(V):
        counts = np.bincount([b for a, b in itertools.pairwise(ids) if a == previous], minlength=V)
        p = expected(table.log_p[previous], **settings)
        assert not counts[p == 0].any()
        if counts.sum() < 150:
            continue
        wanted = counts.sum() * p[p > 0]
        chi_square = ((counts[p > 0] - wanted)**2 / wanted).sum()
        freedom = (p > 0).sum() - 1
        assert chi_square <= freedom + 6 * np.sqrt(2 * freedom)
        checked += 1
    assert checked


def test_temperature_0_takes_the_most_probable_token(table, rng):
    previous = EOS
    for id in sampled_ids(table, rng, temperature=0, length=20, top_k=5, top_p=0.3):
        row = table.log_p[previous].copy()
        row[[PAD, BOS, UNK]] = -np.inf
        assert id == row.argmax()
        previous = id
    almost = sampled_ids(table, rng, temperature=1e-9, length=20)
    assert almost == sampled_ids(table, rng, temperature=0, length=20)


def test_same_seed_gives_the_same_text(table):
    texts = [sampled_ids(table, np.random.default_rng(seed), length=50) for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


def test_tokens_are_computed_one_at_a_time(table, rng):
    """Each token is available before the next is computed, with the model's log p and weights."""
    start = read(table, [EOS, 5, 6])
    previous = 6
    assert table.calls == 3 and [len(weights) for weights in start.weights] == [1, 2, 3]
    assert np.array_equal(start.log_probabilities, table.log_p[6])
    for step, choice in enumerate(sample(table, start, rng, length=4, temperature=0.5, top_k=3)):
        assert table.calls == 3 + step and len(choice.weights) == 3 + step
        assert choice.log_probability == pytest.approx(table.log_p[previous, choice.id])
        previous = choice.id
    assert step == 3 and table.calls == 6               # no token is computed in advance


def test_stops_after_sentences(table, rng):
    ids = sampled_ids(table, rng, length=10_000, sentences=3)
    assert ids.count(EOS) == 3 and ids[-1] == EOS
    assert len(sampled_ids(table, rng, length=2, sentences=100)) == 2


def test_reset_after_a_sentence(table, rng):
    for reset in (True, False):
        before = None
        steps = 0
        for choice in sample(table, read(table, [EOS]), rng, length=300, reset=reset):
            steps = 1 if reset and before == EOS else steps + 1
            assert len(choice.weights) == steps
            before = choice.id


def test_extreme_values_do_not_overflow(rng):
    log_p = np.array([-np.inf, 0.0, -1e4, -1e-4, -np.inf])
    for temperature in (1e-300, 1e-3, 1.0, 1e300):
        for top_p in (None, 1.0, 1e-12):
            for _ in range(50):
                assert choose(log_p, rng, temperature, None, top_p) in (1, 2, 3)
    assert choose(np.array([-np.inf, -5.0]), rng) == 1

    class Highest(np.random.Generator):
        def random(self):
            return np.nextafter(1.0, 0.0)
    highest = Highest(np.random.PCG64(0))
    for size in range(1, 60):
        assert choose(np.log(rng.dirichlet(np.ones(size))), highest) < size


@pytest.mark.parametrize("create", [
    lambda rng: LanguageModel.create(rng, V, 4, dropout=0.5),
    lambda rng: AttentiveLanguageModel.create(rng, V, "single", 4),
    lambda rng: AttentiveLanguageModel.create(rng, V, "key-value-predict", 6, window=2),
    lambda rng: AttentiveLanguageModel.create(rng, V, "ngram", 6, cell="gru"),
])
def test_log_p_equals_teacher_forcing(create, rng):
    model = create(rng)
    choices = list(sample(model, read(model, [EOS, 4, 5]), rng, length=12))
    ids = np.array([EOS, 4, 5] + [choice.id for choice in choices])[:, None]
    targets = ids[1:].copy()
    targets[:2] = PAD                                           # the prompt
    loss, _ = model.loss(TextBatch(ids[:-1], targets, np.arange(1)))
    assert -sum(choice.log_probability for choice in choices) == pytest.approx(loss, rel=1e-5)
    if hasattr(model, "reader") and choices[0].weights is not None:
        forced, _ = model.weights(TextBatch(ids[:-1], targets, np.arange(1)))
        for t, choice in enumerate(choices, 2):
            size = len(choice.weights)                  # a window keeps only visible states
            np.testing.assert_allclose(choice.weights, forced[t, 0, t - size:t], atol=1e-6)


@pytest.mark.parametrize("settings, message", [
    ({"temperature": -0.1}, "temperature = -0.1; expected a number of at least 0"),
    ({"temperature": float("nan")}, "temperature = nan"),
    ({"temperature": float("inf")}, "temperature = inf"),
    ({"top_k": 0}, "top_k = 0; expected an integer of at least 1"),
    ({"top_k": -3}, "top_k = -3"),
    ({"top_p": 0.0}, "top_p = 0.0; expected a fraction above 0"),
    ({"top_p": 1.1}, "top_p = 1.1"),
    ({"top_p": float("nan")}, "top_p = nan"),
    ({"length": 0}, "length = 0"),
    ({"sentences": 0}, "sentences = 0"),
])
def test_settings_out_of_range_raise_before_the_first_step(table, rng, settings, message):
    start = read(table, [EOS])
    with pytest.raises(ValueError, match=message):
        sample(table, start, rng, **settings)


def test_invalid_arguments(table, rng):
    start = read(table, [EOS])
    with pytest.raises(TypeError, match="expected numpy.random.default_rng"):
        sample(table, start, 7)
    with pytest.raises(ValueError, match="ids is empty"):
        read(table, [])
    with pytest.raises(ArithmeticError, match="did training diverge"):
        next(sample(table, start._replace(log_probabilities=np.full(V, np.nan)), rng))
    with pytest.raises(ValueError, match="leaves no token to choose"):
        next(sample(table, start, rng, never=range(V)))
    with pytest.raises(TypeError, match="^reset is 'no', of type str; expected True or False$"):
        sample(table, start, rng, reset="no")


def test_default_length(table, rng):
    assert len(list(sample(table, read(table, [EOS]), rng))) == 60


class ConstantGenerator(np.random.Generator):
    """A generator that always draws the same number."""

    def __init__(self, number):
        super().__init__(np.random.PCG64(0))
        self.number = number

    def random(self):
        return self.number


@pytest.mark.parametrize("number, temperature, chosen", [
    (0.0, 1.0, 0), (0.49, 1.0, 0), (0.5, 1.0, 1), (0.74, 1.0, 1), (0.75, 1.0, 2),
    (0.49, 2.0, 1),             # ratios 2 : √2 : √2, which is flatter
    (0.99, 1e-320, 0),          # the division overflows, so argmax
])
def test_draw_on_a_boundary_selects_the_next_token(number, temperature, chosen):
    log_p = np.log([0.5, 0.25, 0.25])
    assert choose(log_p, ConstantGenerator(number), temperature) == chosen
    if temperature == 1.0:
        assert choose(log_p, ConstantGenerator(number)) == chosen


def test_ties_keep_the_earlier_token():
    log_p = np.random.default_rng(0).integers(-3, 0, 60).astype(float)
    first, second, third, *_ = np.flatnonzero(log_p == -1)
    for number, chosen in ((0.1, first), (0.5, second), (0.9, third)):
        assert choose(log_p, ConstantGenerator(number), top_k=3) == chosen
        assert choose(log_p, ConstantGenerator(number), top_p=1e-9) == first


@pytest.mark.parametrize("shape", [(), (1, V)])
def test_choose_accepts_one_row_only(shape, rng):
    message = fr"log_p (V,) has shape {shape}; expected (V,). Pass one row of log-probabilities"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        choose(np.zeros(shape), rng)


def test_choose_from_no_tokens_raises(rng):
    with pytest.raises(ValueError, match="log_p is empty; expected the log-probability"):
        choose(np.zeros(0), rng)


def test_start_without_an_array_raises():
    class Model:
        def next(self, tokens, state):
            pytest.fail("next was called")

    with pytest.raises(TypeError, match=r"start.log_probabilities is a list; expected a NumPy"):
        sample(Model(), Reading([0.5], [], None), np.random.default_rng(0), 3)
