"""A run of a language model: its batches, figures, generation and attention weights."""

import math

import numpy as np
import pytest

from numpy_attention import plotting
from numpy_attention.data.batching import DocumentBatches, TextBatches
from numpy_attention.data.running_text import Text
from numpy_attention.data.vocabulary import EOS, PAD, UNK
from numpy_attention.experiments.runs import language_model_run as module
from numpy_attention.experiments.runs.language_model_run import (
    LanguageModelRun,
    LanguageModelTraining,
)
from numpy_attention.training.evaluation import evaluate

ARTICLES = [[["a", "b"], ["c"]], [["b", "c", "a", "d"]], [["d"], ["a", "a"], ["b"]]]
TEXT = Text(ARTICLES, has_articles=True)
LETTERS = Text([[list("ab\ncd\nab c\n")]], "characters")
ATTENTIVE = dict(attention="key-value", hidden=6, layers=1)


def writer_of(text=TEXT, settings=None, **training):
    name = "attentive-language-model" if settings and "attention" in settings else "language-model"
    settings = settings or dict(hidden=5, layers=1)
    how = dict(epochs=3, batch_size=2, steps=3, learning_rate=0.01) | training
    return LanguageModelRun.create(
        text, name, settings, LanguageModelTraining(**how), {"name": "ptb"})


def targets(batches):
    """Return every target token with the tokens read before it since the state was empty."""
    found = []
    streams = None
    for place in batches.order():
        batch = batches.batch(place)
        if not batches.carried(place):
            streams = [[] for _ in range(batch.size)]
        for t, b in np.ndindex(batch.inputs.shape):
            if batch.targets[t, b] != PAD:
                streams[b].append(int(batch.inputs[t, b]))
                found.append((tuple(streams[b]), int(batch.targets[t, b])))
    return found


def documents(writer, parts):
    """Compute the same by hand: each part starts after </s> with an empty state."""
    found = []
    for sentences in parts:
        ids = [EOS]
        for sentence in sentences:
            ids += writer.vocabulary.encode(sentence) + [EOS]
        found += [(tuple(ids[:t]), ids[t]) for t in range(1, len(ids))]
    return found


@pytest.mark.parametrize("state, parts", [
    ("sentence", [[sentence] for article in ARTICLES for sentence in article]),
    ("article", ARTICLES),
    ("carried", [[sentence for article in ARTICLES for sentence in article]]),
])
def test_every_token_is_predicted_from_the_configured_state(state, parts):
    writer = writer_of(state=state)
    batches = writer.batches(TEXT, 1 if state == "carried" else None)
    assert isinstance(batches, TextBatches if state == "carried" else DocumentBatches)
    assert sorted(targets(batches)) == sorted(documents(writer, parts))
    assert len(targets(writer.batches(TEXT))) == writer.measure(TEXT)["tokens"] == 17


@pytest.mark.parametrize("state", ["carried", "sentence", "article"])
@pytest.mark.parametrize("settings", [None, ATTENTIVE | {"carried": 50}])
def test_perplexity_matches_word_by_word_evaluation(state, settings):
    """With a carried state and memory, reading word by word gives the same loss as windows."""
    writer, total = writer_of(settings=settings, state=state), 0.0
    batches = writer.batches(TEXT, 1)
    for place in batches.order():
        if not batches.carried(place):
            model_state = None
        batch = batches.batch(place)
        for read, wanted in zip(batch.inputs[:, 0], batch.targets[:, 0]):
            if wanted != PAD:
                log_p, _, model_state = writer.model.next(np.array([read]), model_state)
                total -= log_p[0, wanted]
    figures = writer.measure(TEXT, threads=2)
    assert figures["perplexity"] == pytest.approx(math.exp(total / 17), rel=1e-5)
    assert figures["loss"] == pytest.approx(total / 17, rel=1e-5)
    assert "bits_per_character" not in figures


