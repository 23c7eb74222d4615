"""What every public function of the upper rooms answers to a wrong argument, line by line.

    python tools/refusals.py            writes tests/tools/refusals.txt anew

One line for each answer: the function, the argument, and what is said; … stands for the value that
was given. A test holds the package to that file, so that no check is lost and no message changes
unseen; to change one, change it, write the file anew and read what git shows.
"""

import contextlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path

from hostility import uses
from hostility.kinds import RUBBISH
from hostility.outcome import REFUSED
from sacrebleu.metrics import BLEU

FILE = Path(__file__).resolve().parents[1] / "tests" / "tools" / "refusals.txt"
# of what is wrong nearly everywhere, one of each kind
SOME = ("None", "-1", "2.5", "nan", "100000000000000000000", "'x'", "''", "[]", "['a']", "[[]]",
        "{'a': 1}", "array([nan, nan, nan])", "an object")
# an error and a name, the value, and what was expected
NAMED = re.compile(r"(\w+: [\w.]+(?: \([^)]*\))?)\b.*?"
                   r"((?:: |; )(?:expected|pass|choose one of) .*)$")
# a value within a sentence
SHOWN = re.compile(
    r"(=|is|got|given|holds|has|corpus) (?:['\[{(<b-]|np\.|array|None|-?\d|nan|inf).*?(?=[:;]|$)")
assert set(SOME) <= RUBBISH.keys()


def answers(name, argument):
    """Lines for an argument of a use of the catalogue."""
    call, kinds = uses.CATALOGUE[name]
    kind = kinds[argument]
    some = {words: RUBBISH[words] for words in SOME if words not in kind.avoid}
    found = {answer(call, kinds, argument, make) for make in {**some, **kind.wrong}.values()}
    return [f"{name}({argument}): {text}" for text in sorted(found)]


def answer(call, kinds, argument, make):
    """The words of a refusal; of what is accepted, that it is."""
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as until:
        here = os.getcwd()
        until.callback(os.chdir, here)
        until.enter_context(contextlib.redirect_stdout(io.StringIO()))
        until.enter_context(contextlib.redirect_stderr(io.StringIO()))
        outcome = uses._wrong(call, kinds, Path(place), {argument: make})
    if outcome.verdict != REFUSED:
        return f"({outcome.verdict})"
    text = outcome.text.replace(place, "FOLDER").replace(Path(place).name, "FOLDER")
    # a path that is too long is cut, and how long it is depends on the folder
    text = re.sub("'FOLDER[^:]*: no file", "'FOLDER/…': no file", text)
    # sacreBLEU has more tokenisers with every version
    text = text.replace(", ".join(BLEU.TOKENIZERS), "TOKENIZERS")
    return without_value(" ".join(text.split()))


def without_value(text):
    """A message without the value that it shows, whose form is another library's."""
    found = NAMED.match(text)
    if found:
        return f"{found[1]} …{found[2]}"
    return SHOWN.sub(r"\1 …", text)


def main():
    lines = [line for name, (_, kinds) in uses.CATALOGUE.items() for argument in kinds
             for line in answers(name, argument)]
    FILE.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(f"{FILE.name} holds {len(lines):,} answers")
    return 0


if __name__ == "__main__":
    sys.exit(main())
