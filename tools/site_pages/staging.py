"""The folder that Sphinx builds the site from: texts, notebooks and generated pages."""

import html
import importlib
import inspect
import re
import shutil
import tempfile
from pathlib import Path

import numpy_attention
from site_pages import lessons, mechanisms, sources, subpackages
from site_pages.links import Links

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = ROOT / "docs" / "site"            # pages that only the site has
FEATURED = "06"                             # the lesson whose model lives in a page
API = "api"
TASKS = {"Cells": "cells", "Attention": "attention", "Layers": "layers", "Models": "models",
         "Training": "training", "Decoding": "decoding", "Data": "data", "Runs": "experiments",
         "Gradient checks": "gradcheck", "Plots": "plotting"}
UNSEARCHED = "---\nnosearch: true\norphan: true\n---\n"      # and in no menu
LONG = 1500             # lines of source, from which each module of a subpackage has its own page
# {such a subpackage: {method: heading of the modules whose classes have it}}
HEADINGS = {
    "attention": {"step_backward": "Attention of a decoder",
                  "remember": "Readouts of a language model",
                  "score_backward": "Scores of a language model"},
    "models": {"encode": "Translators", "loss_and_grad": "Language models"}}
# modules below numpy_attention that users do not import: search leaves them out
INTERNAL = ("cli", "course", "custom", "lazy", "moved", "page", "products", "registry", "trees",
            "validation", "gradcheck.arrays", "gradcheck.passes", "gradcheck.cases",
            "gradcheck.edits", "gradcheck.laws", "gradcheck.locate", "gradcheck.report",
            "kernels.guard")
RESULTS = {"results/README.md": "results/index.md"} | {
    f"results/{name}.md": f"results/{name}.md" for name in ("claims", "tables", "speed", "ranks")}


def of_the_site():
    """{path in the checkout: path of its page's source} of the pages that only the site has."""
    names = [path.name for path in sorted(WRITTEN.glob("*.md"))]
    return {f"docs/site/{name}": "mechanisms/index.md" if name == "mechanisms.md" else name
            for name in names}


def pages_of_texts():
    """{path in the checkout: path of its page's source}."""
    pages = {**of_the_site(),
             "README.md": "index.md",
             "lessons/README.md": "lessons/index.md", "lessons": "lessons/index.md",
             "lessons/answers": "lessons/index.md", **RESULTS, "results": "results/index.md",
             "numpy_attention/__init__.py": "letters.md",
             "docs": "index.md"}
    for path in sorted((ROOT / "docs").glob("*.md")):
        pages[f"docs/{path.name}"] = f"docs/{path.name}"
    for path in lessons.files():
        pages[f"lessons/{path.name}"] = f"lessons/{path.stem}.ipynb"
        pages[f"lessons/answers/{path.stem}.md"] = f"lessons/{path.stem}.ipynb#answers"
    for part, paths in subpackages.subpackages().items():
        if len(paths) > 1 or paths[0].name == "__init__.py":
            pages[f"numpy_attention/{part}"] = f"{API}/{part}.md"
    return pages


def stage(folder, given, living=None):
    """Write the contents of the folder, and touch only files that change.

    → whether any has gone; paths in the checkout that the texts link to, and that have no page.

    given: {number of a lesson: what its cells gave, or None where it was not run}; living: the
    folder of the living page, or None. DeadLink: a text links to what is not there.
    """
    links = Links(pages_of_texts())
    texts = {}
    for name, page in of_the_site().items():
        text = links.changed((ROOT / name).read_text(encoding="utf-8"), name, page)
        texts[page] = filled(text, living)
    for path in sorted((ROOT / "docs").glob("*.md")):
        name = f"docs/{path.name}"
        texts[name] = links.changed(path.read_text(encoding="utf-8"), name, name)
    texts["lessons/index.md"] = course(links)
    for name, page in RESULTS.items():
        texts[page] = links.changed((ROOT / name).read_text(encoding="utf-8"), name, page)
    parts = "\n".join(Path(page).stem for page in list(RESULTS.values())[1:])
    texts["results/index.md"] += f"\n```{{toctree}}\n:hidden:\n\n{parts}\n```\n"
    texts["letters.md"] = letters()
    texts.update(mechanisms.pages())
    texts.update(api())
    for lesson in lessons.files():
        page = f"lessons/{lesson.stem}.ipynb"
        number = lesson.name[:2]
        extras = [embedded("../living/06.html")] if living and number == FEATURED else []
        texts[page] = lessons.notebook(
            lesson, given[number],
            lambda text, page=page: links.changed(text, page.replace(".ipynb", ".py"), page),
            extras)
    texts.update({name: (ROOT / name).read_bytes() for name in links.pictures})
    return written(folder, texts), links.asked


