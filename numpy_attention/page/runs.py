"""Runs as they are shown in a page: loaded, with earlier checkpoints, examples, a static table."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from numpy_attention.data.pairs import Pair
from numpy_attention.data.selection import Selection, selected
from numpy_attention.experiments.runs.language_model_run import LanguageModelRun
from numpy_attention.experiments.runs.saved import CHECKPOINT
from numpy_attention.experiments.runs.trained import run_kind
from numpy_attention.experiments.runs.translator import Translator
from numpy_attention.module import Array
from numpy_attention.page.export import exported
from numpy_attention.page.write import write_page
from numpy_attention.plotting.html import heatmap_table
from numpy_attention.registry import RUNS
from numpy_attention.training import checkpoint
from numpy_attention.validation.messages import format_error
from numpy_attention.validation.paths import as_path, is_folder

KINDS: dict[str, Any] = {"translator": Translator, "writer": LanguageModelRun}
CORPORA = {"translator": "parallel", "writer": "text"}
SHORTEST, LONGEST = 3, 12       # words of an example
LINKS = 3                       # sure links of the first example, if one has so many


def page_of_runs(path: str | Path, folders: Sequence[str], precision: str = "float32",
                 corpus: str | None = None, split: str | None = None, count: int = 20,
                 checkpoints: Sequence[str] = ()) -> int:
    """Write a page in which the runs of these folders work side by side; → its size in bytes.

    corpus, split, count: what the examples are taken from, and how many. checkpoints: earlier ones
    of the one run. ValueError: runs of two kinds, user-defined code, several runs with checkpoints.
    """
    if checkpoints and len(folders) > 1:
        raise ValueError(f"checkpoints are of one training, and {len(folders)} runs are given: "
                         "name one")
    kind = run_kind(folders[0])
    trained = [load(folder, folders[0], kind) for folder in folders]
    first = trained[0]
    selection = (selected({"name": corpus}, CORPORA[kind]) if corpus
                 else first.selection(CORPORA[kind]))
    examples = examples_of(selection, split, count)
    earlier = checkpoints_of(first, checkpoints)
    titles = [Path(folder).name for folder in folders]
    models = [exported(one, title, one.selection().form(), precision, examples, earlier)
              for one, title in zip(trained, titles)]
    tables = [table_of(one, title, examples) for one, title in zip(trained, titles)]
    title = " | ".join(model["title"] for model in models)
    return write_page(path, models, title, "\n".join(tables))


def load(folder: str, first: str, wanted: str) -> Any:
    """The run of a folder. ValueError: it has user-defined code, or is not of the first's kind."""
    kind = run_kind(folder)
    if wanted not in KINDS or kind != wanted:
        raise ValueError(f"{first} is a {RUNS.get(wanted, wanted)}'s run and {folder} a "
                         f"{RUNS.get(kind, kind)}'s: a page shows translators or language models")
    code = checkpoint.load_about(as_path(folder, "folder") / CHECKPOINT)["about"].get("own", {})
    if code:
        raise ValueError(f"{folder} was trained with {', '.join(code)}, user-defined code in "
                         "Python: a page can only run the package's own mechanisms")
    return KINDS[kind].load(folder)


def checkpoints_of(trained: Any, paths: Sequence[str]) -> dict[str, dict[str, Array]]:
    """{label: arrays} of earlier checkpoints of the run's training, in the order given.

    ValueError: one is of another model, or two of the same step.
    """
    found = {}
    for name in paths:
        path = as_path(name)
        arrays, about = checkpoint.load(path / CHECKPOINT if is_folder(path) else path)
        model = trained.model.copy()
        with checkpoint.understood(path, about):
            for vocabulary in trained.VOCABULARIES:
                if about["about"].get(vocabulary) != getattr(trained, vocabulary).saved():
                    raise ValueError(f"its {vocabulary.replace('_', ' ')} is not that of the run")
            checkpoint.restore(model, arrays)
        trainer = about.get("trainer", {})
        label = f"epoch {trainer.get('epoch', '?')}, step {trainer.get('step', 0):,}"
        if label in found:
            raise ValueError(f"{path} is of {label}, as one before it: give each once")
        found[label] = dict(model.named_parameters())
    return found


def examples_of(selection: Selection, split: str | None, count: int) -> list[Any]:
    """Pairs or sentences spread over a split; none, with a warning, if there is no text.

    An example with LINKS links comes first: with fewer there is little to compare weights with.
    """
    if not count:
        return []
    try:
        text, = selection.load(split or selection.splits[-1])
    except (ValueError, OSError) as error:
        print(f"numpy-attention: no examples: {format_error(error)}", file=sys.stderr)
        return []
    every = text if isinstance(text, list) else text.sentences
    sizes = [len(one.source if isinstance(one, Pair) else one) for one in every]
    fitting = [one for one, size in zip(every, sizes) if SHORTEST <= size <= LONGEST] or every
    places = np.linspace(0, len(fitting) - 1, min(count, len(fitting)))
    found = [fitting[int(place)] for place in places]
    linked = [isinstance(one, Pair) and len(one.sure) >= LINKS for one in found]
    if any(linked):
        found.insert(0, found.pop(linked.index(True)))
    return found


def table_of(trained: Any, title: str, examples: Sequence[Any]) -> str:
    """The weights of the first example as a table, for browsers without JavaScript."""
    if not examples:
        return ""
    example = examples[0]
    if isinstance(example, Pair):
        weights = trained.attend([example])[0]
        return heatmap_table(weights, [*example.source, "</s>"], [*example.target, "</s>"],
                             example.sure, example.possible,
                             f"{title}: attention of the decoder, word by word")
    if not hasattr(getattr(trained.model, "reader", None), "attention"):
        return ""
    words = ["</s>", *example]
    return heatmap_table(trained.attend(example), words, words,
                         caption=f"{title}: attention of each state to the states before it")
