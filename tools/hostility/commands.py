"""Command lines: every command and option, with values, texts and paths that nobody would give."""

import os
import subprocess
import sys

from hostility import small_runs, special_files
from hostility.command_line import ERROR, outcome
from hostility.outcome import LONGEST, PACKAGE, REFUSED, RIGHT, Attempt, Outcome, shortened

from numpy_attention.cli.entry import flag_of
from numpy_attention.cli.main import COMMANDS

NUMBERS = ("", " ", "0", "-1", "1", "2", "3", "7", "0.5", "1.5", "-0", "nan", "inf", "-inf",
           "1e400", "1e308", "1e-320", "99999999999999999999", "1000000000", "1000000001",
           "9" * 5000, "٣",
           "1_0", "0x10", "1e3", "+5", " 4 ", "½", "None", "True", "\0", "\ud800", "--", "-")
FITTING = ("1", "2", "3", "5", "8", "0.5", "100", "1000000")
WORDS = ("", "nix", "dot", "general", "multi-head", "local-p", "local-m", "combined", "ngram",
         "transformer", "luong", "copy", "bible-en", "ptb", "valid", "test", "linear", "article",
         "sentence", "*", "'", "\n", "\0", "\ud800", "\u202eabc", "a" * 100_000, "%s", "{}",
         "../..", "$HOME", "-x", "--help", "é", "שלום")
SENTENCES = ("", " ", "the cat sees", "the", "a" * 100_000, "a " * 400, "\0", "the \0 cat",
             "\ud800", os.fsdecode(b"\xff\xfe"), "\u202eabc", "שלום עולם", "</s> <s> <unk> <pad>",
             "cat\ncat", "\u2028", "e\u0301\u0301\u0301", "🐈" * 50, "<unk>",
             "$x_1$ \\frac", "\x1b[31m", "-the cat", "'quoted'")
INPUTS = (b"", b"\n", b"\n\n\n", b"the cat sees\n", b"the cat\n\na dog\n", b"\xff\xfe\n",
          b"the \0 cat\n", b"the\xe2\x80\xa8cat\n", b"the\x0bcat\n", b"a " * 400,
          b"the cat\r\nsees\r\n", b"\r",
          b"".join(b"word%d cat\n" % n for n in range(1000)), b"\xed\xa0\x80\n")
# what makes an attempt short, unless it is attacked
SMALL = {"epochs": "1", "threads": "1", "hidden": "8", "embedding": "6", "layers": "1",
         "batch_size": "8"}
# where a number that is allowed takes as long as it says
AS_LONG_AS_ASKED = {"epochs", "length", "pairs"}


def attempt(rng, folder):
    os.chdir(folder)
    os.environ["NUMPY_ATTENTION_DATA"] = str(folder)    # nothing is fetched
    if rng.random() < 0.05:
        return with_streams(rng, folder)
    names = list(ATTACKED)
    name = names[rng.integers(len(names))]
    words = ATTACKED[name](rng, folder)
    text = INPUTS[rng.integers(len(INPUTS))]
    what = f"{' '.join(map(readable, words))} < {readable(text)}"
    return Attempt(what, lambda: outcome(words, text, folder))


def readable(word):
    return ascii(str(word) if not isinstance(word, bytes) else word)[:60]


# ---- options -----------------------------------------------------------------------------------


def hostile(rng, options, folder, most=3):
    """Some options with hostile values, as words of a command line."""
    words = []
    given = set()
    for _ in range(int(rng.integers(1, most + 1))):
        option = options[rng.integers(len(options))]
        if option.kind == "word" or option.name in given:
            continue
        given.add(option.name)
        flag = flag_of(option.name)
        if option.kind == "flag":
            words.append(flag)
        elif option.kind == "switch":
            words.append(flag if rng.random() < 0.5 else f"--no-{flag[2:]}")
        else:
            value = str(value_of(rng, option, folder))
            words += [f"{flag}={value}"] if rng.random() < 0.3 else [flag, value]
    return words, given


