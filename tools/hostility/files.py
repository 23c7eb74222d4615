"""Files that are not what they should be: checkpoints, texts, pipes, devices, links, full disks."""

import math

from hostility import checkpoints, small_runs
from hostility.command_line import outcome
from hostility.outcome import RIGHT, Attempt, Outcome, judged

from numpy_attention.runs.resume import check_same
from numpy_attention.runs.trained import kind_of
from numpy_attention.training import checkpoint


def attempt(rng, folder):
    return altered_checkpoint(rng, folder)


# ---- checkpoints -------------------------------------------------------------------------------


def altered_checkpoint(rng, folder):
    """A checkpoint altered, and then used in one of many ways."""
    run = small_runs.any_run(rng)
    executed = folder / "executed"
    what, data = checkpoints.altered(rng, run.checkpoint, executed)
    place = folder / "run"
    run.put(place).write_bytes(data)
    use = USES[rng.integers(len(USES))]

    def attempted():
        try:
            found = use(run, place)
        except Exception as error:
            found = judged(error)
        return Outcome("code", f"{executed} was made") if executed.exists() else found

    return Attempt(f"{run.name}, {what}; {use.__name__}", attempted)


def load(run, place):
    """Loaded it must work, in figures that are finite."""
    trained = run.kind.load(place)
    _, valid = run.selection().load("train", "valid")
    figures = trained.measure(valid, threads=1)
    return finite(figures.values())


def finite(numbers):
    if all(map(math.isfinite, numbers)):
        return Outcome(RIGHT, "finite figures")
    return Outcome("silence", f"figures that are not finite: {list(numbers)}")


def resume(run, place):
    """Resumed it must go on."""
    made, learn, valid = run.create(epochs=2)
    made.fit(learn, valid, place, 1, progress=False)
    return finite(line["train_loss"] for line in made.history[-1:])


def looked_at(run, place):
    kind_of(place)
    checkpoint.load(place / "checkpoint.npz")
    check_same(place, run.create()[0])
    return Outcome(RIGHT, "looked at")


def translated(run, place):
    return outcome(["translate", place, "the cat sees"], folder=place)


def generated(run, place):
    return outcome(["generate", place, "--length", "5"], folder=place)


def evaluated(run, place):
    return outcome(["evaluate", place, "--threads", "1"], folder=place)


def drawn(run, place):
    return outcome(["heatmap", place, "--output", place / "a.png"], folder=place)


USES = (load, load, resume, resume, looked_at, translated, generated, evaluated, drawn)
