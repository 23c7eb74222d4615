"""A checkpoint with an entry altered is answered as tests/runs/altered.txt says: every entry, in
each of several ways, loaded and resumed."""

import altered
import pytest

KNOWN = altered.FILE.read_text(encoding="utf-8").splitlines()
GROUPS = list(dict.fromkeys(
    (run, ".".join(where.split(".")[:2]) if where.startswith(("about", "trainer")) else
     where.partition(".")[0])
    for run, where in (line.split(": ")[0].split(", ") for line in KNOWN)))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """run(name): a trained one, made once."""
    made = {}

    def of(name):
        if name not in made:
            made[name] = altered.Altered(name, tmp_path_factory.mktemp(name))
        return made[name]
    return of


@pytest.mark.parametrize("name, group", GROUPS)
def test_an_altered_entry_is_answered_as_before(run, name, group):
    wheres = [".".join(map(str, way)) for way in run(name).groups[group]]
    heads = tuple(f"{name}, {where}: " for where in wheres)
    assert run(name).answers(group) == [line for line in KNOWN if line.startswith(heads)]


@pytest.mark.parametrize("name", altered.RUNS)
def test_every_entry_is_tried(run, name):
    assert {group for other, group in GROUPS if other == name} == set(run(name).groups)
