"""Rewrite functions through their syntax trees, so that a listener gets every value they compute.

A rewritten function computes the same as before, but each value is passed to a method of the
listener, which returns the value or a replacement. Only the `__code__` of a function is replaced,
so methods, closures and other references to the function stay valid.
"""

import ast
import contextlib
import gc
import inspect
import sys
import sysconfig
import textwrap
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType

import numpy as np

from numpy_attention.custom.code import frames_of
from numpy_attention.gradcheck.locate.sources import matches_source

LISTENER = "__gradcheck__"          # the listener's name within rewritten functions
INNER = "__inner__"
PACKAGE = Path(__file__).parents[2]
CHECK = PACKAGE / "gradcheck"
MADE = ("<string>", "__init__"), ("<string>", "__hash__")       # that dataclass generates
# code that checks, copies and traverses, and computes no values
PLUMBING = CHECK, PACKAGE / "validation", PACKAGE / "module.py", PACKAGE / "trees.py"
# folders of Python, of this environment, and of NumPy, which may be installed elsewhere
LIBRARIES = tuple({sysconfig.get_path(name)
                   for name in ("stdlib", "platstdlib", "purelib", "platlib")}
                  | {str(Path(np.__file__).parents[1])})


class Declined(Exception):
    """Raised if a function cannot be rewritten. The message says why."""


@dataclass(frozen=True)
class Place:
    """A place in the code where a value is computed or read, or a line found by other means.

    kind, in both passes    "argument", "assign", "update" (changed in place)
          in a backward     "term" (added by +=), "return"
          in a forward      "use" (a name is read), "expression", "part" (y in x[i] = y), "filled"
                            (x after a loop of x[i] = …)
          in any code       "edit" (to be edited), "line" (found by a tracer), "stop" (it raises)

    name: the name of the value, such as "dx" or "grads.W", or "". text: the code. reads: the names
    that the statement reads.
    """

    function: str       # "PlainAttention.step"
    file: str
    line: int
    kind: str
    name: str
    text: str
    column: int = 0
    reads: frozenset[str] = frozenset()

    @property
    def is_scaling(self):
        """Whether the statement scales a value in place, as x *= a and x /= a do."""
        return self.kind == "update" and (" *= " in self.text or " /= " in self.text)


# ---- which functions ----------------------------------------------------------------------------


def called_functions(work):
    """Return (functions that work() calls, in order of first call; result of work()).

    Functions of NumPy, of the standard library and of gradient checks, and functions without a
    name, are left out. A function that is defined inside another may occur several times in the
    list, with the same code.
    """
    codes = {}

    def profile(frame, event, _):
        if event == "call" and frame.f_code not in codes:
            codes[frame.f_code] = None

    with profiled(profile):
        result = work()
    wanted = [code for code in codes if is_user_code(code)]
    functions = {}
    for one in gc.get_referrers(*wanted) if wanted else []:
        if isinstance(one, FunctionType) and one.__code__ in codes:
            functions.setdefault(one.__code__, []).append(one)
    return [one for code in wanted for one in functions.get(code, ())], result


@contextlib.contextmanager
def profiled(profile):
    """Make `profile` the profiler inside this context, and restore the previous one at its end."""
    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield
    finally:
        if before is None or callable(before):
            sys.setprofile(before)
        else:                           # a cProfile.Profile, which is not a function
            sys.setprofile(None)
            before.enable()


def is_user_code(code):
    """Return whether a code object may be user code: a named function outside of libraries.

    Layers and models of this package count as user code; the code of gradient checks does not.
    """
    if code.co_name.startswith("<") or code.co_filename.startswith("<frozen ") or (
            code.co_filename, code.co_name) in MADE:
        return False
    path = Path(code.co_filename)
    if PACKAGE in path.parents:
        return CHECK / "cases" in path.parents or not any(
            place == path or place in path.parents for place in PLUMBING)
    return not code.co_filename.startswith(LIBRARIES)


