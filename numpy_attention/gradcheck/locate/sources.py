"""Check that a function still matches its file, which may have changed since the import."""

import ast
import functools
import linecache
from types import CodeType


def matches_source(code: CodeType) -> bool:
    """Return whether the current text of a function's file compiles to this code."""
    codes = codes_of("".join(linecache.getlines(code.co_filename)))
    return any(fingerprint(one) == fingerprint(code)
               for one in codes.get((code.co_name, code.co_firstlineno), []))


def fingerprint(code: CodeType) -> tuple:
    """Return the instructions, names and constants of a code object, without inner functions."""
    constants = [one for one in code.co_consts if not isinstance(one, CodeType)]
    return code.co_code, code.co_names, code.co_varnames, constants


@functools.lru_cache(8)
def codes_of(text: str) -> dict[tuple[str, int], list[CodeType]]:
    """Return {(name, first line): code objects} for functions, classes and modules of a text."""
    try:
        statements = ast.parse(text).body
        # each statement also by itself, as in a notebook: `np.tanh(a)` compiles differently if the
        # same text imports np
        pending = [compiled([one]) for one in statements] + [compiled(statements)]
    except SyntaxError:
        return {}
    found: dict[tuple[str, int], list[CodeType]] = {}
    while pending:
        code = pending.pop()
        found.setdefault((code.co_name, code.co_firstlineno), []).append(code)
        pending += [one for one in code.co_consts if isinstance(one, CodeType)]
    return found


def compiled(statements: list[ast.stmt]) -> CodeType:
    return compile(ast.Module(statements, []), "", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
                   dont_inherit=True)


def statement_text(file: str, node: ast.AST) -> str:
    """Return the source of a statement, or the header of a loop, on one line without comments."""
    first = getattr(node, "lineno", 0)
    body = getattr(node, "body", None)
    last = body[0].lineno - 1 if body else getattr(node, "end_lineno", first)
    lines = linecache.getlines(file)[first - 1:max(first, last)]
    return " ".join(part for part in (line.split("  #")[0].strip() for line in lines) if part)
