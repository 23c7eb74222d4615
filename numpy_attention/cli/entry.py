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

# ---- what an option belongs to ------------------------------------------------------------------


@dataclass(frozen=True)
class With:
    """The option belongs to these values of another one.

    why: what it is refused with, {} for the value given. words: what help says of it; None: made of
    the values.
    """

    other: str
    values: Collection[Any]
    why: str = ""
    words: str | None = None

    def refusal(self, value: Any) -> str:
        """Why the option means nothing beside this value of the other; "": it has a meaning."""
        if value is None or value in self.values:
            return ""
        why = self.why or f"it belongs to {chosen(self.other, self.values)}"
        return why.format(value)

    def told(self, help: str) -> str:
        """The help of the option, with what it belongs to."""
        words = self.words
        if words is None:
            words = f"of {chosen(self.other, self.values)}: "
        return words + help


@dataclass(frozen=True)
class Without:
    """The option means nothing beside these values of another one: {value: why}."""

    other: str
    reasons: Mapping[Any, str]

    def refusal(self, value: Any) -> str:
        return self.reasons.get(value, "")

    def told(self, help: str) -> str:
        return f"{help}; not with {chosen(self.other, self.reasons)}"


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
    """A default that goes by another option's value."""

    other: str
    values: Mapping[Any, Any]


# ---- an option ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Option:
    """An option of the command line, or one of a command's words.

    name: in Python; --max-length is max_length.
    read: makes a value of its text, or raises ValueError.
    default: a value, or a By; otherwise: in words, what holds where there is no default.
    only: what it belongs to.
    argument: what the library calls it, where by another name; called: {model: its setting}.
    kind: "value"; "flag", on or not given; "switch", --name or --no-name; "word", without a name in
    front of it, and words says how many, as argparse's nargs does.
    """

    name: str
    help: str
    read: Callable[[str], Any] = str
    default: Any = None
    otherwise: str = ""
    choices: Collection[str] = ()
    only: Sequence[With | Without | Against] = ()
    argument: str = ""
    called: Mapping[str, str] = field(default_factory=dict)
    metavar: str | None = None
    required: bool = False
    kind: str = "value"
    words: str | None = None

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
        default = self.otherwise or default_text(self.default)
        if default and not (self.kind == "flag" and self.default is False):
            text += f" (default: {default})"
        return text

    def add_to(self, group: argparse._ActionsContainer) -> None:
        """Add it to argparse's parser or group, without a default: None, it is not given."""
        help = self.help_text().replace("%", "%%")
        if self.kind == "word":
            group.add_argument(self.name, nargs=self.words, metavar=self.metavar, help=help)
        elif self.kind == "flag":
            group.add_argument(flag_of(self.name), action="store_true", default=None, help=help)
        elif self.kind == "switch":
            switch = argparse.BooleanOptionalAction
            group.add_argument(flag_of(self.name), action=switch, help=help)
        else:
            choices = list(self.choices) or None
            group.add_argument(flag_of(self.name), type=self.value, choices=choices, help=help,
                               metavar=self.metavar, required=self.required)

    def value(self, text: str) -> Any:
        """The value of a text, for argparse, which tells an ArgumentTypeError in full."""
        try:
            return self.read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None


def word(name: str, help: str, metavar: str, words: str | None = None) -> Option:
    """A word of a command, or with `words` as many as argparse's nargs says."""
    return Option(name, help, metavar=metavar, kind="word", words=words)


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
            if why and option.name in given:
                instead = choice_instead(option, known.get(condition.other))
                raise ValueError(f"{flag_of(option.name)} is given, but {why}: leave it out"
                                 f"{instead}")
            if why and isinstance(condition, With):
                values[option.name] = None
    return values


def choice_instead(option: Option, other: Option | None) -> str:
    """The values of another option that this one, refused, would belong to."""
    if other is None or not other.choices:
        return ""
    conditions = [one for one in option.only if one.other == other.name]
    fitting = [value for value in other.choices
               if not any(one.refusal(value) for one in conditions)]
    return f", or choose {chosen(other.name, fitting)}"


def flag_of(name: str) -> str:
    """max_length → --max-length."""
    return f"--{name.replace('_', '-')}"


def chosen(name: str, values: Iterable[Any]) -> str:
    """An option with some of its values, as one would write them."""
    words = [default_text(value) for value in values if value is not True]
    return " ".join([flag_of(name), listed(words, "or")]).rstrip()


def listed(words: Sequence[str], last: str) -> str:
    """a, b and c; `last` is the "and"."""
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def default_text(default: Any) -> str:
    """A default as one would write it; "" where there is none."""
    if default is None:
        return ""
    if isinstance(default, bool):
        return "on" if default else "off"
    if isinstance(default, By):
        having: dict[str, list[str]] = {}
        for value, what in default.values.items():
            having.setdefault(default_text(what), []).append(str(value))
        if len(having) == 1:
            return next(iter(having))
        return ", ".join(f"{what} for {listed(values, 'and')}" for what, values in having.items())
    return f"{default:g}" if isinstance(default, float) else str(default)
