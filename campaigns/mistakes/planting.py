"""Plant mistakes in correct mechanisms, one in each module.

right/ has correct mechanisms in the style of learners, each with a function case(rng). sets/*.toml
have the mistakes, and sets/README.md explains their kinds.
"""

import atexit
import difflib
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

try:
    import tomllib
except ModuleNotFoundError:        # before Python 3.11
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
RIGHT = HERE / "right"
FILES = tuple(sorted(path.stem for path in RIGHT.glob("*.py")))


@dataclass(frozen=True)
class Mistake:
    """A mistake: the text of a learner, and the correct text that it replaces.

    name: "file: what is wrong", unique, where the file is one of FILES
    old: the correct text, which occurs exactly once in the file
    new: the text that replaces it
    kinds: correct answers, the most specific first
    line: texts of further lines that are correct answers, each of which occurs once in the changed
        file. Changed lines and lines next to deleted ones always are correct answers.
    missing_of: if lines were deleted, text of the forward line whose gradient `new` lacks
    """

    name: str
    old: str
    new: str
    kinds: tuple
    line: tuple = ()
    missing_of: str = ""

    @property
    def file(self):
        return self.name.partition(":")[0]

    @property
    def right_source(self):
        return (RIGHT / f"{self.file}.py").read_text(encoding="utf-8")

    @property
    def source(self):
        """The text of the file with the mistake. Raises ValueError if `old` does not occur once."""
        right = self.right_source
        count = right.count(self.old)
        if count != 1:
            raise ValueError(f"{self.name}: {self.old!r} occurs {count} times in {self.file}.py: "
                             "quote more of its surroundings")
        return right.replace(self.old, self.new)

    def lines(self):
        """Return the numbers of the lines of the changed file that are correct answers."""
        wrong = self.source
        texts = (*self.line, self.missing_of) if self.missing_of else self.line
        return changed_lines(self.right_source, wrong).union(
            self._line_with(text, wrong.splitlines()) for text in texts)

    def _line_with(self, text, lines):
        found = [number for number, line in enumerate(lines, 1) if text in line]
        if len(found) != 1:
            raise ValueError(f"{self.name}: {text!r} is in {len(found)} lines of the changed "
                             f"{self.file}.py, expected one")
        return found[0]


def mistakes_in(name):
    """Return the Mistakes of a file in sets/."""
    entries = tomllib.loads((HERE / "sets" / f"{name}.toml").read_text(encoding="utf-8"))
    return [Mistake(**entry | {"kinds": tuple(entry["kinds"]),
                               "line": tuple(entry.get("line", ()))})
            for entry in entries["mistake"]]


KNOWN, KEPT_OUT, FRESH, FOURTH = map(mistakes_in, ("known", "kept_out", "fresh", "fourth"))
SETS = {"known": KNOWN, "kept_out": KEPT_OUT, "fresh": FRESH, "fourth": FOURTH}


def changed_lines(right, wrong):
    """Return the numbers of the lines of `wrong` that differ or are next to deleted lines."""
    right, wrong = right.splitlines(), wrong.splitlines()
    same = difflib.SequenceMatcher(None, right, wrong, autojunk=False).get_matching_blocks()
    found = set(range(1, len(wrong) + 1))
    for block in same:
        found.difference_update(range(block.b + 1, block.b + block.size + 1))
    for block, after in zip(same, same[1:-1]):
        if block.b + block.size == after.b:
            found.update((after.b, after.b + 1))
    return found


def plant(mistake):
    """Return the module with the mistake."""
    letters = [letter if letter.isalnum() else "_" for letter in mistake.name]
    return run(mistake.source, "planted_" + "".join(letters))


def run(source, name, folder=None):
    """Write code to a file, in a temporary folder by default, run it, and return the module.

    This lets tracebacks show its lines, and `inspect.getsource` find them.
    """
    path = Path(folder or _temporary()) / f"{name}.py"
    path.write_text(source, encoding="utf-8")
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module                  # inspect.getsource finds a class's file here
    exec(compile(source, str(path), "exec"), module.__dict__)
    return module


_folders = []


def _temporary():
    """Return a folder that is removed when the process ends."""
    if not _folders:
        folder = tempfile.TemporaryDirectory(prefix="mistakes-")
        atexit.register(folder.cleanup)
        _folders.append(folder.name)
    return _folders[0]
