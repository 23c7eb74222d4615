"""The command line, `numpy-attention`: its commands, and how errors are told."""

from __future__ import annotations

import argparse
import re
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NoReturn

from numpy_attention.cli import ranks, run_options, streams, training_options
from numpy_attention.cli.entry import Group, Option, flag_of, settled
from numpy_attention.cli.errors import words_for
from numpy_attention.validation.messages import short_repr
from numpy_attention.registry import started

ENDLESS = re.compile(r"\S{150,}")       # a word, or a path, that is told by its ends
# the second is what Python says where there is none left even for an error
NO_MEMORY = (MemoryError, SystemError)


@dataclass(frozen=True)
class Command:
    """What a command is for, an example, its options, and the function that does it.

    work: "file:function", or what is done with a run by the run's kind, {kind: "file:function"}.
    actions: further commands, in place of options. shared: several ranks, as mpirun starts them,
    share it.
    """

    work: str | Mapping[str, str]
    summary: str
    example: str
    groups: Sequence[Group] = ()
    actions: Mapping[str, Command] = field(default_factory=dict)
    shared: bool = False

    @property
    def options(self) -> list[Option]:
        return [option for group in self.groups for option in group.options]


OF_RUNS = {"translator": "translators", "writer": "language_models"}
RUN = "runs/bible-en-es-rnnsearch"
COMMANDS = {
    "train": Command(
        "translators:train",
        "train a translator, or resume one; `train lm` trains a language model",
        "numpy-attention train --corpus bible-en-es --max-length 7 --epochs 5",
        training_options.TRAIN, shared=True),
    "train lm": Command(
        "language_models:train", "train a language model, or resume one",
        "numpy-attention train lm --corpus bible-en --attention combined --minutes 5",
        training_options.TRAIN_LM, shared=True),
    "translate": Command(
        "translators:translate", "translate sentences with a trained run",
        f'numpy-attention translate {RUN} "in the beginning" --heatmap beginning.png',
        run_options.TRANSLATE),
    "generate": Command(
        "language_models:generate", "write on with a trained language model",
        'numpy-attention generate runs/bible-en-combined --prompt "in the beginning" '
        "--temperature 0.8", run_options.GENERATE),
    "evaluate": Command(
        {kind: f"{file}:evaluate" for kind, file in OF_RUNS.items()},
        "measure a run: perplexity; a translator's BLEU, chrF, alignment too",
        f"numpy-attention evaluate {RUN} --split test", run_options.EVALUATE, shared=True),
    "ablate": Command(
        {kind: f"ablation:{kind}" for kind in OF_RUNS},
        "say whether a run's attention is alive: measure again with it taken away, made equal, "
        "exchanged, hardened or drawn",
        f"numpy-attention ablate {RUN} --split valid", run_options.ABLATE),
    "cloze": Command(
        "cloze:cloze", "ask a language model which of ten words was left out of a sentence, after "
        "twenty others that it has read",
        "numpy-attention cloze runs/bible-en-combined --show 3", run_options.CLOZE),
    "recover": Command(
        "side_by_side:recover",
        "put random words in the place of those that language models have just read: how much "
        "they lose, and for how long",
        "numpy-attention recover runs/bible-en-lstm runs/bible-en-combined --output recovery.png",
        run_options.RECOVER),
    "distances": Command(
        "side_by_side:distances",
        "measure language models on words told apart by how long ago they last occurred",
        "numpy-attention distances runs/bible-en-lstm runs/bible-en-combined --output far.png",
        run_options.DISTANCES),
    "heatmap": Command(
        {kind: f"{file}:heatmap" for kind, file in OF_RUNS.items()},
        "draw the attention weights of a sentence pair, its gold links outlined, or of a sentence "
        "over its own past",
        f"numpy-attention heatmap {RUN} --index 3 --output attention.png", run_options.HEATMAP),
    "page": Command(
        "page:page", "write one HTML file in which the run's own model runs: type, and see what it "
        "writes and looks at", f"numpy-attention page {RUN} -o page.html", run_options.PAGE),
    "trace": Command(
        "tracing:trace", "print every named array of a forward and backward pass over a sentence, "
        "with its shape, its norm and the line that makes it",
        f'numpy-attention trace {RUN} "in the beginning" --names "d*" --step 0',
        run_options.TRACE),
    "step": Command(
        "tracing:step", "go through a lesson's reference implementation step by step: every "
        "array, and what has changed", "numpy-attention step 7", run_options.STEP),
    "gradcheck": Command(
        "catalogue:gradcheck", "check hand-written gradients against central differences",
        "numpy-attention gradcheck GRU LSTM", run_options.GRADCHECK),
    "corpora": Command(
        "", "list, show and fetch corpora", "numpy-attention corpora show bible-en-es", actions={
            "list": Command("catalogue:list_corpora", "list all corpora",
                            "numpy-attention corpora list"),
            "show": Command("catalogue:show_corpus",
                            "description, counts and some pairs with their word links",
                            "numpy-attention corpora show bible-en-es", run_options.A_CORPUS),
            "fetch": Command("catalogue:fetch_corpus",
                             "download a corpus's files unless they are there",
                             "numpy-attention corpora fetch tatoeba-en-fr", run_options.A_CORPUS),
        }),
    "exercise": Command(
        "", "exercises of the lessons: start one, write it, have it checked",
        "numpy-attention exercise start softmax", actions={
            "list": Command("exercises:list_all", "list all exercises, and which are passed",
                            "numpy-attention exercise list", run_options.EXERCISES),
            "start": Command("exercises:start", "write the file of an exercise, to be completed",
                             "numpy-attention exercise start softmax", run_options.AN_EXERCISE),
            "check": Command("exercises:check", "check your file, up to the first stage that fails",
                             "numpy-attention exercise check softmax", run_options.CHECK_EXERCISE),
            "watch": Command("exercises:watch", "check your file whenever it is saved",
                             "numpy-attention exercise watch softmax", run_options.CHECK_EXERCISE),
            "hint": Command("exercises:hint", "the next hint: a law, a line, the derivative, the "
                            "code", "numpy-attention exercise hint softmax",
                            run_options.AN_EXERCISE),
            "solution": Command("exercises:solution", "the solution; asks once before it is passed",
                                "numpy-attention exercise solution softmax",
                                run_options.AN_EXERCISE),
            "reset": Command("exercises:reset", "begin an exercise anew; your file is kept beside",
                             "numpy-attention exercise reset softmax", run_options.AN_EXERCISE),
            "progress": Command("exercises:progress", "the course's path, with what is passed",
                                "numpy-attention exercise progress", run_options.PROGRESS),
        }),
    "lessons": Command(
        "", "the course: list its lessons, copy them, run one", "numpy-attention lessons run 6",
        actions={
            "list": Command("lessons:list_all", "list all lessons, and where they are",
                            "numpy-attention lessons list"),
            "copy": Command("lessons:copy", "copy lessons, and what they need, into a folder of "
                            "your own", "numpy-attention lessons copy course --notebooks",
                            run_options.COPY_LESSONS),
            "run": Command("lessons:run", "run a lesson from top to bottom; figures are saved",
                           "numpy-attention lessons run 6", run_options.RUN_LESSON),
        }),
    "reproduce": Command(
        "catalogue:reproduce", "run a recorded experiment and append its figures to results/",
        "numpy-attention reproduce rnnsearch-bible --seed 1", run_options.REPRODUCE, shared=True),
    "compare": Command(
        "compare:compare", "train several recipes on one corpus with one budget, into one table; "
        "started by mpirun -n 9, eight at a time",
        "numpy-attention compare clauses-fixed clauses-additive clauses-dot --epochs 1",
        run_options.COMPARE, shared=True),
}