def value_of(rng, option, folder):
    if option.metavar in ("FILE", "FOLDER") and rng.random() < 0.9:
        return special_files.any_path(rng, folder)[1]
    if option.choices and rng.random() < 0.6:
        choices = list(option.choices)
        return choices[rng.integers(len(choices))]
    values = (WORDS, NUMBERS, FITTING)[rng.choice(3, p=[0.15, 0.35, 0.5])]
    value = values[rng.integers(len(values))]
    if option.name in AS_LONG_AS_ASKED and value in ("1000000", "1000000000"):
        return "4"
    return value


def small(given, *names):
    """Options that make a training short, but for those given."""
    return [word for name in names if name not in given for word in (flag_of(name), SMALL[name])]


# ---- commands ----------------------------------------------------------------------------------


def train(rng, folder):
    words, given = hostile(rng, COMMANDS["train"].options, folder)
    text = ["--corpus", "copy", "--pairs", "40", "--max-length", "4"]
    if given & {"source", "target"} or rng.random() < 0.3:
        text = own_pairs(rng, folder)
    run = [] if "run" in given else ["--run", "out"]
    sizes = small(given, "epochs", "threads", "hidden", "batch_size")
    return ["train", *text, *sizes, *run, *words]


def own_pairs(rng, folder):
    names = []
    for name in ("source", "target"):
        path = folder / f"{name}.txt"
        path.write_text(small_runs.SOURCE)
        names += [f"--{name}", str(path)]
    if rng.random() < 0.5:
        special_files.any_text(rng, folder / "source.txt")
    if rng.random() < 0.3:
        special_files.any_text(rng, folder / "target.txt")
    return names


def train_lm(rng, folder):
    words, given = hostile(rng, COMMANDS["train lm"].options, folder)
    path = folder / "text.txt"
    path.write_text(small_runs.SOURCE)
    if rng.random() < 0.3:
        special_files.any_text(rng, path)
    text = [] if "text" in given else ["--text", str(path)]
    run = [] if "run" in given else ["--run", "out"]
    sizes = [] if "parameters" in given else small(given, "hidden")
    return ["train", "lm", *text, *sizes, *small(given, "epochs", "threads", "batch_size"), *run,
            *words]


def with_a_run(rng, folder, *kinds):
    """A run of one of these models, or something that is none."""
    if rng.random() < 0.1:
        return str(special_files.any_path(rng, folder)[1])
    name = kinds[rng.integers(len(kinds))]
    small_runs.run(name).put(folder / "run")
    if rng.random() < 0.05:
        (folder / "run" / "checkpoint.npz").unlink()
        os.mkfifo(folder / "run" / "checkpoint.npz")
    return str(folder / "run")


ANY = tuple(small_runs.SETTINGS)
TRANSLATORS = ANY[:3] * 3 + ANY
WRITERS = ANY[3:] * 3 + ANY


def translate(rng, folder):
    words, _ = hostile(rng, COMMANDS["translate"].options, folder)
    count = int(rng.integers(3))
    sentences = [SENTENCES[rng.integers(len(SENTENCES))] for _ in range(count)]
    return ["translate", with_a_run(rng, folder, *TRANSLATORS), *sentences, *words]


def generate(rng, folder):
    words, given = hostile(rng, COMMANDS["generate"].options, folder)
    if "prompt" not in given and rng.random() < 0.5:
        words += [f"--prompt={SENTENCES[rng.integers(len(SENTENCES))]}"]
    return ["generate", with_a_run(rng, folder, *WRITERS), *words]


def evaluate(rng, folder):
    words, given = hostile(rng, COMMANDS["evaluate"].options, folder)
    return ["evaluate", with_a_run(rng, folder, *ANY), *small(given, "threads"), *words]


