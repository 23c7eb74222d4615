"""The guard of a kernel: a check of its arguments, because compiled code does not check bounds.

Without the check, a kernel would read and write past the end of an array that is too small. The
memory order is not checked, because a kernel is compiled for the memory order of its arguments.
"""

from functools import update_wrapper
from inspect import signature

import numpy as np

REAL = (np.dtype(np.float32), np.dtype(np.float64))


def guarded(**axes):
    """Return a decorator that checks a kernel's arrays against axes such as a="B 4H", h="B H".

    axes: the axes of each array. A letter has the same size in all arrays, and "4H" is 4 times H.
    All arrays must have the same dtype, float32 or float64, except those whose axes end in a dtype,
    as in "B S bool", "N int" and "N float64". "N int < V" is an array (N,) of indices into the axis
    V. The guarded kernel raises ValueError if an array does not fit.
    """
    return lambda kernel: Guarded(kernel, axes)


class Guarded:
    """A kernel that first checks its arguments. `compiled` is the kernel without the check."""

    def __init__(self, kernel, axes):
        update_wrapper(self, kernel, updated=())
        self.compiled = kernel
        parameters = list(signature(self.py_func).parameters)
        self.arrays = []        # (name, place among the arguments, axes, dtype, text of the axes)
        self.indices = []       # (name, place, axis)
        for name, text in axes.items():
            place = parameters.index(name)
            text, _, axis = text.partition(" < ")
            words = text.split()
            dtype = words.pop() if words[-1] in ("int", "bool", "float64") else "real"
            # "4H" is (4, "H")
            sizes = [(int(word[:-1] or 1), word[-1]) for word in words]
            self.arrays.append((name, place, sizes, dtype, str(tuple(words)).replace("'", "")))
            if axis:
                self.indices.append((name, place, axis))
        # (place, shape, dtype) of each array in the last call; the next call is often the same
        self.accepted = [(0, None, None)]

    @property
    def py_func(self):
        """The kernel as plain Python."""
        return getattr(self.compiled, "py_func", self.compiled)

    def in_loop(self, first):
        """Return the guarded kernel for the first step of a loop, and `compiled` for later steps.

        first: whether this is the first step. The arguments of all steps must have the same shapes.
        In a small step, the check would take 10 % of the time.
        """
        return self if first else self.compiled

    def __call__(self, *arguments):
        for place, shape, dtype in self.accepted:
            array = arguments[place]
            if type(array) is not np.ndarray or array.shape != shape or array.dtype != dtype:
                self._check(arguments)
                break
        if self.indices:
            self._check_indices(arguments)
        return self.compiled(*arguments)

    def _check(self, arguments):
        """Raise ValueError for wrong shapes or dtypes. Otherwise remember the shapes and dtypes."""
        sizes = {}
        real = None
        for name, place, axes, dtype, text in self.arrays:
            array = arguments[place]
            if not isinstance(array, np.ndarray):
                raise ValueError(f"{self.__name__}: {name} is of type {type(array).__name__}; "
                                 "expected a NumPy array")
            if array.ndim != len(axes):
                raise ValueError(f"{self.__name__}: {name} has shape {array.shape}; expected "
                                 f"{text}")
            for (times, axis), size in zip(axes, array.shape):
                if times == 1:
                    sizes.setdefault(axis, size)
            if dtype == "real" and real is None:
                real = array.dtype if array.dtype in REAL else REAL[1]
            if not _fits(array.dtype, dtype, real):
                wanted = {"real": real, "int": "int64"}.get(dtype, dtype)
                raise ValueError(f"{self.__name__}: {name} has dtype {array.dtype}; expected "
                                 f"{wanted}. Convert it with {name}.astype('{wanted}')")
        for name, place, axes, _, text in self.arrays:
            wanted = tuple(times * sizes[axis] for times, axis in axes)
            if arguments[place].shape != wanted:
                raise ValueError(f"{self.__name__}: {name} has shape {arguments[place].shape}; "
                                 f"expected {text} = {wanted}")
        self.accepted = [(place, arguments[place].shape, arguments[place].dtype)
                         for _, place, *_ in self.arrays]

    def _check_indices(self, arguments):
        """Raise ValueError if an index among the arguments is out of range for its axis."""
        for name, place, axis in self.indices:
            size = next(arguments[other].shape[axes.index((1, axis))]
                        for _, other, axes, *_ in self.arrays if (1, axis) in axes)
            indices = arguments[place]
            if indices.size and not 0 <= indices.min() <= indices.max() < size:
                i = indices.min() if indices.min() < 0 else indices.max()
                raise ValueError(f"{self.__name__}: {name} contains {i}; expected 0 to {size - 1}")


def _fits(dtype, kind, real):
    """Return whether a dtype is of a kind: "real", "int" or the name of a dtype.

    real: the dtype that all real arrays share.
    """
    if kind == "real":
        return dtype == real
    if kind == "int":
        return dtype.kind in "iu" and dtype.isnative
    return dtype == kind