# ---- from the words of a command line to options ------------------------------------------------


class Parser(argparse.ArgumentParser):
    """Tells a wrong command line as any other error is told, in one line."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message}; see {help_of(self.prog)}")


def help_of(command: str) -> str:
    """Where a wrong command line is explained."""
    if command.endswith(" train"):
        return f"{command} --help, or for a language model numpy-attention train lm --help"
    return f"{command} --help"


def parser() -> Parser:
    """The argument parser of all commands."""
    main = Parser(prog="numpy-attention",
                  description="Train, use, measure and check attention models.")
    add_commands(main, COMMANDS, "command")
    return main


def add_commands(parser: Parser, commands: Mapping[str, Command], what: str) -> None:
    """Add a choice of commands; the one chosen becomes the option `what`."""
    choice = parser.add_subparsers(dest=what, required=True, metavar=what.upper(),
                                   parser_class=Parser)
    for name, command in commands.items():
        description = command.summary[0].upper() + command.summary[1:] + "."
        made = choice.add_parser(name, help=command.summary, description=description,
                                 epilog=f"example: {command.example}")
        if command.actions:
            add_commands(made, command.actions, "action")
        for group in command.groups:
            place = made.add_argument_group(group.title) if group.title else made
            for option in group.options:
                option.add_to(place)


def parse(arguments: Sequence[str] | None = None) -> tuple[Command, argparse.Namespace]:
    """→ the command of a command line, and its options as `settled`; `train lm` is one command.

    options.given: the names of those given. ValueError: the command line is wrong.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["train"] and words[1:] and not words[1].startswith("-"):
        kinds = {"lm": "train lm", "translator": "train"}
        if words[1] not in kinds:
            raise ValueError(f"train {words[1]}: expected `train lm` for a language model, or "
                             "options, as in train --corpus NAME, for a translator")
        words[:2] = [kinds[words[1]]]
    elif words and words[0] not in COMMANDS and not words[0].startswith("-"):
        like = get_close_matches(words[0], COMMANDS, 1)
        meant = f", did you mean {like[0]}" if like else ""
        raise ValueError(f"{short_repr(words[0])}: no such command{meant}; see "
                         f"{help_of('numpy-attention')}")
    parsed, strange = parser().parse_known_args(words)
    if strange:
        raise ValueError(f"unrecognized arguments: {' '.join(strange)}; see "
                         f"{help_of('numpy-attention ' + parsed.command)}")
    command = COMMANDS[parsed.command]
    command = command.actions.get(getattr(parsed, "action", ""), command)
    given = {option.name: getattr(parsed, option.name) for option in command.options
             if getattr(parsed, option.name) not in (None, [])}
    values = settled(command.options, given)
    return command, argparse.Namespace(command=parsed.command, given=frozenset(given), **values)


