"""Behaviour common to both kinds of runs: resuming, schedules, seeds, best parameters."""

from dataclasses import dataclass

import numpy as np
import pytest
from ranks_in_threads import on_ranks

from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.data.pairs import Pair
from numpy_attention.data.running_text import Text
from numpy_attention.data.text_form import TextForm
from numpy_attention.data.vocabulary import Vocabulary
from numpy_attention.experiments.runs import trained
from numpy_attention.experiments.runs.language_model_run import (
    LanguageModelRun,
    LanguageModelTraining,
)
from numpy_attention.experiments.runs.trained import schedule_of
from numpy_attention.experiments.runs.translator import Translator, TranslatorTraining
from numpy_attention.models.registry import build
from numpy_attention.training import checkpoint
from numpy_attention.training import trainer as training_loop
from numpy_attention.training.evaluation import Evaluation
from numpy_attention.training.lock import held
from numpy_attention.training.optimizers import SGD, Adadelta
from numpy_attention.training.schedules import Constant, Decay, LinearDecay, Warmup
from numpy_attention.training.settings import POSITIVE, Training, option

PAIRS = [Pair(("a", "b"), ("x", "y")), Pair(("b",), ("y", "x")), Pair(("b", "a", "a"), ("x",))]
OTHERS = [Pair(("dog", "cat"), ("chien", "chat")), Pair(("cat",), ("chat",))]
TEXT = Text([[["a", "b"], ["c"]], [["b", "c", "a"]]])
SIZES = dict(hidden=4, embedding=3, init="modern")


def translator_of(pairs=PAIRS, settings=SIZES, **training):
    training = TranslatorTraining(**{"epochs": 1, "batch_size": 2} | training)
    return Translator.create(pairs, settings=settings, training=training)


def writer_of(**training):
    training = LanguageModelTraining(**{"epochs": 1, "batch_size": 2, "steps": 3} | training)
    return LanguageModelRun.create(TEXT, settings=dict(hidden=4, layers=1), training=training)


@pytest.fixture
def folder(tmp_path):
    translator_of().fit(PAIRS, PAIRS, tmp_path, 1, progress=False)
    return tmp_path


@pytest.mark.parametrize("other, threads, message", [
    (translator_of(OTHERS), None, "source_vocabulary"),
    (translator_of(settings=SIZES | {"dropout": 0.5}), None, "dropout"),
    (translator_of(seed=7), None, "seed was 0 and is now 7"),
    (translator_of(batch_size=1), None, "batch_size was 2 and is now 1"),
    (translator_of(), 2, "threads was 1 and is now 2"),
])
def test_other_run_is_not_resumed(folder, other, threads, message):
    before = (folder / "checkpoint.npz").read_bytes()
    with pytest.raises(ValueError, match=message):
        other.fit(PAIRS, PAIRS, folder, threads, progress=False)
    assert (folder / "checkpoint.npz").read_bytes() == before


def test_settings_without_effect_on_steps_may_change(folder):
    more = translator_of(epochs=3, minutes=5.0, save_steps=2, keep="last")
    more.fit(PAIRS, PAIRS, folder, progress=False)
    assert len(more.history) == 3 and more.threads == 1
    loaded = Translator.load(folder)
    assert loaded.threads is None
    again = loaded.fit(PAIRS, PAIRS, folder, 1, progress=False)
    assert len(again.history) == 3 and again.threads == 1


def test_run_that_could_not_be_loaded_is_not_trained(tmp_path):
    run = Translator.create(PAIRS)
    run.corpus = {"name": ["x"]}
    with pytest.raises(ValueError, match="'about.corpus.name' is .*; expected a string"):
        run.fit(PAIRS, None, tmp_path / "run", 1, progress=False)


def test_folder_in_use_by_another_training_raises(folder):
    before = (folder / "checkpoint.npz").read_bytes()
    more = translator_of(epochs=3)
    with held(folder / "checkpoint.npz"):
        with pytest.raises(BlockingIOError, match="another training run is using .*checkpoint"):
            more.fit(PAIRS, PAIRS, folder, 1, progress=False)
        assert Translator.load(folder).history
    assert (folder / "checkpoint.npz").read_bytes() == before and not more.history
    more.fit(PAIRS, PAIRS, folder, 1, progress=False)
    assert len(more.history) == 3


# ---- on several ranks --------------------------------------------------------------------------


@pytest.mark.parametrize("name, train, valid", [
    ("training text", OTHERS, PAIRS), ("validation text", PAIRS, OTHERS)])