def written(folder, texts):
    """Hold a folder to these texts, or bytes; files that are as they should be keep their time."""
    gone = False
    for path in [one for one in folder.rglob("*") if one.is_file()]:
        if path.relative_to(folder).as_posix() not in texts:
            path.unlink()
            gone = True
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = text if isinstance(text, bytes) else text.encode()
        if not path.is_file() or path.read_bytes() != content:
            path.write_bytes(content)
    return gone


def filled(text, living):
    """A written page with what is made for it in the place of its `<!-- site: NAME -->`."""
    made = {"map": lambda: "```{raw} html\n" + subpackages.svg(api_page) + "\n```",
            "subpackages": lambda: subpackages.table(api_source),
            "mechanisms": mechanisms.index,
            "living": lambda: embedded("living/06.html") if living else "",
            "results": results,
            "others": lambda: others(text)}
    for name, make in made.items():
        mark = f"<!-- site: {name} -->"
        if mark in text:
            text = text.replace(mark, make())
    return text


def results():
    """The table of results of the README."""
    _, _, rest = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## Results\n")
    return "\n".join(line for line in rest.splitlines() if line.startswith("|"))


def others(text):
    """A table of contents of the texts in docs/ that a page's own does not name."""
    names = [f"docs/{path.stem}" for path in sorted((ROOT / "docs").glob("*.md"))]
    more = [name for name in names if f"<{name}>" not in text]
    return "\n".join(["```{toctree}", ":hidden:", ":caption: More", "", *more, "```"])


def api_page(part):
    return f"{API}/{part}.html"


def api_source(part):
    return f"site:{api_page(part)}"


# ---- texts of the checkout ----------------------------------------------------------------------


def course(links):
    """The course's own page, with its table of contents."""
    name = "lessons/README.md"
    text = links.changed((ROOT / name).read_text(encoding="utf-8"), name, "lessons/index.md")
    before, table, after = re.split(r"(^\|.*?\n)(?=\n)", text, 1, re.MULTILINE | re.DOTALL)
    text = before + lessons.overview() + "\n\n## What each lesson teaches\n\n" + table + after
    names = "\n".join(path.stem for path in lessons.files())
    return f"{text}\n```{{toctree}}\n:hidden:\n\n{names}\n```\n"


def letters():
    """The package's first lines."""
    from site_pages.docstrings import as_rst
    text = "\n".join(as_rst(numpy_attention.__doc__.strip().splitlines()[2:]))
    return (
        "# Letters and conventions\n\n```{eval-rst}\n" + text + "\n```\n\n"
        "The [architecture](docs/architecture.md) gives the reasons. This page comes from the "
        f"[docstring](site:{sources.page_of('numpy_attention/__init__.py')}) of the package.\n")


# ---- the API ------------------------------------------------------------------------------------


def api():
    """The pages of each subpackage; search leaves out those of modules that users do not import."""
    texts = {}
    pages = []
    inner = []
    for part, paths in subpackages.subpackages().items():
        hidden = [path for path in paths if is_internal(module_of(path))]
        public = [path for path in paths if path not in hidden]
        if public:
            pages.append(part)
            texts |= pages_of(part, part, public, "")
        if hidden:
            inner.append(f"{part}-internals" if public else part)
            texts |= pages_of(inner[-1], part, hidden, ":no-index:")
    pages.sort(key=lambda name: name not in TASKS.values())
    texts[f"{API}/internals.md"] = "\n".join(
        [f"{UNSEARCHED}# Internals", "", "Modules that users of the package do not import.", "",
         "```{toctree}", "", *inner, "```", ""])
    lines = ["# API", "", "Classes and functions by task. The [map](../map.md) shows which "
             "subpackage imports which.", "", *by_task(), "## Subpackages", "",
             "| subpackage | contents |", "|---|---|"]
    lines += [f"| [{part}]({part}.md) | {subpackages.first_line(part)} |"
              for part in subpackages.subpackages()]
    lines += ["", "```{toctree}", ":hidden:", "", *pages, "internals", "```", ""]
    texts[f"{API}/index.md"] = "\n".join(lines)
    return texts


