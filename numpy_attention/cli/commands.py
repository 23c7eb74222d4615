"""The commands: the purpose, an example, the options, and the function of each command."""

from dataclasses import dataclass, field
from typing import Any

from numpy_attention.cli import options, training_options
from numpy_attention.cli.options import Groups
from numpy_attention.cli.parser import Option

BOTH = ("translator", "writer")


@dataclass(frozen=True)
class Command:
    """A command of the command line.

    work: the module and function of the command, such as "train:train_lm". example: arguments to
    show in the help. runs: the kinds of trained model that the command accepts, "translator" or
    "writer" (a language model). ranks: whether processes started by mpirun can share the work.
    """

    work: str
    summary: str
    example: str
    groups: Groups = field(default_factory=dict)
    runs: tuple[str, ...] = ()
    ranks: bool = False

    @property
    def options(self) -> list[Option]:
        return [option for group in self.groups.values() for option in group]


SUBCOMMANDS = {
    "corpora": "List, show and fetch corpora",
    "exercise": "Start, check and list the exercises of the course",
    "lessons": "List, copy and run the lessons of the course",
}
SECTIONS = {    # of `numpy-attention --help`, by their first commands in ROWS
    "train": "train", "translate": "use", "evaluate": "measure", "heatmap": "look inside",
    "lessons list": "learn", "reproduce": "experiments"}
RUN = "runs/bible-en-es-rnnsearch"
LM_RUNS = "runs/bible-en-lstm runs/bible-en-combined"
ROWS: list[Any] = [
    ("train", "train:train",
     "Train a translator, or resume its training; `train lm` trains a language model",
     "--corpus bible-en-es --max-length 7 --epochs 5", training_options.TRAIN, (), True),
    ("train lm", "train:train_lm", "Train a language model, or resume its training",
     "--corpus bible-en --attention combined --minutes 5", training_options.TRAIN_LM, (), True),
    ("corpora list", "catalogue:list_corpora", "List all corpora", ""),
    ("corpora show", "catalogue:show_corpus",
     "Print the description and sizes of a corpus, and some examples, with their word links if any",
     "bible-en-es", options.A_CORPUS),
    ("corpora fetch", "catalogue:fetch_corpus",
     "Download the files of a corpus if they are missing", "tatoeba-en-fr", options.A_CORPUS),
    ("translate", "decode:translate", "Translate sentences with a trained model",
     f'{RUN} "in the beginning" --heatmap beginning.png', options.TRANSLATE, ("translator",)),
    ("generate", "decode:generate", "Continue a text with a trained language model",
     'runs/bible-en-combined --prompt "in the beginning" --temperature 0.8', options.GENERATE,
     ("writer",)),
    ("evaluate", "evaluate:evaluate",
     "Measure the perplexity of a trained model and, for a translator, BLEU, chrF and alignment",
     f"{RUN} --split test", options.EVALUATE, BOTH, True),
    ("ablate", "evaluate:ablate",
     "Replace a model's attention weights, for example with equal ones, and measure how much worse "
     "the model gets", f"{RUN} --split valid", options.ABLATE, BOTH),
    ("cloze", "evaluate:cloze",
     "Ask a language model which of ten words fills a gap, with and without the preceding text",
     "runs/bible-en-combined --show 3", options.CLOZE, ("writer",)),
    ("recover", "side_by_side:recover",
     "Replace recent words with random ones, and measure how soon language models recover",
     f"{LM_RUNS} --output recovery.png", options.RECOVER),
    ("distances", "side_by_side:distances",
     "Compare the loss of language models on words grouped by how long ago they last occurred",
     f"{LM_RUNS} --output far.png", options.DISTANCES),
    ("heatmap", "heatmap:heatmap",
     "Plot the attention of a translator on a sentence pair (with its gold links, if any), or of a "
     "language model on a sentence", f"{RUN} --index 3 --output attention.png", options.HEATMAP,
     BOTH),
    ("page", "heatmap:page",
     "Write an HTML page in which trained models run and show their output and attention",
     f"{RUN} -o page.html", options.PAGE),
    ("trace", "heatmap:trace",
     "List every array of a forward and backward pass, with its shape, norm and line of code",
     f'{RUN} "in the beginning" --names "d*" --step 0', options.TRACE, BOTH),
    ("lessons list", "course:list_lessons", "List all lessons, and the folder they are in", ""),
    ("lessons copy", "course:copy_lessons", "Copy lessons to a folder, with the files they need",
     "course --notebooks", options.COPY_LESSONS),
    ("lessons run", "course:run_lesson", "Run a lesson and save its figures", "6",
     options.RUN_LESSON),
    ("exercise list", "course:list_exercises", "List all exercises, and which you have passed", "",
     options.EXERCISES),
    ("exercise start", "course:start", "Start an exercise: write its file, which you then complete",
     "softmax", options.AN_EXERCISE),
    ("exercise check", "course:check", "Check your file, up to the first stage that fails",
     "softmax", options.CHECK_EXERCISE),
    ("exercise watch", "course:watch", "Check your file whenever you save it, until it passes",
     "softmax", options.CHECK_EXERCISE),
    ("exercise hint", "course:hint", "Reveal the next hint, and repeat the earlier ones",
     "softmax", options.AN_EXERCISE),
    ("exercise solution", "course:solution",
     "Print the solution. If you have not passed the exercise, run the command twice",
     "softmax", options.AN_EXERCISE),
    ("exercise reset", "course:reset", "Start an exercise again, and keep a copy of your file",
     "softmax", options.AN_EXERCISE),
    ("exercise progress", "course:progress", "Print your progress and the next exercise", "",
     options.PROGRESS),
    ("step", "heatmap:step",
     "Run a lesson's reference implementation one time step at a time, and print every array and "
     "its changes", "2", options.STEP),
    ("gradcheck", "gradcheck:gradcheck",
     "Check hand-written gradients against central differences", "GRU LSTM", options.GRADCHECK),
    ("reproduce", "catalogue:reproduce",
     "Repeat a recorded experiment (minutes to hours), and append its results to results/",
     "rnnsearch-bible --seed 1", options.REPRODUCE, (), True),
    ("compare", "compare:compare",
     "Train several recipes on the same corpus with the same budget, and print one table",
     "clauses-fixed clauses-additive clauses-dot --epochs 1", options.COMPARE, (), True),
]
COMMANDS: dict[str, Command] = {name: Command(*about) for name, *about in ROWS}
