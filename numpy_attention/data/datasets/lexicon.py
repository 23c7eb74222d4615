"""The words of the English–French grammar, with the forms that French agreement needs."""

from importlib import resources
from typing import NamedTuple


class Noun(NamedTuple):
    english: str
    english_plural: str
    french: str
    french_plural: str
    gender: str  # "m" or "f"


class Adjective(NamedTuple):
    """An adjective. french: masculine, feminine, both plurals, and the masculine before a vowel."""

    english: str
    french: tuple[str, ...]
    before: bool  # French puts it before the noun
    living: bool  # used only for people and animals

    def form(self, gender: str, plural: bool, vowel_follows: bool = False) -> str:
        if vowel_follows and gender == "m" and not plural:
            return self.french[4]
        return self.french[2 * plural + (gender == "f")]


class Determiner(NamedTuple):
    """The singular and plural forms of a determiner.

    Each form is (English, French masculine, French feminine), or () if the form does not exist.
    """

    singular: tuple[str, ...]
    plural: tuple[str, ...]

    def forms(self, gender: str, plural: bool) -> tuple[str, str]:
        english, masculine, feminine = self.plural if plural else self.singular
        return english, feminine if gender == "f" else masculine


class Verb(NamedTuple):
    english: str
    english_third: str
    french: dict[str, str]  # by person: je, il, nous, vous, ils


def _noun(line: str) -> Noun:
    return Noun(*line.split())


def _adjective(line: str, before: bool) -> Adjective:
    english, *french = line.split()
    if len(french) == 1:  # regular: -e for the feminine, unless it ends so, and -s for the plural
        m = french[0]
        f = m if m.endswith("e") else m + "e"
        french = [m, f, m + "s", f + "s"]
    if len(french) == 4:
        french.append(french[0])
    living = english.endswith("*")
    return Adjective(english.rstrip("*"), tuple(french), before, living)


def _verb(line: str) -> Verb:
    english, third, *french = line.split()
    if len(french) == 1:  # regular verbs in -er, given by their stem
        french = [french[0] + ending for ending in ("e", "e", "ons", "ez", "ent")]
    return Verb(english, third, dict(zip(("je", "il", "nous", "vous", "ils"), french)))


def _determiner(line: str) -> Determiner:
    words = tuple(line.split())
    return Determiner(() if words[0] == "-" else words[:3], words[3:])


def _pronoun(line: str) -> tuple[str, str, str, str, bool]:
    english, french, person, gender, number = line.split()
    return english, french, person, gender, number == "plural"


def _tables() -> list[list[str]]:
    """Return the lines of each table of shipped/lexicon.txt."""
    file = resources.files("numpy_attention.data.datasets") / "shipped" / "lexicon.txt"
    tables = file.read_text("utf-8").strip().split("\n\n")[1:]
    return [[line for line in table.splitlines() if line[0] != "#"] for table in tables]


_living, _things, _places, _before, _after, _verbs, _determiners, _pronouns = _tables()
LIVING = tuple(map(_noun, _living))
THINGS = tuple(map(_noun, _things))
PLACES = tuple(map(_noun, _places))
ADJECTIVES = tuple(_adjective(line, before=True) for line in _before) + tuple(
    _adjective(line, before=False) for line in _after)
VERBS = tuple(map(_verb, _verbs))
DETERMINERS = tuple(map(_determiner, _determiners))
PRONOUNS = tuple(map(_pronoun, _pronouns))
# the last is not used with a negation
ADVERBS = (("often", "souvent"), ("always", "toujours"), ("sometimes", "parfois"))
