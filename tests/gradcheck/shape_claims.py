"""The shapes that a source promises, read from it: comments behind code, and docstrings.

    x = …               # (B, S, A)         behind an assignment or a return, also among words
    W_a: Array          # (Q, A)            behind a field of a class
    query (B, Q) → context (B, D), cache    in a docstring: of a function, arguments and results; of
                                            a class, on its methods' arguments, the arrays it holds,
                                            and what `forward` or `step` returns

A shape that is none of these, or that no name can be found for, is kept as unread.
"""

import ast
import copy
import re
import tokenize
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).parents[2]
LETTER = r"(?:[A-Z](?:_\w+)?|[a-z]\w*)(?!\w)"
FACTOR = rf"(?:\d*{LETTER}|\d+)"
SIZE = re.compile(rf"…|{FACTOR}(?:(?: ?[+−·/] ?| (?=[A-Z])){FACTOR})*")
COMMENT = re.compile(r"(?<!\S)\(([^()]*)\)")
PROSE = re.compile(r"(?<!\S)\((…[^()]*|[^()]*[A-Z][^()]*)\)")        # not (output, cache)
UNREADABLE = re.compile(r"# *\([A-Z…\d]\w*,")


@dataclass(eq=False)
class Claim:
    """A shape that a source promises, and what became of it when code ran."""

    text: str           # "Shapes: query q (B, Q)"
    names: tuple        # of what, the first of these that there is: "Shapes", "query", "q"
    shape: tuple        # ("B", "Q")
    written: str = ""   # "(B, Q)"
    kind: str = "docstring"
    place: str = ""     # "numpy_attention/cells/cell.py:15"
    state: str = "never ran"

    def __str__(self):
        return f"{self.place}: {self.text}"

    def unchecked(self, why):
        if self.state != "checked":
            self.state = why


@dataclass
class Promises:
    """The claims of a docstring."""

    arguments: list = field(default_factory=list)
    results: list = field(default_factory=list)     # of an arrow: (first names, [claim or None])


@dataclass
class Function:
    name: str
    parameters: list
    promises: Promises


# ---- shapes in a text ---------------------------------------------------------------------------


def shape_of(inside):
    """The sizes of what parentheses hold: "B, S" → ("B", "S"); None where that is no shape."""
    sizes = tuple(size.strip() for size in inside.split(","))
    sizes = sizes[:-1] if sizes[-1] == "" else sizes
    if inside != "…" and ("," not in inside or sizes.count("…") > 1):
        return None
    return sizes if all(map(SIZE.fullmatch, sizes)) else None


def outside(pattern, text):
    """The matches of a pattern that stand in no parentheses."""
    return [match for match in re.finditer(pattern, text)
            if text.count("(", 0, match.start()) <= text.count(")", 0, match.start())]


def split(text, pattern):
    cuts = [place for match in outside(pattern, text) for place in match.span()]
    return [text[i:j].strip() for i, j in zip([0] + cuts[1::2], cuts[::2] + [len(text)])]


def sentences(docstring):
    """A docstring cut at full stops, semicolons and wide gaps; an indented line is one."""
    lines = [f"   {line}   " if line.startswith("    ") or not line else line
             for line in docstring.split("\n")]
    return split(" ".join(lines), r"[.;](?=\s|$)|\s{3,}")


def claimed(text):
    """The claim of a part of a sentence with one shape, or None: what is broadcast has another."""
    found = [match for match in outside(PROSE, text) if shape_of(match[1])]
    if len(found) != 1 or "broadcast" in text:
        return None
    words = [word.replace("∂L/∂", "d").strip("`") for word in text[:found[0].start()].split()]
    behind_colon = [after for word, after in zip(words, words[1:]) if word.endswith(":")]
    names = tuple(word.strip(":") for word in words[:1] + behind_colon + words[-1:])
    return Claim(text, names, shape_of(found[0][1]), found[0][0])


def read_sentence(sentence):
    """Claims left of an arrow, and for each result right of it a claim or None."""
    left, *right = split(sentence, r"→(?=\s|$)")
    arguments, bare = [], []
    for element in split(left, ","):
        claim = claimed(element)
        if claim and len(set(claim.names)) == 1:                    # x, y (N, D)
            arguments += [replace(claim, names=(name,)) for name in bare]
        arguments += [claim] if claim else []
        bare = bare + [element] if element.isidentifier() else []
    results = [claimed(element) for element in split(right[0], ",")] if len(right) == 1 else []
    return arguments, results


def shapes_in(comment):
    return [shape for shape in map(shape_of, COMMENT.findall(comment)) if shape]


# ---- claims of a source -------------------------------------------------------------------------


