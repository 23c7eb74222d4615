"""Training settings: each option with its default, its values and its purpose.

`option` makes each field of `Training`, `TranslatorTraining` and `LanguageModelTraining`. The
command line builds options from the fields: --full-epochs is `full_epochs`, and `Values.read`
parses its value. The defaults here are those of the library; the command line may have other
defaults. To add an option, add a field here, and an argument of the same name to the Trainer or to
an optimizer. The value is passed by this name.
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
    """The values of type `kind` (int, float, str or bool) that `holds` accepts.

    expected: a description of these values, for messages. choices: the values, if they are names.
    """

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
        """Parse a text as one of the accepted values. Raises ValueError if this is not possible."""
        try:
            value = self.kind(text)
        except ValueError:
            value = None
        if value not in self:
            raise ValueError(f"got {short_repr(text)}; expected {self.expected}")
        return value


def whole(low: int, high: int = 10**9) -> Values:
    """Return the Values of integers from low to high. The default of high fits in an int32."""
    most = "10⁹" if high == 10**9 else f"{high:,}"
    return Values(int, f"an integer from {low} to {most}",
                  lambda value: low <= value <= high)


def choice(*names: str) -> Values:
    return Values(str, f"one of {', '.join(names)}", lambda value: value in names, names)


FLAG = Values(bool, "True or False", lambda value: True)
POSITIVE = Values(float, "a positive number", lambda value: 0 < value < math.inf)
NORM = Values(float, "a positive number, or inf to clip nothing", lambda value: value > 0)
THREADS = whole(1, MOST_THREADS)
SEEDS = Values(int, "an integer of at least 0 and below 2⁶⁴", lambda value: 0 <= value < 2**64)
DIVISOR = Values(float, "a number of at least 1", lambda value: 1 <= value < math.inf)


def option(
    default: Any, values: Values, help: str, offered: bool = True, **of: tuple[str, ...]
) -> Any:
    """Return a dataclass field for a training setting. field.metadata has the other arguments.

    default: the default value; None is always accepted if it is the default
    values: the Values that are accepted
    help: the purpose of the setting, for `--help`, which adds the default
    offered: whether the command line has the option
    of: the values of other settings with which this setting has an effect, such as
        schedule=("decay",); without `of`, the setting always has an effect
    """
    about = {"values": values, "help": help, "offered": offered, "of": of}
    return field(default=default, metadata=about)


@dataclass
class Training:
    """Training settings. Raises ValueError if the value of a setting is not allowed.

    Unless `minutes` is set, results depend only on settings, data, model and number of threads.
    schedule: "constant"; "decay", which divides the rate by `divisor` in every epoch after
    the first `full_epochs`; "linear", which decreases the rate to 0 at the end of training; or
    "warmup", which increases the rate over `warmup` steps and then decreases it with 1 / √step.
    """

    epochs: int = option(10, whole(1), "maximum number of passes through the text")
    minutes: float | None = option(None, POSITIVE, "stop after X minutes of training")
    batch_size: int = option(64, whole(1), "number of rows in a batch")
    optimizer: str = option(
        "adam", choice(*OPTIMIZERS),
        "optimizer: Adam (Kingma & Ba 2015), Adadelta (Zeiler 2012) or stochastic gradient descent")
    learning_rate: float = option(1e-3, POSITIVE, "multiply every update of the parameters by RATE")
    schedule: str = option(
        "constant", choice(*SCHEDULES),
        "learning rate schedule. constant: no change; decay: full for some epochs, then divided "
        "after every epoch; linear: reaches 0 after the last epoch; warmup: increases for "
        "some steps, then decreases as 1 / √step")
    full_epochs: int = option(0, whole(0), "epochs at the full learning rate", schedule=("decay",))
    divisor: float = option(
        2.0, DIVISOR, "divide the learning rate by X in every epoch after the full ones",
        schedule=("decay",))
    warmup: int = option(
        400, whole(1), "number of steps in which the learning rate increases", schedule=("warmup",))
    clip: float = option(1.0, NORM, "maximum norm of the gradient; inf disables clipping")
    average: str = option(
        "sentence", choice(*AVERAGES),
        "sum the loss over time and average it over the sentences of a step, or average it over "
        "the tokens", offered=False)
    patience: int | None = option(
        None, whole(1), "stop after N epochs without a better validation perplexity")
    keep: str = option(
        "best", choice(*KEPT),
        "keep the parameters of the epoch with the best validation perplexity, or of the last",
        offered=False)
    average_parameters_from: int | None = option(
        None, whole(1),
        "average the parameters at the end of epoch N and of every later epoch, and keep this mean "
        "instead of the best epoch's parameters (Izmailov et al. 2018)")
    save_steps: int | None = option(
        None, whole(1), "also save a checkpoint, from which training can be resumed, every N steps "
        "(default: only after each epoch)")
    min_count: int = option(1, whole(1), "replace words that occur fewer than N times with <unk>")
    max_vocabulary: int | None = option(
        None, whole(5),
        "maximum size of a vocabulary, including 4 special tokens; rarer words become <unk>")
    freeze_vectors: bool = option(
        False, FLAG, "do not train pretrained word vectors or an output layer that shares them")
    seed: int = option(
        0, SEEDS,
        "random seed for the initial values, the order of the text and dropout")
    order_seed: int | None = option(
        None, SEEDS,
        "random seed for the order of the text and dropout (default: that of the initial values)")

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            values = one.metadata["values"]
            if value not in values and not (value is None and one.default is None):
                raise ValueError(f"{one.name} = {short_repr(value)}; expected {values.expected}")
        first = self.average_parameters_from
        if first is not None and first > self.epochs:
            raise ValueError(f"average_parameters_from = {first} is after the last epoch; got "
                             f"epochs = {self.epochs}")
        if self.schedule == "linear" and self.epochs > MOST_COUNTED:
            raise ValueError(f"epochs = {self.epochs} is too large for a linear schedule, which "
                             f"counts all steps in advance; use at most {MOST_COUNTED:,} epochs")


@dataclass
class TranslatorTraining(Training):
    """Training settings of a translator.

    reverse_source: reverse source sentences, as in Sutskever et al. 2014. With subwords, min_count
    has no effect, and max_vocabulary raises ValueError.
    """

    batch_size: int = option(64, whole(1), "number of sentence pairs in a batch")
    reverse_source: bool = option(False, FLAG, "read the source backwards")
    subwords: int | None = option(
        None, whole(5),
        "split words into subwords; N is the vocabulary size of each side (needs sentencepiece: "
        "pip install 'numpy_attention[subwords]')")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.subwords and self.max_vocabulary:
            raise ValueError(
                f"max_vocabulary = {self.max_vocabulary} has no effect with subwords = "
                f"{self.subwords}, which can spell every word; set only one of them")


@dataclass
class LanguageModelTraining(Training):
    """Training settings of a language model.

    state: cells keep their state through the whole text ("carried", as in Zaremba et al. 2014), an
    article ("article") or a sentence ("sentence"). unit: the unit of the training Text.
    frequencies: initialize the output bias with the logarithms of word frequencies, which models
    otherwise have to learn first.
    """

    batch_size: int = option(
        20, whole(1), "number of text streams, sentences or articles read side by side")
    steps: int = option(
        35, whole(1), "number of tokens in a chunk of truncated back-propagation through time",
        state=("carried", "article"))
    cut: int | None = option(
        None, whole(1), "cut training sentences to N tokens, including </s>", state=("sentence",))
    state: str = option(
        "carried", choice(*STATES),
        "how long the cells keep their state. carried: through the whole text; sentence: to the "
        "end of a sentence; article: to the end of an article")
    unit: str = option(
        "words", choice("words", "characters"), "unit of the text", offered=False)
    frequencies: bool = option(
        False, FLAG,
        "initialize the output bias with the logarithm of word frequencies instead of 0")
