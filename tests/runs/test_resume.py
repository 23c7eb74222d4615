"""When a run may go on: with the same settings alone."""

import dataclasses

import pytest

from numpy_attention.runs import resume as runs
from numpy_attention.training import checkpoint
from numpy_attention.runs.writer import WriterTraining


class Trained:
    """As much of a Writer as `check_same` looks at."""

    KIND, TRAINING = "writer", WriterTraining

    def __init__(self, kind="writer", training=None, **settings):
        self.known = {"kind": kind, "name": "m", "settings": settings, "corpus": {"name": "ptb"}, "vocabulary": ["a"],
                      "training": dataclasses.asdict(WriterTraining()) if training is None else training}

    def configuration(self):
        return self.known


def test_a_run_may_go_on_with_the_same_settings_alone(tmp_path):
    def saved(about, threads=1):
        checkpoint.save(tmp_path / "checkpoint.npz", {}, {"about": about, "trainer": {"threads": threads}})
    assert not runs.check_same(tmp_path, Trained())
    saved(Trained(hidden=3).known)
    assert runs.check_same(tmp_path, Trained(hidden=3), threads=1)
    for other, message in ((Trained(hidden=4), "hidden 3 there, 4 now"),
                           (Trained(hidden=3, layers=1), "layers None there, 1 now")):
        with pytest.raises(ValueError, match=message):
            runs.check_same(tmp_path, other)
    with pytest.raises(ValueError, match="threads 1 there, 2 now"):
        runs.check_same(tmp_path, Trained(hidden=3), threads=2)
    before_schedules = dataclasses.asdict(WriterTraining())
    del before_schedules["schedule"], before_schedules["unit"]          # a run older than these settings has their defaults
    saved(Trained(training=before_schedules).known)
    assert runs.check_same(tmp_path, Trained())
    saved(Trained(kind="translator", training={"reverse_source": True}).known)
    with pytest.raises(ValueError, match="translator there, writer now"):
        runs.check_same(tmp_path, Trained())


@pytest.mark.parametrize("schedule, allowed", [("constant", True), ("decay", True), ("linear", False)])
def test_more_epochs_are_other_settings_where_the_rate_knows_the_last(schedule, allowed, tmp_path):
    few, more = (Trained(training=dataclasses.asdict(WriterTraining(epochs=n, schedule=schedule))) for n in (2, 3))
    checkpoint.save(tmp_path / "checkpoint.npz", {}, {"about": few.known})
    if allowed:
        assert runs.check_same(tmp_path, more)
    else:
        with pytest.raises(ValueError, match="epochs 2 there, 3 now"):
            runs.check_same(tmp_path, more)
