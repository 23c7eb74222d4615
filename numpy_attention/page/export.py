"""Export a run as a dict for JSON: its settings, words, parts, and every array.

    {
      "kind": "translator", "family": "rnnsearch", "title": …, "settings": {…}, "training": {…},
      "text": {"cut": "words", "lowercase": true}, "parameters": 276000, "precision": "float32",
      "learned": {"languages": "English → Spanish", "name": …, "sentences": 40000, "longest": 8, …},
      "vocabularies": {"source": [words], "target": [words]},         or {"words": [words]}
      with subwords, each side is {"pieces": [pieces]}
      "parts": {"": {"kind": "RNNSearch", "fields": {"encoder": {"part": "encoder"}, …}}, …},
      "arrays": {"encoder.W": {"shape": [48, 192], "float32": base64}, …},
      "checkpoints": [{"label": …, "arrays": {…}}],
      "custom": [],         user-defined classes that the page cannot run: if there are any, parts
                            and arrays are empty, and examples have "recorded" words and weights
      "examples": [{"source": [words], "target": [words], "sure": [[0, 0]], "possible": [[0, 0]]}]
    }

A part is a Module of the model. A field of a part is an array, one or more parts, or a plain
setting. Arrays and parts are given by their dotted names, such as "encoder.W".
"""

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from numpy_attention.data.pairs import Pair
from numpy_attention.data.subwords import Subwords
from numpy_attention.data.text_form import TextForm
from numpy_attention.data.vocabulary import EOS, SPECIAL_TOKENS, Vocabulary
from numpy_attention.module import Array, Module, join
from numpy_attention.registry import PRECISIONS
from numpy_attention.validation.arguments import check_name

# base64 text has 4 characters for 3 bytes
CHARACTERS_A_BYTE = 4 / 3
LARGEST = 60_000_000        # characters of arrays in a page that a browser still opens quickly
ENGINE = Path(__file__).parent / "engine"
# training settings that determine how a text is read
READING = ("reverse_source", "state", "unit")


def exported(
    trained: Any,
    title: str,
    form: TextForm,
    precision: str = "float32",
    examples: Sequence[Any] = (),
    checkpoints: Mapping[str, Mapping[str, Array]] | None = None,
    learned: Mapping[str, Any] | None = None,
    script: str = "",
) -> dict[str, Any]:
    """Export a Translator or LanguageModelRun for a page, as the dict in the module docstring.

    form: how raw text becomes tokens
    examples: Pairs or sentences, whose results are recorded if the model has user-defined parts
    checkpoints: {label: {name: array}}, with the arrays of earlier checkpoints
    learned: facts about the training text, from `runs.text_facts`
    script: JavaScript that adds user-defined parts to the engine

    Raises ValueError for an unknown precision, or if a page cannot run or hold the model.
    """
    check_name("precision", precision, PRECISIONS)
    vocabularies = vocabularies_of(trained)
    # without a script, the page cannot run user-defined parts, and only shows recorded results
    custom = [] if script else sorted(trained.own)
    parts = {} if custom else parts_of(trained.model, script)
    arrays = {} if custom else dict(trained.model.named_parameters())
    checkpoints = {} if custom else checkpoints or {}
    check_small(arrays, precision, 1 + len(checkpoints))
    return {
        "kind": trained.KIND,
        "family": trained.name,
        "title": title,
        "settings": trained.settings,
        "training": {name: getattr(trained.training, name) for name in READING
                     if hasattr(trained.training, name)},
        "text": {"cut": form.tokenizer, "lowercase": form.lowercase},
        "learned": dict(learned or {}),
        "vocabularies": vocabularies,
        "parameters": trained.model.size,
        "precision": precision,
        "parts": parts,
        "arrays": kept(arrays, precision),
        "checkpoints": [{"label": label, "arrays": kept(earlier, precision)}
                        for label, earlier in checkpoints.items()],
        "custom": custom,
        # with a script, the page compares the weights of pairs
        "examples": [example_of(one) | ({"recorded": recorded(trained, one)} if custom or (
            trained.own and isinstance(one, Pair)) else {}) for one in examples],
    }


