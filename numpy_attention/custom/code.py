"""A user's Python file, which is executed only if the user named the file."""

import copyreg
import hashlib
import inspect
import linecache
import re
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any, NoReturn

from numpy_attention.data.encoding import explain, first_wrong
from numpy_attention.module import Module
from numpy_attention.validation.arguments import check_kind
from numpy_attention.validation.messages import EXPECTED, cut, format_error, short_repr
from numpy_attention.validation.paths import as_path, existing_file, path_errors, short_path
from numpy_attention.validation.results import place_of_return

# "mine.py:Bilinear", as a run stores it: without a folder, so that no file is searched for, and
# without characters that are special to a shell
NAME = re.compile(r"\w[\w.+-]{0,99}\.py:[^\W\d]\w{0,99}")
MOST = 10**6        # bytes
SHOWN = 8           # letters of a digest
REASON = 200        # characters of an error message from the code
PACKAGE = Path(__file__).resolve().parents[1]
CALLED = re.compile(r"[\w.<>]+\(\) (?:takes|missing|got) ")      # wrong arguments
CALLS = re.compile(r"\.(\w+)\(")
# {the path of a file: its Code} of the files that have been run
RUN: dict[str, "Code"] = {}


@dataclass(frozen=True)
class Code:
    """The path and the contents of a Python file. `module` runs the file once."""

    path: Path
    text: bytes

    @property
    def name(self) -> str:
        """The file's name, without its folder."""
        return self.path.name

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the file, in hexadecimal digits."""
        return hashlib.sha256(self.text).hexdigest()

    @cached_property
    def module(self) -> ModuleType:
        """The file as a module. Raises ValueError, with the line, if the file cannot be run."""
        path = str(self.path.resolve())
        if path in RUN and RUN[path].text == self.text:
            return RUN[path].module
        try:
            compiled = compile(self.text, path, "exec", dont_inherit=True)
        except SyntaxError as error:
            self._check_bytes()
            line = f"line {error.lineno}" if error.lineno else "it"
            self._fail(f"{line} is not Python: {error.msg}")
        except (ValueError, OverflowError, RecursionError, MemoryError) as error:
            self._check_bytes()
            self._fail(f"it is not Python: {error}")
        place = hashlib.sha256(path.encode("utf-8", "surrogatepass") + self.text).hexdigest()
        module = ModuleType(f"{__package__}.{self.path.stem}_{place[:SHOWN]}")
        module.__file__ = path
        sys.modules[module.__name__] = module       # where dataclasses look for it
        sys.path.append(str(Path(path).parent))
        RUN[path] = self
        try:
            exec(compiled, module.__dict__)
        except BaseException as error:              # including SystemExit
            where = place_in_code(error) or self.name
            del RUN[path], sys.modules[module.__name__]
            if isinstance(error, KeyboardInterrupt):
                raise
            self._fail(f"{where}: {type(error).__name__}: {error}")
        finally:
            sys.path.pop()
        for kind in vars(module).values():
            if (inspect.isclass(kind) and issubclass(kind, Module)
                    and kind.__module__ == module.__name__):
                copyreg.pickle(kind, partial(_reduced, self))
        return module

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path and the text. The unpickled Code runs the file when it needs `module`."""
        return Code, (self.path.resolve(), self.text)

    def _check_bytes(self) -> None:
        """Raise ValueError for bytes that are not UTF-8, unless the file names its encoding."""
        if first_wrong(self.text) >= 0 and b"coding" not in self.text[:REASON]:
            raise ValueError(explain(self.text, short_path(self.path))) from None

    def _fail(self, why: str) -> NoReturn:
        raise ValueError(f"{short_path(self.path)} cannot be run: {cut(why, REASON)}") from None

    def found(self, name: str) -> Any:
        """Return the value of a name in the file. Raises ValueError if the name is undefined."""
        try:
            return vars(self.module)[name]
        except KeyError:
            names = ", ".join(self.defined()) or "nothing"
            raise ValueError(f"{self.name} does not define {short_repr(name)}: it defines "
                             f"{cut(names, REASON)}") from None

    def defined(self) -> dict[str, Any]:
        """Return {name: value} of the classes and functions that the file itself defines."""
        return {name: value for name, value in vars(self.module).items()
                if inspect.isclass(value) or inspect.isfunction(value)
                if value.__module__ == self.module.__name__}


