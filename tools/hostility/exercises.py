"""Exercises: files, folders and progress that no reader would have, and every command on them.

None of the files passes, a check leaves them as they are, and what was passed stays passed.
"""

import json
import os

from hostility import special_files
from hostility.command_line import outcome
from hostility.commands import NUMBERS, WORDS, readable
from hostility.outcome import RIGHT, Attempt, Outcome

from numpy_attention.exercises.catalogue import EXERCISES
from numpy_attention.exercises.source import BLANK

NAME = "softmax"
# what stands in place of the function's body
BODIES = ("while True: pass", "return 1 / 0", "raise SystemExit(0)", "raise KeyboardInterrupt",
          "import os; os._exit(0)", "import os; os.abort()", "import os; os.kill(os.getpid(), 9)",
          "print('x' * 2**21)", "return softmax_backward(dalpha, cache, grad)", "input()",
          "return np.empty(2**40)", "return alpha * np.nan", "return None", "return ''",
          "return {}", "return [dalpha]", "return dalpha.astype(int)", "return dalpha[0]",
          "return dalpha.astype(object)", "return dalpha > 0", "return np.array('x')",
          "dalpha += 1", "cache[:] = 0", "import torch", "return (", "raise Exception('\\n' * 99)",
          "raise BaseException", "np.dot = None", "import sys; sys.path.clear()",
          "import sys; sys.stdout.close()", "import os; os.chdir('/')", "yield dalpha",
          "import threading, time; threading.Thread(target=time.sleep, args=(99,)).start()",
          "import os; os.fork()", "del np", "global np; np = 3")
TEXTS = (b"", b"\n", b"def (", b"\0", b"\xff\xfe", b"#" * 10**6, b"x = 1\n", b"import this\n",
         b"raise SystemExit\n", b"while True: pass\n", b"(" * 1000, b"from jax import numpy\n",
         b"def softmax_backward(): pass\n", b"softmax_backward = softmax = None\n",
         b"class softmax_backward: pass\n")
PROGRESS = ("", "[]", "{", "null", "3", '{"format": 1}', '{"format": 2, "exercises": {}}',
            '{"format": 1, "exercises": []}', '{"format": 1, "exercises": {"softmax": {}}}',
            '{"format": 1, "exercises": {"nix": {"passed": true}}}',
            '{"format": 1, "exercises": {"softmax": {"hints": 99}}}',
            '{"format": 1, "exercises": {"softmax": {"hints": -1}}}',
            '{"format": 1, "exercises": {"softmax": {"cut": "\\ud800"}}}', "[" * 10**5, "0" * 2**20)
ACTIONS = ("check", "check", "check", "start", "hint", "solution", "reset", "progress", "list")
KEPT = {"linear": {"cut": "0", "passed": True}}


def attempt(rng, folder):
    os.chdir(folder)
    place = folder / "exercises"
    place.mkdir()
    file, progress = place / f"{NAME}.py", place / "progress.json"
    told = [hostile_file(rng, file)]
    progress.write_text(json.dumps({"format": 1, "exercises": KEPT}))
    if rng.random() < 0.2:
        progress.write_text(PROGRESS[rng.integers(len(PROGRESS))])
        told.append(f"progress {readable(progress.read_text())}")
    words = ["exercise", *command(rng, folder)]
    told.append(" ".join(map(readable, words)))
    return Attempt("; ".join(told), lambda: judged(words, folder, file, progress))


def hostile_file(rng, file):
    """Write what is no solution; → what it is."""
    choice = rng.random()
    if choice < 0.6:
        body = BODIES[rng.integers(len(BODIES))]
        file.write_text(EXERCISES[NAME].start.replace(BLANK, f"alpha = cache\n    {body}"))
        return body
    if choice < 0.8:
        file.write_bytes(TEXTS[rng.integers(len(TEXTS))])
        return f"file {readable(file.read_bytes())}"
    if choice < 0.9:
        return f"file of {special_files.any_text(rng, file)}"
    name, path = special_files.any_path(rng, file.parent)
    if str(path) and os.path.lexists(path) and not os.path.lexists(file):
        os.symlink(path, file)
        return f"link to {name}"
    return "no file"


def command(rng, folder):
    """The words of a command, of this exercise most often."""
    action = ACTIONS[rng.integers(len(ACTIONS))]
    if action in ("progress", "list"):
        words = [action]
    else:
        strange = rng.random() < 0.1
        words = [action, WORDS[rng.integers(len(WORDS))] if strange else NAME]
    if action == "check":
        value = "2" if rng.random() < 0.9 else NUMBERS[rng.integers(len(NUMBERS))]
        words += [f"--seconds={value}"]
    if rng.random() < 0.1:
        words += [f"--folder={special_files.any_path(rng, folder)[1]}"]
    return words


def judged(words, folder, file, progress):
    """The Outcome of a command; silence where it passes what is wrong, or loses anything."""
    before = contents(file), passed(progress)
    found = outcome(words, b"", folder)
    if found.verdict != RIGHT:
        return found
    after = contents(file), passed(progress)
    if words[1:3] == ["check", NAME] and found.text == "status 0":
        return Outcome("silence", "what is no solution has passed")
    if words[1] == "check" and after[0] != before[0]:
        return Outcome("silence", "the reader's file is another now")
    if before[1] and not before[1] <= after[1]:
        return Outcome("silence", "what was passed is not passed any more")
    return found


def contents(file):
    """What a file holds; None: it is no plain file."""
    return file.read_bytes() if file.is_file() and file.stat().st_size < 2**22 else None


def passed(progress):
    """The names of what was passed; an empty set where the file says none."""
    try:
        records = json.loads(progress.read_text())["exercises"]
        return {name for name, one in records.items() if one.get("passed")}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return set()
