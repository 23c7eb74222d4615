"""The command line `numpy-attention`: run one command, and turn errors into exit statuses."""

from __future__ import annotations

import argparse
import re
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from textwrap import fill
from typing import Any

from numpy_attention import __version__, plotting
from numpy_attention.cli import streams
from numpy_attention.cli.commands import COMMANDS, SECTIONS, SUBCOMMANDS, Command
from numpy_attention.cli.messages import in_flags, memory_message, text_of
from numpy_attention.cli.options import JOINED
from numpy_attention.cli.parser import Help, Option, Parser, help_of, settle
from numpy_attention.registry import RUNS, started
from numpy_attention.training.signals import Signals
from numpy_attention.validation.messages import short_repr

# options, recipes and patterns of recipes that had another name in version 1.0
RENAMED = {
    "--together-with": "--ensemble",
    "--together": "--ensemble",
    "asks-previous-additive": "query-previous-additive",
    "asks-previous-scaled-dot": "query-previous-scaled-dot",
    "asks-previous-*": "query-previous-*",
}
PACKAGE = str(Path(__file__).parents[1])
LONG = re.compile(r"\S{150,}")          # a word or a path that messages shorten
# Python raises SystemError if there is not enough memory for an error
NO_MEMORY = (MemoryError, SystemError)

# ---- parsing ------------------------------------------------------------------------------------


def parser() -> Parser:
    """Build the argument parser of all commands."""
    main = Parser(prog="numpy-attention")
    main.add_argument("--version", action="version", version=f"numpy-attention {__version__}")
    raw = partial(Parser, formatter_class=Help)
    # the help of `main`: argparse can divide arguments into sections, but not commands
    shown = raw(
        main.prog, "%(prog)s COMMAND ...", "Train, use, measure and check attention models.",
        "numpy-attention COMMAND --help shows the options of a command\n"
        "numpy-attention --version shows the version\n\n"
        f"example:\n  numpy-attention train {COMMANDS['train'].example}", add_help=False)
    main.format_help = shown.format_help        # type: ignore[method-assign]
    about: dict[str, Any] = {"required": True, "parser_class": raw}
    places = {"": main.add_subparsers(dest="command", metavar="COMMAND", **about)}
    for name, command in COMMANDS.items():
        group, _, action = name.rpartition(" ")
        if name in SECTIONS:
            section = shown.add_argument_group(SECTIONS[name])
        if group in SUBCOMMANDS and group not in places:
            section.add_argument(group, help=SUBCOMMANDS[group])
            made = places[""].add_parser(group, description=f"{SUBCOMMANDS[group]}.",
                                         epilog=f"example:\n  numpy-attention {name}")
            places[group] = made.add_subparsers(dest="action", metavar="ACTION", **about)
        if group not in SUBCOMMANDS:
            group, action = "", name
            section.add_argument(name, help=command.summary)
        usage = ["%(prog)s [options]", *filter(None, (one.usage for one in command.options))]
        example = f"example:\n  numpy-attention {name} {command.example}".rstrip()
        made = places[group].add_parser(
            action, help=command.summary, description=fill(f"{command.summary}.", 78),
            usage=" ".join(usage), epilog=example)
        for title, options in command.groups.items():
            place = made.add_argument_group(title) if title else made
            for option in options:
                option.add_to(place)
    return main


def parse(arguments: Sequence[str] | None = None) -> tuple[Command, argparse.Namespace]:
    """Parse a command line. Return the command and the values of its options.

    The attribute `given` of the values contains the names of the options on the command line.
    Raises ValueError if the command line is invalid.
    """
    given_words = sys.argv[1:] if arguments is None else arguments
    words = [current(word) for word in given_words] or ["--help"]
    if words[:1] == ["train"] and words[1:] and not words[1].startswith("-"):
        if words[1] not in ("lm", "translator"):
            raise ValueError(f"unknown command {short_repr('train ' + words[1])}; use `train lm` "
                             "for a language model, or `train --corpus NAME` for a translator")
        words[:2] = ["train lm" if words[1] == "lm" else "train"]
    elif words and not words[0].startswith("-"):
        check_command(words[0])
    parsed, unknown = parser().parse_known_args(words)
    name = " ".join(filter(None, (parsed.command, getattr(parsed, "action", ""))))
    command = COMMANDS[name]
    for option in command.options if unknown else ():
        if option.nargs in ("*", "+"):      # argparse ignores words after an option
            rest = Parser(prog=f"numpy-attention {name}", add_help=False)
            replace(option, nargs="*").add_to(rest)
            more, others = rest.parse_known_args(unknown)
            if not others:
                getattr(parsed, option.name).extend(getattr(more, option.name))
                unknown = []
    if unknown:
        texts = any(getattr(parsed, name, None) for name in ("source", "target", "text"))
        texts = texts and not unknown[0].startswith("-")
        advice = (f"an option takes one file, so {JOINED}" if texts else
                  f"see {help_of('numpy-attention ' + parsed.command)}")
        raise ValueError(f"unrecognized arguments: {' '.join(unknown)}; {advice}")
    given = {option.name: getattr(parsed, option.name) for option in command.options
             if getattr(parsed, option.name) not in (None, [])}
    values = settle(command.options, given)
    return command, argparse.Namespace(command=name, given=frozenset(given), **values)


