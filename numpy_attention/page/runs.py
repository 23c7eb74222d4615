"""Write a page of runs with earlier checkpoints, examples and a table that needs no JavaScript."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np

from numpy_attention.data.datasets.corpora import find_corpus
from numpy_attention.data.encoding import explain, first_wrong
from numpy_attention.data.pairs import Pair
from numpy_attention.data.selection import Selection, selected
from numpy_attention.data.vocabulary import UNK
from numpy_attention.experiments.runs.language_model_run import LanguageModelRun
from numpy_attention.experiments.runs.saved import CHECKPOINT
from numpy_attention.experiments.runs.trained import CORPORA, run_kind
from numpy_attention.experiments.runs.translator import Translator
from numpy_attention.metrics import links_from_weights
from numpy_attention.module import Array
from numpy_attention.page.export import exported
from numpy_attention.page.write import write_page
from numpy_attention.plotting.html import heatmap_table
from numpy_attention.registry import RUNS
from numpy_attention.training import checkpoint
from numpy_attention.validation.messages import format_error
from numpy_attention.validation.paths import as_path, existing_file, is_folder, short_path

KINDS: dict[str, Any] = {"translator": Translator, "writer": LanguageModelRun}
SHORTEST, LONGEST = 3, 12       # words of an example, or characters
LINKS = 3                       # sure links that the first example should have
CANDIDATES = 200                # pairs whose weights are compared with their links
SAME = "name", "digest"         # of the corpora of all runs
TITLES = {"translator": "inside a small translator",
          "writer": "inside a small language model"}


def page_of_runs(path: str | Path, folders: Sequence[str], precision: str = "float32",
                 corpus: str | None = None, split: str | None = None, count: int = 20,
                 checkpoints: Sequence[str] = (), code: Sequence[Any] | None = None,
                 script: str | Path | None = None) -> int:
    """Write an HTML page that runs the models of these folders; return its size in bytes.

    precision: how the weights are stored, as in `exported`
    corpus, split: where the examples come from, by default the last split of the first run's corpus
    count: the number of examples
    checkpoints: paths of earlier checkpoints of the run; only one folder is then allowed
    code: user-defined files, as in `Trained.load`; for a run that uses such files, the weights of
        the examples are recorded
    script: a JavaScript file that adds user-defined classes to the engine of the page

    Raises ValueError for runs of different kinds or corpora, or if the page would show nothing.
    """
    if checkpoints and len(folders) > 1:
        raise ValueError(f"checkpoints are given for {len(folders)} runs; expected one run only. "
                         "Pass one run, or omit checkpoints")
    kind = run_kind(folders[0])
    trained = [load(folder, folders[0], kind, code) for folder in folders]
    first = trained[0]
    for folder, one in zip(folders, trained):
        if [one.corpus.get(key) for key in SAME] != [first.corpus.get(key) for key in SAME]:
            raise ValueError(f"{folder} and {folders[0]} were trained on different corpora; the "
                             "runs of a page need the same corpus")
    # the run's part of its own corpus, with sentences no longer than in its training text
    own = corpus in (None, first.corpus.get("name"))
    selection = (first.selection(CORPORA[kind]) if own
                 else selected({"name": corpus}, CORPORA[kind]))
    texts = [text_facts(one) for one in trained]
    longest = min([LONGEST, *(text["longest"] for text in texts if text["longest"])])
    examples = examples_of(selection, split, count, trained, longest)
    titles = [Path(folder).name for folder in folders]
    tables = [table_of(one, title, examples) for one, title in zip(trained, titles)]
    blank = [name for one, table in zip(trained, tables) if not table for name in one.own]
    if blank and script is None:
        lack, advice = (("attention weights", "") if examples
                        else ("examples", "name a corpus and its split, or "))
        raise ValueError(f"a page cannot run {blank[0]}, so without {lack} it would show nothing; "
                         f"{advice}pass script = mine.js, a file with the class in JavaScript")
    earlier = checkpoints_of(first, checkpoints)
    added = "" if script is None else script_in(script)
    models = [exported(one, title, one.selection().form(), precision, examples, earlier, text,
                       added)
              for one, title, text in zip(trained, titles, texts)]
    title = ": ".join(filter(None, (texts[0]["languages"], TITLES[kind])))
    return write_page(path, models, title[0].upper() + title[1:], "\n".join(tables),
                      added)


def script_in(path: str | Path) -> str:
    """Return a JavaScript file's text. Raises ValueError for </script, <!-- or invalid UTF-8."""
    text = existing_file(path).read_bytes()
    if first_wrong(text) >= 0:
        raise ValueError(explain(text, short_path(path)))
    if found := re.search(r"</script|<!--", text.decode(), re.IGNORECASE):
        raise ValueError(f"{short_path(path)} contains {found[0]}, which would break the script "
                         "element; remove it")
    return text.decode()


