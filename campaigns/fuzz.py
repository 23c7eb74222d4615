"""Try many random inputs: the Hypothesis laws of the tests, and the command line.

    python campaigns/fuzz.py laws                       2,000 examples of every law
    python campaigns/fuzz.py commands --number 300 --seed 7

`laws` runs the tests that use Hypothesis with the profile "campaign" of tests/conftest.py, which
tries many more examples, different ones in every run. A failing example is printed with the lines
that reproduce it.

`commands` gives a command random flags with random values, and sometimes a run with a damaged
checkpoint. It must end within the time limit with exit status 0, or with exit status 2 and one line
on standard error. It must not print a traceback or a warning of another library, or leave a partial
file or a checkpoint that cannot be loaded. Exits with status 1 if a command breaks these rules.
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 120       # for one command
ERROR = "numpy-attention: error: "
SMALL = "--hidden 8 --embedding 8 --epochs 1 --threads 1".split()
TEXTS = {
    "source.txt": "the cat sees a dog\na dog finds the old house\nthe house is red\n" * 20,
    "target.txt": "le chat voit un chien\nun chien trouve la maison\nla maison est rouge\n" * 20,
    "text.txt": "the cat sees a dog . a dog finds the old house .\n" * 40,
    "empty.txt": "",
}
LEARN = {
    "translator": ["train", "--source", "source.txt", "--target", "target.txt", *SMALL],
    "writer": ["train", "lm", "--text", "text.txt", *SMALL],
}
# each is a correct command before flags are added to it
COMMANDS = [
    [*LEARN["translator"], "--run", "new"], [*LEARN["writer"], "--run", "new"],
    [*LEARN["translator"], "--run", "translator"], [*LEARN["writer"], "--run", "writer"],
    ["translate", "translator", "the cat sees a dog"], ["generate", "writer", "--length", "5"],
    ["evaluate", "translator"], ["evaluate", "writer"],
    ["ablate", "translator"], ["heatmap", "translator", "the cat", "le chat"],
    ["page", "translator", "--output", "new.html"], ["trace", "translator", "the cat"],
    ["gradcheck", "Linear"], ["corpora", "list"], ["lessons", "list"], ["exercise", "list"],
    ["exercise", "start", "softmax"], ["step", "02"], ["distances", "writer"],
]
NUMBERS = ["0", "1", "2", "3", "-1", "0.5", "1e-3", "nan", "inf", "1e999", "1e400", "007", "½",
           "9" * 30, "0x10", "1_000", "-0.0"]
WORDS = ["", " ", "x", "dot", "gru", "true", "é", "\u202e", "a\nb", "../..", "--", "%s", "{}",
         "source.txt", "empty.txt", "missing.txt", "translator", "writer", ".", "/dev/null"]


# ---- commands -----------------------------------------------------------------------------------


def run(words, folder):
    """Run one command in a separate process. Raises subprocess.TimeoutExpired."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg",
                   "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, "-m", "numpy_attention", *words], cwd=folder,
                          env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, errors="replace", timeout=SECONDS)


def flags_of(command, folder):
    """Return [(flag, choices)] from a command's help. Without choices None, without value False."""
    text = run([*command, "--help"], folder).stdout
    found = re.findall(r"^ +(?:-\w,? ?(?:\w+, )?)?(--[\w-]+)(?: (\{[^}]*\}|[A-Z][\w.:]*))?", text,
                       re.MULTILINE)
    flags = []
    for flag, value in found:
        if flag != "--help":
            choices = value.strip("{}").split(",") if value.startswith("{") else None
            flags.append((flag, choices if value else False))
    return flags


def random_words(rng, command, flags):
    """Return a command with some random flags, and sometimes a word too many or too few."""
    words = list(command)
    for flag, choices in rng.sample(flags, min(len(flags), rng.choice((1, 1, 2, 3)))):
        words.append(flag)
        if choices is not False and rng.random() < 0.95:
            words.append(rng.choice(rng.choice([choices or NUMBERS, NUMBERS, WORDS])))
    if rng.random() < 0.1:
        words.insert(rng.randrange(1, len(words) + 1), rng.choice(WORDS))
    if rng.random() < 0.05:
        del words[rng.randrange(1, len(words))]
    return words


