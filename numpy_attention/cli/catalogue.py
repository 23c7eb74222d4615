"""Commands for corpora and recipes. Each function imports the heavy modules that it needs."""

from argparse import Namespace
from pathlib import Path

from numpy_attention.data.datasets import corpora, downloads
from numpy_attention.experiments.recipes import RECIPES, find_recipe, results
from numpy_attention.experiments.recipes.recipe import run
from numpy_attention.training.distributed.ranks import world

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
    from numpy_attention.experiments.reports import lines_of_corpus
    corpus = corpora.find_corpus(options.name)
    print(corpora.describe(corpus.name))
    if not all((downloads.folder() / file.path).is_file() for file in corpus.files):
        print(f"not downloaded yet: numpy-attention corpora fetch {corpus.name}")
    else:
        print(*lines_of_corpus(corpus), sep="\n")


# ---- recipes ------------------------------------------------------------------------------------


def reproduce(options: Namespace) -> None:
    if options.list:
        for recipe in RECIPES.values():
            print(f"{recipe.name}  {recipe.description}")
        return
    if options.name is None:
        raise ValueError("no recipe specified; choose one listed by `numpy-attention reproduce "
                         "--list`")
    recipe = find_recipe(options.name)
    folder = Path("runs") / f"{recipe.name}-seed{options.seed}"
    file = Path(options.results) / f"{recipe.name}.jsonl"
    ranks = world()
    # raise an error now, not after training, if the figures cannot be written
    settings = [{"recipe": recipe.name, "settings": recipe.digest()}]
    ranks.first(lambda: results.existing_figures(file, settings))
    print(f"{recipe.name}: {recipe.description}; trains in {folder}", flush=True)
    lines = run(recipe, options.seed, options.threads, folder, ranks=ranks)
    added = ranks.first(lambda: results.append(file, lines))
    from numpy_attention.experiments.reports import lines_of_recipe
    print(*lines_of_recipe(recipe, lines), sep="\n")
    if added:
        print(f"{len(added)} results appended to {file}")
    else:
        print(f"{file} already contains these results")
