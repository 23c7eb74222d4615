"""Equations next to the lines that compute them, taken from the sources as they are.

A mechanism is a module of the package with a class that has a pass and its backward: `score` and
`score_backward`, `forward` and `backward`. Its page shows the class's equations, then each pass
with its backward, then the functions and loops of other modules that they call.
"""

import ast
import functools
from pathlib import Path
from typing import NamedTuple

from site_pages import docstrings, sources

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "numpy_attention"
GROUPS = {
    "attention": "Attention: scores, windows, readers",
    "cells": "Cells",
    "layers": "Layers",
    "models": "Models",
}
LOOPS = (*GROUPS, "kernels")            # a page shows their functions where they are called
OTHERWISE = {"forward": "backward", "losses": "loss_and_grad"}
UNSHOWN = ("expect", "at_least")        # functions that only look at arguments


class Span(NamedTuple):
    """Lines of a file, the first and the last of a definition."""

    path: Path
    name: str
    first: int
    last: int

    def text(self):
        lines = self.path.read_text(encoding="utf-8").splitlines()[self.first - 1:self.last]
        indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
        return "\n".join(line[indent:] for line in lines)


class Mechanism(NamedTuple):
    """A class with its passes. pairs: [(pass, its backward)]; calls: the same, of functions."""

    name: str
    bases: list[str]
    doc: str
    fields: Span | None
    pairs: list[tuple[Span, Span]]
    calls: list[tuple[Span, Span | None]]


def found():
    """{group: [(module's path, [Mechanism])]}."""
    made = {}
    for group in GROUPS:
        paths = sorted((PACKAGE / group).glob("*.py"))
        of_group = [(path, mechanisms_of(path)) for path in paths]
        made[group] = [(path, classes) for path, classes in of_group if classes]
    return made


@functools.cache
def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def mechanisms_of(path):
    """The classes of a module that have a pass and its backward."""
    made = []
    for node in parsed(path).body:
        if isinstance(node, ast.ClassDef) and "Protocol" not in map(ast.unparse, node.bases):
            pairs = pairs_of(path, node.body)
            if pairs:
                spans = [span for pair in pairs for span in pair]
                bases = [ast.unparse(base) for base in node.bases]
                doc = docstrings.cleaned(ast.get_docstring(node, clean=False) or "")
                made.append(Mechanism(node.name, bases, doc, fields_of(path, node), pairs,
                                      calls_of(path, spans)))
    return made


def pairs_of(path, body):
    """[(pass, its backward)] among definitions, in their order."""
    spans = {node.name: span_of(path, node) for node in body if isinstance(node, ast.FunctionDef)}
    return [(spans[name], spans[backward_of(name)]) for name in spans if backward_of(name) in spans]


def backward_of(name):
    """The name that a pass's backward has."""
    return OTHERWISE.get(name, f"{name}_backward")


def span_of(path, node):
    first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
    return Span(path, node.name, first, node.end_lineno)


def fields_of(path, node):
    """The lines that hold a class's fields, with the shapes next to them; None: it has none."""
    fields = [one for one in node.body if isinstance(one, ast.AnnAssign)]
    if not fields:
        return None
    return Span(path, "fields", fields[0].lineno, fields[-1].end_lineno)


def calls_of(path, spans):
    """[(function, its backward or None)] that these lines call, of other modules and of their own.

    What a function of another module calls is left to that module's page.
    """
    made = []
    lines = list(spans)
    while lines:
        span = lines.pop()
        for module, name in called_in(path, span):
            pair = pair_of(module, name)
            if pair and pair not in made:
                made.append(pair)
                if module == path:
                    lines += [one for one in pair if one]
    return made


def called_in(path, span):
    """[(module's path, function's name)] of the calls in these lines of a module."""
    names = imported(path)
    for node in parsed(path).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith(UNSHOWN):
            names[node.name] = (path, node.name)
    calls = [node for node in ast.walk(parsed(path))
             if isinstance(node, ast.Call) and span.first <= node.lineno <= span.last]
    calls.sort(key=lambda node: (node.lineno, node.col_offset))
    # kernels.lstm.in_loop(first) gives the kernel that the next line calls
    functions = [node.func.value if getattr(node.func, "attr", "") == "in_loop" else node.func
                 for node in calls]
    places = [place_of(function, names) for function in functions]
    return [place for place in places if place]


