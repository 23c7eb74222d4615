"""Helpers of the commands that use a trained run."""

import json
import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy_attention.data.reading import columns_of, sentence_lines
from numpy_attention.data.selection import Selection
from numpy_attention.data.text_form import visible
from numpy_attention.experiments.runs.ensemble import load_ensemble
from numpy_attention.experiments.runs.language_model_run import LanguageModelRun
from numpy_attention.experiments.runs.translator import Translator

END = "</s>"
MOST_WORDS = 10     # largest number of unknown words that are printed


def load_run(options: Namespace) -> Any:
    """Load the run of a command. With --ensemble, its model is the Ensemble of several models."""
    kind: Any = LanguageModelRun if options.kind == "writer" else Translator
    ensemble = getattr(options, "ensemble", None) or ()
    return load_ensemble(kind, [options.run, *ensemble], options.code)


def part_of(selection: Selection, split: str | None = None) -> tuple[Any, str]:
    """Load a split of a corpus, by default the last. Return (data, name of the split)."""
    split = split or selection.splits[-1]
    return selection.load(split)[0], split


def example_of(index: int, examples: Sequence[Any], place: str, what: str) -> Any:
    """Return examples[index]. Raises ValueError for a wrong --index. place, what: for messages."""
    if index >= len(examples):
        raise ValueError(f"--index {index} is out of range; {place} has {len(examples):,} {what}, "
                         "numbered from 0")
    return examples[index]


def limits_of(options: Namespace) -> dict[str, Any]:
    """Return {"max_length": …, "count": …}, the values of --max-length and --pairs if given."""
    limits = {"max_length": options.max_length, "count": options.pairs}
    return {name: value for name, value in limits.items() if value}


def target_of(options: Namespace) -> str:
    """Return the file of --target or, without --target but with --columns, the file of --source.

    Raises ValueError if both --target and --columns are missing.
    """
    if options.target:
        return options.target
    if not options.columns:
        columns_of(options.source, sentence_lines(options.source), None)    # raises for columns
        raise ValueError("--source needs --target; add --target, or omit --source")
    return options.source


def warn_of_unknown_words(vocabulary: Any, sentences: Iterable[Sequence[str]]) -> None:
    words = dict.fromkeys(word for sentence in sentences for word in sentence)
    unknown = [word for word in words if word not in vocabulary]
    if unknown:
        more = len(unknown) - MOST_WORDS
        rest = f" and {more:,} more" if more > 0 else ""
        print("numpy-attention: words not in the run's vocabulary are read as <unk>: "
              f"{', '.join(map(visible, unknown[:MOST_WORDS]))}{rest}", file=sys.stderr)


def path_word(path: str | Path) -> str:
    """Return a path as a command-line argument. -x becomes ./-x, so it is not read as an option."""
    return f"./{path}" if str(path).startswith("-") else str(path)


def print_json(value: Any) -> None:
    """Print a value as one JSON object. Named tuples become objects."""
    def plain(one: Any) -> Any:
        if hasattr(one, "_asdict"):
            one = one._asdict()
        if isinstance(one, Mapping):
            return {name: plain(each) for name, each in one.items()}
        return [plain(each) for each in one] if isinstance(one, list) else one

    print(json.dumps(plain(value)))