def vocabularies_of(trained: Any) -> dict[str, Any]:
    """Return {side: words or subword pieces} of a run. Raises ValueError for other vocabularies."""
    found: dict[str, Any] = {}
    for name in trained.VOCABULARIES:
        vocabulary = getattr(trained, name)
        side = name.removesuffix("vocabulary").rstrip("_") or "words"
        if isinstance(vocabulary, Vocabulary):
            found[side] = vocabulary.tokens
        elif isinstance(vocabulary, Subwords):
            ids = range(len(SPECIAL_TOKENS), len(vocabulary))
            found[side] = {"pieces": [vocabulary.token(id) for id in ids]}
        else:
            raise ValueError(f"the {side} vocabulary is of type {type(vocabulary).__name__}, but a "
                             "page supports only Vocabulary and Subwords")
    return found


def example_of(example: Any) -> dict[str, Any]:
    """Convert an example, which is a Pair or the words of a sentence, to a dict for JSON."""
    if isinstance(example, Pair):
        return {"source": list(example.source), "target": list(example.target),
                "sure": sorted(map(list, example.sure)),
                "possible": sorted(map(list, example.possible))}
    return {"words": list(example)}


def recorded(trained: Any, example: Any) -> dict[str, Any]:
    """Return a model's words and attention weights for an example, as {name: table}.

    The table "own" has the words of the translation, or of the sentence that a language model
    reads. The table "reference" has the target words of the Pair.
    """
    def table(words: Sequence[str], rows: list[str], columns: list[str],
              weights: Array) -> dict[str, Any]:
        numbers = [[None if np.isnan(w) else round(float(w), 4) for w in row] for row in weights]
        return {"words": list(words), "rows": rows, "columns": columns, "weights": numbers}

    end = SPECIAL_TOKENS[EOS]
    if not isinstance(example, Pair):
        words = [*example, end]
        return {"own": table(example, words, [end, *example], trained.attend(example))}
    columns = [*example.source, end]
    found, = trained.translate([example.source])
    rows = [*found.target, end][:len(found.weights)]
    return {"own": table(found.target, rows, columns, found.weights),
            "reference": table(example.target, [*example.target, end], columns,
                               trained.attend([example])[0])}


# ---- parts --------------------------------------------------------------------------------------


def parts_of(model: Module, script: str = "") -> dict[str, Any]:
    """Return {dotted name: {"kind": class name, "fields": …}} for a model and each module in it.

    script: JavaScript that adds classes to the engine of the page. Raises ValueError for a class
    that neither the engine nor the script has, or that both have.
    """
    names = {id(module): name for name, module in model.modules()}
    own = kinds_in(script)
    if both := sorted(own & kinds()):
        raise ValueError(f"the script defines {', '.join(both)}, which the page already "
                         "has; rename it, both in the script and in Python")
    known = kinds() | own
    found = {}
    for name, module in model.modules():
        kind = type(module).__name__
        if kind not in known:
            if kind == "HardRNNSearch":
                raise ValueError("pages support every language model, and every translator except "
                                 "hard-rnnsearch; draw its attention weights with `heatmap`")
            raise ValueError(f"{name or 'the model'} is of class {kind}, which a page cannot run; "
                             "use a class of the package, or add the class in the script with "
                             f"Object.assign(KINDS, {{ {kind} }})")
        found[name] = {"kind": kind, "fields": {
            field.name: field_of(getattr(module, field.name), join(name, field.name), names)
            for field in fields(module)}}       # type: ignore[arg-type]
    return found