def pair_of(module, name):
    """A function with its backward, or alone; None: the module has no such function."""
    there = {node.name: span_of(module, node) for node in parsed(module).body
             if isinstance(node, ast.FunctionDef)}
    forward = name.removesuffix("_backward")
    if forward in there:
        return there[forward], there.get(f"{forward}_backward")
    return (there[name], None) if name in there else None


def imported(path):
    """{name in a module: (module's path, name there, or None for the module itself)}."""
    names = {}
    for node in parsed(path).body:
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith(
                tuple(f"numpy_attention.{part}" for part in LOOPS)):
            continue
        for one in node.names:
            if one.name.startswith(UNSHOWN):
                continue
            module = module_path(f"{node.module}.{one.name}")
            names[one.asname or one.name] = ((module, None) if module else
                                             (module_path(node.module), one.name))
    return names


def module_path(module):
    path = ROOT / (module.replace(".", "/") + ".py")
    return path if path.is_file() else None


def place_of(function, names):
    """(module's path, function's name) that a call is of, or None."""
    if isinstance(function, ast.Name):
        module, name = names.get(function.id, (None, None))
        return (module, name) if module and name else None
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        module, name = names.get(function.value.id, (None, None))
        return (module, function.attr) if module and name is None else None
    return None


# ---- pages --------------------------------------------------------------------------------------


def pages():
    """Yield (page, text) of each mechanism, and of their list, at {index}."""
    for group, modules in found().items():
        for path, classes in modules:
            yield page_of(path), text_of(path, classes)


def page_of(path):
    return f"mechanisms/{path.parent.name}/{path.stem}.md"


def title_of(path):
    """A module's first words, as far as they name what it holds."""
    sentence = " ".join((ast.get_docstring(parsed(path)) or path.stem).split("\n\n")[0].split())
    for mark in (": ", " (", "; ", ". "):
        sentence = sentence.partition(mark)[0]
    return sentence.rstrip(".")


def index():
    """The list of all mechanisms, with its table of contents."""
    lines = []
    for group, modules in found().items():
        lines += [f"## {GROUPS[group]}", "", "| page | classes |", "|---|---|"]
        for path, classes in modules:
            names = ", ".join(f"`{one.name}`" for one in classes)
            lines.append(f"| [{title_of(path)}]({group}/{path.stem}.md) | {names} |")
        lines += ["", "```{toctree}", ":hidden:", f":caption: {GROUPS[group]}", ""]
        lines += [f"{group}/{path.stem}" for path, _ in modules]
        lines += ["```", ""]
    return "\n".join(lines)


def text_of(path, classes):
    """A mechanism's page."""
    where = path.relative_to(ROOT).as_posix()
    source = "site:" + sources.page_of(where)
    lines = ["---", "hide-toc: true", "---", f"# {title_of(path)}", "", f"[{where}]({source})", ""]
    for one in classes:
        lines += [f"## {one.name}", "", ":::::::{container} mechanism", "",
                  *documented(one.doc), "::::::{container} passes", ""]
        inherited = [base for base in one.bases if base not in ("Module", "NamedTuple")]
        if inherited:
            lines += [f"Inherits the rest from {', '.join(f'`{base}`' for base in inherited)}.", ""]
        if one.fields:
            lines += [*code(one.fields, "Parameters and parts"), ""]
        for pair in one.pairs:
            lines += beside(pair)
        if one.calls:
            lines += ["````{rubric} What these lines call", "````", ""]
            for pair in one.calls:
                lines += beside(pair)
        lines += ["::::::", "", ":::::::", ""]
    return "\n".join(lines)


def documented(doc):
    """A docstring, its equations in a box that stays in sight."""
    rst = "\n".join(docstrings.as_rst(doc.splitlines()))
    return ["````{container} equations", "```{eval-rst}", rst, "```", "````", ""]


def beside(pair):
    """A pass and its backward, side by side where there is room."""
    lines = [":::::{container} beside", ""]
    for span in pair:
        if span:
            where = span.path.relative_to(PACKAGE).as_posix()
            lines += [*code(span, f"{span.name}, {where}"), ""]
    return [*lines, ":::::", ""]


def code(span, caption):
    return ["``````{code-block} python", f":lineno-start: {span.first}", f":caption: \"{caption}\"",
            "", span.text(), "``````"]
