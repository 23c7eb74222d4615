"""Whether a function is still what its file says: a file may have been changed since it was run."""

import ast
import functools
import linecache
from types import CodeType


def is_made_of(code: CodeType) -> bool:
    """Whether the text of its file, as it is now, makes this code of a function."""
    codes = codes_of("".join(linecache.getlines(code.co_filename)))
    return any(said_by(one) == said_by(code)
               for one in codes.get((code.co_name, code.co_firstlineno), []))


def said_by(code: CodeType) -> tuple:
    """What a code does, and by which names; its functions within have codes of their own."""
    constants = [one for one in code.co_consts if not isinstance(one, CodeType)]
    return code.co_code, code.co_names, code.co_varnames, constants


@functools.lru_cache(8)
def codes_of(text: str) -> dict[tuple[str, int], list[CodeType]]:
    """{(name, first line): codes} of a file; {}: it is no Python.

    Each is made twice: a notebook compiles its statements one by one, and np.tanh(a) becomes other
    code where `import numpy` is not seen with it.
    """
    try:
        statements = ast.parse(text).body
        waiting = [compiled([one]) for one in statements] + [compiled(statements)]
    except SyntaxError:
        return {}
    found: dict[tuple[str, int], list[CodeType]] = {}
    while waiting:
        code = waiting.pop()
        found.setdefault((code.co_name, code.co_firstlineno), []).append(code)
        waiting += [one for one in code.co_consts if isinstance(one, CodeType)]
    return found


def compiled(statements: list[ast.stmt]) -> CodeType:
    return compile(ast.Module(statements, []), "", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
                   dont_inherit=True)


def statement_text(file: str, node: ast.AST) -> str:
    """A statement as it is written in its file, on one line, without comments; of a loop its head.
    """
    first = getattr(node, "lineno", 0)
    body = getattr(node, "body", None)
    last = body[0].lineno - 1 if body else getattr(node, "end_lineno", first)
    lines = linecache.getlines(file)[first - 1:max(first, last)]
    return " ".join(part for part in (line.split("  #")[0].strip() for line in lines) if part)