def field_of(value: Any, name: str, names: Mapping[int, str]) -> dict[str, Any]:
    """Return a dict that says whether a field is an array, Module, list of Modules or plain value.

    name: the dotted name of the field. names: {id of a module: its dotted name}.
    """
    if isinstance(value, np.ndarray):
        return {"array": name}
    if isinstance(value, Module):
        return {"part": names[id(value)]}
    if isinstance(value, (list, tuple)):
        return {"parts": [names[id(part)] for part in value]}
    return {"value": value}


def kinds() -> set[str]:
    """Return the class names of the model parts that the engine supports."""
    return set().union(*(kinds_in(path.read_text("utf-8")) for path in ENGINE.glob("*.js")))


def kinds_in(script: str) -> set[str]:
    """Return the names of the module classes that JavaScript code adds to the object KINDS."""
    return {name for names in re.findall(r"Object\.assign\(KINDS, \{([^}]*)\}", script)
            for name in re.findall(r"\w+", names)}


# ---- arrays -------------------------------------------------------------------------------------


def check_small(arrays: Mapping[str, Array], precision: str, times: int,
                largest: int | None = None) -> None:
    """Raise ValueError if these arrays are too large for a page.

    times: the number of copies in the page. largest: the limit in bytes, by default LARGEST.
    """
    largest = largest or LARGEST
    sizes = {one: times * characters(arrays, one) for one in PRECISIONS}
    if sizes[precision] <= largest:
        return
    smaller = [f"precision = {one} makes a page of {megabytes(size)}" for one, size in sizes.items()
               if size <= largest and size < sizes[precision]]
    advice = "; ".join(smaller) or "train a smaller model for a page"
    sets = f" in {times} checkpoints" if times > 1 else ""
    count = sum(array.size for array in arrays.values())
    raise ValueError(f"{count:,} parameters{sets} make a page of {megabytes(sizes[precision])}, "
                     f"but the limit is {megabytes(largest)}; {advice}")


def megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def characters(arrays: Mapping[str, Array], precision: str) -> int:
    """Count the base64 characters that arrays take when they are stored in this precision."""
    numbers = {"float32": 4, "float16": 2, "byte": 1}
    total = 0
    for array in arrays.values():
        total += array.size * (numbers[precision] if array.ndim == 2 else 4)
        if precision == "byte" and array.ndim == 2:
            total += 4 * len(array)
    return int(total * CHARACTERS_A_BYTE)


def kept(arrays: Mapping[str, Array], precision: str) -> dict[str, Any]:
    """Encode arrays for `engine/arrays.js`: {"cell.W": {"shape": [2, 3], "float32": base64}}."""
    return {name: kept_array(name, array, precision) for name, array in arrays.items()}


def kept_array(name: str, array: Array, precision: str) -> dict[str, Any]:
    shape = {"shape": list(array.shape)}
    if array.ndim < 2 or precision == "float32":
        return shape | {"float32": text_of(array.astype("<f4"))}
    if precision == "float16":
        return shape | {"float16": text_of(halves(name, array))}
    bytes_, scales = in_bytes(array)
    return shape | {"byte": text_of(bytes_), "scales": text_of(scales.astype("<f4"))}


def halves(name: str, array: Array) -> Array:
    """Convert an array to float16. Raises ValueError if a number is too large for float16."""
    with np.errstate(over="ignore"):
        found = array.astype("<f2")
    if not np.isfinite(found).all():
        raise ValueError(f"{name} has numbers beyond 65,504, the largest in float16; use "
                         "precision = float32")
    return found


def in_bytes(array: Array) -> tuple[Array, Array]:
    """Return bytes (I, O) from −127 to 127, and scales (I,), with w_ij ≈ byte_ij · scale_i."""
    scales = np.abs(array).max(axis=1) / 127                                # (I,)
    divisors = np.where(scales > 0, scales, 1)[:, None]                     # (I, 1)
    return np.rint(array / divisors).astype(np.int8), scales


def text_of(array: Array) -> str:
    """Encode the bytes of an array as base64."""
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
