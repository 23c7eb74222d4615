"""Measure which lines of the package each test runs, and how long each test takes.

    python line_coverage.py OUT.json [--plain] tests/training tests/test_metrics.py …

Run this in the root of a checkout. Lines that a fixture with a wider scope runs count for every
test that uses the fixture. With --plain, kernels run as plain Python, so that their lines count,
too. Tests that fail that way are left out.
"""

import json
import os
import sys
import time
from collections import defaultdict
from pathlib import Path

import coverage
import pytest

# without pytest-xdist, since lines are measured in one process, and without unraisableexception,
# which collects all garbage twice per run and takes longer than most tests
OPTIONS = ["-o", "addopts=--import-mode=importlib", "-q", "--no-header",
           *"-p no:xdist -p no:cacheprovider -p no:unraisableexception".split()]


class Watch:
    """A pytest plugin that sets coverage's context to the running test or shared fixture."""

    def __init__(self, measured):
        self.measured = measured
        self.context = ""
        self.fixtures = {}          # {test: names of its fixtures}
        self.seconds = {}           # {test: seconds of its set-up, call and teardown}
        self.failed = set()

    def _switch(self, context):
        self.context = context
        self.measured.switch_context(context)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.fixtures[item.nodeid] = list(item.fixturenames)
        self._switch(item.nodeid)
        start = time.perf_counter()
        result = yield
        self.seconds[item.nodeid] = time.perf_counter() - start
        self._switch("")
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        if fixturedef.scope == "function":
            return (yield)
        before = self.context
        self._switch(f"fixture {fixturedef.argname}")
        result = yield
        self._switch(before)
        return result

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed.add(report.nodeid)


def measured_lines(tests, plain=False):
    """Return {"seconds": {test: seconds}, "lines": {file: {line: tests}}}.

    Raises RuntimeError if a test fails with compiled kernels.
    """
    package = Path("numpy_attention").resolve()
    measured = coverage.Coverage(data_file=None, source=[str(package)], config_file=False)
    watch = Watch(measured)
    measured.start()
    status = pytest.main([*OPTIONS, *tests], plugins=[watch])
    measured.stop()
    if status > 1 or watch.failed and not plain:
        raise RuntimeError(f"the unchanged tests must pass: {', '.join(sorted(watch.failed))}")
    seconds = {test: taken for test, taken in watch.seconds.items() if test not in watch.failed}
    users = defaultdict(list)
    for test in seconds:
        users[test] = [test]
        for name in watch.fixtures[test]:
            users[f"fixture {name}"].append(test)
    lines = {}
    data = measured.get_data()
    for file in data.measured_files():
        relative = Path(file).relative_to(package.parent).as_posix()
        lines[relative] = {
            line: sorted({test for context in contexts for test in users[context]})
            for line, contexts in data.contexts_by_lineno(file).items()}
    return {"seconds": seconds, "lines": lines}


if __name__ == "__main__":
    out, *words = sys.argv[1:]
    if plain := "--plain" in words:
        words.remove("--plain")
        os.environ["NUMBA_DISABLE_JIT"] = "1"       # numba is not imported yet
    Path(out).write_text(json.dumps(measured_lines(words, plain)), encoding="utf-8")
