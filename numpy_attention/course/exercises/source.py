"""The reference implementation of an exercise, taken from a lesson or from the exercise's file."""

import ast
import re
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType

from numpy_attention.course.lessons import lessons_folder

BLANK = 'raise NotImplementedError("yours to write")'
NUMPY = "import numpy as np"
NUMBERED = re.compile(r"(?: *#)?,? *\(\d\)(?:, \(\d\))*$", re.MULTILINE)    # "# dx, (2)"


@dataclass(frozen=True)
class Source:
    """Functions and classes of one or more files, with the imports that they need.

    file: the path of a Python file, or the names of files of the course, without extension. names:
    the names of functions and classes. given: code to put before them, such as a constant.
    """

    file: str
    names: tuple[str, ...]
    given: str = ""

    @property
    def paths(self) -> list[Path]:
        if self.file.endswith(".py"):
            return [Path(self.file)]
        return [lessons_folder() / f"{name}.py" for name in self.file.split()]

    @cached_property
    def parts(self) -> tuple[str, dict[str, str]]:
        """The code of the imports, and a dict {name: code} of the definitions, in file order.

        Raises FileNotFoundError if the file is missing, and LookupError if it lacks one of `names`.
        """
        for path in self.paths:
            if not path.exists():
                raise FileNotFoundError(f"{path} does not exist; restore this file, which "
                                        "contains the reference implementation of the exercise")
        text = "\n".join(path.read_text(encoding="utf-8") for path in self.paths)
        body = ast.parse(text).body
        taken = {named(node): node for node in sorted(body, key=is_definition)
                 if named(node) in self.names}          # a definition, before a value of its name
        taken = dict(sorted(taken.items(), key=lambda item: item[1].lineno))
        if missing := [name for name in self.names if name not in taken]:
            raise LookupError(f"{self.paths[-1].name} does not define {', '.join(missing)}")
        used = {one.id for node in taken.values() for one in ast.walk(node)
                if isinstance(one, ast.Name)} - set(self.names) | {"np"}
        imports = []
        for node in body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                wanted = [one for one in node.names
                          if (one.asname or one.name).partition(".")[0] in used]
                if wanted:
                    node.names = wanted
                    imports.append(ast.unparse(node))
        if NUMPY not in imports:                        # which a solution may need
            imports.insert(sum("numpy_attention" not in one for one in imports), NUMPY)
        definitions = {name: text_of(text, node) for name, node in taken.items()}
        return "\n".join(dict.fromkeys(imports)), definitions

    def text(self, blanks: Sequence[str] = ()) -> str:
        """Return the code of the imports and definitions, with the bodies of `blanks` left out."""
        imports, parts = self.parts
        for blank in blanks:
            name, _, method = blank.partition(".")
            parts = parts | {name: without_body(parts[name], method or name)}
        head = "\n\n".join(filter(None, [imports, self.given]))
        return "\n\n\n".join([head, *parts.values()]) + "\n"

    def body(self, blank: str) -> str:
        """Return the solution's code for the body of `blank`, a function that the user writes."""
        _, parts = self.parts
        name, _, method = blank.partition(".")
        return textwrap.dedent(body_of(parts[name], method or name))


def is_definition(node: ast.stmt) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.ClassDef))


def named(node: ast.stmt) -> str:
    """Return the name of the function, class or variable that a statement defines, or ""."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return node.name
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return ""


def text_of(text: str, node: ast.stmt) -> str:
    """Return the code of a definition in the file's code `text`, without equation numbers."""
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(one.lineno for one in decorators)])
    lines = text.splitlines()[first - 1:node.end_lineno]
    return "\n".join(NUMBERED.sub("", line) if "#" in line else line for line in lines)


def function_in(text: str, name: str) -> ast.FunctionDef:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
    raise LookupError(f"the source does not define a function {name}")


def lines_of_body(text: str, name: str) -> tuple[int, int]:
    """Return (first, last): text.splitlines()[first:last] is the body without the docstring."""
    function = function_in(text, name)
    body = function.body
    if ast.get_docstring(function) is not None and len(body) > 1:
        body = body[1:]
    first = body[0].lineno - 1
    if len(function.body) > len(body):              # comments between docstring and statements
        first = function.body[0].end_lineno or first
    return first, function.end_lineno or first


def body_of(text: str, name: str) -> str:
    first, last = lines_of_body(text, name)
    return "\n".join(text.splitlines()[first:last])


def without_body(text: str, name: str) -> str:
    """Return the code `text` with the body of the function `name` replaced by BLANK."""
    first, last = lines_of_body(text, name)
    lines = text.splitlines()
    indent = " " * function_in(text, name).body[0].col_offset
    return "\n".join([*lines[:first], indent + BLANK, *lines[last:]])


def run(text: str, name: str) -> ModuleType:
    """Run code as a new module, and return the module. name: a part of the module's name."""
    module = ModuleType(f"{__package__}.made_{name}")
    sys.modules[module.__name__] = module           # where dataclasses look for it
    exec(compile(text, f"<{name}>", "exec"), module.__dict__)
    return module
