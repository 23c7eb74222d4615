"""Recorded figures: results/*.jsonl, one JSON object a line and figure, and the tables that README shows of them.

    {"recipe": "rnnsearch-bible", "seed": 0, "metric": "bleu", "split": "test", "value": 28.1,
     "parameters": 7000000, "minutes": 12.5, "threads": 2}

minutes: training time alone. A figure recorded again for the same recipe, seed, metric and split replaces the earlier
one in the tables; the file keeps both.
"""

import json
import math
import os
from pathlib import Path
from statistics import mean, stdev

FIELDS = {"recipe": str, "seed": int, "metric": str, "split": str, "value": float, "parameters": int, "minutes": float,
          "threads": int}
START, END = "<!-- results -->", "<!-- /results -->"


def check(line):
    """Raises ValueError unless a line has exactly FIELDS, of their types, with finite numbers; → the line."""
    if not isinstance(line, dict) or line.keys() != FIELDS.keys():
        given = ", ".join(map(str, line)) if isinstance(line, dict) else repr(line)
        raise ValueError(f"a result has the fields {given}; expected exactly {', '.join(FIELDS)}")
    for name, kind in FIELDS.items():
        value, kinds = line[name], (int, float) if kind is float else (kind,)
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise ValueError(f"the result's {name} is {value!r} ({type(value).__name__}); expected {kind.__name__}")
        if kind is not str and not math.isfinite(value):
            raise ValueError(f"the result's {name} is {value}; expected a finite number")
    return line


def read_file(path):
    """The lines of one file, checked. ValueError names file and line."""
    lines = []
    for number, text in enumerate(Path(path).read_text("utf-8").splitlines(), 1):
        try:
            lines.append(check(json.loads(text)))
        except ValueError as error:                                         # JSONDecodeError is one too
            raise ValueError(f"{path}, line {number}: {error}; correct or remove the line") from None
    return lines


def read(folder):
    """All lines of a folder's *.jsonl files, files in alphabetical order; a folder without any has none."""
    return [line for path in sorted(Path(folder).glob("*.jsonl")) for line in read_file(path)]


def append(path, lines):
    """Append figures that the file does not hold already, all in one write or not at all; → the lines added.

    ValueError: a malformed line, given or in the file; OSError: the disk is full.
    """
    path, lines = Path(path), [check(line) for line in lines]
    path.parent.mkdir(parents=True, exist_ok=True)
    known = read_file(path) if path.exists() else []
    new = [line for line in lines if line not in known]
    if not new:
        return new
    data = "".join(json.dumps({name: line[name] for name in FIELDS}) + "\n" for line in new).encode()
    if known and not path.read_bytes().endswith(b"\n"):
        raise ValueError(f"{path} does not end with a line end, so its last line may be cut off: look at it, end it")
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        size = os.fstat(file).st_size
        written = os.write(file, data)
        if written != len(data):
            os.ftruncate(file, size)
            raise OSError(f"{path}: only {written} of {len(data)} bytes could be written, so none is kept: "
                          "is the disk full?")
    finally:
        os.close(file)
    return new


def tables(lines, recipes=None):
    """Markdown tables, one for all recipes that record the same figures: means over seeds, ± the standard deviation.

    recipes: {name: Recipe}; they order the rows, and their yardsticks are listed beneath.
    """
    if not lines:
        return "No figures are recorded yet; `numpy-attention reproduce NAME` records them."
    recipes, groups = recipes or {}, {}
    for line in lines:
        figure = groups.setdefault(line["recipe"], {}).setdefault((line["split"], line["metric"]), {})
        figure[line["seed"]] = line                                         # of the same seed the last one stands
    same = {}
    for name in [*(name for name in recipes if name in groups), *(name for name in groups if name not in recipes)]:
        same.setdefault(tuple(groups[name]), []).append(name)
    return "\n\n".join(_table(figures, {name: groups[name] for name in names}, recipes) for figures, names in same.items())


def _table(figures, groups, recipes):
    heads = [f"{metric.replace('_', ' ')}, {split}" for split, metric in figures]
    rows = [f"| {' | '.join(['recipe', *heads, 'seeds', 'parameters', 'minutes', 'threads'])} |",
            "|---|" + "---:|" * (len(heads) + 4)]
    for name, measured in groups.items():
        runs = [line for seeds in measured.values() for line in seeds.values()]
        parameters, threads = (_all_of(line[key] for line in runs) for key in ("parameters", "threads"))
        rows.append(f"| {' | '.join([name, *map(_mean, measured.values()), _all_of(map(len, measured.values())), parameters])}"
                    f" | {mean(line['minutes'] for line in runs):.1f} | {threads} |")
    beside = [f"- {name}: {text}" for name in groups if name in recipes for text in _beside(recipes[name].yardsticks)]
    return "\n".join(rows + (["", "Yardsticks:", "", *beside] if beside else []))


def _beside(yardsticks):
    sources = {}
    for (split, metric), (value, source) in yardsticks.items():
        sources.setdefault(source, []).append(f"{metric.replace('_', ' ')}, {split}, {value:g}")
    return [f"{'; '.join(figures)} ({source})" for source, figures in sources.items()]


def _mean(seeds):
    values = [line["value"] for line in seeds.values()]
    digits = 3 if max(map(abs, values)) <= 1 else 2
    return f"{mean(values):.{digits}f}" + (f" ± {stdev(values):.{digits}f}" if len(values) > 1 else "")


def put_tables(text, tables):
    """A document with the tables between its markers. ValueError: it has not each marker once, in order."""
    if text.count(START) != 1 or text.count(END) != 1 or text.index(START) > text.index(END):
        raise ValueError(f"expected {START} and then {END}, each once: the tables stand between them")
    return f"{text[:text.index(START)]}{START}\n{tables}\n{text[text.index(END):]}"


def _all_of(values):
    return ", ".join(f"{value:,}" for value in sorted(set(values)))
