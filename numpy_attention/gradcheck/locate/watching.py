"""Watch arrays while user code runs, to find the lines that change the arrays."""

import linecache
import sys
from dataclasses import replace
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

import numpy as np

from numpy_attention.custom.code import qualname_of
from numpy_attention.gradcheck.locate.rewriting import Place, is_of_package, is_user_code

# types whose objects have a __dict__, but hold no cache
OPAQUE = (type, FunctionType, MethodType, BuiltinFunctionType, ModuleType)


def arrays_within(value, name, seen=None):
    """Yield (name, array) for each array in a value of nested lists, tuples, dicts and objects.

    Names begin with `name`, as in "input[0]". Calls with the same dict `seen` yield no array twice.
    """
    seen = {} if seen is None else seen
    if id(value) in seen:
        return
    seen[id(value)] = value
    if isinstance(value, np.ndarray):
        if not value.dtype.hasobject:
            yield name, value
        return
    for label, item in parts_of(value):
        yield from arrays_within(item, name + label, seen)


def parts_of(value):
    """Return the parts of a list, tuple, dict or object as [(label, part)], such as ("[0]", x)."""
    if isinstance(value, dict):
        return [(f"[{key!r}]", item) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [(f"[{i}]", item) for i, item in enumerate(value)]
    if hasattr(value, "__dict__") and not isinstance(value, OPAQUE):
        return [(f".{key}", item) for key, item in vars(value).items()]
    return []


class Watch:
    """Named arrays and copies of their initial values, to find out which arrays have changed."""

    def __init__(self, arrays):
        self.arrays = dict(arrays)
        self.before = {name: array.copy() for name, array in self.arrays.items()}

    def changed(self):
        """Return the names of arrays that changed, but only one name for overlapping arrays."""
        found = []
        for name, array in self.arrays.items():
            if array.tobytes() != self.before[name].tobytes() and not any(
                    np.shares_memory(array, self.arrays[other]) for other in found):
                found.append(name)
        return found

    def restore(self):
        """Restore the initial values; return the names of the arrays that had changed."""
        changed = self.changed()
        for name, array in self.arrays.items():
            if array.flags.writeable:
                array[...] = self.before[name]
        return changed


def lines_of(work, happened):
    """Run work(), and call happened(frame, line), which returns events, after every line.

    Return {event: Place of the line after which it was first returned}. Only user code has lines.
    """
    tracer = Tracer(happened)
    traced(work, tracer.called)
    return tracer.found


def traced(work, called):
    before = sys.gettrace()
    sys.settrace(called)
    try:
        work()
    finally:
        sys.settrace(before)


class Tracer:
    """Calls happened(frame, line) after each line. found: {event: its first Place}."""

    def __init__(self, happened):
        self.happened = happened
        self.found = {}
        self.last = None                # the frame and the line that are running

    def called(self, frame, event, _):
        if not is_user_code(frame.f_code):
            return None
        self.ask()
        self.last = frame, frame.f_lineno
        return self.stepped

    def stepped(self, frame, event, _):
        if event in ("line", "return"):
            self.ask()
            self.last = frame, frame.f_lineno
        if event == "return":
            caller = nearest(frame.f_back)
            self.last = caller and (caller, caller.f_lineno)
        return self.stepped

    def ask(self):
        if self.last is not None:
            for name in self.happened(*self.last):
                if name not in self.found:
                    self.found[name] = place_of(*self.last)


def first_line_with(work, is_it):
    """Run work(); return the Place of the first line after which is_it is true, or None.

    is_it(name, array) is called after each line of user code, for each array in a local variable.
    """
    def happened(frame, _):
        return [True for name, value in frame.f_locals.items()
                if isinstance(value, np.ndarray) and is_it(name, value)]

    return lines_of(work, happened).get(True)


def frames_of(frame):
    """Return a list of a frame and all its callers, the innermost frame first."""
    found = []
    while frame is not None:
        found.append(frame)
        frame = frame.f_back
    return found


def calls_of_package(work):
    """Run work(); return {(file, line) in this package: Place of the calling user code or None}."""
    found = {}
    outer = frames_of(sys._getframe())

    def stepped(frame, event, _):
        at = frame.f_code.co_filename, frame.f_lineno
        if event == "line" and at not in found:
            users = [one for one in frames_of(frame)
                     if one not in outer and not is_of_package(one.f_code.co_filename)]
            found[at] = place_of(users[0], users[0].f_lineno) if users else None
        return stepped

    def called(frame, event, _):
        return stepped if is_of_package(frame.f_code.co_filename) else None

    traced(work, called)
    return found


def nearest(frame):
    """Return the innermost frame that runs user code: `frame`, one of its callers, or None."""
    while frame is not None and not is_user_code(frame.f_code):
        frame = frame.f_back
    return frame


def place_of(frame, line):
    return with_text(Place(qualname_of(frame), frame.f_code.co_filename, line, "line", "", ""))


def with_text(place):
    """Return a copy of a Place, with `text` set to the source of its line."""
    text = linecache.getline(place.file, place.line).split("#")[0].strip()
    return replace(place, text=text)
