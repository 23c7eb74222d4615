"""A small English–French grammar: agreement, adjectives after the noun, negation around the verb.

    S      → Subject Verb' Object [Place] .  |  Subject be [not] [Adverb] Adjective .
    Verb'  → [Adverb] verb  |  does not [Adverb] verb
    NP     → determiner [adjective before] [adjective after] noun        (French: determiner before noun after)
    Object → NP | him | her | them

French follows its rules: articles, possessives and adjectives agree in gender and number; le, la, de, ne and je lose
their vowel before another (l', d', n', j', each a token of its own); ce, beau, nouveau, vieux become cet, bel, nouvel,
vieil and ma becomes mon before a vowel; un, une and des become de after a negated verb, des also before an adjective.
"""

import unicodedata

from numpy_attention.data.lexicon import ADJECTIVES, ADVERBS, DETERMINERS, LIVING, PLACES, PRONOUNS, THINGS, VERBS
from numpy_attention.data.pairs import Pair
from numpy_attention.data.splits import distinct

BEFORE_VOWEL = {"le": "l'", "la": "l'", "de": "d'", "ne": "n'", "je": "j'", "ce": "cet", "ma": "mon"}
ASPIRATED = {"héros", "hibou", "hiboux"}  # an h that no vowel is dropped before
OBJECT_PRONOUNS = (("him", "le"), ("her", "la"), ("them", "les"))
BE = {
    "je": ("am", "suis"),
    "il": ("is", "est"),
    "nous": ("are", "sommes"),
    "vous": ("are", "êtes"),
    "ils": ("are", "sont"),
}

_ADJECTIVE_WORDS = {adjective.english for adjective in ADJECTIVES}
_NOUN_WORDS = {word for noun in LIVING + THINGS + PLACES for word in (noun.english, noun.english_plural)}


def grammar_en_fr(rng, count, keep=None):
    """English sentences of the grammar with their French translations → list of `Pair`, lowercase.

    Sure links join the words that translate each other; "not" is linked to both "ne" and "pas". Possible in addition:
    "does" or "do" with the French verb and with "ne" and "pas".
    """
    return distinct(_sentence, rng, count, keep)


def phenomena(pair):
    """Which links of a pair show what: a dict from name to a sorted list of sure links (English, French position).

    "swapped adjective": an adjective and its noun where French puts the noun first, a link each; "negation": "not" with
    "ne" and "pas"; "moved adverb": an adverb and the verb that French puts before it; "object pronoun": him, her, them
    and the verb that French puts after them; "elision": links to l', d', n' and j'. Lists may be empty.
    """
    targets = {}
    for i, j in sorted(pair.sure):
        targets.setdefault(i, []).append(j)
    source, adverbs = pair.source, {english for english, _ in ADVERBS}
    pronouns = {english for english, _ in OBJECT_PRONOUNS}
    found = {name: set() for name in ("swapped adjective", "negation", "moved adverb", "object pronoun", "elision")}
    for i, js in targets.items():
        following = targets.get(i + 1, [])
        if source[i] in _ADJECTIVE_WORDS and i + 1 < len(source) and source[i + 1] in _NOUN_WORDS:
            if following and following[0] < js[0]:
                found["swapped adjective"].update({(i, js[0]), (i + 1, following[0])})
        elif source[i] == "not":
            found["negation"].update((i, j) for j in js)
        elif source[i] in adverbs and following and following[0] < js[0]:
            found["moved adverb"].update({(i, js[0]), (i + 1, following[0])})
        elif source[i] in pronouns and targets.get(i - 1):
            found["object pronoun"].update({(i, js[0]), (i - 1, targets[i - 1][0])})
        found["elision"].update((i, j) for j in js if pair.target[j].endswith("'"))
    return {name: sorted(links) for name, links in found.items()}


def _pick(rng, items):
    return items[int(rng.integers(len(items)))]


def _starts_with_vowel(word):
    first = unicodedata.normalize("NFD", word)[0]
    return first in "aeiouœ" or (first == "h" and word not in ASPIRATED)