def test_ranks_with_different_texts_name_the_split(name, train, valid):
    def fit(ranks):
        texts = (train, valid) if ranks.rank else (PAIRS, PAIRS)
        translator_of().fit(*texts, threads=1, progress=False, ranks=ranks)

    with pytest.raises(ValueError, match=f"rank 1 on host .* in {name} .\\w+ "
                                         r"instead of \w+\)"):
        on_ranks(2, fit)


@pytest.mark.parametrize("count, progress, times", [(2, True, 1), (2, False, 0), (1, True, 0)])
def test_shared_processors_are_reported_once(count, progress, times, monkeypatch, capsys):
    calls = []
    monkeypatch.setattr(trained, "crowded",
                        lambda ranks, threads: calls.append((ranks.count, threads)) or "crowded")

    def fit(ranks):
        made = translator_of().fit(PAIRS, PAIRS, threads=1, progress=progress, ranks=ranks)
        return made.model.vector, made.translate([["a", "b"], ["b"], ["a"]], ranks=ranks)

    found = on_ranks(count, fit)
    assert calls == [(2, 1)] * (count if count > 1 else 0)
    assert capsys.readouterr().err.count("numpy-attention: crowded\n") == times
    single = translator_of().fit(PAIRS, PAIRS, threads=count, progress=False)
    for vector, translations in found:
        assert np.array_equal(vector, single.model.vector)
        expected = [one.target for one in single.translate([["a", "b"], ["b"], ["a"]])]
        assert [one.target for one in translations] == expected


# ---- settings -----------------------------------------------------------------------------------


def test_trainer_and_optimizer_receive_their_settings():
    translator = translator_of(
        optimizer="adadelta", learning_rate=0.5, average="token", clip=2.0, patience=3,
        save_steps=4, schedule="decay", full_epochs=1, divisor=3.0)
    trainer = translator.trainer(PAIRS, threads=1, progress=False)
    assert trainer.optimizer == Adadelta(learning_rate=0.5)
    assert (trainer.average, trainer.clip) == ("token", 2.0)
    assert (trainer.patience, trainer.save_steps) == (3, 4)
    assert trainer.schedule == Decay(1, 3.0)
    assert trainer.threads == 1 and not trainer.progress
    many = translator.trainer(PAIRS, threads=2)
    assert many.threads == 2 and many.progress


@pytest.mark.parametrize("make", [translator_of, lambda **how: writer_of(**how)])
def test_seed_determines_initial_values_order_and_dropout(make):
    vectors = set()
    for seed in (0, 5):
        made = make(seed=seed)
        vocabularies = [getattr(made, name) for name in made.VOCABULARIES]
        again = build(made.name, np.random.default_rng(seed), *vocabularies, **made.settings)
        assert np.array_equal(made.model.vector, again.vector)
        vectors.add(made.model.vector.tobytes())
        trainer = made.trainer(PAIRS if make is translator_of else TEXT, threads=1)
        assert trainer.seed == int(np.random.default_rng([seed, 1]).integers(2**63))
    assert len(vectors) == 2


@pytest.mark.parametrize("make, text", [(translator_of, PAIRS), (writer_of, TEXT)])
def test_order_may_have_a_separate_seed(make, text):
    """Initial values of one run with the order of another: a control for effects of the seed."""
    one, other, both = make(seed=0), make(seed=5), make(seed=0, order_seed=5)
    assert np.array_equal(both.model.vector, one.model.vector)
    seeds = [made.trainer(text, threads=1).seed for made in (one, other, both)]
    assert seeds[0] != seeds[1] == seeds[2]
    same = make(seed=5, order_seed=5)
    assert np.array_equal(same.model.vector, other.model.vector)
    assert same.trainer(text, threads=1).seed == seeds[1]
    assert make(seed=5, order_seed=0).trainer(text, threads=1).seed == seeds[0]


@dataclass
class ExtendedTraining(TranslatorTraining):
    """A training with one more option, which SGD has a field for."""

    momentum: float = option(0.5, POSITIVE, "share of the step before")


def test_new_option_is_passed_on_by_name():
    training = ExtendedTraining(optimizer="sgd", momentum=0.75)
    trainer = Translator.create(PAIRS, settings=SIZES, training=training).trainer(PAIRS, threads=1)
    assert trainer.optimizer == SGD(learning_rate=1e-3, momentum=0.75)


def test_schedules():
    def schedule(**settings):
        return schedule_of(Training(epochs=5, **settings), lambda epochs: 10 * epochs)
    assert schedule() == Constant()
    assert schedule(schedule="decay", full_epochs=2, divisor=1.5) == Decay(2, 1.5)
    assert schedule(schedule="linear") == LinearDecay(50)
    assert schedule(schedule="warmup", warmup=7) == Warmup(7)


