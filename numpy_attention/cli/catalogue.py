"""What the package knows by name: gradient checks, corpora, recipes."""

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from numpy_attention.data.datasets import corpora, downloads
from numpy_attention.experiments.recipes import RECIPES, find_recipe, results
from numpy_attention.experiments.recipes.recipe import run
from numpy_attention.experiments.reports import lines_of_corpus, lines_of_recipe
from numpy_attention.gradcheck.cases import CHECKS
from numpy_attention.gradcheck.running import check_in_process, show_checks
from numpy_attention.registry import is_custom_code
from numpy_attention.training.distributed.ranks import world

# ---- gradcheck ----------------------------------------------------------------------------------


def gradcheck(options: Namespace) -> int:
    names = options.names or [""]
    if any(map(is_custom_code, names)):
        if len(names) > 1:
            raise ValueError(f"{' '.join(names)}: check user-defined code by itself, one "
                             "FILE.py:CLASS at a time")
        return check_in_process(names[0], options.seed, options.seconds, options.full)
    if "seconds" in options.given:
        raise ValueError("--seconds is for a user-defined class, FILE.py:CLASS: leave it out")
    checks = {name: CHECKS[name] for name in checks_named(names)}
    return show_checks(checks, options.seed, full=options.full)


def checks_named(parts: Sequence[str]) -> list[str]:
    """The checks with these names, or else with these parts in their names, in order.

    ValueError: there are none for a part.
    """
    found = {part: [part] if part in CHECKS else
             [name for name in CHECKS if part.lower() in name.lower()] for part in parts}
    missing = [part for part, names in found.items() if not names]
    if missing:
        raise ValueError(f"no gradient check is named {', '.join(missing)}: expected a name, or a "
                         f"part of one, of the {len(CHECKS)} that `numpy-attention gradcheck` "
                         f"prints, such as {', '.join(list(CHECKS)[:3])}; or a user-defined "
                         "class, FILE.py:CLASS")
    return [name for name in CHECKS if any(name in names for names in found.values())]


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
    else:
        print(*lines_of_corpus(corpus), sep="\n")


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
    ranks = world()
    # a file that cannot take the figures is an error now, not after the training
    settings = [{"recipe": recipe.name, "settings": recipe.digest()}]
    ranks.first(lambda: results.beside(file, settings))
    print(f"{recipe.name}: {recipe.description}; trains in {folder}", flush=True)
    lines = run(recipe, options.seed, options.threads, folder, ranks=ranks)
    added = ranks.first(lambda: results.append(file, lines))
    print(*lines_of_recipe(recipe, lines), sep="\n")
    if added:
        print(f"{len(added)} figures appended to {file}")
    else:
        print(f"{file} already contains these figures")
