"""A run can be resumed only with the same settings."""

import dataclasses

import pytest

from numpy_attention.experiments.runs.language_model_run import LanguageModelTraining
from numpy_attention.experiments.runs.resume import check_same
from numpy_attention.training import checkpoint


class Trained:
    """The part of a LanguageModelRun that `check_same` reads."""

    KIND = "writer"
    TRAINING = LanguageModelTraining

    def __init__(self, kind="writer", model="m", training=None, **settings):
        if training is None:
            training = dataclasses.asdict(LanguageModelTraining())
        self.known = {"kind": kind, "name": model, "settings": settings, "corpus": {"name": "ptb"},
                      "vocabulary": ["a"], "training": training}

    def configuration(self):
        return self.known


@pytest.fixture
def saved(tmp_path):
    """Return a function that saves a checkpoint of a Trained, trained with one thread."""
    def save(trained):
        about = {"about": trained.known, "trainer": {"threads": 1}}
        checkpoint.save(tmp_path / "checkpoint.npz", {}, about)
    return save


def test_empty_folder(tmp_path):
    assert not check_same(tmp_path, Trained())


def test_resume_requires_the_same_settings(saved, tmp_path):
    saved(Trained(hidden=3))
    assert check_same(tmp_path, Trained(hidden=3), threads=1)
    for other, message in ((Trained(hidden=4), "hidden was 3 and is now 4"),
                           (Trained(hidden=3, layers=1), "layers was None and is now 1"),
                           (Trained(model="n", hidden=3), "model was m and is now n")):
        with pytest.raises(ValueError, match=message):
            check_same(tmp_path, other)
    with pytest.raises(ValueError, match="threads was 1 and is now 2"):
        check_same(tmp_path, Trained(hidden=3), threads=2)


def test_missing_training_setting_has_its_default(saved, tmp_path):
    training = dataclasses.asdict(LanguageModelTraining())
    del training["schedule"], training["unit"]
    saved(Trained(training=training))
    assert check_same(tmp_path, Trained())
    with pytest.raises(ValueError, match="schedule was constant and is now linear"):
        check_same(tmp_path, Trained(training=training | {"schedule": "linear"}))


def test_missing_model_setting_has_its_default(saved, tmp_path):
    saved(Trained(model="language-model", hidden=3))
    assert check_same(tmp_path, Trained(model="language-model", hidden=3, cell="lstm"))
    with pytest.raises(ValueError, match="cell was lstm and is now gru"):
        check_same(tmp_path, Trained(model="language-model", hidden=3, cell="gru"))


def test_missing_attention_setting_has_its_default(saved, tmp_path):
    saved(Trained(model="luong", hidden=4, attention="general"))
    given = dict(attention="general", window="global", width=10, heads=4)
    assert check_same(tmp_path, Trained(model="luong", hidden=4, **given))
    with pytest.raises(ValueError, match="window was global and is now local-p"):
        check_same(tmp_path, Trained(model="luong", hidden=4, **given | {"window": "local-p"}))


def test_renamed_setting_is_the_same(saved, tmp_path):
    saved(Trained(D=2, first=True))
    assert check_same(tmp_path, Trained(width=2, pre_norm=True))
    with pytest.raises(ValueError, match="width was 2 and is now 3"):
        check_same(tmp_path, Trained(width=3, pre_norm=True))


def test_other_kind_of_run_raises(saved, tmp_path):
    saved(Trained(kind="translator", training={"reverse_source": True}))
    with pytest.raises(ValueError, match="was translator and is now language model"):
        check_same(tmp_path, Trained())


@pytest.mark.parametrize("schedule", ["constant", "decay", "linear", "warmup"])
def test_epochs_may_change_unless_the_schedule_depends_on_them(schedule, saved, tmp_path):
    few, more = (
        Trained(training=dataclasses.asdict(LanguageModelTraining(epochs=n, schedule=schedule)))
        for n in (2, 3))
    saved(few)
    if schedule == "linear":
        with pytest.raises(ValueError, match="epochs was 2 and is now 3"):
            check_same(tmp_path, more)
    else:
        assert check_same(tmp_path, more)


def test_settings_without_effect_on_steps_may_change(saved, tmp_path):
    saved(Trained())
    training = dataclasses.asdict(LanguageModelTraining())
    for changed in ({"minutes": 5.0}, {"save_steps": 7}, {"keep": "last"}, {"epochs": 99}):
        assert check_same(tmp_path, Trained(training=training | changed))


@pytest.mark.parametrize("count, more", [(4, ""), (5, "; and 1 more"), (7, "; and 3 more")])
def test_four_changes_and_the_number_of_others_are_reported(saved, tmp_path, count, more):
    names = [f"s{n}" for n in range(count)]
    saved(Trained(**dict.fromkeys(names, 1)))
    changes = "; ".join(f"{name} was 1 and is now 2" for name in names[:4])
    with pytest.raises(ValueError) as error:
        check_same(tmp_path, Trained(**dict.fromkeys(names, 2)))
    assert str(error.value) == (
        f"{tmp_path} holds a run with different settings: {changes}{more}. Use the same settings "
        "to resume it, or train again in another folder")


def test_text_is_compared_by_digest_not_path(saved, tmp_path):
    before, moved, changed = Trained(), Trained(), Trained()
    before.known["corpus"] = {"text": "/old/a.txt", "digest": "abcd"}
    moved.known["corpus"] = {"text": "/new/b.txt", "digest": "abcd"}
    changed.known["corpus"] = {"text": "/new/b.txt", "digest": "ef01"}
    saved(before)
    assert check_same(tmp_path, moved)
    with pytest.raises(ValueError, match="has changed .* of .*/old/a.txt was abcd") as no:
        check_same(tmp_path, changed)
    assert "another folder" in str(no.value) and "remove" not in str(no.value)
    changed.known["corpus"]["valid_text"] = "v.txt"
    with pytest.raises(ValueError, match="settings: validation files were none and are now v.txt."):
        check_same(tmp_path, changed)


def test_other_model_is_reported_first(saved, tmp_path):
    saved(Trained(model="m", a=1))
    with pytest.raises(ValueError, match=": model was m and is now n; a was 1 and is now 2"):
        check_same(tmp_path, Trained(model="n", a=2))