@pytest.mark.parametrize("state", ["carried", "sentence", "article", None])
def test_linear_schedule_ends_at_the_last_step(state, rng):
    """Also if shuffled groups of documents take more windows than sorted ones."""
    how = dict(epochs=2, batch_size=2, schedule="linear")
    if state is None:
        learn = [Pair(("a",) * n, ("x",) * n) for n in rng.integers(1, 6, 61)]
        trained = translator_of(learn, **how)
    else:
        learn = Text([[["a"] for _ in range(n)]
                     for n in rng.integers(1, 40, 90)], has_articles=True)
        training = LanguageModelTraining(state=state, steps=5 if state == "article" else 35, **how)
        trained = LanguageModelRun.create(learn, settings=dict(hidden=4, layers=1),
                                          training=training)
    trainer = trained.trainer(learn, threads=1, progress=False)
    trainer.fit(2)
    assert trainer.schedule.steps == trainer.step
    sorted_ones = 2 * len(trainer.train)
    assert trainer.step > sorted_ones if state == "article" else trainer.step == sorted_ones


# ---- best parameters ----------------------------------------------------------------------------


@pytest.mark.parametrize("keep, kept", [("best", 2), ("last", 4)])
def test_parameters_of_the_kept_epoch_are_used_and_loaded(
        keep, kept, tmp_path, monkeypatch):
    """The second of four epochs is the best; all its parameters are 2."""
    losses = iter([2.0, 1.0, 3.0, 1.5])

    def evaluation(model, *rest):
        loss = next(losses)
        model.vector[:] = {2.0: 1, 1.0: 2, 3.0: 3, 1.5: 4}[loss]
        return Evaluation(loss, 1)
    monkeypatch.setattr(training_loop, "evaluate", evaluation)
    trained = translator_of(epochs=4, keep=keep).fit(PAIRS, PAIRS, tmp_path, 1, progress=False)
    resumed = translator_of(epochs=4, keep=keep).fit(PAIRS, PAIRS, tmp_path, 1, progress=False)
    for one in (trained, resumed, Translator.load(tmp_path)):
        assert (one.model.vector == kept).all() and len(one.history) == 4


def test_a_run_resumed_without_validation_keeps_the_last_epoch(folder):
    model = translator_of(epochs=3).fit(PAIRS, None, folder, 1, progress=False).model
    last = translator_of(epochs=3).fit(PAIRS, None, None, 1, progress=False).model
    for one in (model, Translator.load(folder).model):
        assert np.array_equal(one.vector, last.vector)


@pytest.mark.parametrize("how, words", [
    ({"settings": SIZES | {"dtype": "float64"}}, "omit dtype"),
    ({"corpus": {"name": "mine"}}, "corpus 'mine' is unknown"),
    ({"corpus": {"name": "bible-en"}}, "for language models"),
])
def test_a_run_that_could_not_be_loaded_is_refused(how, words):
    with pytest.raises(ValueError, match=words):
        Translator.create(PAIRS, **how)


def test_form_of_a_text_made_in_python():
    """The unit is that of the training text, and its case that of the vocabularies."""
    capitals = [Pair(("The", "dog"), ("el", "perro"))]
    characters = Text([[list("ab c")]], "characters")
    for run, form in ((translator_of(), TextForm("words", True)),
                      (translator_of(capitals), TextForm("words", False)),
                      (LanguageModelRun.create(characters), TextForm("characters", True))):
        assert run.selection().form() == form


@pytest.mark.parametrize("flat", [False, True])
def test_best_parameters_are_saved_by_name(folder, flat):
    """Old checkpoints with one vector can be read too."""
    best = Translator.load(folder).model.vector.copy()
    arrays, about = checkpoint.load(folder / "checkpoint.npz")
    names = [name for name in arrays if name.startswith("best/")]
    assert len(names) == len(list(Translator.load(folder).model.named_parameters()))
    # a different last epoch
    arrays |= {name: array + 1 for name, array in arrays.items() if name.startswith("parameters/")}
    if flat:
        arrays["best"] = np.concatenate([arrays.pop(name).ravel() for name in names])
    else:
        arrays = dict(reversed(arrays.items()))         # in a different field order
    checkpoint.save(folder / "checkpoint.npz", arrays, about)
    assert np.array_equal(Translator.load(folder).model.vector, best)
    resumed = translator_of()
    trainer = resumed.trainer(PAIRS, PAIRS, folder, 1, progress=False)
    assert trainer.resume() and np.array_equal(resumed.model.vector, best + 1)
    assert np.array_equal(trainer.use_best().vector, best)


