"""Sphinx settings of the site, which `python tools/build_site.py OUT` builds."""

import ast
import functools
import inspect
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
smartquotes = False                     # keep the hyphens of options and the quotes of code

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.linkcode"]

# ---- texts and notebooks ------------------------------------------------------------------------
nb_execution_mode = "off"               # tools/lessons.py has already run them
nb_merge_streams = True
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]
myst_url_schemes = {"http": None, "https": None, "mailto": None, "site": None}
highlight_language = "none"             # indented blocks are equations
suppress_warnings = ["misc.highlighting_failure"]       # examples contain `…`
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]        # types in signatures have no pages here
gettext_compact = False
gettext_uuid = False
gettext_additional_targets = []
locale_dirs = ["locale"]

# ---- the API ------------------------------------------------------------------------------------
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_inherit_docstrings = False      # NumPy's docstrings have another format
autodoc_preserve_defaults = True
autodoc_default_options = {"members": True, "undoc-members": True, "ignore-module-all": True}
add_module_names = False

# ---- appearance ---------------------------------------------------------------------------------
html_theme = "furo"
html_title = "numpy_attention"
html_static_path = ["_static"]
html_favicon = "_static/icon.svg"
html_css_files = ["site.css"]
html_js_files = ["living.js", "moved.js"]
html_search_scorer = str(ROOT / "docs" / "site" / "_static" / "scorer.js")     # lessons first
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"


def setup(app):
    app.connect("autodoc-process-docstring", readable)
    app.connect("autodoc-skip-member", without_fields)
    app.connect("doctree-resolved", within_the_site)


def linkcode_resolve(domain, info):
    """Return the address of the source of a class, function or method, or None."""
    path = Path(sys.modules[info["module"]].__file__)
    found = definitions(path).get(info["fullname"])
    if found is None:
        return None                                 # a field or a constant
    line = min([found.lineno, *(one.lineno for one in found.decorator_list)])
    return f"site:{sources.page_of(path.relative_to(ROOT).as_posix())}#L-{line}"


@functools.cache
def definitions(path):
    """Return {name: definition} of a file. Names in a class are dotted."""
    found = {}

    def visit(body, before):
        for node in body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                found[before + node.name] = node
            if isinstance(node, ast.ClassDef):
                visit(node.body, f"{before}{node.name}.")

    visit(ast.parse(path.read_text(encoding="utf-8")).body, "")
    return found


@functools.cache
def comments(path):
    """Return {line: its comment} of a file."""
    with open(path, "rb") as stream:
        return {token.start[0]: token.string.lstrip("# ")
                for token in tokenize.tokenize(stream.readline) if token.type == tokenize.COMMENT}


def readable(app, what, name, thing, options, lines):
    """Convert a docstring to reST, and append the fields of a class with their shapes."""
    if lines and what not in ("attribute", "data"):
        lines[:] = docstrings.cleaned(thing.__doc__ or "\n".join(lines)).splitlines()
    fields = fields_of(thing) if what in ("class", "exception") else []
    lines[:] = [*docstrings.as_rst(lines), "", *docstrings.as_rst(fields)]


def without_fields(app, what, name, thing, skip, options):
    """Skip all members of a class except methods and properties; `readable` adds the fields."""
    documented = inspect.isroutine(thing) or isinstance(
        thing, (property, functools.cached_property, classmethod, staticmethod))
    return True if what == "class" and not documented else None


def fields_of(kind):
    """Return the fields of a class as indented lines, with the comments from its source."""
    path = Path(getattr(sys.modules.get(kind.__module__), "__file__", None) or "none")
    found = definitions(path).get(kind.__qualname__) if path.is_relative_to(ROOT) else None
    fields = [(ast.unparse(one), comments(path).get(one.end_lineno, ""))
              for one in (found.body if found else []) if isinstance(one, ast.AnnAssign)]
    width = max((len(field) for field, comment in fields if comment), default=0)
    return [f"    {field:{width}}  {comment}".rstrip() for field, comment in fields]


def within_the_site(app, doctree, docname):
    """Replace links to `site:PATH`, a file of the built site, by relative links."""
    from docutils import nodes
    for link in doctree.findall(nodes.reference):
        address = link.get("refuri", "")
        if address.startswith("site:"):
            link["refuri"] = "../" * docname.count("/") + address.removeprefix("site:")
            link["internal"] = True
            if "classes" in link and "external" in link["classes"]:
                link["classes"].remove("external")
