"""Settings of Sphinx for the site; `python tools/build_site.py OUT` calls it with them."""

import ast
import inspect
import re
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from site_pages import docstrings, sources  # noqa: E402

import numpy_attention  # noqa: E402

project = "numpy_attention"
author = "the authors of numpy_attention"
copyright = author
version = release = numpy_attention.__version__
language = "en"
root_doc = "index"
exclude_patterns = []

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.linkcode"]

# ---- texts and notebooks ------------------------------------------------------------------------
nb_execution_mode = "off"               # tools/lesson_cells.py has run them
nb_merge_streams = True
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]
myst_url_schemes = {"http": None, "https": None, "mailto": None, "site": None}
highlight_language = "none"             # an indented block is an equation
suppress_warnings = []
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]        # types in signatures are not described here
gettext_compact = False
gettext_uuid = False
gettext_additional_targets = []
locale_dirs = ["locale"]

# ---- the API ------------------------------------------------------------------------------------
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True
autodoc_default_options = {"members": True, "undoc-members": True, "ignore-module-all": True}
add_module_names = False
python_maximum_signature_line_length = 90

# ---- how it looks -------------------------------------------------------------------------------
html_theme = "furo"
html_title = "numpy_attention"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"


def setup(app):
    app.connect("autodoc-process-docstring", readable)
    app.connect("autodoc-skip-member", without_aliases)
    app.connect("doctree-resolved", within_the_site)


def linkcode_resolve(domain, info):
    """Where the source of a class, function or method is shown."""
    thing = module = sys.modules[info["module"]]
    try:
        for name in info["fullname"].split("."):
            thing = getattr(thing, name)
        thing = inspect.unwrap(getattr(thing, "py_func", thing))
        line = inspect.getsourcelines(thing)[1]
    except (AttributeError, TypeError, OSError):
        return None                                 # a field, a constant
    if inspect.getsourcefile(thing) != module.__file__:
        return None
    path = Path(module.__file__).relative_to(ROOT).as_posix()
    return f"site:{sources.page_of(path)}#L-{line}"


def readable(app, what, name, thing, options, lines):
    """Docstrings are plain text; a field's is the comment beside it, its shape."""
    if what == "attribute":
        owner, _, field = name.rpartition(".")
        lines[:] = [comments_of(owner).get(field, "")]
    lines[:] = docstrings.as_rst(lines)


def without_aliases(app, what, name, thing, skip, options):
    """Methods that a class has from elsewhere, as `__repr__`, are not its own."""
    return True if name in ("steps_type", "passes_on") else None


def comments_of(owner):
    """{field: the comment on its line} of a class, by its full name."""
    for parts in range(owner.count("."), 0, -1):
        module = sys.modules.get(".".join(owner.split(".")[:parts]))
        if module:
            fields = comments_in(Path(module.__file__))
            return fields.get(owner.rpartition(".")[2], {})
    return {}


def comments_in(path, known={}):
    """{class: {field: comment}} of a file."""
    if path not in known:
        text = path.read_text(encoding="utf-8")
        with open(path, "rb") as stream:
            comments = {token.start[0]: token.string.lstrip("# ")
                        for token in tokenize.tokenize(stream.readline)
                        if token.type == tokenize.COMMENT}
        known[path] = {
            node.name: {one.target.id: re.sub(r" {2,}", ": ", comments.get(one.end_lineno, ""))
                        for one in node.body if isinstance(one, ast.AnnAssign)}
            for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)}
    return known[path]


def within_the_site(app, doctree, docname):
    """`site:PATH` is a file of the built site, seen from each page."""
    from docutils import nodes
    for link in doctree.findall(nodes.reference):
        address = link.get("refuri", "")
        if address.startswith("site:"):
            link["refuri"] = "../" * docname.count("/") + address.removeprefix("site:")
            link["internal"] = True
            if "classes" in link and "external" in link["classes"]:
                link["classes"].remove("external")
