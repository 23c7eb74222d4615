"""The options of the commands: the models of translators are in `cli_translators.py`, language models' in
`cli_writing.py`."""

import argparse

from numpy_attention.cli import translator_options as cli_translators
from numpy_attention.cli.values import divisor, norm, not_negative, picture, positive, share_kept, whole

A_RUN = "folder of a run that `train` made"


def text(command, what):
    """The options that name a text, shared by train, evaluate and heatmap."""
    group = command.add_argument_group(what)
    group.add_argument("--corpus", help="a corpus of `numpy-attention corpora list`")
    group.add_argument("--part", help="a part of it: clauses (unless given) or verses of bible-en-es, raw of multi30k-*")
    group.add_argument("--max-length", type=whole(1), help="longest sentence, in tokens, on both sides; of bible-en-es 12 for "
                       "clauses and 50 for verses unless given")
    group.add_argument("--pairs", type=whole(1), help="at most so many sentence pairs of a split")
    return group


def files(group):
    group.add_argument("--source", metavar="FILE", help="your own text, one sentence a line")
    group.add_argument("--target", metavar="FILE", help="its translation, line by line")


def train(command):
    group = text(command, "what to learn from: --corpus, or --source and --target")
    files(group)
    for side in ("source", "target"):
        group.add_argument(f"--valid-{side}", metavar="FILE",
                           help="text to validate on; without it 5 %% of the pairs are held out")
    group.add_argument("--lowercase", action="store_true", help="lowercase your own text")
    group.add_argument("--tokenize", action="store_true", help="cut your own text into words and punctuation")
    group.add_argument("--min-count", type=whole(1), help="rarer words become <unk>; 2 unless given")
    group.add_argument("--subwords", type=whole(5), metavar="N", help="cut words into N different pieces on each side, which "
                       "spell every word (needs sentencepiece: pip install 'numpy_attention[subwords]')")
    cli_translators.add(command)
    group = training(command, "sentence pairs", batch_size=64, clip=1.0, run="runs/CORPUS-MODEL (and attention, window)")
    group.add_argument("--reverse-source", action="store_true", help="read the source from its end")


def training(command, rows, batch_size, clip, run):
    """The options of every training; rows: what a batch consists of."""
    group = command.add_argument_group("the training")
    group.add_argument("--epochs", type=whole(1), default=10, help="passes through the text, at most")
    group.add_argument("--minutes", type=positive, help="stop after so many minutes of training")
    group.add_argument("--batch-size", type=whole(1), default=batch_size, help=f"{rows} of a step")
    group.add_argument("--optimizer", choices=("adam", "adadelta", "sgd"), default="adam",
                       help="how a gradient moves the parameters")
    group.add_argument("--learning-rate", type=positive, help="unless given 0.001 for adam, 1 for adadelta and sgd")
    group.add_argument("--schedule", choices=("constant", "decay", "linear", "warmup"), default="constant",
                       help="the learning rate over time: divided in every epoch after --full-epochs, straight down to 0 at "
                       "the end of the last, or up over --warmup steps and then down with 1 / √step")
    group.add_argument("--full-epochs", type=whole(0), help="of decay: epochs at the whole rate; 4 unless given")
    group.add_argument("--divisor", type=divisor, help="of decay: what divides the rate; 2 unless given")
    group.add_argument("--warmup", type=whole(1), help="of warmup: steps until the whole rate; 400 unless given")
    group.add_argument("--clip", type=norm, default=clip, help="largest norm of the gradient; inf clips nothing")
    group.add_argument("--patience", type=whole(1), default=2, help="stop after so many epochs without a better "
                       "validation perplexity")
    group.add_argument("--seed", type=whole(0), default=0, help="of the initial values, the order, dropout")
    group.add_argument("--threads", type=whole(1), help="threads that share each batch; chosen by size unless given")
    group.add_argument("--save-steps", type=whole(1), help="save after so many steps too, not only after epochs")
    group.add_argument("--run", metavar="FOLDER", help=f"where to save; {run} unless given")
    return group


