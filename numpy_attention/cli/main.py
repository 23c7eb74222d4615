"""The command line, `numpy-attention`: its commands, and how errors are told. `commands.py` does the work."""

import argparse
import os
import sys

from numpy_attention.cli import options as cli_options
from numpy_attention.cli import language_model_options as cli_writing

IN_FLAGS = {         # what the library's errors say → what the command line says
    "it is for language models": "it is for numpy-attention train lm",
    "it is for translators": "it is for numpy-attention train",
    "allow more with max_length": "allow more with --max-length",
    "give valid_source and valid_target": "give --valid-source and --valid-target",
    "give valid_text": "give --valid-text",
    "files as source and target": "files as --source and --target",
    "files as text": "files as --text",
    "train anew in another folder": "train anew in another folder with --run",
    "tokenize cuts text into words, and characters into letters": "--tokenize cuts text into words, and --characters into "
                                                                  "letters",
}
EXPECTED = (ValueError, TypeError, OSError, ArithmeticError)        # the library's own: told in one line


class Parser(argparse.ArgumentParser):
    """Tells a wrong command line as any other error is told, in one line."""

    def error(self, message):
        raise ValueError(f"{message}; see {help_of(self.prog)}")


def help_of(command):
    """Where a wrong command line is explained."""
    other = ", or for a language model numpy-attention train lm --help" if command.endswith(" train") else ""
    return f"{command} --help{other}"


class Help(argparse.ArgumentDefaultsHelpFormatter):
    """Adds the default to an option's help, where there is one."""

    def _get_help_string(self, action):
        return action.help if action.default is None or action.default is False else super()._get_help_string(action)


def parser():
    """The argument parser of all commands."""
    main = Parser(prog="numpy-attention", description="Train, use, measure and check attention models.")
    commands = main.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    for name, (add, summary, example) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".",
                                      epilog=f"example: {example}", formatter_class=Help)
        add(command)
    return main


RUN = "runs/bible-en-es-rnnsearch"
COMMANDS = {
    "train": (cli_options.train, "train a translator, or resume one; `train lm` trains a language model",
              "numpy-attention train --corpus bible-en-es --max-length 7 --epochs 5"),
    "train lm": (cli_writing.train, "train a language model, or resume one",
                 "numpy-attention train lm --corpus bible-en --attention combined --minutes 5"),
    "translate": (cli_options.translate, "translate sentences with a trained run",
                  f'numpy-attention translate {RUN} "in the beginning" --heatmap beginning.png'),
    "generate": (cli_writing.generate, "write on with a trained language model",
                 'numpy-attention generate runs/bible-en-combined --prompt "in the beginning" --temperature 0.8'),
    "evaluate": (cli_options.evaluate, "measure a run: perplexity; a translator's BLEU, chrF, alignment too",
                 f"numpy-attention evaluate {RUN} --split test"),
    "heatmap": (cli_options.heatmap, "draw the attention weights of a sentence pair, its gold links outlined, or of a "
                                     "sentence over its own past",
                f"numpy-attention heatmap {RUN} --index 3 --output attention.png"),
    "gradcheck": (cli_options.gradcheck, "check hand-written gradients against central differences",
                  "numpy-attention gradcheck GRU LSTM"),
    "corpora": (cli_options.corpora, "list, show and fetch corpora", "numpy-attention corpora show bible-en-es"),
    "reproduce": (cli_options.reproduce, "run a recorded experiment and append its figures to results/",
                  "numpy-attention reproduce rnnsearch-bible --seed 1"),
    "compare": (cli_options.compare, "train several recipes on one corpus with one budget, into one table",
                "numpy-attention compare clauses-fixed clauses-additive clauses-dot --epochs 1"),
}


def parse(arguments=None):
    """→ the options of a command line; `train lm` is one command, of two words. ValueError: it is wrong."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments[:1] == ["train"] and arguments[1:] and not arguments[1].startswith("-"):
        kinds = {"lm": "train lm", "translator": "train"}
        if arguments[1] not in kinds:
            raise ValueError(f"train {arguments[1]}: expected `train lm` for a language model, or options, as in "
                             "train --corpus NAME, for a translator")
        arguments[:2] = [kinds[arguments[1]]]
    options, strange = parser().parse_known_args(arguments)
    if strange:
        raise ValueError(f"unrecognized arguments: {' '.join(strange)}; see {help_of('numpy-attention ' + options.command)}")
    return options


def main(arguments=None):
    """Run one command; → 0, 1 for a failed gradient check, 2 for an error, 130 after Ctrl-C."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")    # a terminal that lacks a letter shows ? for it
    try:
        options = parse(arguments)
        from numpy_attention.cli import translators as commands        # here, so that --help does not wait for it
        code = commands.COMMANDS[options.command](options) or 0
        sys.stdout.flush()
        return code
    except KeyboardInterrupt as stop:
        print(f"numpy-attention: {str(stop) or 'interrupted'}", file=sys.stderr)
        return 130
    except BrokenPipeError:                         # the reader of our output has left: `… | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except MemoryError as error:
        return _tell(f"not enough memory ({error}): choose smaller sizes, or a smaller --batch-size")
    except EXPECTED as error:
        return _tell(str(error) or type(error).__name__)


def _tell(message):
    for ours, flags in IN_FLAGS.items():
        message = message.replace(ours, flags)
    print(f"numpy-attention: error: {' '.join(message.split())}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