def current(word: str) -> str:
    """Return a word of the command line. Replace a name from version 1.0, and print a message."""
    name, equals, value = word.partition("=")
    if name not in RENAMED:
        return word
    streams.print_error(f"numpy-attention: {name} is now {RENAMED[name]}; "
                        "the old name will be removed")
    return f"{RENAMED[name]}{equals}{value}"


def check_command(word: str) -> None:
    """Raise ValueError unless `word` is the name of a command."""
    known = [name for name in COMMANDS if " " not in name] + [*SUBCOMMANDS]
    if word not in known:
        from difflib import get_close_matches
        like = get_close_matches(word, known, 1)
        meant = f" (did you mean {like[0]}?)" if like else ""
        raise ValueError(f"unknown command {short_repr(word)}{meant}; see `numpy-attention --help`")


# ---- one command --------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, and return its exit status.

    arguments: the words of the command line, by default those of the process. The status is 0 for
    success, 1 for a failed gradient check or exercise, 2 for an error, and 128 + n after signal n.
    """
    with Signals() as signals, short_warnings():
        if started()[1] > 1:
            from numpy_attention.cli import ranks
            return ranks.on_all(lambda: status_of(signals, arguments))
        return status_of(signals, arguments)


@contextmanager
def short_warnings() -> Iterator[None]:
    """Context manager that prints each warning of the package once, without its source line."""
    usual = warnings.formatwarning
    printed = set()

    def short(message: Any, category: Any, file: str, *place: Any) -> str:
        if not file.startswith(PACKAGE):
            return usual(message, category, file, *place)
        line = f"numpy-attention: {message}\n"
        first = line not in printed
        printed.add(line)
        return line if first else ""

    warnings.formatwarning = short          # type: ignore[assignment]
    try:
        yield
    finally:
        warnings.formatwarning = usual


def status_of(signals: Signals, arguments: Sequence[str] | None) -> int:
    """Run one command, and return its exit status, even after an error or a signal."""
    options: list[Option] = []
    values: dict[str, Any] = {}
    try:
        streams.prepare()
        status = run(arguments, options, values)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt as stop:
        signals.over()
        streams.print_error(f"numpy-attention: {str(stop) or 'interrupted'}")
        return 128 + getattr(stop, "number", signal.SIGINT)
    except BrokenPipeError:                         # the output is closed, as by `… | head`
        return streams.LEFT
    except NO_MEMORY as error:
        return report(memory_message(error, options, values), options)
    except ImportError as error:
        advice = "; install the missing library, or free memory if it is installed"
        return report(f"{error}{advice * bool(error.name)}", options)
    except Exception as error:
        return report(text_of(error), options)
    finally:
        streams.abandon_if_broken(sys.stdout)


def run(arguments: Sequence[str] | None, known: list[Option], values: dict[str, Any]) -> int:
    """Run a command line, and return its exit status.

    known: an empty list, which receives the command's options. values: an empty dict, which
    receives the values of the options.
    """
    try:
        command, options = parse(arguments)
    except SystemExit:                              # after --help
        sys.stdout.flush()
        raise
    known += command.options
    values |= vars(options)
    if not command.ranks and started()[1] > 1:
        raise ValueError(f"`{options.command}` cannot run on several ranks; run it without mpirun")
    if command.runs:
        options.kind = command_run_kind(command, options)
    file, _, function = command.work.partition(":")
    # imported here, so that --help does not wait for it
    work = getattr(import_module(f"numpy_attention.cli.{file}"), function)
    from numpy_attention.training.threads import hold_blas
    hold_blas()
    found: set[str] = set()
    token = plotting.UNDRAWN.set(found)
    try:
        return work(options) or 0
    finally:
        plotting.UNDRAWN.reset(token)
        if found:
            from numpy_attention.plotting.fonts import advice
            print(f"numpy-attention: {advice(found)}", file=sys.stderr)


def command_run_kind(command: Command, options: argparse.Namespace) -> str:
    """Return the kind of a command's run. Raises ValueError for an option of another kind."""
    if len(command.runs) == 1:
        return command.runs[0]
    from numpy_attention.experiments.runs.trained import run_kind
    kind = run_kind(options.run)
    for option in command.options:
        if option.name in options.given and option.run not in ("", kind):
            raise ValueError(f"{option.flag} is only for a {RUNS[option.run]}, but {options.run} "
                             f"holds a {RUNS.get(kind, kind)}; omit {option.flag}")
    return kind


def report(message: str, options: Sequence[Option]) -> int:
    """Print an error on one line, with flags in place of option names. Return exit status 2."""
    message = LONG.sub(lambda found: f"{found[0][:40]}…{found[0][-20:]}", message)
    line = " ".join(in_flags(message, options).split())
    streams.print_error(f"numpy-attention: error: {line}")
    return 2
