"""Parse the array shapes that source code documents in comments and docstrings.

    x = …               # (B, S, A)         after an assignment or a return, also between words
    W_a: Array          # (Q, A)            after a field of a class
    query (B, Q) → context (B, D), cache    in a docstring: arguments and results of a function;
                                            for a class, arguments of its methods, arrays it
                                            holds, and the results of `forward` or `step`

A shape in another place, or one without a name, is recorded as unread.
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
PROSE = re.compile(r"(?<!\S)\((…[^()]*|[^()]*[A-Z][^()]*)\)")        # excludes (output, cache)
UNREADABLE = re.compile(r"# *\([A-Z…\d]\w*,")


@dataclass(eq=False)
class Claim:
    """A documented shape, and whether it was checked when the code ran."""

    text: str           # "Shapes: query q (B, Q)"
    names: tuple        # candidate names, the first that exists: "Shapes", "query", "q"
    shape: tuple        # ("B", "Q")
    written: str = ""   # "(B, Q)"
    kind: str = "docstring"
    place: str = ""     # "numpy_attention/cells/cell.py:15"
    state: str = "never ran"

    def __str__(self):
        return f"{self.place}: {self.text}"

    def mark_unchecked(self, why):
        if self.state != "checked":
            self.state = why


@dataclass
class Promises:
    """The claims of one docstring."""

    arguments: list = field(default_factory=list)
    results: list = field(default_factory=list)     # for each arrow: (first names, [claim or None])


@dataclass
class Function:
    name: str
    parameters: list
    promises: Promises


# ---- shapes in a text ---------------------------------------------------------------------------


def shape_of(inside):
    """Return the sizes inside parentheses, "B, S" → ("B", "S"), or None if they are not a shape."""
    sizes = tuple(size.strip() for size in inside.split(","))
    sizes = sizes[:-1] if sizes[-1] == "" else sizes
    if inside != "…" and ("," not in inside or sizes.count("…") > 1):
        return None
    return sizes if all(map(SIZE.fullmatch, sizes)) else None


def outside_parentheses(pattern, text):
    """Return the matches of a pattern that are not inside parentheses."""
    return [match for match in re.finditer(pattern, text)
            if text.count("(", 0, match.start()) <= text.count(")", 0, match.start())]


def split(text, pattern):
    cuts = [place for match in outside_parentheses(pattern, text) for place in match.span()]
    return [text[i:j].strip() for i, j in zip([0] + cuts[1::2], cuts[::2] + [len(text)])]


def sentences(docstring):
    """Split a docstring at full stops, semicolons and wide gaps; keep an indented line whole."""
    lines = [f"   {line}   " if line.startswith("    ") or not line else line
             for line in docstring.split("\n")]
    return split(" ".join(lines), r"[.;](?=\s|$)|\s{3,}")


def parse_claim(text):
    """Return the claim of a phrase with one shape, or None; broadcast arrays have another shape."""
    found = [match for match in outside_parentheses(PROSE, text) if shape_of(match[1])]
    if len(found) != 1 or "broadcast" in text:
        return None
    words = [word.replace("∂L/∂", "d").strip("`") for word in text[:found[0].start()].split()]
    behind_colon = [after for word, after in zip(words, words[1:]) if word.endswith(":")]
    names = tuple(word.strip(":") for word in words[:1] + behind_colon + words[-1:])
    return Claim(text, names, shape_of(found[0][1]), found[0][0])


def parse_sentence(sentence):
    """Return the claims before an arrow, and a claim or None for each result after it."""
    left, *right = split(sentence, r"→(?=\s|$)")
    arguments, bare = [], []
    for element in split(left, ","):
        claim = parse_claim(element)
        if claim and len(set(claim.names)) == 1:                    # x, y (N, D)
            arguments += [replace(claim, names=(name,)) for name in bare]
        arguments += [claim] if claim else []
        bare = bare + [element] if element.isidentifier() else []
    results = [parse_claim(element) for element in split(right[0], ",")] if len(right) == 1 else []
    return arguments, results


def shapes_in(comment):
    return [shape for shape in map(shape_of, COMMENT.findall(comment)) if shape]


# ---- claims of a source -------------------------------------------------------------------------


class Reader(ast.NodeTransformer):
    """Collect the claims of one file in `watch`, and insert a probe after each statement."""

    def __init__(self, watch, path, module):
        self.watch, self.path, self.module = watch, path, module
        self.enclosing = []             # enclosing classes and functions
        self.fields = []                # claims of the current class
        self.lines = [""] + path.read_text(encoding="utf-8").split("\n")     # numbered from 1
        self.comments = {}              # {line: trailing comment}
        with tokenize.open(path) as file:
            for token in tokenize.generate_tokens(file.readline):
                if token.type == tokenize.COMMENT and token.line[:token.start[1]].strip():
                    self.comments[token.start[0]] = token.string

    def read(self):
        """Return the rewritten tree."""
        tree = self.visit(ast.parse("\n".join(self.lines[1:])))
        for line, comment in self.comments.items():
            if shapes_in(comment) or UNREADABLE.match(comment):
                self.watch.unread.append(f"{self.place(line)}: {comment}")
        return tree

    def place(self, line):
        path = self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path.name
        return f"{path}:{line}"

    # ---- comments

    def comment_claims(self, node, kind, targets):
        """Return the claims in the comment after a statement, one per target."""
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
        return [statement_at(f"_shapes.probe({first + i}, {targets[i]}, locals())", node)
                for i in range(len(claims))]

    def in_class(self):
        return self.enclosing and isinstance(self.enclosing[-1], ast.ClassDef)

    def visit_Assign(self, node):
        if self.in_class():
            return node
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        targets = [ast.unparse(part) for part in getattr(target, "elts", [target])]
        targets = [] if any(target.startswith("*") for target in targets) else targets
        return [node] + self.probes(self.comment_claims(node, "assignment", targets), targets, node)

    visit_AugAssign = visit_Assign

    def visit_AnnAssign(self, node):
        if not self.in_class():
            return self.visit_Assign(node) if node.value else node
        self.fields += self.comment_claims(node, "field", [ast.unparse(node.target)])
        return node

    def visit_Return(self, node):
        result = statement_at("_shapes_result = None", node)
        result.value = node.value or result.value
        claims = self.comment_claims(node, "assignment", ["return"])
        leave = statement_at("return _shapes.leave(_shapes_result)", node)
        return [result] + self.probes(claims, ["_shapes_result"], node) + [leave]

    # ---- functions, classes and their docstrings

    def visit_FunctionDef(self, node):
        unchanged = copy.deepcopy(node)
        claims, number = len(self.watch.claims), len(self.watch.functions)
        parameters = [a.arg for a in node.args.posonlyargs + node.args.args + node.args.kwonlyargs]
        promises = self.promises(node, parameters)
        self.watch.functions.append(Function(node.name, parameters, promises))
        self.enclosing.append(node)
        self.generic_visit(node)
        self.enclosing.pop()
        if len(self.watch.claims) == claims and "self" not in parameters:
            return unchanged
        enter = statement_at(f"_shapes = _shapes_call({number}, locals())", node.body[0])
        node.body.insert(ast.get_docstring(node) is not None, enter)
        return node

    def visit_ClassDef(self, node):
        self.enclosing.append(node)
        outer, self.fields = self.fields, []
        self.generic_visit(node)
        name = ".".join(enclosing.name for enclosing in self.enclosing)
        self.watch.classes[self.module, name] = self.fields, self.promises(node, None)
        self.enclosing.pop()
        self.fields = outer
        return node

    def promises(self, node, parameters):
        """Return the claims of a docstring. For a class, `parameters` is None."""
        docstring = ast.get_docstring(node) or ""
        unread = [match[0] for match in PROSE.finditer(docstring) if shape_of(match[1])]
        lines = range(node.body[0].lineno, node.body[0].end_lineno + 1)

        def place(written):
            found = [line for line in lines if written in self.lines[line]]
            return self.place(found[0] if found else node.lineno)

        found = Promises()
        for sentence in sentences(docstring):
            arguments, results = parse_sentence(sentence)
            if parameters is not None:
                arguments, results = split_function_claims(node, parameters, arguments, results)
            arguments = [claim for claim in arguments if claim.names]
            found.arguments += arguments
            if any(results):
                found.results.append((arguments[0].names if arguments else (), results))
            for claim in filter(None, arguments + results):
                claim.place, claim.text = place(claim.written), f"{node.name}: {claim.text}"
                self.watch.claims.append(claim)
                if claim.written in unread:                         # "x, y (N, D)" counts once
                    unread.remove(claim.written)
        self.watch.unread += [f"{place(written)}: {node.name}: {written}" for written in unread]
        return found


def split_function_claims(node, parameters, arguments, results):
    """Split claims into those about parameters and those about return values."""
    names = [name for name in parameters if name not in ("self", "cls")]
    if not any(isinstance(inner, ast.Return) and inner.value for inner in ast.walk(node)):
        arguments += filter(None, results)          # an array that it fills
        results = []
    for claim in arguments:
        claim.names = tuple(name for name in claim.names if name in names)
    if results and len(names) == len(arguments) == 1:
        arguments[0].names = tuple(names)
    return arguments, results


def statement_at(code, like):
    """Parse a statement and give it the location of another."""
    statement = ast.parse(code).body[0]
    for node in ast.walk(statement):
        ast.copy_location(node, like)
    return statement
