"""Sources as pages: every module of the package, and files and folders that texts link to.

They are plain pages next to those of Sphinx, with its colours, because three hundred of them would
take it minutes, and because a search should find what is said of a thing, not each line of it.
"""

import functools
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "numpy_attention"
LANGUAGES = {".py": "python", ".json": "json", ".toml": "toml", ".cfg": "ini", ".sh": "bash",
             ".md": "markdown"}
TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{path} — numpy_attention</title>
<link rel="icon" href="{up}_static/icon.svg">
<link rel="stylesheet" href="{up}_static/pygments.css">
<link rel="stylesheet" href="{up}_static/source.css">
</head>
<body>
<script>document.body.dataset.theme = localStorage.getItem("theme") || "auto"</script>
<header><a href="{up}index.html">numpy_attention</a> · <h1>{path}</h1></header>
<main>
{body}
</main>
</body>
</html>
"""


def page_of(path):
    """The page of a file or folder of the checkout."""
    return f"source/{path}/index.html" if (ROOT / path).is_dir() else f"source/{path}.html"


def write(site, asked):
    """Write the pages of the package's modules, and of what was asked for, into a built site."""
    todo = [path.relative_to(ROOT).as_posix() for path in PACKAGE.rglob("*.py")]
    todo += sorted(asked)
    done = set()
    while todo:
        path = todo.pop()
        if path in done:
            continue
        done.add(path)
        page = site / page_of(path)
        page.parent.mkdir(parents=True, exist_ok=True)
        up = "../" * (page_of(path).count("/"))
        if (ROOT / path).is_dir():
            names = inside(path)
            todo += [f"{path}/{name}" for name in names]
            body = listing(path, names)
        else:
            body = highlighted(ROOT / path)
        page.write_text(TEMPLATE.format(path=escape(path), up=up, body=body), encoding="utf-8")


def inside(path):
    """What a folder's page lists: all but hidden and compiled things."""
    return sorted(one.name for one in (ROOT / path).iterdir()
                  if not one.name.startswith((".", "__pycache__"))
                  and (one.is_dir() or one.suffix in (*LANGUAGES, ".txt")))


def listing(path, names):
    lines = []
    for name in names:
        is_folder = (ROOT / path / name).is_dir()
        address = f"{name}/index.html" if is_folder else f"{name}.html"
        lines.append(f'<li><a href="{escape(address)}">{escape(name)}{"/" * is_folder}</a></li>')
    return "\n".join(["<ul>", *lines, "</ul>"])


def highlighted(path):
    """A file as HTML, each line with an anchor, L-1, L-2, …"""
    from pygments import highlight
    from pygments.lexers import get_lexer_by_name
    lexer = get_lexer_by_name(LANGUAGES.get(path.suffix, "text"))
    return highlight(path.read_text(encoding="utf-8"), lexer, formatter())


@functools.cache
def formatter():
    from pygments.formatters import HtmlFormatter
    return HtmlFormatter(linenos="inline", lineanchors="L", anchorlinenos=True, wrapcode=True)
