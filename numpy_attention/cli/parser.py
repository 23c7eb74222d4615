"""Options of commands. The description of an option determines its flag, help, default and rules.

    Option("warmup", "steps until the full rate", whole(1), 400, needs={"schedule": ("warmup",)})

    --warmup N   steps until the full rate (with --schedule warmup; default: 400)
    --warmup has no effect with --schedule decay; omit --warmup, or choose --schedule warmup
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any, NoReturn

from numpy_attention.registry import RUNS, is_custom_code
from numpy_attention.validation.messages import short_repr

CODE = "FILE.py:CLASS"      # a user-defined class
NUMBERS: dict[Any, str] = {int: "N", float: "X"}    # in the help of an option
Rules = Mapping[str, Collection[Any]]


@dataclass(frozen=True)
class Option:
    """An option, or a positional argument, of a command. Comments explain most of the fields.

    kind: "value", "flag" (on if specified), "switch" (--name or --no-name) or "positional". needs,
    excludes: {name of another option: values of that option}. This option has an effect only with
    the values in `needs`, and no effect with those in `excludes`. An empty tuple means any value.
    """

    name: str                               # in Python; max_length becomes --max-length
    help: str
    read: Callable[[str], Any] = str        # parses the text, or raises ValueError
    default: Any = None                     # a value, or {value of the option `by`: default}
    note: str = ""                          # the default in words
    by: str = ""
    choices: Collection[str] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)    # {another name: the choice meant}
    custom: bool = False                    # whether FILE.py:CLASS is allowed, besides the choices
    kind: str = "value"
    needs: Rules = field(default_factory=dict)
    excludes: Rules = field(default_factory=dict)
    run: str = ""                           # the kind of run that accepts the option
    metavar: str | None = None
    nargs: str | None = None
    short: str = ""
    required: bool = False
    again: str = ""     # advice for a user who repeats an option that uses only one value

    @property
    def flag(self) -> str:
        """The flag, such as --max-length, or the name of a positional argument in the help."""
        return self.metavar or "" if self.kind == "positional" else flag_of(self.name)

    @property
    def usage(self) -> str:
        """The option as printed after `usage:`, or "" if it is optional and has a flag."""
        forms = {"*": "[{0} ...]", "+": "{0} [{0} ...]", "?": "[{0}]"}
        words = forms.get(self.nargs or "", "{0}").format(self.metavar)
        return words if self.kind == "positional" else f"{self.flag} {words}" * self.required

    def conflict(self, values: Mapping[str, Any]) -> str:
        """Return the name of an option whose value makes this option ineffective, or "" if none."""
        for other, wanted in self.needs.items():
            value = values.get(other)
            missing = value is None and not wanted
            if missing or (value is not None and wanted and value not in wanted):
                return other
        for other, unwanted in self.excludes.items():
            value = values.get(other)
            if value in unwanted or (value and not unwanted):
                return other
        return ""

    def help_text(self) -> str:
        """Return the help, followed by the rules for combining options, and the default."""
        notes = [f"with {with_values(flag_of(other), some)}" for other, some in self.needs.items()
                 if other != self.by]       # the title of the option's group has this rule
        excluded = [with_values(flag_of(other), [value]) for other, some in self.excludes.items()
                    if other != "sentences" for value in some or (True,)]   # they are positional
        notes += [f"not with {joined(excluded, 'or')}"] if excluded else []
        notes += [f"only for a {RUNS[self.run]}"] if self.run else []
        default = self.note or written(self.default)
        for alias, choice in self.aliases.items():
            default = default.replace(choice, alias)
        if default and not (self.kind == "flag" and self.default is False):
            notes.append(f"default: {default}")
        return f"{self.help} ({'; '.join(notes)})" if notes else self.help

    def add_to(self, group: argparse._ActionsContainer) -> None:
        """Add the option to a parser. If users omit it, its value is None, or [] with nargs "*"."""
        about: dict[str, Any] = {"help": self.help_text().replace("%", "%%")}
        names = [f"-{self.short}"] if self.short else []
        names.append(flag_of(self.name))
        if self.kind == "positional":
            names = [self.name]
            about |= {"nargs": self.nargs, "metavar": self.metavar, "type": self.value}
        elif self.kind == "flag":
            about |= {"action": "store_true", "default": None}
        elif self.kind == "switch":
            about |= {"action": argparse.BooleanOptionalAction}
        else:
            number = getattr(getattr(self.read, "__self__", None), "kind", None)     # of Values
            about |= {"type": self.value, "metavar": self.metavar or NUMBERS.get(number),
                      "required": self.required}
            if self.custom:
                about["metavar"] = f"{{{','.join([*self.aliases, *self.choices])},{CODE}}}"
            elif self.choices:
                about["choices"] = list(self.choices)
            if self.again:
                about |= {"action": Once, "again": self.again}
        group.add_argument(*names, **about)

    def value(self, text: str) -> Any:
        """Parse a text; if that fails, raise ArgumentTypeError, whose message argparse prints."""
        text = self.aliases.get(text, text)
        if self.custom and text not in self.choices and not is_custom_code(text):
            known = ", ".join(map(repr, [*self.aliases, *self.choices]))
            raise argparse.ArgumentTypeError(
                f"invalid choice: {short_repr(text)} (choose from {known}, "
                f"or a user-defined {CODE})")
        try:
            return self.read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None


class Once(argparse.Action):
    """Action that stores a value, and raises an error if the option is given twice."""

    def __init__(self, *names: Any, again: str, **about: Any) -> None:
        super().__init__(*names, **about)
        self.again = again

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any,
                 option_string: str | None = None) -> None:
        if getattr(namespace, self.dest) is not None:
            raise argparse.ArgumentError(self, f"given twice; {self.again}")
        setattr(namespace, self.dest, values)


def positional(name: str, help: str, metavar: str, nargs: str | None = None,
               read: Callable[[str], Any] = str) -> Option:
    return Option(name, help, read, kind="positional", metavar=metavar, nargs=nargs)


def flag(name: str, help: str, **rules: Any) -> Option:
    return Option(name, help, default=False, kind="flag", **rules)


def file(name: str, help: str, **more: Any) -> Option:
    return Option(name, help, **{"metavar": "FILE", "again": "use one file", **more})


def settle(options: Iterable[Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a dict with the value of every option: the value in `given`, or else the default.

    An option whose `needs` are not met is None. An option whose `excludes` apply keeps its default.
    Raises ValueError if the user gave a value for an option without effect.
    """
    known = {option.name: option for option in options}
    values = dict(given)
    for option in known.values():
        default = option.default.get(values[option.by]) if option.by else option.default
        values.setdefault(option.name, default)
    for option in known.values():
        name = option.conflict(values)
        if name and option.name in given:
            other = known[name]
            if not values[name]:
                raise ValueError(f"{option.flag} needs {other.flag}; add {other.flag}, or "
                                 f"omit {option.flag}")
            fitting = [one for one in other.choices if not option.conflict({name: one})]
            also = f", or choose {with_values(other.flag, fitting)}" if fitting else ""
            raise ValueError(f"{option.flag} has no effect with "
                             f"{with_values(other.flag, [values[name]])}; omit {option.flag}{also}")
        if name in option.needs:
            values[option.name] = None
    return values