def load(folder: str, first: str, wanted: str, code: Sequence[Any] | None = None) -> Any:
    """Load the run of a folder. Raises ValueError if its kind is not `wanted`.

    first: a folder with a run of the kind `wanted`, for the message. code: as in `Trained.load`.
    """
    kind = run_kind(folder)
    if wanted not in KINDS or kind != wanted:
        raise ValueError(f"{first} is a {RUNS.get(wanted, wanted)} and {folder} is a "
                         f"{RUNS.get(kind, kind)}; pass only translators, or only language models")
    return KINDS[kind].load(folder, code)


def checkpoints_of(trained: Any, paths: Sequence[str]) -> dict[str, dict[str, Array]]:
    """Load checkpoints of a run. Return {"epoch 2, step 400": arrays, …} in the order of `paths`.

    Raises ValueError for a checkpoint whose vocabularies or parameters differ from those of the
    run, and for two checkpoints of the same step.
    """
    found = {}
    for name in paths:
        path = as_path(name)
        arrays, about = checkpoint.load(path / CHECKPOINT if is_folder(path) else path)
        model = trained.model.copy()
        differ = [name.replace("_", " ") for name in trained.VOCABULARIES
                  if about.get("about", {}).get(name) != getattr(trained, name).saved()]
        try:
            checkpoint.restore(model, arrays)
        except ValueError:
            differ.append("model")
        if differ:
            raise ValueError(f"{path} belongs to another run, with a different "
                             f"{' and '.join(differ)}; pass a checkpoint of this run")
        trainer = about.get("trainer", {})
        label = f"epoch {trainer.get('epoch', '?')}, step {trainer.get('step', 0):,}"
        if label in found:
            raise ValueError(f"{path} is a second checkpoint of {label}; pass only one of them")
        found[label] = dict(model.named_parameters())
    return found


def text_facts(trained: Any) -> dict[str, Any]:
    """Return facts about the training text of a run as a dict. Unknown facts are None.

    The keys are languages, name, description, sentences (their number) and longest (in tokens).
    """
    selection = trained.selection()
    facts = dict.fromkeys(("languages", "description", "sentences", "longest"))
    facts |= {"name": selection.label if trained.corpus else None}
    if "name" in trained.corpus:
        corpus = find_corpus(trained.corpus["name"])
        # only the first part of the description
        what = re.split("[,:;] ", corpus.description)[0]
        facts |= {"languages": corpus.languages, "description": what}
    try:
        text, = selection.load("train")
    except (ValueError, OSError):
        return facts
    if not isinstance(text, list) and text.unit == "characters":
        return facts
    sentences = [one.source for one in text] if isinstance(text, list) else text.sentences
    return facts | {"sentences": len(sentences), "longest": max(map(len, sentences), default=0)}


def examples_of(selection: Selection, split: str | None, count: int, runs: Sequence[Any],
                longest: int = LONGEST) -> list[Any]:
    """Return up to `count` Pairs or sentences of a split. `opening` chooses the first one.

    They have SHORTEST to `longest` tokens, if the split has such sentences. The examples of a
    character model are parts of lines. If the text cannot be loaded, print a warning and return [].
    """
    if not count:
        return []
    try:
        text, = selection.load(split or selection.splits[-1])
    except (ValueError, OSError) as error:
        print(f"numpy-attention: no examples: {format_error(error)}", file=sys.stderr)
        return []
    every = text if isinstance(text, list) else text.sentences
    if not isinstance(text, list) and runs[0].training.unit == "characters":
        lines = "".join("".join(one) for one in text.as_characters().sentences).splitlines()
        every = [list(part) for line in lines for part in wrap(line, longest)]
    sizes = [len(one.source if isinstance(one, Pair) else one) for one in every]
    fitting = [one for one, size in zip(every, sizes) if SHORTEST <= size <= longest]
    # a table of weights grows with the square of a sentence
    among = fitting or [one if isinstance(one, Pair) else one[:longest] for one in every]
    places = np.linspace(0, len(among) - 1, min(count, len(among)))
    first = opening(fitting, runs)
    found = [among[int(place)] for place in places]
    return (first + [one for one in found if one not in first])[:count]


def opening(sentences: Sequence[Any], runs: Sequence[Any]) -> list[Any]:
    """Choose the Pair or sentence that a page shows first. Return it in a list, or [] if none fits.

    All words must be in the vocabularies of all runs. Among the first Pairs with enough sure
    links, choose the one whose links agree best with the attention of the first run.
    """
    def known(one: Any) -> bool:
        sides = [one.source, one.target] if isinstance(one, Pair) else [one]
        return all(UNK not in getattr(run, name).encode(list(side))
                   for run in runs for name, side in zip(run.VOCABULARIES, sides))

    good = [one for one in sentences if known(one)]
    linked = [one for one in good if isinstance(one, Pair) and len(one.sure) >= LINKS]
    linked = linked[:CANDIDATES]
    if not linked:
        return good[:1]
    links = links_from_weights(runs[0].attend(linked), linked)
    shares = [(len({j for _, j in one & pair.sure}) / len({j for _, j in pair.sure}),
               len(pair.sure)) for one, pair in zip(links, linked)]
    return [linked[shares.index(max(shares))]]


def table_of(trained: Any, title: str, examples: Sequence[Any]) -> str:
    """Return the weights of the first example as a table that needs no JavaScript, or ""."""
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