def heatmap(rng, folder):
    words, given = hostile(rng, COMMANDS["heatmap"].options, folder)
    output = [] if "output" in given else ["--output", "a.png"]
    count = int(rng.integers(3))
    sentences = [SENTENCES[rng.integers(len(SENTENCES))] for _ in range(count)]
    return ["heatmap", with_a_run(rng, folder, *ANY), *sentences, *output, *words]


def trace(rng, folder):
    words, _ = hostile(rng, COMMANDS["trace"].options, folder)
    sentences = [SENTENCES[rng.integers(len(SENTENCES))] for _ in range(int(rng.integers(1, 4)))]
    return ["trace", with_a_run(rng, folder, *ANY), *sentences, *words]


def by_name(rng, folder):
    """Commands that take a name."""
    name = WORDS[rng.integers(len(WORDS))]
    choice = rng.integers(4)
    if choice == 0:
        words, _ = hostile(rng, COMMANDS["gradcheck"].options, folder)
        return ["gradcheck", name.strip() or "Linear", *words]
    if choice == 1:
        action = ("show", "fetch", "list", name)[rng.integers(4)]
        return ["corpora", action, *([] if action == "list" else [name])]
    if choice == 2:
        words, _ = hostile(rng, COMMANDS["reproduce"].options, folder)
        return ["reproduce", name or "--list", *words]
    words, _ = hostile(rng, COMMANDS["compare"].options, folder)
    return ["compare", name, *words]


def no_command(rng, folder):
    """Words in no order."""
    short = [name for name in COMMANDS if name not in ("gradcheck", "step")]
    known = [*short, *WORDS, *NUMBERS, "--help", "lm", "translator"]
    return [known[rng.integers(len(known))] for _ in range(int(rng.integers(4)))]


ATTACKED = {"train": train, "train lm": train_lm, "translate": translate, "generate": generate,
            "evaluate": evaluate, "heatmap": heatmap, "trace": trace, "by name": by_name,
            "none": no_command}


# ---- with streams that are broken, in a process of its own --------------------------------------

STREAMS = ("< /dev/null", "<&-", ">&-", "2>&-", "<&- >&- 2>&-", "> /dev/full", "2> /dev/full",
           "| true", "| head -c 1", "> /dev/null 2>&1", "< /dev/full")


def with_streams(rng, folder):
    """A command of the shell whose streams are closed, full, or left by their reader."""
    small_runs.run("luong").put(folder / "run")
    small_runs.run("language-model").put(folder / "written")
    commands = ("corpora list", "translate run 'the cat'", "translate run", "--help",
                "train --help", "evaluate run --threads 1", "generate written --length 2000",
                "reproduce --list", "translate run nix --beam 0",
                "train --corpus copy --pairs 30 --max-length 3 --hidden 8 --epochs 1 --threads 1 "
                "--run out")
    command = commands[rng.integers(len(commands))]
    stream = STREAMS[rng.integers(len(STREAMS))]
    # its exit status, whatever stands behind a pipe
    script = (f"{{ {sys.executable} -m numpy_attention {command}; echo $? > status; }} {stream}"
              if "|" in stream else f"{sys.executable} -m numpy_attention {command} {stream}; "
              "echo $? > status")

    def run():
        path = f"{PACKAGE.parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        environment = {**os.environ, "PYTHONPATH": path}
        done = subprocess.run(["bash", "-c", script], cwd=folder, stdin=subprocess.DEVNULL,
                              capture_output=True, env=environment)
        return of_process(int((folder / "status").read_text()), done.stderr.decode())

    return Attempt(f"{command} {stream}", run)


def of_process(status, told):
    """The Outcome of a process's exit status and what it told."""
    lines = [line for line in told.splitlines() if line.startswith(ERROR)]
    long = any(len(line) > LONGEST + len(ERROR) for line in lines)
    if status not in (0, 2, 141) or "Traceback" in told or "Exception" in told or long:
        return Outcome("traceback", f"status {status}: {shortened(told)}")
    return Outcome(REFUSED if status == 2 else RIGHT, f"status {status} {shortened(told)}"[:200])
