"""Module: a layer is a dataclass of arrays, and the gradient of a model is a model.

Fields that hold an array are parameters. Fields that hold a Module, or a list or tuple of Modules,
are parts. All other fields are hyperparameters.

    grads = model.zeros_like()            the gradient model: grads.decoder.attention.W_a is ∂L/∂W_a
    model.vector, grads.vector           all parameters as one flat vector; the fields are its views

Weights are tied by sharing a Module. A traversal of a model visits each object once, and every use
of a shared part adds its gradient to the same array of the gradient model.

The first access to `vector` packs a model: its parameters become views of one vector. A packed
model is closed: its parts cannot belong to another model, its lists are tuples, and assigning an
array to a field copies the values. Copies, deep copies and pickles are independent models.
"""

from collections.abc import Mapping
from dataclasses import fields

import numpy as np

from numpy_attention.validation.arguments import check_kind
from numpy_attention.validation.arrays import (
    check_array,
    check_floating,
    check_real,
    describe_array,
)
from numpy_attention.validation.messages import missing_and_unknown

Array = np.ndarray


class Module:
    """Base class of every layer, cell, attention and model. Each is a `@dataclass(eq=False)`."""

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.__repr__ = Module.__repr__      # a dataclass does not replace it

    # ---- traversal -------------------------------------------------------------------------------

    def modules(self):
        """Yield (dotted name, module) for this module and all its parts, each object once.

        The name of this module is "". The traversal is depth-first, in the order of the fields.
        """
        seen = set()
        for name, module in self._visits(""):
            if id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def _visits(self, name):
        """Yield the pairs of `modules`, but repeat a shared part under each of its names."""
        yield name, self
        for field in fields(self):
            for part_name, part in _parts(join(name, field.name), getattr(self, field.name)):
                yield from part._visits(part_name)

    def named_parameters(self):
        """Yield (dotted name, array) once for every parameter, in the order of the flat vector.

        Raises ValueError if two fields hold the same array.
        """
        owners = {}
        for name, module in self.modules():
            for field in fields(module):
                value = getattr(module, field.name)
                if isinstance(value, np.ndarray):
                    full = join(name, field.name)
                    if id(value) in owners:
                        raise ValueError(f"{owners[id(value)]} and {full} are the same array; "
                                         "to tie weights, share a Module, such as an "
                                         "Embedding")
                    owners[id(value)] = full
                    yield full, value

    def ties(self):
        """Return a list of pairs (other name, first name), for modules with several names.

        A language model with tied weights returns [("output.words", "embedding")].
        """
        first = {}
        ties = []
        for name, module in self._visits(""):
            if id(module) in first:
                ties.append((name, first[id(module)]))
            first.setdefault(id(module), name)
        return ties

    @property
    def size(self):
        """The number of parameters. Tied parameters count once."""
        return sum(array.size for _, array in self.named_parameters())

    @property
    def dtype(self):
        """The common dtype of the parameters. Raises ValueError if there is none."""
        dtypes = {array.dtype: name for name, array in self.named_parameters()}
        if len(dtypes) != 1:
            given = " and ".join(f"{name} has dtype {dtype}" for dtype, name in dtypes.items())
            raise ValueError(f"{given}; expected one dtype. Convert the model with "
                             "model.astype(np.float64)" if given else
                             f"{type(self).__name__} has no parameters and therefore no dtype")
        return next(iter(dtypes))

    # ---- one flat vector behind all parameters ---------------------------------------------------

    @property
    def vector(self):
        """The flat vector of all parameters. The first access packs the model into this vector."""
        if "_vector" not in self.__dict__:
            self._pack()
        return self.__dict__["_vector"]

    def _pack(self):
        """Move all parameters into one vector, make the fields views of it, and close the model."""
        self._check_parts_of_its_own()
        arrays = [array for _, array in self.named_parameters()]
        size = sum(array.size for array in arrays)
        self.move_to(np.empty(size, self.dtype if arrays else np.float32))

    def move_to(self, vector):
        """Copy all parameters to `vector`, make the fields views of it, and close the model.

        vector: a flat array with the size and dtype of `self.vector`.
        """
        moved = []
        start = 0
        for _, module in self.modules():
            for field in fields(module):
                value = module.__dict__[field.name]
                if isinstance(value, np.ndarray):
                    view = vector[start:start + value.size].reshape(value.shape)
                    view[...] = value
                    moved.append((module, field.name, view))
                    start += value.size
                else:
                    moved.append((module, field.name, _closed(value)))
        # only now, so that an interrupted call changes nothing
        for module, name, value in moved:
            module.__dict__[name] = value
        for _, module in self.modules():
            module.__dict__.pop("_vector", None)
            module.__dict__["_packed"] = True
        self.__dict__["_vector"] = vector

    def _check_parts_of_its_own(self):
        """Raise RuntimeError if a part of this model is already packed into another model.

        A part may be packed by itself: packing this model then replaces the vector of the part.
        """
        own = set()
        for _, whole in self.modules():
            if "_vector" in whole.__dict__:
                own.update(id(part) for _, part in whole.modules())
        for name, module in self.modules():
            if "_packed" in module.__dict__ and id(module) not in own:
                raise RuntimeError(f"the parameters of {name or 'this module'} "
                                   f"({type(module).__name__}) are already in the vector of "
                                   "another model; use its vector, or a copy() of the module")

    def __setattr__(self, name, value):
        found = getattr(type(self), name, None)
        if isinstance(found, property):
            if found.fset is not None:
                object.__setattr__(self, name, value)
            elif value is not self.__dict__.get("_vector", self):   # it is after `vector -= …`
                raise AttributeError(f"{type(self).__name__}.{name} is computed and cannot be set; "
                                     "to change parameters, write into model.vector[...]")
            return
        current = self.__dict__.get(name)
        if value is current or not self.__dict__.get("_packed"):
            self.__dict__[name] = value
        elif isinstance(current, np.ndarray):
            if describe_array(value) != describe_array(current):
                raise ValueError(f"{type(self).__name__}.{name} cannot be set to "
                                 f"{describe_array(value)}; expected {describe_array(current)}. "
                                 "For another shape or dtype, build a new model")
            current[...] = value
        elif isinstance(value, np.ndarray) or _has_parts(current) or _has_parts(value):
            raise ValueError(f"{type(self).__name__}.{name} cannot be replaced by "
                             f"{describe_array(value)} once `vector` has been used, for "
                             "example by training; replace it earlier")
        else:
            self.__dict__[name] = value

    # ---- gradients and copies --------------------------------------------------------------------

    def zeros_like(self, vector=None):
        """Return a packed model of zeros for the gradients, with the same structure and ties.

        vector: the flat array for the gradients; None: a new array.
        """
        grads = _rebuilt(self, np.zeros_like, {})
        if vector is None:
            grads._pack()
        else:
            grads.move_to(vector)
        return grads

    def copy(self):
        """Return an independent model with equal values and ties; packed if this one is packed."""
        return self._converted(np.array)

    def astype(self, dtype):
        """Return a copy in float32 or float64. Raises TypeError for other dtypes."""
        check_floating(dtype)
        return self._converted(lambda array: np.array(array, dtype))

    def _converted(self, convert):
        rebuilt = _rebuilt(self, convert, {})
        if "_vector" in self.__dict__:
            rebuilt._pack()
        return rebuilt

    def __getstate__(self):
        """Return the fields without `vector`: in a copy, the fields would not be views of it."""
        return {name: value for name, value in self.__dict__.items()
                if name not in ("_vector", "_packed")}

    def load(self, parameters):
        """Set the parameters from {dotted name: array}.

        Raises ValueError if the names or shapes are not those of this model, and TypeError if
        `parameters` is not a mapping or a value is not a float32 or float64 array.
        """
        check_kind("parameters", parameters, Mapping, "a dict of arrays by dotted name")
        own = dict(self.named_parameters())
        missing = sorted(own.keys() - parameters.keys())
        unknown = sorted(parameters.keys() - own.keys())
        if missing or unknown:
            raise ValueError(f"these parameters do not fit this {type(self).__name__}: "
                             f"{missing_and_unknown(missing, unknown)}. Use the class "
                             "and settings of the saved model")
        for name, array in own.items():
            check_array(name, parameters[name])
            given = parameters[name]
            if given.shape != array.shape:
                raise ValueError(f"{name} has shape {given.shape}; expected {array.shape}. "
                                 "Load the parameters into a model of the same sizes")
            check_real(name, given)
        for name, array in own.items():
            array[...] = parameters[name]

    # ---- printing --------------------------------------------------------------------------------

    def __repr__(self):
        rows = [(name, str(array.shape), f"{array.size:,}")
                for name, array in self.named_parameters()]
        widths = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
        lines = [f"{type(self).__name__}: {self.size:,} parameters"]
        for name, shape, count in rows:
            lines.append(f"  {name:<{widths[0]}}  {shape:<{widths[1]}}  {count:>{widths[2]}}")
        for other, name in self.ties():
            lines.append(f"  {other} is tied to {name}")
        return "\n".join(lines)