def damage(rng, path):
    """Change, truncate or lengthen a file at random. Return the kind of damage."""
    data = bytearray(path.read_bytes())
    kind = rng.choice(("flip", "cut", "add", "empty"))
    if kind == "flip":
        for _ in range(rng.choice((1, 8, 64))):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif kind == "cut":
        del data[rng.randrange(len(data)):]
    elif kind == "add":
        data += rng.randbytes(100)
    else:
        data.clear()
    path.write_bytes(data)
    return kind


def broken_rules(words, folder, is_damaged):
    """Run a command, and return descriptions of the rules that it broke."""
    from numpy_attention.training import checkpoint
    try:
        ended = run(words, folder)
    except subprocess.TimeoutExpired:
        return [f"no end after {SECONDS} s"]
    lines = [line.rpartition("\r")[2] for line in ended.stderr.splitlines()]
    lines = [line for line in lines if line.strip()]
    wrong = []
    if "Traceback" in ended.stderr + ended.stdout:
        wrong.append("traceback: " + lines[-1])
    elif ended.returncode not in (0, 2):
        wrong.append(f"exit status {ended.returncode}: {lines[-1:]}")
    elif ended.returncode == 2 and [ERROR in line for line in lines].count(True) != 1:
        wrong.append(f"expected one line that begins with {ERROR!r}: {lines}")
    if "Warning" in ended.stderr:
        wrong.append(f"a warning: {lines}")
    for path in folder.rglob("*"):
        if path.suffix == ".partial":
            wrong.append(f"{path.name} is left over")
        elif path.name == "checkpoint.npz" and not is_damaged:
            try:
                checkpoint.load(path)
            except ValueError as error:
                wrong.append(f"a checkpoint that cannot be loaded: {error}")
    return wrong


def commands(number, seed):
    """Try random commands. Return how many broke a rule."""
    failed = 0
    with tempfile.TemporaryDirectory() as place:
        fresh = Path(place, "fresh")
        fresh.mkdir()
        for name, text in TEXTS.items():
            (fresh / name).write_text(text, encoding="utf-8")
        for name, words in LEARN.items():
            ended = run([*words, "--run", name], fresh)
            if ended.returncode:
                raise RuntimeError(f"the {name} cannot be trained: {ended.stderr}")
        flags = {}
        for attempt in range(number):
            rng = random.Random(f"{seed} {attempt}")
            command = rng.choice(COMMANDS)
            title = " ".join(command[:2])
            if title not in flags:
                is_one = command[1] in ("lm", "start", "list")
                flags[title] = flags_of(command[:2] if is_one else command[:1], fresh)
            folder = Path(place, "tried")
            shutil.copytree(fresh, folder)
            words, how = random_words(rng, command, flags[title]), ""
            used = [name for name in LEARN if name in command]
            if used and rng.random() < 0.3:
                how = damage(rng, folder / used[0] / "checkpoint.npz")
            wrong = broken_rules(words, folder, bool(how))
            if wrong:
                failed += 1
                print(f"attempt {attempt}{f', checkpoint damaged ({how})' if how else ''}: "
                      f"numpy-attention {' '.join(map(repr, words))}", *wrong, sep="\n    ",
                      flush=True)
            shutil.rmtree(folder)
    return failed


# ---- laws ---------------------------------------------------------------------------------------


def laws(tests):
    """Run the tests that use Hypothesis with many examples. Return the exit status of pytest."""
    words = ["-m", "hypothesis", "--hypothesis-profile", "campaign", "--hypothesis-show-statistics"]
    return subprocess.run([sys.executable, "-m", "pytest", *words, *tests], cwd=ROOT).returncode


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    one = kinds.add_parser("laws", help="the Hypothesis laws of the tests, with many examples")
    one.add_argument("tests", nargs="*", metavar="TEST", help="only these files or folders")
    one = kinds.add_parser("commands", help="random command lines")
    one.add_argument("--number", type=int, default=300, metavar="N")
    one.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    if options.kind == "laws":
        return laws(options.tests)
    failed = commands(options.number, options.seed)
    print(f"{options.number} commands tried, {failed} broke a rule")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
