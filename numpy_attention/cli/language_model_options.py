"""The options of a language model's commands: train lm, generate."""

import argparse

from numpy_attention.cli.options import A_RUN, sampling, training
from numpy_attention.cli.values import not_negative, picture, positive, share, whole


def train(command):
    group = command.add_argument_group("what to learn from: --corpus or --text")
    group.add_argument("--corpus", help="a text of `numpy-attention corpora list`")
    group.add_argument("--text", metavar="FILE", help="your own text, one sentence a line")
    group.add_argument("--valid-text", metavar="FILE", help="text to validate on; without it the last 5 %% of --text are "
                       "held out")
    group.add_argument("--characters", action="store_true", help="predict letters instead of words")
    group.add_argument("--lowercase", action="store_true", help="lowercase your own text")
    group.add_argument("--tokenize", action="store_true", help="cut your own text into words and punctuation")
    group.add_argument("--max-vocabulary", type=whole(5), help="so many ids at most, four special ones among them, for the "
                       "most frequent words; the others become <unk>")
    group.add_argument("--min-count", type=whole(1), help="rarer words become <unk>; unless given 2, or 1 for characters "
                       "and for text that has <unk> in it")
    model = command.add_argument_group("the model")
    model.add_argument("--attention", default="none",
                       choices=("none", "single", "combined", "attention", "key-value", "key-value-predict", "ngram"),
                       help="how the model looks at its own past: Salton's single and combined score, Daniluk's attention "
                       "with one, two or three vectors, or their N-gram without attention")
    model.add_argument("--window", type=whole(1), help="how many positions back attention may look; all of a chunk unless "
                       "given")
    model.add_argument("--carried", type=whole(1), help="states of the chunk before (see --steps) that attention still sees; "
                       "none unless given; an ngram keeps the order − 2 that it needs")
    model.add_argument("--order", type=whole(2), help="N of ngram; 4 unless given")
    model.add_argument("--cell", choices=("rnn", "lstm", "gru"), default="lstm", help="the recurrent cell")
    model.add_argument("--layers", type=whole(1), default=1, help="cells on top of each other")
    model.add_argument("--hidden", type=whole(1), help="size of a state; the embedding's for each vector that attention "
                       "makes of it, unless given")
    model.add_argument("--embedding", type=whole(1), help="size of the word vectors; 200, or as --hidden allows, unless "
                       "given")
    model.add_argument("--parameters", type=whole(1), help="the largest sizes within so many parameters, in place of "
                       "--hidden and --embedding")
    model.add_argument("--tied", action=argparse.BooleanOptionalAction, default=True,
                       help="the same word vectors where words are read and predicted")
    model.add_argument("--dropout", type=share, default=0.2, help="share of values set to 0 in training")
    model.add_argument("--init", type=positive, default=0.1, help="initial weights lie between this and its negative")
    model.add_argument("--frequencies", action=argparse.BooleanOptionalAction, default=True, help="the output's bias begins "
                       "as the logarithm of each word's frequency, else as 0")
    model.add_argument("--forget-bias", type=not_negative, help="initial bias of an LSTM's forget gate; 1 unless given")
    group = training(command, "streams of text, or sentences or articles,", batch_size=20, clip=5.0,
                     run="runs/CORPUS-ATTENTION, or -CELL without attention,")
    group.add_argument("--state", choices=("carried", "sentence", "article"), default="carried", help="of the cells: "
                       "carried through the whole text, or empty at the start of every sentence or article")
    group.add_argument("--steps", type=whole(1), help="tokens that back-propagation goes through at a time; 35 unless "
                       "given, whole sentences where the state is theirs")


def generate(command):
    command.add_argument("run", metavar="RUN", help=A_RUN.replace("train", "train lm"))
    command.add_argument("--prompt", help="how the text begins; if with a hyphen, write --prompt=-like-this")
    command.add_argument("--length", type=whole(1), default=60, help="words, or letters, to write; without --window in "
                         "training attention looks at the last 64 at most")
    command.add_argument("--sentences", type=whole(1), help="stop after so many sentences, of words")
    sampling(command)
    command.add_argument("--unknown", action="store_true", help="allow <unk> to be written")
    command.add_argument("--heatmap", metavar="FILE", type=picture,
                         help="save what each word written looked at, as .png, .pdf or .svg")
    command.add_argument("--lowercase", action=argparse.BooleanOptionalAction,
                         help="lowercase the prompt first; as the run's text was unless given")
