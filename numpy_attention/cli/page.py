"""A page in which a reader's own trained models run."""

import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from numpy_attention.cli.shared import END, part_of
from numpy_attention.data.pairs import Pair
from numpy_attention.data.selection import Selection, selected
from numpy_attention.validation.messages import format_error
from numpy_attention.module import Array
from numpy_attention.page.export import exported, megabytes
from numpy_attention.page.table import heatmap_table
from numpy_attention.page.write import write_page
from numpy_attention.validation.paths import as_path, is_folder
from numpy_attention.experiments.runs.saved import CHECKPOINT
from numpy_attention.experiments.runs.trained import kind_of
from numpy_attention.experiments.runs.translator import Translator
from numpy_attention.experiments.runs.writer import LanguageModelRun
from numpy_attention.training import checkpoint

KINDS: Mapping[str, Any] = {"translator": Translator, "writer": LanguageModelRun}
CORPORA = {"translator": "parallel", "writer": "text"}
# of examples, in words: long enough to say something, short enough for a screen
SHORTEST, LONGEST = 3, 12
# sure links of the sentence that a page opens with, where one of the examples has so many
SURE = 3


def page(options: Namespace) -> None:
    kind = kind_of_all(options.runs)
    if options.checkpoints and len(options.runs) > 1:
        raise ValueError(f"--checkpoints are of one training, and {len(options.runs)} runs are "
                         "given: name one")
    trained = [loaded(folder, kind) for folder in options.runs]
    first = trained[0]
    saved = {"name": options.corpus} if options.corpus else first.corpus
    examples = examples_of(selected(saved, CORPORA[kind]), options.split, options.examples)
    earlier = checkpoints_of(first, options.checkpoints or ())
    models = []
    drawn = []
    for folder, one in zip(options.runs, trained):
        title = Path(folder).name
        models.append(exported(one, title, selected(one.corpus).form(), options.precision,
                               examples, earlier))
        drawn.append(static_of(one, title, examples))
    title = " | ".join(model["title"] for model in models)
    size = write_page(options.output, models, title, "\n".join(drawn))
    print(f"saved {options.output}: {megabytes(size)}, {options.precision}; open it in a browser")


# ---- runs ---------------------------------------------------------------------------------------


def kind_of_all(folders: Sequence[str]) -> str:
    """The kind of these runs. ValueError: they are of two, or hold neither kind."""
    found = {folder: kind_of(folder) for folder in folders}
    for folder, kind in found.items():
        if kind not in KINDS:
            raise ValueError(f"{folder} holds a {kind}: expected the run of a translator or of a "
                             "language model")
        if kind != found[folders[0]]:
            raise ValueError(f"{folders[0]} is a {found[folders[0]]}'s run and {folder} a "
                             f"{kind}'s: one page shows runs of one kind, write two")
    return found[folders[0]]


def loaded(folder: str, kind: str) -> Any:
    """The run of a folder. ValueError: it has code of the reader's own, or what a load refuses."""
    about = checkpoint.load_about(as_path(folder, "folder") / CHECKPOINT)
    own = about["about"].get("own", {})
    if own:
        raise ValueError(f"{folder} was trained with {', '.join(own)}, code of your own in Python: "
                         "a page runs the package's own mechanisms, which it has in JavaScript too")
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
                    raise ValueError(f"it has another {vocabulary.replace('_', ' ')} than the run")
            checkpoint.restore(model, arrays)
        trainer = about.get("trainer", {})
        label = f"epoch {trainer.get('epoch', '?')}, step {trainer.get('step', 0):,}"
        if label in found:
            raise ValueError(f"{path} is of {label}, as one before it: give each once")
        found[label] = dict(model.named_parameters())
    return found


# ---- examples -----------------------------------------------------------------------------------


def examples_of(selection: Selection, split: str | None, count: int) -> list[Any]:
    """Pairs or sentences of a split, spread over it; none, and a word of why, where it has none."""
    if not count:
        return []
    try:
        text, _ = part_of(selection, split)
    except (ValueError, OSError) as error:
        print(f"numpy-attention: no examples: {format_error(error)}", file=sys.stderr)
        return []
    every = text if isinstance(text, list) else text.sentences
    fitting = [one for one in every if SHORTEST <= length_of(one) <= LONGEST] or every
    places = np.linspace(0, len(fitting) - 1, min(count, len(fitting)))
    return with_links_first([fitting[int(place)] for place in places])


def with_links_first(examples: list[Any]) -> list[Any]:
    """The first of at least SURE sure links stands before the others, whatever a model makes of it.

    With fewer links there is little to compare the weights with.
    """
    for place, one in enumerate(examples):
        if isinstance(one, Pair) and len(one.sure) >= SURE:
            return [one, *examples[:place], *examples[place + 1:]]
    return examples


def length_of(example: Any) -> int:
    return len(example.source if isinstance(example, Pair) else example)


def static_of(trained: Any, title: str, examples: Sequence[Any]) -> str:
    """The first example's weights as a table, for where JavaScript does not run."""
    if not examples:
        return ""
    example = examples[0]
    if isinstance(example, Pair):
        weights = trained.attend([example])[0]
        return heatmap_table(weights, [*example.source, END], [*example.target, END], example.sure,
                             example.possible, f"{title}: what the decoder looks at, word by word")
    if not hasattr(getattr(trained.model, "reader", None), "attention"):
        return ""
    weights = trained.attend(example)
    words = [END, *example]
    return heatmap_table(weights, words, words, caption=f"{title}: what each state looks back at")
