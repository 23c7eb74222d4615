"""Lesson 10: its searches, laws, truncations and samples compared with the library."""

import numpy as np
import pytest

from numpy_attention.data.batching import pair_batch
from numpy_attention.data.vocabulary import BOS, EOS, PAD, UNK
from numpy_attention.decoding.beam import beam_search
from numpy_attention.decoding.greedy import greedy
from numpy_attention.decoding.sampling import choose
from numpy_attention.gradcheck import numeric_gradient
from numpy_attention.models.rnnsearch import RNNSearch

SOURCE = pair_batch([[4, 6, 5]], [[4]]).source


@pytest.fixture(scope="module")
def model():
    return RNNSearch.create(np.random.default_rng(1), 9, 9, embedding=3, hidden=4, init=2.0)


@pytest.mark.parametrize("width", [1, 2, 3, 7])
@pytest.mark.parametrize("never", [[PAD, BOS], [PAD, BOS, UNK, 6]])
def test_beam_search_matches_the_library(lesson, model, width, never):
    found = lesson["plain_beam"](model, SOURCE, width, never)
    wanted = beam_search(model, SOURCE, SOURCE > 0, width, 0.0, never=never)[0]
    assert [list(one.ids[1:]) for one in found] == [one.ids for one in wanted]
    np.testing.assert_allclose([one.total for one in found],
                               [one.log_probability for one in wanted], rtol=1e-5)


def test_beam_search_matches_the_library_on_the_example(lesson):
    source = lesson["source"]
    for width in (1, 2, 3, 9):
        wanted = beam_search(lesson["house"], source, source > 0, width, 0.0)[0]
        found = lesson["plain_beam"](lesson["house"], source, width)
        assert [list(one.ids[1:]) for one in found] == [one.ids for one in wanted]


def test_greedy_search_matches_the_library(lesson, model):
    wanted, = greedy(model, SOURCE, SOURCE > 0)
    found = lesson["plain_greedy"](model, SOURCE)
    assert list(found.ids[1:]) == wanted.ids
    assert found.total == pytest.approx(wanted.log_probability, rel=1e-5)


def test_recorded_steps_are_the_kept_prefixes(lesson):
    steps = []
    lesson["plain_beam"](lesson["house"], lesson["source"], 2, steps=steps)
    texts = [[lesson["text"](prefix.ids) for prefix in step] for step in steps]
    assert texts[:2] == [["el", "la"], ["la casa", "el viejo"]]
    assert [prefix.row for prefix in steps[1]] == [1, 0]


def test_every_sentence_is_counted_once(lesson):
    sentences = lesson["every_sentence"](lesson["random_translator"](77).p)
    assert len(sentences) == 39 and sum(sentences.values()) == pytest.approx(1)
    assert all(ids[0] == BOS and ids[-1] == EOS for ids in sentences)


def test_laws_hold_for_correct_beam_search(lesson, model):
    assert lesson["width_1_is_greedy"](lesson["plain_beam"], model, SOURCE)
    assert lesson["claims_are_the_models_own"](lesson["plain_beam"], model, SOURCE, 4)


def test_each_bug_breaks_the_law_named_in_the_text(lesson):
    others = [lesson["random_translator"](seed) for seed in range(100, 140)]
    source = lesson["source"]
    second = lesson["claims_are_the_models_own"]
    third = lesson["room_for_all_finds_the_best"]

    def keeps(name):
        search = lesson["bugs"][name]
        assert all(lesson["width_1_is_greedy"](search, one, source) for one in others)
        return (all(second(search, one, source, 3) for one in others),
                all(third(search, one, source) for one in others))

    assert keeps("rows sorted") == (False, False)
    assert keeps("endings lost") == keeps("worst first") == (True, False)
    assert keeps("last word only") == (True, True)


def test_width_1_that_is_not_greedy_breaks_law_1(lesson, model):
    second_best = lesson["with_bug"](lesson["plain_beam"], "[:places]", "[1:places + 1]")
    assert not lesson["width_1_is_greedy"](second_best, model, SOURCE)


def test_other_length_limit_breaks_only_law_1(lesson):
    shorter = lesson["with_bug"](lesson["plain_beam"], "10\n    running", "-1\n    running")
    first, second, third = lesson["kept_laws"](shorter)
    assert first < second == third == len(lesson["randoms"])


def test_width_9_can_miss_the_best_and_width_10_cannot(lesson):
    def p(ids):
        p = np.zeros(7)
        p[4:] = {1: [0.4, 0.3, 0.3], 3: [0.25] * 3}.get(len(ids), [0.0] * 3)
        if len(ids) == 2:
            p[4:] = 0.76 / 3 if ids[1] == 4 else 1 / 3
        p[EOS] = 1 - p[4:].sum()
        return p

    small = lesson["Small"](p)
    best = max(lesson["every_sentence"](p).values())
    found = [np.exp(lesson["plain_beam"](small, lesson["source"], width)[0].total)
             for width in (9, 10)]
    assert found[0] < best == pytest.approx(found[1])


@pytest.mark.parametrize("tau", [0.3, 1.0, 4.0])
def test_slope_of_the_entropy(lesson, tau):
    logs = np.log(np.random.default_rng(3).dirichlet(np.ones(6)))
    at = np.array([tau])

    def entropy():
        q = lesson["tempered"](logs, at)
        return -(q * np.log(q)).sum()

    q = lesson["tempered"](logs, at)
    variance = q @ logs**2 - (q @ logs) ** 2
    np.testing.assert_allclose(variance / at**3, numeric_gradient(entropy, at), rtol=1e-6)


@pytest.mark.parametrize("how", [{}, {"temperature": 2.0}, {"top_k": 2}, {"top_p": 0.4},
                                 {"temperature": 1.5, "top_k": 4, "top_p": 0.8}], ids=str)
def test_truncation_matches_the_library(lesson, how):
    rng = np.random.default_rng(4)
    log_p = np.log(rng.dirichlet(np.ones(6)))
    q = lesson["cut"](log_p, **how)
    freqs = np.bincount([choose(log_p, rng, **how) for _ in range(4000)], minlength=6) / 4000
    assert q.sum() == pytest.approx(1) and set(np.flatnonzero(freqs)) <= set(np.flatnonzero(q))
    assert (abs(freqs - q) <= 5 * np.sqrt(q * (1 - q) / 4000)).all()


def test_samples_of_a_batch_have_the_log_probabilities_of_the_model(lesson, model):
    source = pair_batch([[4, 6, 5], [7]], [[4], [4]]).source
    rng = np.random.default_rng(5)
    samples, totals = lesson["draw_all"](model, source, rng, [PAD, BOS, UNK], temperature=0.5)
    for b, ids in enumerate(samples):
        one = source[source[:, b] > 0, b][:, None]
        own = lesson["own_terms"](model, one, [BOS, *ids])
        assert totals[b] == pytest.approx(sum(own), rel=1e-4)
        assert UNK not in ids and EOS not in ids[:-1]
        assert ids[-1] == EOS or len(ids) == 24