def is_of_package(file):
    """Return whether a file is part of this package, so that its errors are not a user's errors."""
    return PACKAGE in Path(file).parents


def users_class(target):
    """Return the name of the class of a user-defined Module, or "" for a class of this package."""
    module = type(target).__module__        # a user's file is loaded below numpy_attention.custom
    own = module.startswith("numpy_attention.") and ".custom." not in module
    return "" if own else type(target).__name__


# ---- their trees --------------------------------------------------------------------------------


def tree_of(function):
    """Return the FunctionDef of a function, with the line numbers of its file.

    Raises Declined if the function has no source, is not defined with def, uses a private name of
    its class, or does not match its source, because the file has changed since the import.
    """
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        raise Declined(f"{function.__qualname__} has no readable source") from None
    try:
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except SyntaxError:
        raise Declined(f"{function.__qualname__} is defined inside another expression") from None
    node = tree.body[0]
    if not isinstance(node, ast.FunctionDef):
        raise Declined(f"{function.__qualname__} is not defined with def")
    ast.increment_lineno(tree, first - 1)
    node.decorator_list = []
    if any(map(is_private, ast.walk(node))):
        raise Declined(f"{function.__qualname__} uses a private name of its class")
    if not has_asserts(node) and not matches_source(function.__code__):
        raise Declined(f"{function.__qualname__} differs from the source in its file; import it "
                       "again")
    return node


def has_asserts(node):
    """Return whether a function has an assert, which a test runner may have rewritten."""
    return any(isinstance(one, ast.Assert) for one in ast.walk(node))


def compiled(function, node):
    """Return the code of `node`, the changed FunctionDef of `function`. May raise Declined."""
    free = function.__code__.co_freevars
    module = ast.parse(f"def outer({', '.join(free)}): pass")
    node.name = INNER                           # a recursive call must not find outer's variable
    module.body[0].body = [node]
    try:
        code = compile(module, function.__code__.co_filename, "exec")
    except (SyntaxError, ValueError, RecursionError) as why:
        raise Declined(f"{function.__qualname__} cannot be compiled again: {why}") from None
    for each in ("outer", INNER):
        code = next(one for one in code.co_consts if getattr(one, "co_name", None) == each)
    if code.co_freevars != free or code.co_varnames[:code.co_argcount] != (
            function.__code__.co_varnames[:function.__code__.co_argcount]):
        raise Declined(f"{function.__qualname__} cannot be compiled again")
    return code.replace(co_name=function.__code__.co_name)


@contextlib.contextmanager
def with_codes(codes):
    """Replace the code of functions inside this context; codes: [(function, code)]."""
    kept = [(function, function.__code__) for function, _ in codes]
    try:
        for function, code in codes:
            function.__code__ = code
        yield
    finally:
        for function, code in kept:
            function.__code__ = code


def is_private(node):
    name = getattr(node, "attr", None) or getattr(node, "id", None)
    return (isinstance(node, (ast.Attribute, ast.Name)) and name.startswith("__")
            and not name.endswith("__"))


class Instrumented:
    """Functions with a second, rewritten version of their code, which runs inside `reporting_to`.

    rewriter: a subclass of Rewriter. places: a list of Places; a listener gets the index of a Place
    with each value. declined: {function name: the reason why the function is not rewritten}.
    """

    def __init__(self, functions, rewriter):
        self.places = []
        self.declined = {}
        self.codes = []
        made: dict = {}
        for function in functions:
            if function.__code__ in made:
                self.codes.append((function, made[function.__code__]))
                continue
            start = len(self.places)
            try:
                changed = rewriter(function, self.places).visit(tree_of(function))
                code = compiled(function, ast.fix_missing_locations(changed))
            except Declined as why:
                del self.places[start:]
                self.declined[function.__qualname__] = str(why)
            else:
                made[function.__code__] = code
                self.codes.append((function, code))

    @contextlib.contextmanager
    def reporting_to(self, listener):
        """Inside this context, the functions run rewritten code, which reports to `listener`."""
        spaces = {id(function.__globals__): function.__globals__ for function, _ in self.codes}
        try:
            for space in spaces.values():
                space[LISTENER] = listener
            with with_codes(self.codes):
                yield
        finally:
            for space in spaces.values():
                space.pop(LISTENER, None)