def _noun_phrase(rng, nouns, role, negated_object=False):
    """Both sides of a noun phrase as lists of (word, key), equal keys translating each other; plural or not; gender."""
    noun, plural = _pick(rng, nouns), bool(rng.integers(2))
    determiner = _pick(rng, [d for d in DETERMINERS if (d.plural if plural else d.singular)])
    usable = [a for a in ADJECTIVES if nouns is LIVING or not a.living]
    before = after = None
    if rng.random() < 0.35:
        before = _pick(rng, [a for a in usable if a.before])
    if rng.random() < 0.45:
        after = _pick(rng, [a for a in usable if not a.before])
    head = noun.french_plural if plural else noun.french
    english = [(a.english, (role, key)) for a, key in ((before, "before"), (after, "after")) if a]
    english.append((noun.english_plural if plural else noun.english, (role, "noun")))
    french = [(head, (role, "noun"))]
    if before:
        french.insert(0, (before.form(noun.gender, plural, _starts_with_vowel(head)), (role, "before")))
    if after:
        french.append((after.form(noun.gender, plural), (role, "after")))
    word, article = determiner.forms(noun.gender, plural)
    if word == "a" and english[0][0][0] in "aeiou":
        word = "an"
    if word == "some" and negated_object:
        word = "any"
    if article in ("un", "une", "des") and negated_object or article == "des" and before:
        article = "de"
    key = (role, "determiner")
    return [(word, key), *english], [(article, key), *french], plural, noun.gender


def _sentence(rng):
    if rng.random() < 0.4:
        english, french, person, gender, plural = _pick(rng, PRONOUNS)
        english, french = [(english, "subject")], [(french, "subject")]
    else:
        english, french, plural, gender = _noun_phrase(rng, LIVING, "subject")
        person = "ils" if plural else "il"
    negated = rng.random() < 0.35
    adverb = _pick(rng, ADVERBS[: 2 if negated else 3]) if rng.random() < 0.15 else None
    not_en, ne, pas = ([("not", "not")], [("ne", "not")], [("pas", "not")]) if negated else ([], [], [])
    adverb_en, adverb_fr = ([(word, "adverb")] for word in adverb) if adverb else ([], [])
    possible = ()
    if rng.random() < 0.2:
        adjective = _pick(rng, ADJECTIVES)
        be, etre = BE[person]
        english += [(be, "verb"), *not_en, *adverb_en, (adjective.english, "predicate")]
        french += [*ne, (etre, "verb"), *pas, *adverb_fr, (adjective.form(gender, plural), "predicate")]
    else:
        verb = _pick(rng, VERBS)
        third = person == "il"
        if negated:
            english += [("does" if third else "do", "do"), *not_en, *adverb_en, (verb.english, "verb")]
            possible = (("do", "verb"), ("do", "not"))
        else:
            english += [*adverb_en, (verb.english_third if third else verb.english, "verb")]
        clitic = []
        if rng.random() < 0.2:
            pronoun, word = _pick(rng, OBJECT_PRONOUNS)
            object_en, object_fr, clitic = [(pronoun, "object")], [], [(word, "object")]
        else:
            nouns = _pick(rng, (LIVING, THINGS))
            object_en, object_fr, _, _ = _noun_phrase(rng, nouns, "object", negated)
        english += object_en
        french += [*ne, *clitic, (verb.french[person], "verb"), *pas, *adverb_fr, *object_fr]
        if rng.random() < 0.2:
            preposition = _pick(rng, (("in", "dans"), ("behind", "derrière"), ("with", "avec")))
            nouns = LIVING if preposition[0] == "with" else PLACES
            place_en, place_fr, _, _ = _noun_phrase(rng, nouns, "place")
            english += [(preposition[0], "preposition"), *place_en]
            french += [(preposition[1], "preposition"), *place_fr]
    english.append((".", "stop"))
    french.append((".", "stop"))
    return _pair(english, french, possible)


def _pair(english, french, possible):
    words = [word for word, _ in french]
    for k in range(len(words) - 1):
        if _starts_with_vowel(words[k + 1]):
            words[k] = BEFORE_VOWEL.get(words[k], words[k])
    links = [(i, j, e, f) for i, (_, e) in enumerate(english) for j, (_, f) in enumerate(french)]
    sure = frozenset((i, j) for i, j, e, f in links if e == f)
    maybe = frozenset((i, j) for i, j, e, f in links if (e, f) in possible)
    return Pair(tuple(word for word, _ in english), tuple(words), sure, maybe)