def test_evaluation_with_carried_state_uses_one_stream():
    """The number of training streams does not matter; a large state makes errors visible."""
    how = dict(state="carried", steps=2)
    one, many = (writer_of(batch_size=size, **how) for size in (1, 4))
    for writer in (one, many):
        writer.model.vector[:] *= 9
    wanted = evaluate(one.model, one.batches(TEXT))
    assert many.measure(TEXT)["loss"] == pytest.approx(wanted.mean, rel=1e-6)
    assert evaluate(many.model, many.batches(TEXT)).mean != pytest.approx(wanted.mean, rel=1e-3)


def test_characters_are_measured_in_bits():
    figures = writer_of(LETTERS).measure(LETTERS)
    assert figures["tokens"] == 11
    assert figures["bits_per_character"] == pytest.approx(np.log2(figures["perplexity"]))


def test_perplexity_skip_first():
    """For independent sentences: the loss of all words except the first, over all tokens."""
    writer = writer_of(state="sentence")
    figures = writer.measure(TEXT, rng=np.random.default_rng(0))
    empty = writer.model.next(np.array([EOS]), None)[0][0]
    first = -sum(empty[writer.vocabulary.encode(one)[0]] for one in TEXT.sentences)
    wanted = math.exp((17 * figures["loss"] - first) / 17)
    assert figures["perplexity_skip_first"] == pytest.approx(wanted)
    low, high = (figures[f"perplexity_skip_first_{end}"] for end in ("low", "high"))
    assert low < wanted < high < figures["perplexity"]
    assert writer.measure(TEXT)["perplexity_skip_first"] == figures["perplexity_skip_first"]
    for state in ("carried", "article"):
        found = writer_of(state=state).measure(TEXT, rng=np.random.default_rng(0))
        assert not any("skip_first" in name for name in found)


def test_sentences_are_truncated_only_in_training():
    writer = writer_of(state="sentence", cut=2)
    cut = sorted(targets(writer.batches_to_learn(TEXT)))
    whole = targets(writer.batches(TEXT))
    assert len(whole) == 17
    assert cut == sorted(target for target in whole if len(target[0]) <= 2)
    assert len(targets(writer_of(state="sentence").batches_to_learn(TEXT))) == 17
    trainer = writer.trainer(TEXT, TEXT, progress=False)
    assert sorted(targets(trainer.train)) == cut
    assert len(targets(trainer.valid)) == 17


def test_trained_saved_and_loaded(tmp_path):
    writer = writer_of(settings=ATTENTIVE, epochs=12)
    before = writer.measure(TEXT)["perplexity"]
    writer.fit(TEXT, TEXT, tmp_path, threads=1, progress=False)
    again = LanguageModelRun.load(tmp_path)
    assert again.measure(TEXT) == writer.measure(TEXT)
    assert writer.measure(TEXT)["perplexity"] < 0.9 * before
    assert again.training == writer.training and again.settings == writer.settings
    assert again.vocabulary == writer.vocabulary
    texts = [[word.token for word in one.generate(np.random.default_rng(3), ["a"], 9)]
             for one in (writer, again)]
    assert texts[0] == texts[1] and len(texts[0]) == 9


def test_unknown_words_and_ends_are_generated_only_where_allowed(rng):
    def tokens(writer, **settings):
        return {word.token for word in writer.generate(rng, length=300, **settings)}
    assert tokens(writer_of()) == {"a", "b", "c", "d", "</s>"}
    assert tokens(writer_of(), unknown=True) == {"a", "b", "c", "d", "</s>", "<unk>"}
    assert tokens(writer_of(LETTERS)) == set("abcd \n")


@pytest.mark.parametrize("state, empty", [
    ("sentence", True), ("carried", False), ("article", False)])
def test_sentences_are_generated_from_the_state_used_in_training(state, empty, rng):
    writer, last = writer_of(settings=ATTENTIVE, state=state), None
    for word in writer.generate(rng, length=80):
        if last == "</s>":
            assert np.isnan(word.weights).all() == empty    # empty memory: no weights
        last = word.token