def join(prefix, name):
    """Return the dotted name of a part of a module: join("decoder", "W") returns "decoder.W"."""
    return f"{prefix}.{name}" if prefix else name


def _parts(name, value):
    """Yield (name, module) for each Module in `value`, also if it is nested in lists or tuples."""
    if isinstance(value, Module):
        yield name, value
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            if isinstance(item, np.ndarray):
                raise TypeError(f"{name}.{i} is an array in a {type(value).__name__}; "
                                "expected a Module. Wrap it in a Module, or make it a field")
            yield from _parts(f"{name}.{i}", item)


def _has_parts(value):
    return any(True for _ in _parts("", value))


def _closed(value):
    """Return the value of a field, with lists replaced by tuples.

    A part that is appended to a list after packing would not be in the model's vector.
    """
    if isinstance(value, list) or type(value) is tuple:
        return tuple(map(_closed, value))
    return value


def _rebuilt(value, convert, memo):
    """Rebuild a tree of modules, with convert(array) for every array. Shared parts stay shared.

    memo: {id of a module: its rebuilt module}, to which this function adds.
    """
    if isinstance(value, Module):
        if id(value) not in memo:
            rebuilt = object.__new__(type(value))
            memo[id(value)] = rebuilt
            for field in fields(value):
                rebuilt.__dict__[field.name] = _rebuilt(getattr(value, field.name), convert, memo)
        return memo[id(value)]
    if isinstance(value, np.ndarray):
        return convert(value)
    if isinstance(value, (list, tuple)) and _has_parts(value):
        return type(value)(_rebuilt(item, convert, memo) for item in value)
    return value