# ---- words --------------------------------------------------------------------------------------


def flag_of(name: str) -> str:
    """Return the flag of an option, such as --max-length for the name max_length."""
    return f"--{name.replace('_', '-')}"


def with_values(flag: str, values: Iterable[Any]) -> str:
    """Return a flag with its values (except True), such as "--window local-m or local-p"."""
    words = [written(value) for value in values if value is not True]
    return f"{flag} {joined(words, 'or')}".rstrip()


def joined(words: Sequence[str], last: str) -> str:
    """Join words as in "a, b and c", where `last` is "and"."""
    return f" {last} ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def written(value: Any) -> str:
    """Format a default value of an option as a user would write the value.

    A dict {choice: default} becomes "1 for a and b, else 2": the most common default comes last.
    """
    if value is None or isinstance(value, list):
        return ""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g}"
    if not isinstance(value, Mapping):
        return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
    owners: dict[str, list[str]] = {}
    for owner, default in value.items():
        owners.setdefault(written(default), []).append(str(owner))
    *others, usual = sorted(owners, key=lambda default: len(owners[default]))
    return "".join(f"{default} for {joined(owners[default], 'and')}, else "
                   for default in others) + usual


class Parser(argparse.ArgumentParser):
    """Parser that raises ValueError for a wrong command line, instead of exiting."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message}. See {help_of(self.prog)}")


class Help(argparse.RawDescriptionHelpFormatter):
    """Formatter that does not break lines at hyphens, such as those of --max-length."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrap(" ".join(text.split()), width, break_on_hyphens=False)


def help_of(command: str) -> str:
    """Return the --help command that explains a command."""
    other = ", or `numpy-attention train lm --help` for a language model"
    return f"`{command} --help`{other * command.endswith(' train')}"
