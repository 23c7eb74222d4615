"""A small English–French grammar: agreement, adjectives after the noun, negation around the verb.

    S      → Subject Verb' Object [Place] .  |  Subject be [not] [Adverb] Adjective .
    Verb'  → [Adverb] verb  |  does not [Adverb] verb
    NP     → determiner [Before] [After] noun
    Object → NP | him | her | them

Before and After are adjectives that French puts before or after the noun. The French side follows
these rules. Articles, possessives and adjectives agree in gender and number. Before a vowel, le,
la, de, ne and je become the tokens l', d', n' and j'. Also before a vowel, ce, beau, nouveau and
vieux become cet, bel, nouvel and vieil, and ma becomes mon. After a negated verb, un, une and des
become de; des also becomes de before an adjective.
"""

import unicodedata
from collections.abc import Hashable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from numpy_attention.data.datasets.generators import Keep, distinct
from numpy_attention.data.datasets.lexicon import (
    ADJECTIVES,
    ADVERBS,
    DETERMINERS,
    LIVING,
    PLACES,
    PRONOUNS,
    THINGS,
    VERBS,
    Noun,
)
from numpy_attention.data.pairs import Pair
from numpy_attention.validation.arguments import check_kind

BEFORE_VOWEL = {
    "le": "l'", "la": "l'", "de": "d'", "ne": "n'", "je": "j'", "ce": "cet", "ma": "mon",
}
ASPIRATED = {"héros", "hibou", "hiboux"}  # words whose h prevents elision
OBJECT_PRONOUNS = (("him", "le"), ("her", "la"), ("them", "les"))
PREPOSITIONS = (("in", "dans"), ("behind", "derrière"), ("with", "avec"))
BE = {
    "je": ("am", "suis"),
    "il": ("is", "est"),
    "nous": ("are", "sommes"),
    "vous": ("are", "êtes"),
    "ils": ("are", "sont"),
}
DO = (("do", "verb"), ("do", "not"))  # keys that "do" and "does" may be linked to

_ADJECTIVE_WORDS = {adjective.english for adjective in ADJECTIVES}
_ADVERB_WORDS = {english for english, _ in ADVERBS}
_PRONOUN_WORDS = {english for english, _ in OBJECT_PRONOUNS}
_NOUN_WORDS = {
    word for noun in LIVING + THINGS + PLACES for word in (noun.english, noun.english_plural)
}

Item = TypeVar("Item")
Words = list[tuple[str, Hashable]]  # each with a key: equal keys translate each other


class Phrase(NamedTuple):
    """The words of a phrase in both languages, and the features for agreement."""

    english: Words
    french: Words
    person: str = "il"  # je, il, nous, vous or ils
    gender: str = "m"  # or "f"
    plural: bool = False


def grammar_en_fr(rng: np.random.Generator, count: int, keep: Keep | None = None) -> list[Pair]:
    """Draw English sentences of the grammar with their French translations, in lowercase.

    Sure links join words that translate each other; "not" is linked to both "ne" and "pas".
    Possible links join "does" and "do" to the French verb, to "ne" and to "pas".
    """
    return distinct(_sentence, rng, count, keep)


def phenomena(pair: Pair) -> dict[str, list[tuple[int, int]]]:
    """Return, for each phenomenon of the grammar, the links of a pair that show it.

    A link is (English position, French position). All links are sure. The lists are sorted, and
    may be empty. The phenomena, and the words whose links are returned:

        swapped adjective   an adjective and its noun, if French puts the noun first
        negation            "not", which is linked to "ne" and "pas"
        moved adverb        an adverb and its verb, which comes before the adverb in French
        object pronoun      him, her or them, and the verb, which comes after it in French
        elision             the words linked to l', d', n' and j'
    """
    check_kind("pair", pair, Pair, "a Pair")
    names = ("swapped adjective", "negation", "moved adverb", "object pronoun", "elision")
    found: dict[str, set[tuple[int, int]]] = {name: set() for name in names}
    source = pair.source
    targets: dict[int, list[int]] = {}
    for i, j in sorted(pair.sure):
        targets.setdefault(i, []).append(j)
    for i, js in targets.items():
        first = js[0]
        following = targets.get(i + 1, [])
        overtaken = bool(following) and following[0] < first
        if source[i] in _ADJECTIVE_WORDS and _NOUN_WORDS.intersection(source[i + 1:i + 2]):
            if overtaken:
                found["swapped adjective"].update({(i, first), (i + 1, following[0])})
        elif source[i] == "not":
            found["negation"].update((i, j) for j in js)
        elif source[i] in _ADVERB_WORDS and overtaken:
            found["moved adverb"].update({(i, first), (i + 1, following[0])})
        elif source[i] in _PRONOUN_WORDS and targets.get(i - 1):
            found["object pronoun"].update({(i, first), (i - 1, targets[i - 1][0])})
        found["elision"].update((i, j) for j in js if pair.target[j].endswith("'"))
    return {name: sorted(links) for name, links in found.items()}


def _pick(rng: np.random.Generator, items: Sequence[Item]) -> Item:
    return items[int(rng.integers(len(items)))]


def _starts_with_vowel(word: str) -> bool:
    first = unicodedata.normalize("NFD", word)[0]
    return first in "aeiouœ" or (first == "h" and word not in ASPIRATED)


def _pronoun(rng: np.random.Generator) -> Phrase:
    english, french, person, gender, plural = _pick(rng, PRONOUNS)
    return Phrase([(english, "subject")], [(french, "subject")], person, gender, plural)


