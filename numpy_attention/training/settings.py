"""How a model is trained: each option with its default, its values and its purpose, in one place.

A field of `Training`, `TranslatorTraining` or `LanguageModelTraining` is made by `option`:

    field.name, field.default
    field.metadata["values"]       the Values it may have, besides None where None is the default
    field.metadata["help"]         its purpose, as `--help` prints it, which adds the default
    field.metadata["of"]           {setting: the choices that this option belongs to}; {}: to all
    field.metadata["offered"]      False: for Python only

The command line makes its options of them: --full-epochs is `full_epochs`, read by `Values.read`.
Defaults here are the library's; the command line may have others. A new option is a field here, and
one of the same name in the Trainer or in an optimizer, to which it is passed by name.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

from numpy_attention.registry import AVERAGES, KEPT, MOST_THREADS, OPTIMIZERS, SCHEDULES, STATES
from numpy_attention.validation.messages import short_repr

MOST_COUNTED = 10_000       # epochs of a linear schedule


@dataclass(frozen=True)
class Values:
    """The values of a type (int, float, str, bool) that `holds` accepts; `expected` names them."""

    kind: type
    expected: str
    holds: Callable[[Any], bool]
    choices: tuple[str, ...] = ()

    def __contains__(self, value: object) -> bool:
        if isinstance(value, bool) and self.kind in (int, float):   # to Python, True is a number
            return False
        kinds = (int, float) if self.kind is float else self.kind
        return isinstance(value, kinds) and self.holds(value)

    def read(self, text: str) -> Any:
        """Return the value of a text. ValueError: it is not one of these values."""
        try:
            value = self.kind(text)
        except ValueError:
            value = None
        if value not in self:
            raise ValueError(f"{short_repr(text)}: expected {self.expected}")
        return value


def whole(low: int, high: int = 10**9) -> Values:
    """Integers from low to high; 10⁹ is more than anybody needs, and fits NumPy's integers."""
    most = "10⁹" if high == 10**9 else f"{high:,}"
    return Values(int, f"a whole number of at least {low}, at most {most}",
                  lambda value: low <= value <= high)


def choice(*names: str) -> Values:
    return Values(str, f"one of {', '.join(names)}", lambda value: value in names, names)


FLAG = Values(bool, "True or False", lambda value: True)
POSITIVE = Values(float, "a positive number", lambda value: 0 < value < math.inf)
NORM = Values(float, "a positive number, or inf to clip nothing", lambda value: value > 0)
THREADS = whole(1, MOST_THREADS)
SEEDS = Values(int, "a whole number of at least 0, below 2⁶⁴", lambda value: 0 <= value < 2**64)
DIVISOR = Values(float, "a number of at least 1", lambda value: 1 <= value < math.inf)


def option(
    default: Any, values: Values, help: str, offered: bool = True, **of: tuple[str, ...]
) -> Any:
    """Return the field of an option; of: the settings that it belongs to, with their choices."""
    about = {"values": values, "help": help, "offered": offered, "of": of}
    return field(default=default, metadata=about)


@dataclass
class Training:
    """All that a run's result depends on besides the data and the model.

    schedule: "constant"; "decay", the rate divided by `divisor` in every epoch after `full_epochs`;
    "linear", straight down to 0 at the end of the last epoch; "warmup", up over `warmup` steps and
    down with 1 / √step. ValueError: a setting that is not what it may be.
    """

    epochs: int = option(10, whole(1), "passes through the text, at most")
    minutes: float | None = option(None, POSITIVE, "stop after this many minutes of training")
    batch_size: int = option(64, whole(1), "rows of a step")
    optimizer: str = option("adam", choice(*OPTIMIZERS), "how a gradient moves the parameters")
    learning_rate: float = option(1e-3, POSITIVE, "size of the optimizer's steps")
    schedule: str = option(
        "constant", choice(*SCHEDULES),
        "the learning rate over time: divided in every epoch after the full ones, straight down to "
        "0 at the end of the last, or up in a warmup and then down with 1 / √step")
    full_epochs: int = option(0, whole(0), "epochs at the whole rate", schedule=("decay",))
    divisor: float = option(2.0, DIVISOR, "what divides the rate", schedule=("decay",))
    warmup: int = option(400, whole(1), "steps until the whole rate", schedule=("warmup",))
    clip: float = option(1.0, NORM, "largest norm of the gradient; inf clips nothing")
    average: str = option(
        "sentence", choice(*AVERAGES),
        "the loss is summed over time and averaged over a step's sentences, or over its tokens",
        offered=False)
    patience: int | None = option(
        None, whole(1), "stop after this many epochs without a better validation perplexity")
    keep: str = option(
        "best", choice(*KEPT),
        "the parameters of the epoch that was best on the validation text, or of the last",
        offered=False)
    save_steps: int | None = option(
        None, whole(1), "save after this many steps too, not only after epochs")
    min_count: int = option(1, whole(1), "rarer words become <unk>")
    max_vocabulary: int | None = option(
        None, whole(5),
        "at most this many ids of each language, four special ones included, for the most frequent "
        "words; the others become <unk>")
    freeze_vectors: bool = option(
        False, FLAG, "do not train embeddings that have pretrained vectors, nor the output that is "
        "tied to one")
    seed: int = option(0, SEEDS, "of the initial values, the order, dropout")
    order_seed: int | None = option(
        None, SEEDS, "of the order and dropout, where the initial values are to stay the seed's")

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            values = one.metadata["values"]
            if value not in values and not (value is None and one.default is None):
                raise ValueError(f"{one.name} {short_repr(value)}: expected {values.expected}")
        if self.schedule == "linear" and self.epochs > MOST_COUNTED:
            raise ValueError(f"epochs = {self.epochs}: a linear schedule counts the steps of each "
                             f"epoch before it begins, give at most {MOST_COUNTED:,}")


@dataclass
class TranslatorTraining(Training):
    """How a translator is trained.

    reverse_source is Sutskever et al. 2014's. With subwords min_count means nothing, and
    max_vocabulary raises ValueError.
    """

    batch_size: int = option(64, whole(1), "sentence pairs of a step")
    reverse_source: bool = option(False, FLAG, "read the source from its end")
    subwords: int | None = option(
        None, whole(5),
        "cut words into this many different pieces on each side, which spell every word (needs "
        "sentencepiece: pip install 'numpy_attention[subwords]')")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.subwords and self.max_vocabulary:
            raise ValueError(
                f"max_vocabulary = {self.max_vocabulary} has no effect with subwords = "
                f"{self.subwords}, which spell every word: give one of them")


@dataclass
class LanguageModelTraining(Training):
    """How a language model is trained.

    A "carried" state is Zaremba et al. 2014's. unit is that of the training Text. frequencies
    initializes the output bias with word frequencies, which a model otherwise learns first, slowly.
    """

    batch_size: int = option(20, whole(1), "streams of text, or sentences or articles, of a step")
    steps: int = option(
        35, whole(1), "tokens that back-propagation goes through at a time",
        state=("carried", "article"))
    cut: int | None = option(
        None, whole(1), "tokens to which sentences are cut in training, not where they are "
        "measured; </s> counts", state=("sentence",))
    state: str = option(
        "carried", choice(*STATES),
        "of the cells: carried through the whole text, or empty at the start of every sentence or "
        "article")
    unit: str = option(
        "words", choice("words", "characters"), "what the text consists of", offered=False)
    frequencies: bool = option(
        False, FLAG,
        "the output's bias begins as the logarithm of each word's frequency, else as 0")
