"""Outcomes of mutants in a file, a JSON line each, so that a campaign goes on where it stopped."""

import hashlib
import json


class Outcomes:
    """{(mutant, code): whether it survives}; of other code than a line says, it knows nothing.

    what: the name of the outcome in a line, where it is another.
    """

    what = "survives"

    def __init__(self, path=None):
        self.path = path
        self.known = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                outcome = json.loads(line)
                self.known[outcome["mutant"], outcome["code"]] = outcome[self.what]

    def get(self, mutant, code):
        """The outcome, or None where it was not tried."""
        return self.known.get((mutant, code))

    def add(self, mutant, code, outcome):
        self.known[mutant, code] = outcome
        if self.path is not None:
            line = {"mutant": mutant, self.what: outcome, "code": code}
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")


def digest(*contents):
    """Of bytes and texts, one after another."""
    found = hashlib.sha256()
    for content in contents:
        found.update(content.encode() if isinstance(content, str) else content)
    return found.hexdigest()[:16]
