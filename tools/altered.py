"""What is answered to each way of altering an entry of a checkpoint's text, line by line.

    python tools/altered.py             writes tests/runs/altered.txt anew

One line for each answer, of loading the run and of resuming its training: which run, the entry,
what is said, and to which values; in the words … stands for the value. A test holds the package to
that file, as it does to the answers to wrong arguments, tests/tools/refusals.txt.
"""

import contextlib
import copy
import json
import os
import re
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
from hostility import checkpoints

from numpy_attention import __version__
from numpy_attention.data.pairs import Pair
from numpy_attention.data.running_text import Text
from numpy_attention.runs.saved import CHECKPOINT
from numpy_attention.runs.translator import Translator, TranslatorTraining
from numpy_attention.runs.writer import Writer, WriterTraining

FILE = Path(__file__).resolve().parents[1] / "tests" / "runs" / "altered.txt"
PAIRS = [Pair(("a", "b", "c"), ("c", "b", "a")), Pair(("b",), ("b",)), Pair(("c", "a"), ("a", "c"))]
TEXT = Text([[["a", "b", "c"], ["b", "a"]], [["c", "c", "a", "b"]]], whole=True)
# all that a checkpoint may say of a corpus, in two
OWN = {"source": "s", "target": "t", "valid_source": "v", "valid_target": "w", "held_out_seed": 3,
       "min_length": 1, "max_length": 9, "lowercase": True, "tokenize": False, "digest": "abc"}
NAMED = {"name": "bible-en", "part": "whole", "text": "t", "valid_text": "v", "characters": False,
         "count": 7}
MISSING = object()
VALUES = {"missing": MISSING, "null": None, "true": True, "0": 0, "-1": -1, "1.5": 1.5,
          "over 10⁹": 10**9 + 1, "10⁴⁰⁰": 10**400, "text": "x", "list": ["a"], "dict": {"a": 1}}
# a value within a message, and what stands at the end of many
GIVEN = re.compile(r" is .*?, expected")
TAIL = re.compile(r"\); written by numpy_attention .*")


def translator():
    how = TranslatorTraining(epochs=1, batch_size=2)
    return Translator.create(PAIRS, "luong", {"hidden": 4, "embedding": 4, "window": "local-m",
                                              "width": 2}, how, OWN)


def writer():
    how = WriterTraining(epochs=1, batch_size=2, steps=2, schedule="linear", patience=2)
    return Writer.create(TEXT, "attentive-language-model",
                         {"hidden": 6, "embedding": 6, "attention": "key-value-predict"}, how,
                         NAMED)


RUNS = {"translator": (translator, PAIRS), "writer": (writer, TEXT)}


def entries(about):
    """{group: the ways to its entries}, of a checkpoint's text."""
    groups = {}
    for way in checkpoints.places(about):
        group = ".".join(map(str, way[:2])) if way[0] in ("about", "trainer") else way[0]
        groups.setdefault(group, []).append(way)
    return groups


class Altered:
    """A trained run, whose checkpoint is altered."""

    def __init__(self, name, folder):
        self.name = name
        self.folder = folder
        self.make, self.data = RUNS[name]
        self.make().fit(self.data, self.data, folder, 1, progress=False)
        whole = checkpoints.contents_of((folder / CHECKPOINT).read_bytes())
        self.about = json.loads(bytes(whole.pop("about")))
        self.arrays = whole
        self.groups = entries(self.about)

    def answers(self, group):
        """Lines for each entry of a group."""
        lines = []
        for way in self.groups[group]:
            where = ".".join(map(str, way))
            found = defaultdict(list)
            for name, value in VALUES.items():
                for text in self.answers_to(way, value):
                    found[text].append(name)
            lines += [f"{self.name}, {where}: {text} [{', '.join(names)}]"
                      for text, names in sorted(found.items())]
        return lines

    def answers_to(self, way, value):
        about = copy.deepcopy(self.about)
        *steps, last = way
        holder = about
        for step in steps:
            holder = holder[step]
        if value is MISSING:
            del holder[last]
        else:
            holder[last] = value
        text = np.frombuffer(json.dumps(about).encode(), np.uint8)
        (self.folder / CHECKPOINT).write_bytes(checkpoints.packed(self.arrays | {"about": text}))
        yield f"load: {self.said(lambda: type(self.make()).load(self.folder))}"
        yield f"resume: {self.said(self.resumed)}"

    def resumed(self):
        self.make().fit(self.data, self.data, self.folder, 1, progress=False)

    def said(self, do):
        """The words of a refusal, or that there is none."""
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
            try:
                do()
            except (ValueError, TypeError, OSError, ArithmeticError, MemoryError) as error:
                text = " ".join(f"{type(error).__name__}: {error}".split())
                text = text.replace(f"{self.folder / CHECKPOINT} is not understood ", "")
                text = text.replace(str(self.folder), "FOLDER").replace(__version__, "VERSION")
                return TAIL.sub(")", GIVEN.sub(" is …, expected", text))
        return "accepted"


def main():
    lines = []
    for name in RUNS:
        with tempfile.TemporaryDirectory() as folder:
            run = Altered(name, Path(folder))
            for group in run.groups:
                lines += run.answers(group)
    FILE.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(f"{FILE.name} holds {len(lines):,} answers")
    return 0


if __name__ == "__main__":
    sys.exit(main())