@dataclass(frozen=True)
class CustomClass:
    """A user-defined class, the Code of its file, and the name that a run stores for the class."""

    name: str       # "mine.py:Bilinear"
    code: Code
    kind: type

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the Code instead of the class if other processes cannot import the class."""
        if self.kind.__module__.startswith(f"{__package__}."):
            return _custom_class, (self.name, self.code)
        return CustomClass, (self.name, self.code, self.kind)


def _custom_class(name: str, code: Code) -> CustomClass:
    return CustomClass(name, code, code.found(parted(name)[1]))


def _reduced(code: Code, one: Module) -> tuple[Any, ...]:
    """Return what pickle and copy.deepcopy need to rebuild `one`, an instance of a user class."""
    return _instance, (code, type(one).__name__), one.__getstate__()


def _instance(code: Code, name: str) -> Any:
    return object.__new__(code.found(name))


def read(path: str | Path) -> Code:
    """Read a Python file into a Code without running it.

    Raises OSError if the file cannot be read. Raises ValueError if the file's name does not end in
    .py or has characters that are not allowed, or if the file has more than MOST bytes.
    """
    file = existing_file(as_path(path))
    if file.suffix != ".py":
        raise ValueError(f"{short_path(file)} is not a Python file; its name must end with .py")
    if not NAME.fullmatch(f"{file.name}:Mine"):
        raise ValueError(f"{short_path(file)} is not a supported file name; use at most 103 "
                         "characters: letters, digits and _.+-")
    with path_errors(file, "read"), open(file, "rb") as opened:
        text = opened.read(MOST + 1)
    if len(text) > MOST:
        raise ValueError(
            f"{short_path(file)} has more than {MOST:,} bytes, too many for a Python file")
    return Code(file, text)


def parted(text: str) -> tuple[str, str]:
    """Split "folder/mine.py:Bilinear" into (file, class name). For "mine.py", the name is ""."""
    if text.endswith(".py"):
        return text, ""
    file, _, name = text.rpartition(":")
    return file, name


def custom_class_of(kind: type) -> CustomClass:
    """Return the CustomClass of a class. Raises TypeError if `kind` is not a class.

    Raises ValueError if the class is not defined at the top level of a user's file.
    """
    check_kind("`kind`", kind, type, "a class")
    package, mine = __package__.partition(".")[0], f"{__package__}."
    if f"{kind.__module__}.".startswith(f"{package}.") and not kind.__module__.startswith(mine):
        raise ValueError(f"{kind.__qualname__} is part of {package}; pass its name, such "
                         "as 'dot' or 'lstm', instead of the class")
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    name = f"{Path(file).name}:{kind.__qualname__}" if file else ""
    if not NAME.fullmatch(name):
        raise ValueError(f"{kind.__qualname__} is not defined at the top level of a file, so a run "
                         "cannot save it; define your class there, for example in mine.py")
    assert file is not None
    return CustomClass(name, RUN.get(file) or read(file), kind)


def place_in_code(error: BaseException) -> str:
    """Return where user code caused an error, such as "line 12 of mine.py, in step", or ""."""
    places = [f"line {line} of {Path(code.co_filename).name}{within(function)}"
              for code, line, function in frames_of(error) if code.co_filename in RUN]
    return places[-1] if places else ""


def text_of(error: BaseException, code: str = "") -> str:
    """Return the message of an error, with the line of user-defined code in which it was raised.

    code: the user-defined code that caused the error, such as "mine.py:Mine", or "" if unknown. An
    error that is neither EXPECTED nor from user-defined code is raised again.
    """
    place = place_in_code(error)
    if isinstance(error, EXPECTED):
        text = format_error(error)
    else:
        place = place or code
        if not place:
            raise error             # a bug of this package
        text = f"{type(error).__name__}: {error}"
    return f"{place}: {text}" if place else text


def within(function: str) -> str:
    """Return ", in FUNCTION" for a message, or "" for code at the top level of a file."""
    return "" if function.startswith("<module") else f", in {function}"


def frames_of(error: BaseException) -> Iterator[tuple[CodeType, int, str]]:
    """Yield (code, line, function) of traceback frames, then of error.place or places_called."""
    frame: FrameType | None = None
    line = 0
    for frame, line in traceback.walk_tb(error.__traceback__):
        yield frame.f_code, line, qualname_of(frame)
    place = getattr(error, "place", None)           # see `validation.results`
    for code, line in [place] if place else places_called(error, frame, line):
        yield code, line, getattr(code, "co_qualname", code.co_name)


def places_called(error: BaseException, frame: FrameType | None,
                  line: int) -> Iterator[tuple[CodeType, int]]:
    """Yield (code, line) for each function outside this package that the failed line may call.

    frame, line: where this package failed. The yielded line is the first one of the function if its
    arguments were wrong, else that of `place_of_return`. Yield nothing if another package failed.
    """
    if frame is None or PACKAGE not in Path(frame.f_code.co_filename).parents:
        return
    unaccepted = isinstance(error, TypeError) and CALLED.match(str(error))
    owners = list(frame.f_locals.values())
    owners += [part for one in owners for part in getattr(one, "__dict__", {}).values()]
    for name in CALLS.findall(linecache.getline(frame.f_code.co_filename, line)):
        for function in [getattr(type(one), name, None) for one in owners]:
            code = getattr(function, "__code__", None)
            if code and PACKAGE not in Path(code.co_filename).parents:
                yield (code, code.co_firstlineno) if unaccepted else place_of_return(function)


def qualname_of(frame: FrameType) -> str:
    """Return the name of a frame's function, with the name of its class."""
    code = frame.f_code
    if hasattr(code, "co_qualname"):            # since Python 3.11
        return code.co_qualname
    classes = type(frame.f_locals.get("self")).__mro__
    owners = [one.__qualname__ for one in classes if code.co_name in vars(one)]
    return ".".join([*owners[:1], code.co_name])
