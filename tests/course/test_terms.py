"""Every lesson says what it needs and how long it takes, and uses the field's terms."""

import math
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LESSONS = {path.name[:2]: path.read_text(encoding="utf-8")
           for path in sorted((ROOT / "lessons").glob("[0-9][0-9]_*.py"))}
GLOSSARY = (ROOT / "docs/site/glossary.md").read_text(encoding="utf-8")
# in bold where they are introduced
TERMS = {
    "00": ["query"],
    "01": ["upstream gradient"],
    "05": ["teacher forcing"],
    "06": ["alignment"],
    "07": ["global attention", "local attention"],
    "08": ["self-attention", "cross-attention"],
    "09": ["teacher forcing", "residual connection", "causal mask", "positional encoding",
           "KV cache", "cross-attention", "logits", "rank collapse"],
    "10": ["hypothesis", "reference translation", "length penalty"],
}
# from 06 to 10 a letter has one meaning: words that each table of symbols must have for it
LETTERS = {
    "j": "source", "s_t": "decoder's state", "h_j": "annotations of the source",
    "e": "scores", "α": "weights", "A": "weights", "c": "context vector", "M": "source",
    "q": "quer", "k": "key", "v": "value", "y": "stream|sentence written",
    "W_a": "learnt|of a score", "U_a": "learnt|of a score", "v_a": "learnt|of a score",
    # x is what a model or a layer reads, except in lesson 06, which says so
    "x": "^input|source|not a word",
}
every = pytest.mark.parametrize("number", LESSONS)


def reading_minutes(text):
    """180 words of prose, or 12 lines of code, a minute; up to the next multiple of 5."""
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
def test_the_head_says_what_for_what_it_needs_and_how_long(number):
    head = " ".join(LESSONS[number].split("# %%")[1].replace("\n# ", " ").split())
    for part in ("**You will be able to** ", "**Needs:** ", "**Time:** "):
        assert part in head
    minutes = int(re.search(r"\*\*Time:\*\* (\d+) minutes to read", head)[1])
    assert abs(minutes - reading_minutes(LESSONS[number])) <= 5


@every
def test_its_words_are_put_next_to_those_of_others(number):
    text = LESSONS[number]
    table = text.partition("## What others call it")[2].partition("# %%")[0]
    assert len(re.findall(r"^# \| .+ \| .+ \|$", table, re.MULTILINE)) >= 5
    assert "../docs/site/glossary.md" in table


@pytest.mark.parametrize("number, term", [(number, term) for number, terms in TERMS.items()
                                          for term in terms])
def test_a_term_is_introduced_in_bold_and_is_in_the_glossary(number, term):
    text = LESSONS[number].replace("\n# ", " ")
    assert f"**{term}" in text or f"**{term.capitalize()}" in text
    assert re.search(rf"^{re.escape(term)}$", GLOSSARY, re.MULTILINE | re.IGNORECASE)


def letters_of(number):
    """[(letter, what it is)] of a lesson's table of symbols."""
    table = LESSONS[number].partition("# | symbol |")[2].partition("\n#\n")[0]
    return [(letter, meaning)
            for symbols, meaning in re.findall(r"^# \| (.+?) \| .*\| (.+) \|$", table, re.MULTILINE)
            for letter in re.split(r", (?:its \w+ )?| = .*", symbols) if letter]


def test_a_letter_has_one_meaning():
    seen = {number: dict(letters_of(number)) for number in ("06", "07", "08", "09", "10")}
    found = [letter for table in seen.values() for letter in table]
    assert {letter for letter in found if found.count(letter) > 1} <= set(LETTERS) <= set(found)
    for number, table in seen.items():
        for letter in table:
            assert re.search(LETTERS.get(letter, ""), table[letter]), (number, letter)
