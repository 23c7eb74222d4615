"""Recorded results: results/*.jsonl, one JSON object per line, and the tables of tables.md.

    {"recipe": "rnnsearch-bible", "settings": "90cd3f7a", "seed": 0, "metric": "bleu",
     "split": "test", "value": 28.1, "low": 26.9, "high": 29.2, "parameters": 7000000,
     "minutes": 12.5, "threads": 2}

settings: the digest of the recipe; all figures of a recipe in a file have the same digest. low,
high: the 95 % confidence interval for the variation between texts of the same kind; figures from
before 0.3.0 have none. minutes: the time of training without the measurements. If a figure is
recorded again for the same recipe, seed, metric and split, the tables show the last value.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from numpy_attention.data.reading import read_lines
from numpy_attention.training.schema import FINITE, TEXT
from numpy_attention.training.settings import Values
from numpy_attention.validation.arguments import as_list
from numpy_attention.validation.messages import missing_and_unknown, short_repr, typed_repr
from numpy_attention.validation.paths import as_path, exists, make_folder, path_errors

WHOLE = Values(int, "an integer of at most 300 digits", FINITE.holds)
FIELDS = {
    "recipe": TEXT,
    "settings": TEXT,
    "seed": WHOLE,
    "metric": TEXT,
    "split": TEXT,
    "value": FINITE,
    "low": FINITE,
    "high": FINITE,
    "parameters": WHOLE,
    "minutes": FINITE,
    "threads": WHOLE,
}
OLDER = FIELDS.keys() - {"low", "high"}     # the fields of figures without an interval
START = "<!-- results -->"
END = "<!-- /results -->"

Line = dict[str, Any]                       # one figure, with FIELDS, or those of OLDER
Figure = tuple[str, str]                    # (split, metric)
Measured = dict[Figure, dict[int, Line]]    # {figure: {seed: Line}} of one recipe


def check(line: Any) -> Line:
    """Check a recorded line and return it. Raises ValueError for wrong fields or values."""
    if not isinstance(line, dict):
        raise ValueError(f"a result is {typed_repr(line)}; expected a JSON object")
    if line.keys() not in (FIELDS.keys(), OLDER):
        missing = [name for name in FIELDS if name not in line]
        unknown = [name for name in line if name not in FIELDS]
        raise ValueError(f"a result has wrong fields: {missing_and_unknown(missing, unknown)}")
    for name, value in line.items():
        if value not in FIELDS[name]:
            raise ValueError(f"the field {name!r} of a result is {typed_repr(value)}; expected "
                             f"{FIELDS[name].expected}")
    if "low" in line and not line["low"] <= line["high"]:
        raise ValueError(f"low = {line['low']} exceeds high = {line['high']}; expected low ≤ high")
    return line


def read_file(path: str | Path) -> list[Line]:
    """Read and check the lines of a file. Raises ValueError with the number of a malformed line."""
    lines = []
    for number, text in enumerate(read_lines(path), 1):
        try:
            lines.append(check(json.loads(text)))
        except (ValueError, RecursionError) as error:               # including JSONDecodeError
            raise ValueError(
                f"{path}, line {number}: {error}; correct or remove the line") from None
    return lines


def read(folder: str | Path) -> list[Line]:
    """Read all *.jsonl files of a folder in alphabetical order. Return [] if there is no folder."""
    return [line for path in sorted(Path(folder).glob("*.jsonl")) for line in read_file(path)]


def existing_figures(path: str | Path, lines: Iterable[Line]) -> list[Line]:
    """Check that new lines can be appended to a file; return the lines that the file contains.

    Raises ValueError if a line in the file is malformed, or if a recipe's settings have changed.
    """
    known = read_file(path) if exists(path) else []
    settings: dict[str, str] = {}
    for line in [*known, *lines]:
        recipe, now = line["recipe"], line["settings"]
        if settings.setdefault(recipe, now) != now:
            raise ValueError(f"{path}: the settings of recipe {short_repr(recipe)} have changed; "
                             "remove this recipe's lines and measure every seed again, or rename "
                             "the recipe")
    return known


def append(path: str | Path, lines: Iterable[Line]) -> list[Line]:
    """Append the lines that a file does not contain yet, and return the appended lines.

    Either all new lines are written or none. Raises the errors of `check` and `existing_figures`,
    ValueError if the file does not end with a newline, and OSError if the disk is full.
    """
    path = as_path(path)
    lines = [check(line) for line in as_list("lines", lines, "results")]
    known = existing_figures(path, lines)
    make_folder(path.parent)
    new = [line for line in lines if line not in known]
    if not new:
        return new
    ordered = [{name: line[name] for name in FIELDS if name in line} for line in new]
    data = "".join(json.dumps(line) + "\n" for line in ordered).encode()
    if known and not path.read_bytes().endswith(b"\n"):
        raise ValueError(f"{path} does not end with a newline, so its last line may be incomplete; "
                         "check this line and add a newline")
    with path_errors(path, "written"):
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            size = os.fstat(file).st_size
            written = os.write(file, data)
            if written != len(data):
                os.ftruncate(file, size)
                raise OSError(f"{path}: only {written} of {len(data)} bytes could be written, so "
                              "none were kept; is the disk full?")
        finally:
            os.close(file)
    return new


def tables(lines: Sequence[Line], recipes: Mapping[str, Any] | None = None) -> str:
    """Format recorded metrics as Markdown tables. Recipes with the same metrics share a table.

    A cell has the mean over seeds, ± the standard deviation, and in brackets the confidence
    interval. recipes: {name: Recipe}, which gives the order of the rows, and the baselines.
    """
    lines = [check(line) for line in as_list("lines", lines, "results")]
    if not lines:
        return "No figures are recorded yet; `numpy-attention reproduce NAME` records them."
    recipes = recipes or {}
    groups: dict[str, Measured] = {}
    for line in lines:
        measured = groups.setdefault(line["recipe"], {})
        figure = measured.setdefault((line["split"], line["metric"]), {})
        figure[line["seed"]] = line                         # the last line of a seed counts
    names = [name for name in recipes if name in groups]
    names += [name for name in groups if name not in recipes]
    alike: dict[tuple[Figure, ...], dict[str, Measured]] = {}
    for name in names:
        alike.setdefault(tuple(groups[name]), {})[name] = groups[name]
    return "\n\n".join(_table(figures, rows, recipes) for figures, rows in alike.items())


def _table(
    figures: Iterable[Figure], groups: Mapping[str, Measured], recipes: Mapping[str, Any]
) -> str:
    heads = [f"{metric.replace('_', ' ')}, {split}" for split, metric in figures]
    rows = [
        _row(["recipe", *heads, "seeds", "parameters", "minutes", "threads"]),
        "|---|" + "---:|" * (len(heads) + 4),
    ]
    sources: dict[tuple[str, str], list[str]] = {}
    for name, measured in groups.items():
        runs = [line for seeds in measured.values() for line in seeds.values()]
        rows.append(_row([
            name,
            *map(_mean, measured.values()),
            _all_of(len(seeds) for seeds in measured.values()),
            _all_of(line["parameters"] for line in runs),
            f"{mean(line['minutes'] for line in runs):.1f}",
            _all_of(line["threads"] for line in runs),
        ]))
        if name in recipes:
            for (split, metric), (value, source) in recipes[name].baselines.items():
                figure = f"{metric.replace('_', ' ')}, {split}, {value:g}"
                sources.setdefault((name, source), []).append(figure)
    if sources:
        rows += ["", "Baselines:", ""]
        rows += [f"- {name}: {'; '.join(found)} ({source})"
                 for (name, source), found in sources.items()]
    return "\n".join(rows)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _mean(seeds: Mapping[int, Line]) -> str:
    values = [line["value"] for line in seeds.values()]
    digits = 3 if max(map(abs, values)) <= 1 else 2
    text = f"{mean(values):.{digits}f}"
    if len(values) > 1:
        text += f" ± {stdev(values):.{digits}f}"
    known = [line for line in seeds.values() if "low" in line]
    if known:
        low, high = (mean(line[end] for line in known) for end in ("low", "high"))
        text += f" [{low:.{digits}f}, {high:.{digits}f}]"
    return text


def _all_of(values: Iterable[int]) -> str:
    return ", ".join(f"{value:,}" for value in sorted(set(values)))


def put_tables(text: str, tables: str) -> str:
    """Return the document `text` with `tables` between its markers START and END.

    Raises ValueError unless each marker occurs once, and START comes first.
    """
    once = text.count(START) == text.count(END) == 1
    if not once or text.index(START) > text.index(END):
        raise ValueError(f"the document needs the lines {START} and {END}, each once and in this "
                         "order; the tables go between them")
    return f"{text[:text.index(START)]}{START}\n{tables}\n{text[text.index(END):]}"
