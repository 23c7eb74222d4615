"""Signals at random moments of a command: how it ends, what it says, and what it leaves behind."""

import os
import signal
import sys
import time

from hostility import small_runs
from hostility.command_line import ended, halves
from hostility.outcome import REFUSED, RIGHT, Attempt, Outcome, shortened

from numpy_attention.cli import main as cli
from numpy_attention.cli import streams
from numpy_attention.training import checkpoint

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SIGNALS = (*STOPPING, signal.SIGPIPE)


def attempt(rng, folder):
    os.chdir(folder)
    work = WORK[rng.integers(len(WORK))]
    words = work(rng, folder)
    after = float(rng.uniform(0, work.seconds)) if rng.random() < 0.9 else 0.0
    first = SIGNALS[rng.integers(len(SIGNALS))]
    sent = [first] if rng.random() < 0.7 else [first, STOPPING[rng.integers(3)]]
    gap = float(rng.choice([0, 0.001, 0.05]))
    names = " and ".join(number.name for number in sent)

    def run():
        status, told = interrupted(words, folder, sent, after, gap)
        return of_end(status, told, sent, folder) or goes_on(words, folder, status)

    return Attempt(f"{work.__name__}: {names} after {after:.3f} s", run)


# ---- what is interrupted -----------------------------------------------------------------------


def train(rng, folder):
    texts = small_runs.texts()
    return ["train", "--source", texts / "source.txt", "--target", texts / "target.txt", "--hidden",
            "8", "--embedding", "6", "--epochs", "12", "--batch-size", "4", "--save-steps", "2",
            "--threads", str(rng.integers(1, 3)), "--run", folder / "run"]


def train_lm(rng, folder):
    return ["train", "lm", "--text", small_runs.texts() / "source.txt", "--hidden", "8", "--epochs",
            "20", "--batch-size", "2", "--steps", "4", "--save-steps", "3", "--threads", "1",
            "--run", folder / "run"]


def translate(rng, folder):
    small_runs.run("luong").put(folder / "run")
    return ["translate", folder / "run", *["the cat sees a dog"] * 100]


def generate(rng, folder):
    small_runs.run("language-model").put(folder / "run")
    return ["generate", folder / "run", "--length", "2000"]


def evaluate(rng, folder):
    small_runs.run("rnnsearch").put(folder / "run")
    return ["evaluate", folder / "run", "--threads", "2"]


def heatmap(rng, folder):
    small_runs.run("transformer").put(folder / "run")
    return ["heatmap", folder / "run", "the cat", "el gato", "--output", folder / "a.png"]


train.seconds = train_lm.seconds = 1.5
translate.seconds = generate.seconds = evaluate.seconds = heatmap.seconds = 0.5
WORK = (train, train, train, train_lm, translate, generate, evaluate, heatmap)

# ---- in a child --------------------------------------------------------------------------------


def interrupted(words, folder, sent, after, gap):
    """→ the exit status of a command that gets signals, what it told."""
    ready, tell = os.pipe()
    number = os.fork()
    if number == 0:
        os.close(ready)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        status = 99
        try:
            status = in_child(words, folder, tell)
        finally:
            os._exit(status)
    os.close(tell)
    os.read(ready, 1)
    os.close(ready)
    time.sleep(after)
    for one in sent:
        os.kill(number, one)
        time.sleep(gap)
    _, status = os.waitpid(number, 0)
    told = (folder / "told").read_text(encoding="utf-8", errors="replace")
    return os.waitstatus_to_exitcode(status), told


def in_child(words, folder, tell=None):
    """Run a command with its streams in files; → its exit status, 98 for a traceback."""
    sys.stdout = open(folder / "out", "w", encoding="utf-8")
    sys.stderr = open(folder / "told", "w", encoding="utf-8")
    prepare = streams.prepare

    def begun():
        """From here on signals are heeded; before, they end a process as they end any other."""
        if tell is not None:
            os.write(tell, b"x")
        prepare()

    streams.prepare = begun
    try:
        return ended(cli.main, [str(word) for word in words])
    except BaseException as error:
        print(f"Traceback: {error!r}", file=sys.stderr)
        return 98
    finally:
        streams.prepare = prepare
        sys.stderr.flush()


def of_end(status, told, sent, folder):
    """The Outcome where the end is wrong, else None."""
    expected = {128 + number for number in sent if number in STOPPING}
    # it was over before, or had not begun to listen
    allowed = expected | {0} | {128 - one for one in expected}
    if status not in allowed or "Traceback" in told:
        return Outcome("traceback", f"status {status}: {shortened(told)}")
    lines = told.splitlines()
    if status in expected and not (lines and lines[-1].startswith("numpy-attention: ")):
        return Outcome("silence", f"status {status} without a word: {shortened(told)}")
    left = halves(folder)
    if left:
        return Outcome("silence", f"left half-written: {', '.join(left)}")
    return None


def goes_on(words, folder, status):
    """The same command again must end well, with a whole checkpoint."""
    path = folder / "run" / "checkpoint.npz"
    if path.exists():
        checkpoint.load(path)
    number = os.fork()
    if number == 0:
        again = 99
        try:
            again = in_child(words, folder)
        finally:
            os._exit(again)
    again = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
    if again != 0:
        told = (folder / "told").read_text(encoding="utf-8")
        return Outcome("silence", f"does not go on, status {again}: {shortened(told)}")
    return Outcome(RIGHT if status == 0 else REFUSED, f"status {status}, and went on")
