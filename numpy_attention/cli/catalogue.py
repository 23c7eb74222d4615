"""What the package knows by name: gradient checks, corpora, recipes."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy_attention import metrics
from numpy_attention.gradcheck.cases import CHECKS
from numpy_attention.cli import custom_checks
from numpy_attention.cli.custom_checks import show_checks
from numpy_attention.cli.shared import refuse
from numpy_attention.data.datasets import corpora, downloads
from numpy_attention.data.pairs import Pair
from numpy_attention.registry import SPLITS, is_custom_code
from numpy_attention.experiments.recipes import RECIPES, find_recipe, results
from numpy_attention.experiments.recipes.recipe import Recipe, run
from numpy_attention.training.distributed.ranks import world

# ---- gradcheck ----------------------------------------------------------------------------------


def gradcheck(options: Namespace) -> int:
    if any(map(is_custom_code, options.names or [])):
        return custom_checks.in_a_child(options)
    refuse(options, "it is for a class of your own, FILE.py:CLASS", "seconds")
    names = checks_named(options.names or [""])
    return show_checks({name: CHECKS[name] for name in names}, options.seed, full=options.full)


def checks_named(parts: Sequence[str]) -> list[str]:
    """The checks of these names, or parts of names, in order. ValueError: a part that none has."""
    found = {part: checks_with(part) for part in parts}
    nowhere = [part for part in parts if not found[part]]
    if nowhere:
        raise ValueError(f"no gradient check is named {', '.join(nowhere)}: expected a name, or a "
                         f"part of one, of the {len(CHECKS)} that `numpy-attention gradcheck` "
                         f"tells, such as {', '.join(list(CHECKS)[:3])}; or a class of your own, "
                         "FILE.py:CLASS")
    return [name for name in CHECKS if any(name in names for names in found.values())]


def checks_with(part: str) -> list[str]:
    """The check of this name, or else those with this in their name."""
    if part in CHECKS:
        return [part]
    return [name for name in CHECKS if part.lower() in name.lower()]


# ---- corpora ------------------------------------------------------------------------------------


def list_corpora(options: Namespace) -> None:
    width = max(map(len, corpora.CORPORA))
    for corpus in corpora.CORPORA.values():
        print(f"{corpus.name:<{width}}  {corpus.kind:<8}  {corpus.origin:<10}  {corpus.languages}: "
              f"{corpus.description}")


def fetch_corpus(options: Namespace) -> None:
    corpus = corpora.find_corpus(options.name)
    for path in corpora.fetch(corpus.name):
        print(path)
    if corpus.origin != "downloaded":
        print(f"{corpus.name} is {corpus.origin}: nothing to fetch")


def show_corpus(options: Namespace) -> None:
    corpus = corpora.find_corpus(options.name)
    print(corpora.describe(corpus.name))
    if not all((downloads.folder() / file.path).is_file() for file in corpus.files):
        print(f"not here yet: numpy-attention corpora fetch {corpus.name}")
    elif corpus.kind == "parallel":
        show_pairs(corpus)
    else:
        show_text(corpus)


def show_pairs(corpus: Any, examples: int = 3) -> None:
    """The sizes of a parallel corpus's splits, and some pairs of the last with their word links."""
    for split in SPLITS:
        pairs = corpora.load_parallel(corpus.name, split)
        source = sum(len(pair.source) for pair in pairs)
        target = sum(len(pair.target) for pair in pairs)
        print(f"{split}: {len(pairs):,} pairs, {source:,} source and {target:,} target tokens")
    print(f"for example ({split}):")
    for pair in pairs[:examples]:
        print(f"  {corpus.form.text(pair.source)}\n  {corpus.form.text(pair.target)}")
        show_links(pair)


def show_links(pair: Pair) -> None:
    """The words that a pair's links join, sure ones and the merely possible ones."""
    for kind, links in (("sure", pair.sure), ("possible", pair.possible - pair.sure)):
        if links:
            words = [f"{pair.source[i]}–{pair.target[j]}" for i, j in sorted(links)]
            print(f"    {kind}: {' '.join(words)}")


def show_text(corpus: Any, examples: int = 3) -> None:
    """The sizes of a text's splits, and some lines of the last."""
    for split in SPLITS:
        text = corpora.load_text(corpus.name, split)
        if isinstance(text, str):
            print(f"{split}: {len(text):,} characters")
        else:
            print(f"{split}: {len(text):,} lines, {sum(map(len, text)):,} tokens")
    print(f"for example ({split}):")
    lines = text.splitlines() if isinstance(text, str) else map(" ".join, text)
    for line in [line for line in lines if line][:examples]:
        print(f"  {line}")


# ---- recipes ------------------------------------------------------------------------------------


def reproduce(options: Namespace) -> None:
    if options.list:
        for recipe in RECIPES.values():
            print(f"{recipe.name}  {recipe.description}")
        return
    if options.name is None:
        raise ValueError("no recipe is named: expected one of `numpy-attention reproduce --list`")
    recipe = find_recipe(options.name)
    folder = Path("runs") / f"{recipe.name}-seed{options.seed}"
    file = Path(options.results) / f"{recipe.name}.jsonl"
    # what it cannot take is told now, not after the training
    ranks = world()
    now = [{"recipe": recipe.name, "settings": recipe.digest()}]
    ranks.first(lambda: results.beside(file, now))
    print(f"{recipe.name}: {recipe.description}; trains in {folder}", flush=True)
    lines = run(recipe, options.seed, options.threads, folder, ranks=ranks)
    added = ranks.first(lambda: results.append(file, lines))
    show_figures(recipe, lines)
    if added:
        print(f"{len(added)} figures appended to {file}")
    else:
        print(f"{file} holds these figures already")


def show_figures(recipe: Recipe, lines: Sequence[Mapping[str, Any]]) -> None:
    """A recipe's figures, its baselines beside them."""
    first = lines[0]
    print(f"{first['parameters']:,} parameters, {first['minutes']:.1f} minutes of training, "
          f"{first['threads']} thread(s)")
    for line in lines:
        figure = line["split"], line["metric"]
        yardstick = ""
        if figure in recipe.baselines:
            value, source = recipe.baselines[figure]
            yardstick = f"   yardstick {value:g} ({source})"
        print(f"{line['split']:<5}  {line['metric']:<11}  {line['value']:8.3f}{yardstick}")
    recorded = {line["metric"] for line in lines}
    for metric, tokenize in (("bleu", "none"), ("bleu_13a", "13a")):
        if metric in recorded:
            print(f"signature  {metrics.signature(metrics.bleu, tokenize=tokenize)}")
