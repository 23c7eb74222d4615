"""The command line, `numpy-attention`: what can be asked, and how errors are told. `commands.py` does the work."""

import argparse
import math
import os
import sys

EXPECTED = (ValueError, TypeError, OSError, ArithmeticError)        # the library's own: told in one line
A_RUN = "folder of a run that `train` made"


class Parser(argparse.ArgumentParser):
    """Tells a wrong command line as any other error is told, in one line."""

    def error(self, message):
        raise ValueError(f"{message}; see {self.prog} --help")


class Help(argparse.ArgumentDefaultsHelpFormatter):
    """Adds the default to an option's help, where there is one."""

    def _get_help_string(self, action):
        return action.help if action.default is None or action.default is False else super()._get_help_string(action)


def whole(low):
    """A converter to whole numbers of at least `low`."""
    def convert(text):
        try:
            value = int(text)
        except ValueError:
            value = None
        if value is None or value < low:
            raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number of at least {low}")
        return value
    return convert


def positive(text):
    value = _number(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a positive number")
    return value


def norm(text):
    value = _number(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a positive number, or inf to clip nothing")
    return value


def share(text):
    value = _number(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a share, 0 or more and below 1")
    return value


def not_negative(text):
    value = _number(text)
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number of at least 0")
    return value


def _number(text):
    try:
        return float(text)
    except ValueError:
        return math.nan


def parser():
    """The argument parser of all commands."""
    main = Parser(prog="numpy-attention", description="Train, use, measure and check attention models.")
    commands = main.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    for name, (add, summary, example) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".",
                                      epilog=f"example: {example}", formatter_class=Help)
        add(command)
    return main


def _text(command, what):
    """The options that name a text, shared by train, evaluate and heatmap."""
    group = command.add_argument_group(what)
    group.add_argument("--corpus", help="a corpus of `numpy-attention corpora list`")
    group.add_argument("--part", help="a part of it: clauses or verses of bible-en-es")
    group.add_argument("--max-length", type=whole(1), help="longest sentence, in tokens, on both sides")
    group.add_argument("--pairs", type=whole(1), help="at most so many sentence pairs of a split")
    return group


def _files(group):
    group.add_argument("--source", metavar="FILE", help="your own text, one sentence a line")
    group.add_argument("--target", metavar="FILE", help="its translation, line by line")


def _train(command):
    text = _text(command, "what to learn from: --corpus, or --source and --target")
    _files(text)
    for side in ("source", "target"):
        text.add_argument(f"--valid-{side}", metavar="FILE",
                          help="text to validate on; without it 5 %% of the pairs are held out")
    text.add_argument("--lowercase", action="store_true", help="lowercase your own text")
    text.add_argument("--tokenize", action="store_true", help="cut your own text into words and punctuation")
    text.add_argument("--min-count", type=whole(1), default=2, help="rarer words become <unk>")
    text.add_argument("--reverse-source", action="store_true", help="read the source from its end")
    model = command.add_argument_group("the model")
    model.add_argument("--model", choices=("rnnsearch", "encoder-decoder"), default="rnnsearch",
                       help="with attention, or with one fixed vector")
    model.add_argument("--hidden", type=whole(2), default=256, help="size of the recurrent states")
    model.add_argument("--embedding", type=whole(1), default=256, help="size of the word vectors")
    model.add_argument("--dropout", type=share, default=0.2, help="share of values set to 0 in training")
    model.add_argument("--readout", choices=("previous", "current"), default="current",
                       help="predict a word from the state before or after the context was read")
    model.add_argument("--reset", choices=("before", "after"), default="after", help="the GRU's reset gate: before or "
                       "after the recurrent product")
    model.add_argument("--update", choices=("old", "new"), default="old", help="the state that the update gate weights")
    model.add_argument("--init", choices=("paper", "modern"), default="modern", help="initial values")
    training = command.add_argument_group("the training")
    training.add_argument("--epochs", type=whole(1), default=10, help="passes through the text, at most")
    training.add_argument("--minutes", type=positive, help="stop after so many minutes of training")
    training.add_argument("--batch-size", type=whole(1), default=64, help="sentence pairs of a step")
    training.add_argument("--optimizer", choices=("adam", "adadelta", "sgd"), default="adam",
                          help="how a gradient moves the parameters")
    training.add_argument("--learning-rate", type=positive, help="the optimizer's own unless given")
    training.add_argument("--clip", type=norm, default=1.0, help="largest norm of the gradient")
    training.add_argument("--patience", type=whole(1), default=2, help="stop after so many epochs without a better "
                          "validation perplexity")
    training.add_argument("--seed", type=whole(0), default=0, help="of the initial values, the order, dropout")
    training.add_argument("--threads", type=whole(1), help="threads that share each batch; chosen by size unless given")
    training.add_argument("--save-steps", type=whole(1), help="save after so many steps too, not only after epochs")
    training.add_argument("--run", metavar="FOLDER", help="where to save; runs/CORPUS-MODEL unless given")


def _translate(command):
    command.add_argument("run", metavar="RUN", help=A_RUN)
    command.add_argument("sentence", nargs="*", help="what to translate; without any, lines are read from the input")
    command.add_argument("--beam", type=whole(1), default=5, help="hypotheses kept in search; 1 is greedy")
    command.add_argument("--length-penalty", type=not_negative, default=1.0, help="0 prefers short translations")
    command.add_argument("--all", action="store_true", help="print every hypothesis: score, log p, length, translation")
    command.add_argument("--heatmap", metavar="FILE", help="save the attention weights as .png, .pdf or .svg")
    command.add_argument("--lowercase", action=argparse.BooleanOptionalAction,
                         help="lowercase the sentence first; as the run's text was unless given")


def _evaluate(command):
    command.add_argument("run", metavar="RUN", help=A_RUN)
    text = _text(command, "what to measure on: the run's own corpus unless given")
    text.add_argument("--split", choices=("train", "valid", "test"),
                      help="test unless given; valid for a run on your own text")
    _files(text)
    command.add_argument("--beam", type=whole(1), default=5, help="hypotheses kept in search; 1 is greedy")
    command.add_argument("--threads", type=whole(1), help="all processors unless given")
    command.add_argument("--json", action="store_true", help="print one JSON object")


def _heatmap(command):
    command.add_argument("run", metavar="RUN", help=A_RUN)
    command.add_argument("sentences", nargs="*", metavar="SENTENCE", help="a source and a target sentence of your own")
    command.add_argument("--index", type=whole(0), help="number of the pair in the split, from 0; 0 unless given")
    command.add_argument("--split", choices=("train", "valid", "test"),
                         help="test unless given; valid for a run on your own text")
    command.add_argument("--output", metavar="FILE", required=True, help="the picture: .png, .pdf or .svg")


def _gradcheck(command):
    command.add_argument("names", nargs="*", metavar="NAME", help="a check, or a part of its name; all without any")
    command.add_argument("--seed", type=whole(0), default=0, help="of the random values")


def _corpora(command):
    actions = command.add_subparsers(dest="action", required=True, metavar="ACTION", parser_class=Parser)
    actions.add_parser("list", help="all corpora", description="List all corpora.",
                       epilog="example: numpy-attention corpora list")
    for name, summary in (("show", "description, counts and some pairs with their word links"),
                          ("fetch", "download a corpus's files unless they are there")):
        action = actions.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".",
                                    epilog=f"example: numpy-attention corpora {name} "
                                           f"{'bible-en-es' if name == 'show' else 'tatoeba-en-fr'}")
        action.add_argument("name", metavar="NAME")


def _reproduce(command):
    command.add_argument("name", nargs="?", metavar="NAME", help="a recipe of --list")
    command.add_argument("--list", action="store_true", help="list the recipes")
    command.add_argument("--seed", type=whole(0), default=0, help="of the run")
    command.add_argument("--threads", type=whole(1), help="chosen by the size of a step unless given")
    command.add_argument("--results", metavar="FOLDER", default="results", help="where the figures are recorded")


RUN = "runs/bible-en-es-rnnsearch"
COMMANDS = {
    "train": (_train, "train a translator, or resume one",
              "numpy-attention train --corpus bible-en-es --max-length 7 --epochs 5"),
    "translate": (_translate, "translate sentences with a trained run",
                  f'numpy-attention translate {RUN} "in the beginning" --heatmap beginning.png'),
    "evaluate": (_evaluate, "measure a run: perplexity, BLEU, chrF, alignment",
                 f"numpy-attention evaluate {RUN} --split test"),
    "heatmap": (_heatmap, "draw the attention weights of a sentence pair, its gold links outlined",
                f"numpy-attention heatmap {RUN} --index 3 --output attention.png"),
    "gradcheck": (_gradcheck, "check hand-written gradients against central differences",
                  "numpy-attention gradcheck GRU LSTM"),
    "corpora": (_corpora, "list, show and fetch corpora", "numpy-attention corpora show bible-en-es"),
    "reproduce": (_reproduce, "run a recorded experiment and append its figures to results/",
                  "numpy-attention reproduce rnnsearch-bible --seed 1"),
}


def main(arguments=None):
    """Run one command; → 0, 1 for a failed gradient check, 2 for an error, 130 after Ctrl-C."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")    # a terminal that lacks a letter shows ? for it
    try:
        options = parser().parse_args(arguments)
        from numpy_attention import commands        # here, so that --help does not wait for it
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
    print(f"numpy-attention: error: {' '.join(message.split())}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