def _noun_phrase(rng: np.random.Generator, nouns: Sequence[Noun], role: str,
                 negated_object: bool = False) -> Phrase:
    noun = _pick(rng, nouns)
    plural = bool(rng.integers(2))
    number = "plural" if plural else "singular"
    determiner = _pick(rng, [d for d in DETERMINERS if getattr(d, number)])
    usable = [a for a in ADJECTIVES if nouns is LIVING or not a.living]
    before = after = None
    if rng.random() < 0.35:
        before = _pick(rng, [a for a in usable if a.before])
    if rng.random() < 0.45:
        after = _pick(rng, [a for a in usable if not a.before])

    english: Words = []
    french: Words = []
    head = noun.french_plural if plural else noun.french
    if before:
        form = before.form(noun.gender, plural, _starts_with_vowel(head))
        english.append((before.english, (role, "before")))
        french.append((form, (role, "before")))
    if after:
        english.append((after.english, (role, "after")))
    english.append((noun.english_plural if plural else noun.english, (role, "noun")))
    french.append((head, (role, "noun")))
    if after:
        french.append((after.form(noun.gender, plural), (role, "after")))

    word, article = determiner.forms(noun.gender, plural)
    if word == "a" and english[0][0][0] in "aeiou":
        word = "an"
    if word == "some" and negated_object:
        word = "any"
    if negated_object and article in ("un", "une", "des"):
        article = "de"
    if before and article == "des":
        article = "de"
    english.insert(0, (word, (role, "determiner")))
    french.insert(0, (article, (role, "determiner")))
    return Phrase(english, french, "ils" if plural else "il", noun.gender, plural)


def _sentence(rng: np.random.Generator) -> Pair:
    if rng.random() < 0.4:
        subject = _pronoun(rng)
    else:
        subject = _noun_phrase(rng, LIVING, "subject")
    negated = rng.random() < 0.35
    adverb = Phrase([], [])
    if rng.random() < 0.15:
        english, french = _pick(rng, ADVERBS[:2] if negated else ADVERBS)
        adverb = Phrase([(english, "adverb")], [(french, "adverb")])
    if rng.random() < 0.2:
        predicate = _being(rng, subject, negated, adverb)
    else:
        predicate = _doing(rng, subject, negated, adverb)
    return _pair(
        [*subject.english, *predicate.english, (".", "stop")],
        [*subject.french, *predicate.french, (".", "stop")],
    )


def _around(verb: str, negated: bool, clitic: Words | None = None) -> Words:
    """Return the pronoun `clitic` (if any) and the verb, between "ne" and "pas" if negated."""
    words = [*(clitic or []), (verb, "verb")]
    return [("ne", "not"), *words, ("pas", "not")] if negated else words


def _being(rng: np.random.Generator, subject: Phrase, negated: bool, adverb: Phrase) -> Phrase:
    """Return a predicate of the form "be [not] [Adverb] Adjective", in both languages."""
    adjective = _pick(rng, ADJECTIVES)
    be, etre = BE[subject.person]
    not_en: Words = [("not", "not")] if negated else []
    form = adjective.form(subject.gender, subject.plural)
    return Phrase(
        [(be, "verb"), *not_en, *adverb.english, (adjective.english, "predicate")],
        [*_around(etre, negated), *adverb.french, (form, "predicate")],
    )


def _doing(rng: np.random.Generator, subject: Phrase, negated: bool, adverb: Phrase) -> Phrase:
    """Return a predicate of the form "Verb' Object [Place]", in both languages."""
    verb = _pick(rng, VERBS)
    third = subject.person == "il"
    do_not: Words = []
    word = verb.english_third if third else verb.english
    if negated:
        do_not = [("does" if third else "do", "do"), ("not", "not")]
        word = verb.english

    clitic: Words = []
    if rng.random() < 0.2:
        pronoun, french = _pick(rng, OBJECT_PRONOUNS)
        clitic = [(french, "object")]
        object_ = Phrase([(pronoun, "object")], [])
    else:
        nouns = _pick(rng, (LIVING, THINGS))
        object_ = _noun_phrase(rng, nouns, "object", negated)

    place = Phrase([], [])
    if rng.random() < 0.2:
        english, french = _pick(rng, PREPOSITIONS)
        nouns = LIVING if english == "with" else PLACES
        where = _noun_phrase(rng, nouns, "place")
        place = Phrase(
            [(english, "preposition"), *where.english], [(french, "preposition"), *where.french]
        )

    around = _around(verb.french[subject.person], negated, clitic)
    return Phrase(
        [*do_not, *adverb.english, (word, "verb"), *object_.english, *place.english],
        [*around, *adverb.french, *object_.french, *place.french],
    )


def _pair(english: Words, french: Words) -> Pair:
    """Build a Pair from words of both languages, and apply elision to the French words.

    Each word is given as (word, key). Two words have a sure link if their keys are equal, and a
    possible link if (English key, French key) is in DO.
    """
    words = [word for word, _ in french]
    for k in range(len(words) - 1):
        if _starts_with_vowel(words[k + 1]):
            words[k] = BEFORE_VOWEL.get(words[k], words[k])
    links = [(i, j, e, f) for i, (_, e) in enumerate(english) for j, (_, f) in enumerate(french)]
    sure = frozenset((i, j) for i, j, e, f in links if e == f)
    maybe = frozenset((i, j) for i, j, e, f in links if (e, f) in DO)
    return Pair(tuple(word for word, _ in english), tuple(words), sure, maybe)