@pytest.mark.parametrize("window", [None, 2])
def test_generated_weights_match_attend(window, rng):
    writer, prompt = writer_of(settings=ATTENTIVE | {"window": window}), ["a", "c"]
    words = list(writer.generate(rng, prompt, 40, sentences=1))
    ends = words[-1].token == "</s>"
    tokens = prompt + [word.token for word in words[:len(words) - ends]]
    rows = writer.attend(tokens)
    assert rows.shape == (len(tokens) + 1, len(tokens) + 1)
    for t, word in enumerate(words, len(prompt)):
        assert len(word.weights) == t + 1
        np.testing.assert_allclose(word.weights, rows[t, :t + 1], atol=1e-6)    # NaN at the same
    visible = np.tri(len(rows), k=-1, dtype=bool)
    if window:
        visible &= ~np.tri(len(rows), k=-1 - window, dtype=bool)
    assert np.array_equal(~np.isnan(rows), visible)
    np.testing.assert_allclose(np.nansum(rows[1:], axis=1), 1, atol=1e-5)
    axes = plotting.history_heatmap(rows, ["</s>", *tokens], [*tokens, "</s>"])
    assert axes.get_xticklabels()[0].get_text() == "</s>"


def test_string_instead_of_a_word_list_raises(rng):
    words, letters = (writer_of(Text([[["a", "b"]]], unit), ATTENTIVE)
                      for unit in ("words", "characters"))
    for name, use in (("tokens", words.attend),
                      ("prompt", lambda prompt: words.generate(rng, prompt))):
        with pytest.raises(TypeError, match=f"^{name} is the string 'a b'; expected a list of "
                                            r"tokens. Split it with \.split\(\)"):
            use("a b")
    assert letters.attend("ab").shape == (3, 3) and len(list(letters.generate(rng, "ab", 4))) == 4
    with pytest.raises(ValueError, match="^sentences=1 cannot be used with a character model"):
        letters.generate(rng, "ab", sentences=1)


def test_models_without_attention_have_no_weights(rng):
    ngram = ATTENTIVE | {"attention": "ngram"}
    for writer, kind in ((writer_of(), "language-model"), (writer_of(settings=ngram), "ngram")):
        with pytest.raises(ValueError, match=f"the model '{kind}' has no attention weights"):
            writer.attend(["a"])
        assert next(writer.generate(rng)).weights is None


def test_output_bias_starts_at_log_frequencies():
    counts = {"a": 4, "b": 3, "c": 2, "d": 2}
    plain, started = (writer_of(frequencies=flag) for flag in (False, True))
    assert not plain.model.output.b.any()
    ends = 7                                        # 6 sentences, and the </s> before the text
    words = [counts[token] for token in started.vocabulary.tokens]
    wanted = np.array([0, 0, ends, 0] + words) + 0.5
    np.testing.assert_allclose(np.exp(started.model.output.b), wanted / wanted.sum(), rtol=1e-6)
    started.model.output.b[...] = 0
    assert np.array_equal(plain.model.vector, started.model.vector)


def test_generate_passes_settings_to_sample(monkeypatch, rng):
    calls = []

    def sample(model, start, rng, *how):
        calls.append(how)
        return iter(())
    monkeypatch.setattr(module, "sample", sample)
    list(writer_of().generate(rng))
    list(writer_of(state="sentence").generate(rng, ["a"], 7, 2, 0.5, 3, 0.9, unknown=True))
    assert calls == [(60, None, 1.0, None, None, [UNK], False), (7, 2, 0.5, 3, 0.9, [], True)]


def test_sentences_are_measured_whole_and_articles_in_windows():
    """Each sentence is one batch for any number of steps; the default is one thread."""
    whole = writer_of(state="sentence", steps=1)
    batches = whole.batches(TEXT, 1)
    assert max(batches.batch(place).inputs.shape[0] for place in batches.order()) == 5
    windows = writer_of(state="article", steps=2).batches(TEXT, 1)
    assert max(windows.batch(place).inputs.shape[0] for place in windows.order()) == 2
