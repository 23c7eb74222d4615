"""The folder that Sphinx builds the site from: texts, notebooks and generated pages."""

import base64
import shutil
import tempfile
from pathlib import Path

from site_pages import lessons, mechanisms, sources, subpackages
from site_pages.links import Links

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = ROOT / "docs" / "site"            # pages that only the site has
FEATURED = "06"                             # the lesson whose model lives in a page
API = "api"
RESULTS = {"results/README.md": "results/index.md"} | {
    f"results/{name}.md": f"results/{name}.md" for name in ("claims", "tables", "speed")}


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
        texts[page] = filled(text, given)
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
        extras = [embedded()] if living and number == FEATURED else []
        texts[page] = lessons.notebook(
            lesson, given[number],
            lambda text, page=page: links.changed(text, page.replace(".ipynb", ".py"), page),
            extras)
    texts.update({name: (ROOT / name).read_bytes() for name in links.pictures})
    chosen = picture(given)
    if chosen:
        texts["picture.png"] = base64.b64decode(chosen["png"])
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


def filled(text, given):
    """A written page with what is made for it in the place of its `<!-- site: NAME -->`."""
    made = {"map": lambda: "```{raw} html\n" + subpackages.svg(api_page) + "\n```",
            "subpackages": lambda: subpackages.table(api_source),
            "mechanisms": mechanisms.index,
            "picture": lambda: framed(picture(given)),
            "others": lambda: others(text)}
    for name, make in made.items():
        mark = f"<!-- site: {name} -->"
        if mark in text:
            text = text.replace(mark, make())
    return text


def picture(given):
    """What the front page shows: the last picture of lesson 06, or of the last lesson that ran."""
    ran = {number: [one for cell in cells for one in cell if "png" in one]
           for number, cells in given.items() if cells}
    for number in (FEATURED, *reversed(ran)):
        if ran.get(number):
            return {**ran[number][-1], "number": number}
    return None


def framed(chosen):
    """A picture as a figure that says which command draws it; "" without one."""
    if not chosen:
        return ""
    lesson, = lessons.chosen([chosen["number"]])
    alt = " ".join("; ".join(chosen["titles"]).split())
    return ("```{figure} picture.png\n:alt: " + alt + "\n\n"
            f"`python lessons/{lesson.name}` draws it, with the numbers in its titles.\n```")


def others(text):
    """A table of contents of the texts in docs/ that a page's own does not name."""
    names = [f"docs/{path.stem}" for path in sorted((ROOT / "docs").glob("*.md"))]
    more = [name for name in names if f"\n{name}\n" not in text]
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
    names = "\n".join(path.stem for path in lessons.files())
    return f"{text}\n```{{toctree}}\n:hidden:\n\n{names}\n```\n"


def letters():
    """The package's first lines."""
    import numpy_attention
    from site_pages.docstrings import as_rst
    text = "\n".join(as_rst(numpy_attention.__doc__.strip().splitlines()[2:]))
    return (
        "# Letters and conventions\n\n```{eval-rst}\n" + text + "\n```\n\n"
        "Why things are built so is in the [design notes](docs/architecture.md); the first lines "
        "of the package, from which this page is made, are "
        f"[here](site:{sources.page_of('numpy_attention/__init__.py')}).\n")


# ---- the API ------------------------------------------------------------------------------------


def api():
    """A page for each subpackage, a section for each of its modules."""
    texts = {}
    found = subpackages.subpackages()
    for part, paths in found.items():
        texts[f"{API}/{part}.md"] = "\n".join(
            [f"# {part}", "", *(line for path in paths for line in section(part, path))])
    lines = ["# API", "", "A page for each subpackage, made from its docstrings. The "
             "[map](../map.md) shows the imports.", "", "| subpackage | contents |",
             "|---|---|"]
    lines += [f"| [{part}]({part}.md) | {subpackages.first_line(part)} |" for part in found]
    lines += ["", "```{toctree}", ":hidden:", "", *found, "```", ""]
    texts[f"{API}/index.md"] = "\n".join(lines)
    return texts


def section(part, path):
    """What Sphinx is told of a module."""
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    title = [] if module == f"numpy_attention.{part}" else [
        f"## {module.removeprefix(f'numpy_attention.{part}.')}", ""]
    return [*title, "```{eval-rst}", f".. automodule:: {module}", "```", ""]


# ---- beside the pages ---------------------------------------------------------------------------


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


def embedded():
    """Where lesson 06 shows its own model, alive, in the page that `numpy-attention page` makes."""
    return ("## The model, alive\n\nThe translator that ships with this lesson: change a word, and "
            "see what it writes and where it looks.\n\n"
            "```{raw} html\n"
            '<iframe class="living" src="../living/06.html" title="the translator of lesson 06" '
            'loading="lazy"></iframe>\n```\n\n'
            "[The page by itself](site:living/06.html)")
