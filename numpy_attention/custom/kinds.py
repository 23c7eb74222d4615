"""Recognize the kind of a user-defined class (attention, cell, …), and check the class."""

from dataclasses import fields, is_dataclass
from inspect import Parameter, get_annotations, isclass, isfunction, signature
from typing import Any

from numpy_attention.attention.history import HistoryAttention
from numpy_attention.attention.softmax_attention import SoftmaxAttention
from numpy_attention.cells.cell import Cell
from numpy_attention.custom.code import Code, parted, read
from numpy_attention.module import Module

ATTENTION = "attention"
SCORE = "score class for language models"
CELL = "cell"
MODEL = "model"
LAYER = "layer"

# {kind: the methods by which it is recognized}; kinds with more methods come first
METHODS = {
    CELL: ("zero_state", "project", "begin", "step", "state", "hidden", "begin_backward",
           "step_backward", "end_backward", "project_backward", "forward", "backward"),
    ATTENTION: ("read", "step", "step_backward", "read_backward"),
    SCORE: ("score", "score_backward", "forward", "backward"),
    MODEL: ("forward", "backward", "loss_and_grad"),
    LAYER: ("forward", "backward"),
}
NAMES = {name for names in METHODS.values() for name in names}
# {kind: (base class, methods that a subclass must define)}; the base has all other methods
BASES: dict[str, tuple[type, tuple[str, ...]]] = {
    CELL: (Cell, ("_step", "_step_backward")),
    ATTENTION: (SoftmaxAttention, ("score", "score_backward")),
    SCORE: (HistoryAttention, ("score", "score_backward")),
}
# {kind: arguments that the library may pass to `create` of a class of this kind}
OFFERED = {
    ATTENTION: ("query_size", "value_size", "outputs", "size", "longest", "heads", "width",
                "backwards", "init", "init_v", "dtype"),
    SCORE: ("query_size", "key_size", "size", "init", "dtype"),
    CELL: ("inputs", "hidden", "init", "recurrent", "dtype", "forget_bias"),
}


def mechanism_kind(one: type) -> str:
    """Return the kind of a class, such as "attention". Raises ValueError if it is unsuitable."""
    for kind, (base, left) in BASES.items():
        missing = [name for name in left if not hasattr(one, name)]
        if issubclass(one, base) and missing:
            raise ValueError(f"{one.__name__} derives from {base.__name__}, so it must define "
                             f"{' and '.join(missing)}")
    has = {kind: [name for name in names if callable(getattr(one, name, None))]
           for kind, names in METHODS.items()}
    whole = [kind for kind, names in METHODS.items() if len(has[kind]) == len(names)]
    if not whole:
        raise ValueError(f"{one.__name__} {lacking(has)}")
    check_part(one, whole[0])
    return whole[0]


def lacking(has: dict[str, list[str]]) -> str:
    """Describe which methods a class lacks. has: for each kind, the methods that the class has."""
    if has[SCORE][:2] == ["score", "score_backward"]:
        return ("has score and score_backward, but not the other methods; derive it from "
                "SoftmaxAttention for a translator, or from HistoryAttention for a language model")
    nearest = max(METHODS, key=lambda kind: (len(has[kind]) / len(METHODS[kind])))
    if not has[nearest]:
        return ("has none of the expected methods; define forward and backward for a layer, or "
                "derive it from a base class such as SoftmaxAttention")
    missing = [name for name in METHODS[nearest] if name not in has[nearest]]
    return (f"has {', '.join(has[nearest])}; also define {', '.join(missing)} to make it "
            f"{a(nearest)}")


def check_part(one: type, kind: str) -> None:
    """Raise ValueError unless a class is a Module and a hashable dataclass that fits `kind`."""
    if not issubclass(one, Module):
        raise ValueError(f"{one.__name__} is not a Module, so its arrays are not parameters; "
                         "import Module from numpy_attention.module, and write class "
                         f"{one.__name__}(Module)")
    own = get_annotations(one)
    if own and "__dataclass_fields__" not in vars(one):
        raise ValueError(f"{one.__name__} is not a dataclass, so {', '.join(own)} would not be "
                         "trained; write @dataclass(eq=False) above the class")
    if not is_dataclass(one):
        raise ValueError(f"{one.__name__} is not a dataclass; write @dataclass(eq=False) above the "
                         "class, even if it has no parameters")
    if one.__hash__ is None:
        why = "@dataclass compares instances by their fields; write @dataclass(eq=False)"
        if not getattr(one, "__dataclass_params__").eq:
            why = "it defines __eq__ without __hash__; remove __eq__, or define __hash__ too"
        raise ValueError(f"{one.__name__} is not hashable, because {why}")
    if issubclass(one, Cell):
        check_cell(one)
    if kind in OFFERED:
        check_create(one, OFFERED[kind])