@pytest.mark.parametrize("how, says", [({}, True), (dict(progress=False), False)])
def test_resuming_is_reported(how, says, tmp_path, capsys):
    pairs = load_parallel("copy", "train", rng=np.random.default_rng(0), count=20, max_length=4)
    training = TranslatorTraining(epochs=1, batch_size=10)
    for _ in range(2):
        capsys.readouterr()
        made = Translator.create(pairs, settings=dict(embedding=3, hidden=4), training=training)
        made.fit(pairs, None, tmp_path, threads=1, **how)
    assert ("resumed after 2 steps and 1 whole epochs" in capsys.readouterr().out) == says
    assert Translator.load(tmp_path).corpus == made.corpus == {}


def test_early_stop_is_reported(tmp_path, capsys):
    for epochs in (5, 9):
        made = translator_of(epochs=epochs, patience=1, learning_rate=1e-30)
        made.fit(PAIRS, PAIRS, tmp_path, 1)
        assert ("stopped after 2 epochs: the validation perplexity did not improve for 1 epoch\n"
                in capsys.readouterr().out)


# ---- pretrained vectors -------------------------------------------------------------------------


@pytest.fixture
def vectors(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("a 1 2 3 4\nB 5 6 7 8\nnowhere 0 0 0 0\n")
    return path


@pytest.mark.parametrize("freeze", [False, True])
def test_pretrained_vectors_are_read_only_once(
        vectors, tmp_path, freeze):
    """With tied embeddings, the output weights are frozen too."""
    how = LanguageModelTraining(epochs=1, batch_size=2, steps=3, learning_rate=0.1,
                                freeze_vectors=freeze)
    sizes = dict(hidden=4, layers=1, tied=True)

    def make(path=None):
        return LanguageModelRun.create(TEXT, "language-model", sizes, how, None, path)

    run, plain = make(vectors), LanguageModelRun.create(TEXT, settings=sizes)
    ids = run.vocabulary.encode(["a", "b"])
    others = [0, 1, 2, 3, *run.vocabulary.encode(["c"])]
    assert run.model.embedding.E[ids].tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]
    assert np.array_equal(run.model.embedding.E[others], plain.model.embedding.E[others])
    assert (run.vectors["embedding"]["found"], run.vectors["embedding"]["other_case"]) == (2, 1)
    before = run.model.embedding.E.copy()
    run.fit(TEXT, TEXT, tmp_path / "run", 1, progress=False)
    vectors.rename(tmp_path / "moved.txt")
    loaded = LanguageModelRun.load(tmp_path / "run")
    assert loaded.vectors == run.vectors
    assert np.array_equal(loaded.model.embedding.E, before) == freeze
    resumed = make(tmp_path / "moved.txt").fit(TEXT, TEXT, tmp_path / "run", 1, progress=False)
    assert np.array_equal(resumed.model.vector, run.model.vector)
    (tmp_path / "moved.txt").write_text("a 1 2 3 5\n")
    with pytest.raises(ValueError, match="vectors of embedding"):
        make(tmp_path / "moved.txt").fit(TEXT, TEXT, tmp_path / "run", 1, progress=False)


@pytest.mark.parametrize("settings, training, message", [
    (SIZES, {}, "^embedding = 3, but the vectors of .*vectors.txt have 4 dimensions; .*edding = 4"),
    (SIZES, {"subwords": 20}, "source_vectors .* subwords"),
    (SIZES | {"embedding": 4}, {}, "txt has no vector for any of the 2 words"),      # x and y
])
def test_invalid_vectors(vectors, settings, training, message):
    with pytest.raises(ValueError, match=message):
        Translator.create(PAIRS, "rnnsearch", settings, TranslatorTraining(**training),
                          vocabularies=[Vocabulary(["a"]), Vocabulary(["x", "y"])],
                          source_vectors=vectors, target_vectors=vectors)


def test_only_pretrained_vectors_can_be_frozen():
    with pytest.raises(ValueError, match="freeze_vectors has no effect without"):
        translator_of(freeze_vectors=True)
    with pytest.raises(ValueError, match="freeze_vectors has no effect without"):
        writer_of(freeze_vectors=True)


# ---- small vocabularies and texts ---------------------------------------------------------------


def test_vocabulary_of_only_the_most_frequent_words():
    run = translator_of(max_vocabulary=5)
    assert run.source_vocabulary.tokens == ["a"] and run.target_vocabulary.tokens == ["x"]
    assert translator_of(max_vocabulary=6, min_count=3).source_vocabulary.tokens == ["a", "b"]


def test_short_text_is_validated_in_fewer_streams():
    run = writer_of(batch_size=5)
    batches = run.batches_to_validate(Text([[["a", "b"]]]))
    assert batches.batch_size == 3 and run.batches_to_validate(TEXT).batch_size == 5
    with pytest.raises(ValueError, match="use more text, or set batch_size = 3 or less"):
        run.batches(Text([[["a", "b"]]]))
