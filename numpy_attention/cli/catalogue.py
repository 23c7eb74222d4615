"""What `numpy-attention` knows by name: gradient checks, corpora, recipes; the options come from `cli.py`."""

from pathlib import Path

import numpy as np

from numpy_attention import metrics
from numpy_attention.recipes import results
from numpy_attention.checks import CHECKS
from numpy_attention.data import corpora, downloads
from numpy_attention.gradcheck import TOLERANCE, GradientError
from numpy_attention.recipes import RECIPES, find_recipe
from numpy_attention.recipes.recipe import run


def gradcheck(options):
    chosen = list(CHECKS)
    if options.names:
        parts = {part: [part] if part in CHECKS else [name for name in CHECKS if part.lower() in name.lower()]
                 for part in options.names}
        nowhere = [part for part in parts if not parts[part]]
        if nowhere:
            raise ValueError(f"no gradient check is named {', '.join(nowhere)}: expected a name, or a part of "
                             f"one, of {', '.join(CHECKS)}")
        chosen = [name for name in CHECKS if any(name in found for found in parts.values())]
    width, failures = max(map(len, chosen)), []
    print(f"{'':{width}}  gradients  largest relative error (allowed {TOLERANCE:.0e})")
    for name in chosen:
        try:
            report = CHECKS[name](np.random.default_rng(options.seed))
        except GradientError as error:
            failures.append(error)
            print(f"{name:<{width}}  {'':9}  FAILED", flush=True)
        else:
            where = max(report.errors, key=report.errors.get)
            print(f"{name:<{width}}  {len(report.errors):9}  {report.worst:.1e}  {where}", flush=True)
    for failure in failures:
        print(f"\n{failure}")
    print(f"{len(chosen) - len(failures)} of {len(chosen)} passed")
    return 1 if failures else 0


def corpora_command(options):
    if options.action == "list":
        width = max(map(len, corpora.CORPORA))
        for corpus in corpora.CORPORA.values():
            print(f"{corpus.name:<{width}}  {corpus.kind:<8}  {corpus.origin:<10}  {corpus.languages}: "
                  f"{corpus.description}")
    elif options.action == "fetch":
        origin = corpora.find_corpus(options.name).origin
        for path in corpora.fetch(options.name):
            print(path)
        if origin != "downloaded":
            print(f"{options.name} is {origin}: nothing to fetch")
    else:
        show_corpus(corpora.find_corpus(options.name))


def show_corpus(corpus, examples=3):
    print(corpora.describe(corpus.name))
    if corpus.files and not all((downloads.folder() / path).is_file() for path in corpus.files):
        print(f"not here yet: numpy-attention corpora fetch {corpus.name}")
        return
    parallel = corpus.kind == "parallel"
    for split in ("train", "valid", "test"):
        items = (corpora.load_parallel if parallel else corpora.load_text)(corpus.name, split)
        if parallel:
            sizes = [sum(len(getattr(pair, side)) for pair in items) for side in ("source", "target")]
            print(f"{split}: {len(items):,} pairs, {sizes[0]:,} source and {sizes[1]:,} target tokens")
        elif isinstance(items, str):
            print(f"{split}: {len(items):,} characters")
        else:
            print(f"{split}: {len(items):,} lines, {sum(map(len, items)):,} tokens")
    print("for example (test):")
    items = items.splitlines() if isinstance(items, str) else items
    for item in [item for item in items if item][:examples]:
        if not parallel:
            print("  " + (item if isinstance(item, str) else " ".join(item)))
            continue
        form = corpus.form
        print(f"  {form.text(item.source)}\n  {form.text(item.target)}")
        for kind, links in (("sure", item.sure), ("possible", item.possible - item.sure)):
            if links:
                print(f"    {kind}: " + " ".join(f"{item.source[i]}–{item.target[j]}" for i, j in sorted(links)))


def reproduce(options):
    if options.list:
        for recipe in RECIPES.values():
            print(f"{recipe.name}  {recipe.description}")
        return
    if options.name is None:
        raise ValueError(f"no recipe is named: expected one of {', '.join(RECIPES)}")
    recipe, folder = find_recipe(options.name), Path("runs") / f"{options.name}-seed{options.seed}"
    file = Path(options.results) / f"{options.name}.jsonl"
    if file.exists():
        results.read_file(file)                     # a damaged file is told now, not after the training
    print(f"{recipe.name}: {recipe.description}; trains in {folder}", flush=True)
    lines = run(recipe, options.seed, options.threads, folder)
    added = results.append(file, lines)
    print(f"{lines[0]['parameters']:,} parameters, {lines[0]['minutes']:.1f} minutes of training, "
          f"{lines[0]['threads']} thread(s)")
    for line in lines:
        ours, yardstick = f"{line['split']:<5}  {line['metric']:<11}  {line['value']:8.3f}", ""
        if (line["split"], line["metric"]) in recipe.yardsticks:
            value, source = recipe.yardsticks[line["split"], line["metric"]]
            yardstick = f"   yardstick {value:g} ({source})"
        print(ours + yardstick)
    for tokenize in [form for metric, form in (("bleu", "none"), ("bleu_13a", "13a"))
                     if metric in {line["metric"] for line in lines}]:
        print(f"signature  {metrics.bleu(['a'], ['a'], tokenize).signature}")
    print(f"{len(added)} figures appended to {file}" if added else f"{file} holds these figures already")
