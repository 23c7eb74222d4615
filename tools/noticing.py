"""Which tests can notice a change: the lines that each of them runs, and the time it takes.

    python tools/noticing.py OUT.json tests/training tests/test_metrics.py …

Run in the folder of the checkout. What a fixture of a module or a session runs counts for every
test that asks for it.
"""

import json
import sys
import time
from collections import defaultdict
from pathlib import Path

import coverage
import pytest


class Watch:
    """Tells coverage which test, or which shared fixture, runs what follows."""

    def __init__(self, measured):
        self.measured = measured
        self.context = ""
        self.fixtures = {}          # {test: names of its fixtures}
        self.seconds = {}           # {test: of its call and its own set-up}
        self.failed = []

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
            self.failed.append(report.nodeid)


def watched(tests):
    """→ {"seconds": {test: seconds}, "lines": {file: {line: tests}}}.

    RuntimeError: a test fails.
    """
    package = Path("numpy_attention").resolve()
    measured = coverage.Coverage(data_file=None, source=[str(package)], config_file=False)
    watch = Watch(measured)
    measured.start()
    status = pytest.main(["-p", "no:cacheprovider", *tests], plugins=[watch])
    measured.stop()
    if status != 0:
        raise RuntimeError(f"the tests must pass before anything is changed: {watch.failed}")
    users = defaultdict(list)
    for test, fixtures in watch.fixtures.items():
        users[test] = [test]
        for name in fixtures:
            users[f"fixture {name}"].append(test)
    lines = {}
    data = measured.get_data()
    for file in data.measured_files():
        shown = Path(file).relative_to(package.parent).as_posix()
        lines[shown] = {}
        for line, contexts in data.contexts_by_lineno(file).items():
            tests_of_it = {test for context in contexts for test in users[context]}
            lines[shown][line] = sorted(tests_of_it)
    return {"seconds": watch.seconds, "lines": lines}


if __name__ == "__main__":
    found = watched(sys.argv[2:])
    Path(sys.argv[1]).write_text(json.dumps(found), encoding="utf-8")
