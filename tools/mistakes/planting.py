"""A right file, a mistake in it, and the module that has the mistake."""

import atexit
import difflib
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

RIGHT = Path(__file__).resolve().parent / "right"
FILES = tuple(sorted(path.stem for path in RIGHT.glob("*.py")))

KINDS = {
    "derivative": "a wrong local derivative: no tanh′, 1 − x for 1 − x²",
    "batch sum": "not summed over the batch, or over an axis that was broadcast",
    "transpose": "a matrix transposed that should not be, or not one that should",
    "exchanged": "two gates, blocks, arguments or orders for one another",
    "shape": "shapes that do not fit",
    "mask forward": "a mask forgotten or misused in the forward",
    "mask backward": "a mask forgotten or misused in the backward",
    "recurrent path": "what flows from step t + 1 to t is dropped",
    "assigned": "= for +=",
    "buffer": "one buffer overwritten between steps",
    "sign": "− for +",
    "factor": "a number too many or too few",
    "double": "a term counted twice",
    "output ignored": "the gradient of one of the outputs is not used",
    "missing term": "another path, or part of a sum, is forgotten",
    "extra term": "something flows where nothing should",
    "axis": "summed, or softmaxed, over the wrong axis",
    "jacobian": "the Jacobian of softmax or layer norm is incomplete",
    "wrong step": "h_t for h_{t−1}, steps in the wrong order",
    "wrong variable": "another array of the same shape",
    "future": "reads what comes later",
    "unwritten": "memory from np.empty that is never filled",
    "argument changed": "cache, upstream or input altered in place",
    "repeated ids": "wrong only where an id occurs twice",
    "scale in time": "a mean over steps divided once too often, too rarely, or by another length",
    "not a parameter": "a number or a list where a field should be an array",
    "no return": "a gradient is computed and not returned",
    "cache": "the cache holds something else than the backward takes it for",
    "dtype": "floats put into integers",
}


@dataclass(frozen=True)
class Mistake:
    """What a learner writes in place of the right text.

    name: unique, "file: what is wrong", the file one of FILES.
    old: occurs exactly once in the file; `new` takes its place.
    kinds: any of these is a right answer, the most specific first.
    line: texts of further lines that are right answers, each in one line of the changed file. The
    lines that `new` changed are right answers always; where lines were deleted, those beside the
    gap.
    missing_of: text of the forward line whose gradient `new` lacks, where lines were deleted.
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
        """The file with the mistake. ValueError: the right file does not have `old` once."""
        right = self.right_source
        count = right.count(self.old)
        if count != 1:
            raise ValueError(f"{self.name}: {self.old!r} occurs {count} times in {self.file}.py: "
                             "quote more of its surroundings")
        return right.replace(self.old, self.new)

    def lines(self):
        """The numbers, from 1, of the lines that are right answers in the changed file."""
        wrong = self.source
        texts = (*self.line, self.missing_of) if self.missing_of else self.line
        return changed_lines(self.right_source, wrong).union(
            self._line_with(text, wrong.splitlines()) for text in texts)

    def _line_with(self, text, lines):
        found = [number for number, line in enumerate(lines, 1) if text in line]
        if len(found) != 1:
            raise ValueError(f"{self.name}: {text!r} stands in {len(found)} lines of the changed "
                             f"{self.file}.py, expected one")
        return found[0]


def changed_lines(right, wrong):
    """The numbers, from 1, of the lines of `wrong` that differ; those beside a gap."""
    right, wrong = right.splitlines(), wrong.splitlines()
    same = difflib.SequenceMatcher(None, right, wrong, autojunk=False).get_matching_blocks()
    found = set(range(1, len(wrong) + 1))
    for block in same:
        found.difference_update(range(block.b + 1, block.b + block.size + 1))
    for block, after in zip(same, same[1:-1]):
        if block.b + block.size == after.b:
            found.update((after.b, after.b + 1))
    return found


def plant(mistake, folder=None):
    """→ the module with the mistake, run from a file of its own in a folder, a temporary one.

    So tracebacks show its lines and `inspect.getsource` finds them.
    """
    return run(mistake.source, _slug(mistake.name), folder)


def right(file, folder=None):
    """→ the module of a right file, copied and run in the same way."""
    return run((RIGHT / f"{file}.py").read_text(encoding="utf-8"), f"right_{file}", folder)


def run(source, name, folder=None):
    """→ the module of a text, run from a file of its own in a folder, a temporary one."""
    path = Path(folder or _temporary()) / f"{name}.py"
    path.write_text(source, encoding="utf-8")
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module                  # where inspect.getsource looks for a class's file
    exec(compile(source, str(path), "exec"), module.__dict__)
    return module


def _slug(name):
    return "planted_" + "".join(letter if letter.isalnum() else "_" for letter in name)


_folders = []


def _temporary():
    """One folder for the whole process, removed when it ends."""
    if not _folders:
        folder = tempfile.TemporaryDirectory(prefix="mistakes-")
        atexit.register(folder.cleanup)
        _folders.append(folder.name)
    return _folders[0]