def translate(command):
    command.add_argument("run", metavar="RUN", help=A_RUN)
    command.add_argument("sentence", nargs="*", help="what to translate; without any, lines are read from the input")
    command.add_argument("--beam", type=whole(1), help="hypotheses kept in search, 5 unless given; 1 is greedy")
    command.add_argument("--length-penalty", type=not_negative, help="a: translations are ranked by "
                         "log p / ((5 + length) / 6)^a; 0 favours short ones; 1 unless given")
    command.add_argument("--all", action="store_true", help="print every hypothesis: score, log p, length, translation")
    command.add_argument("--heatmap", metavar="FILE", type=picture,
                         help="save the attention weights as .png, .pdf or .svg")
    command.add_argument("--replace-unknown", action="store_true", help="write, for each <unk>, the source word that has its "
                         "largest attention weight")
    command.add_argument("--sample", action="store_true", help="draw the translation at random instead of searching for it")
    sampling(command, "of --sample; ")
    command.add_argument("--lowercase", action=argparse.BooleanOptionalAction,
                         help="lowercase the sentence first; as the run's text was unless given")


def sampling(command, of=""):
    """The options of drawing words at random; each is None unless given."""
    command.add_argument("--temperature", type=not_negative, help=f"{of}below 1 likelier words, above 1 more surprising ones; "
                         "0 always the likeliest; 1 unless given")
    command.add_argument("--top-k", type=whole(1), help=f"{of}choose among the so many likeliest words")
    command.add_argument("--top-p", type=share_kept, help=f"{of}choose among the likeliest words that together have this "
                         "probability")
    command.add_argument("--seed", type=whole(0), help=f"{of}the same seed writes the same text; 0 unless given")


def evaluate(command):
    command.add_argument("run", metavar="RUN", help=A_RUN)
    group = text(command, "what to measure on: the run's own corpus unless given")
    group.add_argument("--split", choices=("train", "valid", "test"),
                       help="test unless given; valid for a run on your own text")
    files(group)
    group.add_argument("--text", metavar="FILE", help="your own text for a language model, one sentence a line")
    command.add_argument("--beam", type=whole(1), help="of a translator: hypotheses kept in search, 5 unless given; 1 is "
                         "greedy")
    command.add_argument("--threads", type=whole(1), help="all processors unless given; one where a language model's state is "
                         "carried")
    command.add_argument("--json", action="store_true", help="print one JSON object")


def heatmap(command):
    command.add_argument("run", metavar="RUN", help=A_RUN)
    command.add_argument("sentences", nargs="*", metavar="SENTENCE", help="a source and a target sentence of your own, or one "
                         "sentence for a language model")
    command.add_argument("--index", type=whole(0), help="number of the pair, or sentence, in the split, from 0; "
                         "0 unless given")
    command.add_argument("--split", choices=("train", "valid", "test"),
                         help="test unless given; valid for a run on your own text")
    command.add_argument("--output", metavar="FILE", type=picture, required=True, help="the picture: .png, .pdf or .svg")


def gradcheck(command):
    command.add_argument("names", nargs="*", metavar="NAME", help="a check, or a part of its name; all without any")
    command.add_argument("--seed", type=whole(0), default=0, help="of the random values")


def corpora(command):
    actions = command.add_subparsers(dest="action", required=True, metavar="ACTION", parser_class=type(command))
    actions.add_parser("list", help="all corpora", description="List all corpora.",
                       epilog="example: numpy-attention corpora list")
    for name, summary in (("show", "description, counts and some pairs with their word links"),
                          ("fetch", "download a corpus's files unless they are there")):
        action = actions.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".",
                                    epilog=f"example: numpy-attention corpora {name} "
                                           f"{'bible-en-es' if name == 'show' else 'tatoeba-en-fr'}")
        action.add_argument("name", metavar="NAME")


def reproduce(command):
    command.add_argument("name", nargs="?", metavar="NAME", help="a recipe of --list")
    command.add_argument("--list", action="store_true", help="list the recipes")
    command.add_argument("--seed", type=whole(0), default=0, help="of the run")
    command.add_argument("--threads", type=whole(1), help="chosen by the size of a step unless given")
    command.add_argument("--results", metavar="FOLDER", default="results", help="where the figures are recorded")


def compare(command):
    command.add_argument("names", nargs="+", metavar="NAME", help="translators' recipes of `reproduce --list`, or patterns: "
                         "'clauses-*'")
    command.add_argument("--epochs", type=whole(1), help="passes through the text; the recipes' own unless given")
    command.add_argument("--minutes", type=positive, help="stop each after so many minutes of training")
    command.add_argument("--seed", type=whole(0), default=0, help="of the runs")
    command.add_argument("--threads", type=whole(1), help="chosen by the size of a step unless given")
    command.add_argument("--index", type=whole(0), default=0, help="number of the test pair whose heatmaps are drawn")
    command.add_argument("--output", metavar="FOLDER", default="runs/compare", help="where the figures go")
