"""What is said of an option, once; its help, its default and what refuses it all follow from that.

    Option("warmup", "steps until the rate is whole", whole(1), 400,
           only=[With("schedule", ["warmup"])])

    --warmup WARMUP   of --schedule warmup: steps until the rate is whole (default: 400)
    --warmup is given, but it belongs to --schedule warmup: leave it out
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy_attention.validation.messages import short_repr
from numpy_attention.registry import is_custom_code

OWN = "FILE.py:CLASS"       # a class of a reader's own

# ---- what an option belongs to ------------------------------------------------------------------


@dataclass(frozen=True)
class With:
    """The option belongs to these values of another one.

    why: what it is refused with, {} for the value given. words: what help says of it; None: made of
    the values. own: it belongs to code of a reader's own too.
    """

    other: str
    values: Collection[Any]
    why: str = ""
    words: str | None = None
    own: bool = False

    def refusal(self, value: Any) -> str:
        """Why the option means nothing beside this value of the other; "": it has a meaning."""
        if value is None or value in self.values or (self.own and is_custom_code(value)):
            return ""
        why = self.why or f"it belongs to {flag_with(self.other, self.values)}"
        return why.format(value)

    def told(self, help: str) -> str:
        """The help of the option, with what it belongs to."""
        words = self.words
        if words is None:
            words = f"of {flag_with(self.other, self.values)}: "
        return words + help


@dataclass(frozen=True)
class Without:
    """The option means nothing beside these values of another one: {value: why}."""

    other: str
    reasons: Mapping[Any, str]

    def refusal(self, value: Any) -> str:
        return self.reasons.get(value, "")

    def told(self, help: str) -> str:
        return f"{help}; not with {flag_with(self.other, self.reasons)}"


@dataclass(frozen=True)
class Against:
    """The option means nothing where another one is given."""

    other: str
    why: str

    def refusal(self, value: Any) -> str:
        return self.why if value else ""

    def told(self, help: str) -> str:
        return f"{help}; not with {flag_of(self.other)}"


@dataclass(frozen=True)
class By:
    """A default that goes by the value of another option, one that stands before it."""

    other: str
    values: Mapping[Any, Any]


# ---- an option ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Option:
    """An option of the command line, or one of a command's words.

    name: in Python; --max-length is max_length.
    read: makes a value of its text, or raises ValueError.
    default: a value, or a By; otherwise: in words, what holds where there is no default.
    choices: all that it may be; own: or a class of the reader's own, FILE.py:CLASS. metavar: what
    stands for its value in help.
    only: what it belongs to.
    argument: what the library calls it, where by another name; called: {model: its setting}.
    kind: "value"; "flag", on or not given; "switch", --name or --no-name; "word", without a name in
    front of it. nargs: of a word, how many, as argparse has it. short: a letter, for -o.
    """

    name: str
    help: str
    read: Callable[[str], Any] = str
    default: Any = None
    otherwise: str = ""
    choices: Collection[str] = ()
    own: bool = False
    only: Sequence[With | Without | Against] = ()
    argument: str = ""
    called: Mapping[str, str] = field(default_factory=dict)
    metavar: str | None = None
    required: bool = False
    kind: str = "value"
    nargs: str | None = None
    short: str = ""

    def default_beside(self, values: Mapping[str, Any]) -> Any:
        """The value where none is given, beside those of the options before it, or None."""
        if isinstance(self.default, By):
            return self.default.values.get(values[self.default.other])
        return self.default

    def help_text(self) -> str:
        """What --help says: what the option belongs to, what it is for, its default."""
        text = self.help
        for condition in reversed(self.only):
            text = condition.told(text)
        default = self.otherwise or written(self.default)
        if default and not (self.kind == "flag" and self.default is False):
            text += f" (default: {default})"
        return text

    def add_to(self, group: argparse._ActionsContainer) -> None:
        """Add it to argparse's parser or group, without a default: None, it is not given."""
        help = self.help_text().replace("%", "%%")
        if self.kind == "word":
            group.add_argument(self.name, nargs=self.nargs, metavar=self.metavar, help=help)
        elif self.kind == "flag":
            group.add_argument(flag_of(self.name), action="store_true", default=None, help=help)
        elif self.kind == "switch":
            switch = argparse.BooleanOptionalAction
            group.add_argument(flag_of(self.name), action=switch, help=help)
        else:
            choices = list(self.choices) or None
            metavar = self.metavar
            if self.own:
                metavar = f"{{{','.join(self.choices)},{OWN}}}"
                choices = None
            flags = [f"-{self.short}"] if self.short else []
            group.add_argument(*flags, flag_of(self.name), type=self.value, choices=choices,
                               help=help, metavar=metavar, required=self.required)

    def value(self, text: str) -> Any:
        """The value of a text, for argparse, which tells an ArgumentTypeError in full."""
        if self.own and text not in self.choices and not is_custom_code(text):
            known = ", ".join(map(repr, self.choices))
            raise argparse.ArgumentTypeError(f"invalid choice: {short_repr(text)} (choose from {known}, "
                                             f"or {OWN} of your own)")
        try:
            return self.read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None