def check_cell(one: Any) -> None:
    """Raise ValueError if a Cell lacks one of the fields W, U and b, which determine its sizes."""
    has = {field.name for field in fields(one)}
    missing = [name for name in ("W", "U", "b") if name not in has]
    if missing:
        raise ValueError(f"{one.__name__} lacks {', '.join(missing)}; declare the three parameters "
                         "of a Cell as fields: W (I, G), U (H, G) and b (G,)")


def check_create(one: type, offered: tuple[str, ...]) -> None:
    """Raise ValueError unless the class has a `create` that requires only `offered` arguments."""
    create = getattr(one, "create", None)
    if create is None:
        raise ValueError(f"{one.__name__} has no method create; add a classmethod create(cls, rng, "
                         f"{', '.join(offered[:2])}, init=glorot, dtype=np.float32)")
    unknown = [name for name in required(create) if name not in offered]
    if unknown:
        raise ValueError(f"{one.__name__}.create requires {', '.join(unknown)}, which the library "
                         f"does not pass; add a default value. It passes {', '.join(offered)}")


def required(function: Any, first: int = 1) -> list[str]:
    """Return the names of a function's parameters without a default, from index `first` on."""
    parameters = list(signature(function).parameters.values())
    return [one.name for one in parameters[first:] if one.default is Parameter.empty
            and one.kind not in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)]


# ---- by name ------------------------------------------------------------------------------------


def custom_class(text: str, wanted: str | None = None) -> type:
    """Run a Python file, and return a class that the file defines.

    text: "mine.py:Bilinear", or "mine.py" for the only suitable class of the file. wanted: one of
    the kinds in METHODS, or None for any kind. Raises OSError if the file cannot be read, and
    ValueError if the file cannot be run, the class is undefined, or the class is of another kind.
    """
    file, name = parted(text)
    return class_in(read(file), name, wanted)


def class_in(code: Code, name: str, wanted: str | None = None) -> type:
    """Return a class that the file `code` defines. Raises ValueError as `custom_class` does.

    name: the class, or "" for the only suitable one. wanted: the expected kind, or None for any.
    """
    one = code.found(name) if name else only_one(code, wanted)
    if not isclass(one):
        raise ValueError(f"{code.name}:{name} is not a class; {classes(code, name)}")
    kind = mechanism_kind(one)
    if wanted is not None and wanted != kind:
        base = BASES[wanted][0] if wanted in BASES else Module
        raise ValueError(f"{code.name}:{one.__name__} is {a(kind)}, not {a(wanted)}; derive "
                         f"{one.__name__} from {base.__name__}, or choose another class")
    return one


def only_one(code: Code, wanted: str | None) -> Any:
    """Return the only class of the wanted kind. Raises ValueError unless there is exactly one."""
    found = []
    for one in code.defined().values():
        if isclass(one) and any(hasattr(one, name) for name in NAMES):
            try:
                kind = mechanism_kind(one)
            except ValueError:
                kind = wanted or LAYER      # if it is the only one, the error says what it lacks
            if wanted in (None, kind):
                found.append(one)
    if not found:
        bases = [base.__name__ for kind, (base, _) in BASES.items() if wanted in (None, kind)]
        raise ValueError(f"{code.name} has no suitable class; derive one from "
                         f"{' or '.join(bases) or 'Module'}")
    if len(found) > 1:
        raise ValueError(f"{code.name} has {len(found)} suitable classes; choose one with "
                         f"{code.name}:NAME, where NAME is one of "
                         f"{', '.join(one.__name__ for one in found)}")
    return found[0]


def a(kind: str) -> str:
    return "an attention mechanism for translators" if kind == ATTENTION else f"a {kind}"


def classes(code: Code, name: str) -> str:
    """Return "expected one of A, B" for a file with classes, otherwise "define a class NAME"."""
    names = [name for name, one in code.defined().items() if isclass(one)]
    return f"expected one of {', '.join(names)}" if names else f"define a class {name}"


def cases(code: Code) -> list[str]:
    """Return the names of the functions `case` and case_… in a file, for gradient checks."""
    return [name for name, one in code.defined().items()
            if isfunction(one) and name.split("_")[0] == "case"]
