"""Lessons state their requirements and reading time, and use standard terms and letters."""

import math
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LESSONS = {path.name[:2]: path.read_text(encoding="utf-8")
           for path in sorted((ROOT / "lessons").glob("[0-9][0-9]_*.py"))}
GLOSSARY = (ROOT / "docs/site/glossary.md").read_text(encoding="utf-8")
# terms set in bold where a lesson introduces them
TERMS = {
    "00": ["query"],
    "01": ["upstream gradient"],
    "02": ["Jacobian"],
    "05": ["teacher forcing"],
    "06": ["alignment"],
    "07": ["global attention"],
    "08": ["self-attention", "cross-attention"],
    "09": ["teacher forcing", "residual connection", "causal mask", "positional encoding",
           "KV cache", "cross-attention"],
    "10": ["hypothesis", "reference translation", "length penalty"],
    "15": ["local attention", "input feeding"],
    "16": ["rank collapse", "warm-up", "logits"],
}
# From lesson 06 to 10 a letter has one meaning. Its description is the row in the table of symbols,
# the rows of arrays whose shape has this letter, or the sentence with the letter in bold.
LETTERS = {
    "j": "^positions in the source", "t": "^positions in the source and in the target",
    "S": "source", "T": "target", "D": "source words",
    "A": "^hidden layer", "s_t": "^the decoder's state", "h": "^annotations", "h_j": "^annotations",
    "e": "^scores", "α": "^scores, attention weights", "c": "^context vector", "M": "source words",
    "W_a": "^parameters of (a|the) score", "U_a": "^parameters of (a|the) score",
    "v_a": "^parameters of (a|the) score", "q": "^(the query|queries):", "k": "^keys:",
    "v": "^values:", "p": "^centre of a window", "x": "^input of a layer",
    "y": "^the sentence written",
}
# the sentence in which a lesson gives a letter another meaning
EXCEPTIONS = {
    ("06", "x"): "hidden layer, before and after its tanh; x is not a word",
    ("08", "A"): "weights: each row adds up to 1 (lesson 06's A was a size)",
    ("08", "h"): "number of heads, **h** in the paper",
    ("09", "h"): "A layer has **h** heads.",
    ("09", "T"): "the stream, flows through it, with one row per word",
    ("09", "y"): "the stream after a layer's first part",
    ("10", "T"): "there are V^T sentences of T words",
    ("10", "p"): "log-probability of each next word after each prefix",
    ("10", "q"): "in lessons 06 to 09, q is a query",
    ("10", "x"): "ids of the source sentence",
}
every = pytest.mark.parametrize("number", LESSONS)


def reading_minutes(text):
    """Return the time for 180 words or 12 lines of code a minute, rounded up to a multiple of 5."""
    heads = re.findall(r"^# %%.*$", text, re.MULTILINE)
    bodies = re.split(r"^# %%.*$", text, flags=re.MULTILINE)[1:]
    words = lines = 0
    for head, body in zip(heads, bodies):
        if "markdown" in head:
            words += len(re.sub(r"^# ?", "", body, flags=re.MULTILINE).split())
        else:
            lines += sum(bool(line.strip()) and not line.strip().startswith("#")
                         for line in body.splitlines())
    return 5 * math.ceil((words / 180 + lines / 12) / 5)


@every
def test_head_states_goal_requirements_and_time(number):
    head = " ".join(LESSONS[number].split("# %%")[1].replace("\n# ", " ").split())
    for part in ("**You will be able to** ", "**Needs:** ", "**Time:** "):
        assert part in head
    minutes = int(re.search(r"\*\*Time:\*\* (\d+) minutes to read", head)[1])
    assert abs(minutes - reading_minutes(LESSONS[number])) <= 5


@every
def test_table_of_other_names(number):
    text = LESSONS[number]
    table = text.partition("## What others call it")[2].partition("# %%")[0]
    assert len(re.findall(r"^# \| .+ \| .+ \|$", table, re.MULTILINE)) >= 5
    assert "../docs/site/glossary.md" in table


@pytest.mark.parametrize("number, term", [(number, term) for number, terms in TERMS.items()
                                          for term in terms])
def test_terms_are_bold_and_in_the_glossary(number, term):
    text = LESSONS[number].replace("\n# ", " ")
    assert f"**{term}" in text or f"**{term.capitalize()}" in text
    assert re.search(rf"^{re.escape(term)}$", GLOSSARY, re.MULTILINE | re.IGNORECASE)


def letters_of(text):
    """Return {letter: descriptions} from the tables of symbols and from letters in bold."""
    tables = text.split("# | symbol |")[1:]
    table = "".join(one.partition("\n#\n")[0] for one in tables).replace("**", "")
    symbols, sizes = {}, {}
    for names, shape, meaning in re.findall(r"^# \| (.+?) \| (.*?) ?\| (.+) \|$", table, re.M):
        for name in re.split(r", (?![^(]*\))", names):
            name, _, value = re.sub("^(its|their) \\w+ |^log ", "", name).partition(" = ")
            if re.fullmatch(r"\w\u0303?(_\w+)?", name):
                symbols.setdefault(name, []).append(meaning)
            shape += value if "…" in value else ""
        for size in re.findall(r"\b[A-Z]\b", shape):
            sizes.setdefault(size, []).append(meaning)
    bold = {letter: [sentence] for sentence in re.split(r"(?<=[.|]) ", text.replace("\n# ", " "))
            for letter in re.findall(r"\*\*(\w)\*\*", sentence)}
    return sizes | bold | symbols


def test_letters_have_one_meaning():
    tables = {number: letters_of(LESSONS[number]) for number in ("06", "07", "08", "09", "10")}
    found = [letter for table in tables.values() for letter in table]
    assert {letter for letter in found if found.count(letter) > 1} <= set(LETTERS) <= set(found)
    other = {(number, letter) for number, table in tables.items() for letter in table
             if not any(re.search(LETTERS.get(letter, ""), one) for one in table[letter])}
    assert other == set(EXCEPTIONS)
    for (number, letter), sentence in EXCEPTIONS.items():
        assert sentence in LESSONS[number].replace("\n# ", " "), (number, letter)


def test_letters_of():
    text = ("# | symbol | shape | what it is |\n# |---|---|---|\n"
            "# | q, its rows q_t | (T, D) | a window, not a query |\n"
            "# | log p = 1 … S | | **one** |\n#\n# A stack of it. It has **N** layers.")
    row = ["a window, not a query"]
    assert letters_of(text) == {"T": row, "D": row, "q": row, "q_t": row, "p": ["one"],
                                "S": ["one"], "N": ["It has **N** layers."]}
    assert not re.search(LETTERS["q"], *row)