def pages_of(name, part, paths, option):
    """{page: text} of modules: one page, or in a long subpackage a table by task, and their own."""
    if sum(path.read_text(encoding="utf-8").count("\n") for path in paths) < LONG:
        return {f"{API}/{name}.md": api_text(name, paths, part, option)}
    names = public_names(importlib.import_module(f"numpy_attention.{part}"))
    own = [path for path in paths if path == subpackages.PACKAGE / part / "__init__.py"]
    texts = {}
    rows = {}
    for path in paths[len(own):]:
        module = module_of(path).removeprefix(f"numpy_attention.{part}.")
        kinds = {one: kind for one, kind in names.items() if kind.__module__ == module_of(path)}
        title = ", ".join(kinds) or module
        texts[f"{name}/{module}"] = api_text(title, [path], f"{part}.{module}", option)
        other = "Other modules" if path.parent.name == part else path.parent.name
        heading = next((heading for method, heading in HEADINGS.get(part, {}).items()
                        if any(hasattr(kind, method) for kind in kinds.values())), other)
        rows.setdefault(heading, []).append(
            f"| [{title}]({name}/{module}.md) | {mechanisms.title_of(path)} |")
    lines = [api_text(name, own, part, option)]
    for heading in sorted(rows, key=lambda heading: heading == "Other modules"):
        lines += [f"## {heading}", "", "| page | what it is |", "|---|---|", *rows[heading], ""]
    lines += [] if option else ["```{toctree}", ":hidden:", "", *texts, "```", ""]
    texts[name] = "\n".join(lines)
    return {f"{API}/{page}.md": text for page, text in texts.items()}


def is_internal(module):
    """Whether a module is one that users of the package do not import."""
    return any(f"{module}.".startswith(f"numpy_attention.{one}.") for one in INTERNAL)


def module_of(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def by_task():
    """Tables of the public classes and functions, with the first lines of their docstrings."""
    for task, part in TASKS.items():
        yield from (f"## {task}", "", "| name | what it is |", "|---|---|")
        package = importlib.import_module(f"numpy_attention.{part}")
        for name, thing in public_names(package).items():
            about = (inspect.getdoc(thing) or "").split("\n\n")[0].split("\n")[0]
            yield (f"| {{py:obj}}`{name} <{thing.__module__}.{thing.__qualname__}>` | "
                   f"{html.escape(about, quote=False).replace('|', '/')} |")
        yield ""


def public_names(package):
    """{name: class or function} that a subpackage, or the package, exports from it."""
    exported = {name: getattr(numpy_attention, name) for name in numpy_attention.__all__}
    exported |= {name: getattr(package, name) for name in getattr(package, "__all__", ())}
    return {name: thing for name, thing in exported.items()
            if callable(thing) and thing.__module__.startswith(f"{package.__name__}.")
            and not is_internal(thing.__module__)}


def api_text(title, paths, part, option):
    lines = [line for path in paths for line in section(part, path, option)]
    return "\n".join([f"{UNSEARCHED * bool(option)}# {title}", "", *lines])


def section(part, path, option):
    """The directives for Sphinx about a module."""
    module = module_of(path)
    title = [] if module == f"numpy_attention.{part}" else [
        f"## {module.removeprefix(f'numpy_attention.{part}.')}", ""]
    return [*title, "```{eval-rst}", f".. automodule:: {module}",
            *([f"   {option}"] if option else []), "```", ""]


# ---- other files ---------------------------------------------------------------------------------


def downloads(folder):
    """The course as scripts, as notebooks, and whole as one zip file with what it imports."""
    single = folder / "course"
    with tempfile.TemporaryDirectory() as scratch:
        whole = Path(scratch) / "numpy_attention_course"
        shutil.copytree(lessons.LESSONS, whole, ignore=shutil.ignore_patterns(
            "outputs", "runs", "__pycache__", ".*"))
        single.mkdir(parents=True)
        for path in lessons.files():
            shutil.copyfile(path, single / path.name)
            book = single / f"{path.stem}.ipynb"
            book.write_text(lessons.plain_notebook(path), encoding="utf-8")
            shutil.copyfile(book, whole / book.name)
        shutil.make_archive(str(folder / "course"), "zip", scratch, whole.name)


def embedded(address):
    """The section with lesson 06's model in the page that `numpy-attention page` makes."""
    return ("## Try the model\n\nThe translator of lesson 06 runs in your browser: change a word, "
            "and see what it writes and where it attends.\n\n"
            "```{raw} html\n"
            f'<iframe class="living" src="{address}" title="the translator of lesson 06" '
            'loading="lazy"></iframe>\n```\n\n'
            "[The page by itself](site:living/06.html)")