class Reader(ast.NodeTransformer):
    """Reads one file: its claims, which `watch` gets, and its code with a probe behind each."""

    def __init__(self, watch, path, module):
        self.watch, self.path, self.module = watch, path, module
        self.around = []                # the classes and functions that stand around a node
        self.fields = []                # claims of the class that is being read
        self.lines = [""] + path.read_text(encoding="utf-8").split("\n")     # as they are counted
        self.comments = {}              # line: the comment behind its code
        with tokenize.open(path) as file:
            for token in tokenize.generate_tokens(file.readline):
                if token.type == tokenize.COMMENT and token.line[:token.start[1]].strip():
                    self.comments[token.start[0]] = token.string

    def read(self):
        """The rewritten tree."""
        tree = self.visit(ast.parse("\n".join(self.lines[1:])))
        for line, comment in self.comments.items():
            if shapes_in(comment) or UNREADABLE.match(comment):
                self.watch.unread.append(f"{self.place(line)}: {comment}")
        return tree

    def place(self, line):
        path = self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path.name
        return f"{path}:{line}"

    # ---- comments

    def commented(self, node, kind, targets):
        """Claims from the comment behind a statement, about its targets in their order."""
        comment = self.comments.get(node.end_lineno, "")
        shapes = shapes_in(comment)
        if not shapes or len(shapes) > len(targets):
            return []
        del self.comments[node.end_lineno]
        place = self.place(node.end_lineno)
        claims = [Claim(f"{name}  {comment}", (name,), shape, kind=kind, place=place)
                  for name, shape in zip(targets, shapes)]
        self.watch.claims += claims
        return claims

    def probes(self, claims, targets, node):
        first = len(self.watch.claims) - len(claims)
        return [located(f"_shapes.probe({first + i}, {targets[i]}, locals())", node)
                for i in range(len(claims))]

    def in_class(self):
        return self.around and isinstance(self.around[-1], ast.ClassDef)

    def visit_Assign(self, node):
        if self.in_class():
            return node
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        targets = [ast.unparse(part) for part in getattr(target, "elts", [target])]
        targets = [] if any(target.startswith("*") for target in targets) else targets
        return [node] + self.probes(self.commented(node, "assignment", targets), targets, node)

    visit_AugAssign = visit_Assign

    def visit_AnnAssign(self, node):
        if not self.in_class():
            return self.visit_Assign(node) if node.value else node
        self.fields += self.commented(node, "field", [ast.unparse(node.target)])
        return node

    def visit_Return(self, node):
        result = located("_shapes_result = None", node)
        result.value = node.value or result.value
        claims = self.commented(node, "assignment", ["return"])
        leave = located("return _shapes.leave(_shapes_result)", node)
        return [result] + self.probes(claims, ["_shapes_result"], node) + [leave]

    # ---- functions, classes and their docstrings

    def visit_FunctionDef(self, node):
        unchanged = copy.deepcopy(node)
        claims, number = len(self.watch.claims), len(self.watch.functions)
        parameters = [a.arg for a in node.args.posonlyargs + node.args.args + node.args.kwonlyargs]
        promises = self.promises(node, parameters)
        self.watch.functions.append(Function(node.name, parameters, promises))
        self.around.append(node)
        self.generic_visit(node)
        self.around.pop()
        if len(self.watch.claims) == claims and "self" not in parameters:
            return unchanged
        enter = located(f"_shapes = _shapes_call({number}, locals())", node.body[0])
        node.body.insert(ast.get_docstring(node) is not None, enter)
        return node

    def visit_ClassDef(self, node):
        self.around.append(node)
        outer, self.fields = self.fields, []
        self.generic_visit(node)
        name = ".".join(around.name for around in self.around)
        self.watch.classes[self.module, name] = self.fields, self.promises(node, None)
        self.around.pop()
        self.fields = outer
        return node

    def promises(self, node, parameters):
        """The claims of a docstring; parameters: of a function, None for a class."""
        docstring = ast.get_docstring(node) or ""
        unread = [match[0] for match in PROSE.finditer(docstring) if shape_of(match[1])]
        lines = range(node.body[0].lineno, node.body[0].end_lineno + 1)

        def place(written):
            found = [line for line in lines if written in self.lines[line]]
            return self.place(found[0] if found else node.lineno)

        found = Promises()
        for sentence in sentences(docstring):
            arguments, results = read_sentence(sentence)
            if parameters is not None:
                arguments, results = of_function(node, parameters, arguments, results)
            arguments = [claim for claim in arguments if claim.names]
            found.arguments += arguments
            if any(results):
                found.results.append((arguments[0].names if arguments else (), results))
            for claim in filter(None, arguments + results):
                claim.place, claim.text = place(claim.written), f"{node.name}: {claim.text}"
                self.watch.claims.append(claim)
                if claim.written in unread:                         # one for "x, y (N, D)"
                    unread.remove(claim.written)
        self.watch.unread += [f"{place(written)}: {node.name}: {written}" for written in unread]
        return found


def of_function(node, parameters, arguments, results):
    """The claims about parameters, and those about what a function returns."""
    own = [name for name in parameters if name not in ("self", "cls")]
    if not any(isinstance(inner, ast.Return) and inner.value for inner in ast.walk(node)):
        arguments += filter(None, results)          # an array that it writes into
        results = []
    for claim in arguments:
        claim.names = tuple(name for name in claim.names if name in own)
    if results and len(own) == len(arguments) == 1:
        arguments[0].names = tuple(own)
    return arguments, results


def located(code, like):
    """A statement that stands where another one stands."""
    made = ast.parse(code).body[0]
    for node in ast.walk(made):
        ast.copy_location(node, like)
    return made