def word(name: str, help: str, metavar: str, nargs: str | None = None) -> Option:
    """A word of a command, or as many as `nargs` says."""
    return Option(name, help, metavar=metavar, kind="word", nargs=nargs)


def flag(name: str, help: str, only: Sequence[With | Without | Against] = ()) -> Option:
    """An option that is on where it is given."""
    return Option(name, help, default=False, only=only, kind="flag")


@dataclass(frozen=True)
class Group:
    """Options under a title of the help; "": no title."""

    title: str
    options: Sequence[Option]


# ---- from what is given to what holds -----------------------------------------------------------


def settled(options: Iterable[Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """The value of every option: as given, or its default, or None where it belongs elsewhere.

    given: values of options, and of what else options belong to. ValueError: an option is given
    where it means nothing.
    """
    known = {option.name: option for option in options}
    values = dict(given)
    for option in known.values():
        values.setdefault(option.name, option.default_beside(values))
    for option in known.values():
        for condition in option.only:
            why = condition.refusal(values.get(condition.other))
            if not why:
                continue
            if option.name in given:
                instead = choice_instead(option, known.get(condition.other))
                raise ValueError(f"{flag_of(option.name)} is given, but {why}: leave it out"
                                 f"{instead}")
            if isinstance(condition, With):
                values[option.name] = None
    return values


def choice_instead(option: Option, other: Option | None) -> str:
    """The values of another option that this one, refused, would belong to."""
    if other is None or not other.choices:
        return ""
    conditions = [one for one in option.only if one.other == other.name]
    fitting = [value for value in other.choices
               if not any(one.refusal(value) for one in conditions)]
    return f", or choose {flag_with(other.name, fitting)}"


def flag_of(name: str) -> str:
    """max_length → --max-length."""
    return f"--{name.replace('_', '-')}"


def flag_with(name: str, values: Iterable[Any]) -> str:
    """An option with some of its values, as one would write them."""
    words = [written(value) for value in values if value is not True]   # a flag has its name alone
    return f"{flag_of(name)} {listed(words, 'or')}".rstrip()


def listed(words: Sequence[str], last: str) -> str:
    """a, b and c; `last` is the "and"."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def written(value: Any) -> str:
    """A value, or a By, as one would write it; "" for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g}"
    if not isinstance(value, By):
        return str(value)
    beside: dict[str, list[str]] = {}               # default → the other's values that have it
    for other, default in value.values.items():
        beside.setdefault(written(default), []).append(str(other))
    if len(beside) == 1:
        return next(iter(beside))
    return ", ".join(f"{default} for {listed(others, 'and')}" for default, others in beside.items())