# ---- how a tree is changed ----------------------------------------------------------------------


class Rewriter(ast.NodeTransformer):
    """Base class of transformers that rewrite a function to pass its values to a listener."""

    def __init__(self, function, places):
        self.places = places
        self.function = function
        self.qualname = function.__qualname__.replace("<locals>.", "")
        self.file = function.__code__.co_filename
        self.depth = 0

    def place(self, node, kind, name, reads=frozenset()):
        """Add a Place for a statement or expression to the list of places; return its number."""
        text = " ".join(ast.unparse(node).split()) if kind != "argument" else name
        self.places.append(Place(self.qualname, self.file, node.lineno, kind, name, text,
                                 getattr(node, "col_offset", 0), frozenset(reads)))
        return len(self.places) - 1

    def through(self, method, value, number, *more):
        """Return the expression `listener.method(value, number, …)`."""
        call = ast.Call(
            ast.Attribute(ast.Name(LISTENER, ast.Load()), method, ast.Load()),
            [value, ast.Constant(number), *more], [])
        return ast.fix_missing_locations(ast.copy_location(call, value))

    def arguments_of(self, node):
        """Return the parameters of a function except self and cls, as assignment targets."""
        every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        return [ast.copy_location(ast.Name(one.arg, ast.Store()), one) for one in every
                if one.arg not in ("self", "cls")]

    def block(self, statements):
        """Return a list with the rewritten statements. One statement may become several."""
        made = []
        for statement in statements:
            changed = self.visit(statement)
            made += changed if isinstance(changed, list) else [changed]
        return made

    def start(self, node, statements):
        """Put statements at the start of a function, after its docstring."""
        at = int(ast.get_docstring(node) is not None)
        node.body[at:at] = statements
        return node

    def unchanged(self, node):
        return node

    visit_Lambda = visit_ClassDef = unchanged


def path_of(node):
    """Return the dotted path of an expression, such as "dmemory.keys", or "" if it has no path."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = path_of(node.value)
        return base and f"{base}.{node.attr}"
    return ""


def reads_of(node):
    """Return the names and attribute paths that an expression reads."""
    return {path_of(one) for one in ast.walk(node)
            if isinstance(one, (ast.Name, ast.Attribute)) and path_of(one)}


# what a backward pass calls the gradient of its parameters: `grad` up to version 1.0
GRADS = "grads", "grad"


def is_gradient(path):
    """Return whether a name or attribute path looks like a gradient: dX, dX.y, or grads.W."""
    root = path.partition(".")[0]
    return root.startswith("d") and len(root) > 1 or root in GRADS


def is_of_parameter(path):
    """Return whether a path names the gradient of a parameter, such as `grads.W`."""
    return path.startswith(tuple(f"{root}." for root in GRADS))


def loaded(target):
    """Return a copy of the target of an assignment as an expression that reads it."""
    copy = ast.parse(ast.unparse(target), mode="eval").body
    return ast.copy_location(copy, target)


def targets_of(node):
    """Return the targets of an assignment as a list. A tuple is split into its elements."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return [one for part in node.elts for one in targets_of(part)]
    if isinstance(node, ast.Starred):
        return targets_of(node.value)
    return [node]


# ---- where user code raises ---------------------------------------------------------------------


def failing_place(error):
    """Return the Place of the innermost line of a user's file in a traceback, or None."""
    found = None
    for code, line, function in frames_of(error):
        if is_user_code(code) and PACKAGE not in Path(code.co_filename).parents:
            found = Place(function, code.co_filename, line, "stop", "", "")
    return found