# ---- one command --------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; → 0, 1 for a failed gradient check, 2 for an error, 128 + n after signal n.
    """
    with streams.Signals() as signals:
        if started()[1] > 1:
            return ranks.together(lambda: heeding(signals, arguments))
        return heeding(signals, arguments)


def heeding(signals: streams.Signals, arguments: Sequence[str] | None) -> int:
    """The exit status of a command, whatever it ends in."""
    known: list[Option] = []
    try:
        streams.prepare()
        code = run(arguments, known)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt as stop:
        signals.over()
        streams.say(f"numpy-attention: {str(stop) or 'interrupted'}")
        return 128 + getattr(stop, "number", signal.SIGINT)
    except BrokenPipeError:                         # the reader of our output has left: `… | head`
        return streams.LEFT
    except NO_MEMORY as error:
        reason = f" ({error})" if str(error) else ""
        return tell(f"not enough memory{reason}: choose smaller sizes, or a smaller batch_size",
                    known)
    except ImportError as error:
        return tell(f"a library cannot be loaded ({error}): install it, or leave it more memory",
                    known)
    except Exception as error:
        return tell(words_for(error), known)
    finally:
        streams.abandon_if_broken(sys.stdout)


def run(arguments: Sequence[str] | None, known: list[Option]) -> int:
    """Do what a command line says; → its exit status. known gets the options of the command."""
    try:
        command, options = parse(arguments)
    except SystemExit:                              # after --help
        sys.stdout.flush()
        raise
    known += command.options
    if not command.shared and started()[1] > 1:
        raise ValueError(f"{started()[1]} ranks have nothing to share in {options.command}: "
                         "start it without mpirun")
    return worker(command, options)(options) or 0


def worker(command: Command, options: argparse.Namespace) -> Callable[[argparse.Namespace], Any]:
    """The function that does a command, imported now, so that --help does not wait for it.

    ValueError: an option that belongs to another kind of run.
    """
    work = command.work
    if not isinstance(work, str):
        from numpy_attention.experiments.runs.trained import kind_of
        kind = kind_of(options.run)
        given = {name: getattr(options, name) for name in options.given}
        settled(command.options, given | {"kind": kind})
        work = work.get(kind, work["translator"])       # which refuses a run of neither kind
    file, _, function = work.partition(":")
    return getattr(import_module(f"numpy_attention.cli.{file}"), function)


def tell(message: str, known: Sequence[Option]) -> int:
    """Print an error in one line; → 2."""
    message = ENDLESS.sub(lambda found: f"{found[0][:40]}…{found[0][-20:]}", message)
    line = " ".join(in_flags(message, known).split())
    streams.say(f"numpy-attention: error: {line}")
    return 2


# advice of the library's that means a command's options, without naming arguments
ADVICE = {
    "it is for language models": "it is for numpy-attention train lm",
    "it is for translators": "it is for numpy-attention train",
    "files as source and target": "files with --source and --target",
    "files as text": "files with --text",
    "write over them with force": "write over them with --force",
    "train anew in another folder": "train anew in another folder with --run",
    "tokenize cuts text into words, and characters into letters":
        "--tokenize cuts text into words, and --characters into letters",
}

CALL = re.compile(r"(\w+\([^()]*\))")


def in_flags(message: str, known: Sequence[Option]) -> str:
    """A message of the library, in a command's flags where it names arguments.

    max_length → --max-length wherever it stands; a name that is an ordinary word only where it has
    a value: `hidden = 9` → --hidden 9. Adam(learning_rate=0.1) is no sentence and stays.
    """
    for ours, theirs in ADVICE.items():
        message = message.replace(ours, theirs)
    return "".join(part if CALL.fullmatch(part) else _in_flags(part, known)
                   for part in CALL.split(message))


def _in_flags(message: str, known: Sequence[Option]) -> str:
    for option in known:
        if option.kind == "word":
            continue
        for name in {option.name, option.argument, *option.called.values()} - {""}:
            end = r"( = |=|(?![\w/'\"-]|\.\w))" if "_" in name else "( = |=)"
            argument = re.compile(rf"(?<![\w/.'\"-]){name}{end}")
            flag = flag_of(option.name)
            message = argument.sub(lambda found: flag + " " * bool(found[1]), message)
    return message


if __name__ == "__main__":
    sys.exit(main())
