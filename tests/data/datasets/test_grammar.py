import hashlib
import re
from collections import Counter

import numpy as np
import pytest

from numpy_attention.data.datasets import lexicon
from numpy_attention.data.datasets.grammar import grammar_en_fr, phenomena
from numpy_attention.data.pairs import Pair

VOWEL = "[aeiouéèêâîôœ]|h(?!éros|ibou)"


@pytest.fixture(scope="module")
def pairs():
    return grammar_en_fr(np.random.default_rng(5), 6000)


def test_every_word_except_do_has_a_sure_link(pairs):
    for pair in pairs:
        bare = {pair.source[i] for i in set(range(len(pair.source))) - {i for i, _ in pair.sure}}
        assert bare <= {"does", "do"}
        assert {j for _, j in pair.sure} == set(range(len(pair.target)))
        assert all(pair.source[i] in ("does", "do") for i, _ in pair.possible - pair.sure)


def test_elision_before_vowels(pairs):
    for pair in pairs:
        text = " ".join(pair.target)
        assert not re.search(rf"\b(le|la|de|ne|je|ce|ma|beau|nouveau) ({VOWEL})", text), text
        assert not re.search(rf"(l'|d'|n'|j'|\bcet|\bbel|\bnouvel|\bvieil) (?!{VOWEL})", text), text
        before = r"\bdes (de|petit|grand|bon|jeune|vieux|vieill|beaux|belles|nouv|joli)"
        assert not re.search(before, text), text


def test_regular_forms():
    by_name = {adjective.english: adjective for adjective in lexicon.ADJECTIVES}
    assert by_name["black"].french == ("noir", "noire", "noirs", "noires", "noir")
    assert by_name["red"].french == ("rouge", "rouge", "rouges", "rouges", "rouge")
    assert by_name["new"].form("m", False, vowel_follows=True) == "nouvel"
    assert by_name["new"].form("m", True, vowel_follows=True) == "nouveaux"
    assert by_name["happy"].living and not by_name["black"].living
    verbs = {verb.english: verb.french for verb in lexicon.VERBS}
    assert list(verbs["find"].values()) == ["trouve", "trouve", "trouvons", "trouvez", "trouvent"]
    assert verbs["have"]["ils"] == "ont"
    assert all(len(forms) == 5 for forms in verbs.values())


def test_negation_surrounds_the_verb(pairs):
    negated = [pair for pair in pairs if "not" in pair.source]
    assert 0.25 < len(negated) / len(pairs) < 0.45
    for pair in negated:
        i = pair.source.index("not")
        (_, ne), (_, pas) = phenomena(pair)["negation"]
        assert pair.target[ne] in ("ne", "n'") and pair.target[pas] == "pas" and 2 <= pas - ne <= 3
        assert (i, ne) in pair.sure and (i, pas) in pair.sure
        if pair.source[i - 1] in ("does", "do"):
            verb = {(i - 1, pas - 1), (i - 1, ne), (i - 1, pas)}
            assert pair.possible - pair.sure == verb
        assert not re.search(r"pas (souvent |toujours )?(un|une|des) ", " ".join(pair.target))
    for pair in pairs:
        assert ("not" in pair.source) == ("pas" in pair.target) == bool(phenomena(pair)["negation"])


def test_phenomena_name_crossing_links(pairs):
    counts = Counter()
    after = {a.english for a in lexicon.ADJECTIVES if not a.before}
    known = lexicon.LIVING + lexicon.THINGS + lexicon.PLACES
    nouns = {word for noun in known for word in (noun.english, noun.english_plural)}
    for pair in pairs:
        found = phenomena(pair)
        counts.update(name for name, links in found.items() if links)
        assert all(link in pair.sure for links in found.values() for link in links)
        swapped = sum(a in after and b in nouns for a, b in zip(pair.source, pair.source[1:]))
        assert len(found["swapped adjective"]) == 2 * swapped
        for first, second in zip(found["swapped adjective"][::2], found["swapped adjective"][1::2]):
            assert first[0] + 1 == second[0] and second[1] + 1 == first[1]
        assert len(found["elision"]) == sum(word.endswith("'") for word in pair.target)
        if found["object pronoun"]:
            (verb, verb_fr), (pronoun, pronoun_fr) = found["object pronoun"]
            assert pair.source[pronoun] in ("him", "her", "them")
            assert verb + 1 == pronoun and verb_fr == pronoun_fr + 1
        if found["moved adverb"]:
            (adverb, adverb_fr), (verb, verb_fr) = found["moved adverb"]
            assert adverb + 1 == verb
            assert pair.target[adverb_fr] in ("souvent", "toujours", "parfois")
            assert verb_fr < adverb_fr
    assert len(counts) == 5 and min(counts.values()) > 100


def test_seeded_corpus_does_not_change_between_versions(pairs):
    text = "\n".join(
        f"{' '.join(pair.source)}\t{' '.join(pair.target)}\t"
        f"{sorted(pair.sure)}\t{sorted(pair.possible)}" for pair in pairs
    )
    first = "our old yellow boys are always old .\tnos vieux garçons jaunes sont toujours vieux ."
    assert text.startswith(first)
    digest = "62b41f4213a08d3ac76c114d8f23d5e9adb341ec15e690add20e17323de050dc"
    assert hashlib.sha256(text.encode("utf-8")).hexdigest() == digest


@pytest.mark.parametrize("english, links, expected", [
    ("black cat", {(0, 1), (1, 0)}, {"swapped adjective": [(0, 1), (1, 0)]}),
    ("black cat", {(0, 0), (1, 1)}, {}),                    # in order
    ("black .", {(0, 1), (1, 0)}, {}),                      # no noun follows
    ("cat black .", {(1, 2), (2, 1), (0, 0)}, {}),          # the noun comes first
    ("black big cat", {(0, 1), (1, 0), (2, 2)}, {}),        # the noun does not follow directly
    ("my cat", {(0, 1), (1, 0)}, {}),                       # no adjective
    ("often sees", {(0, 1), (1, 0)}, {"moved adverb": [(0, 1), (1, 0)]}),
    ("often sees", {(0, 0), (1, 0)}, {}),                   # one word for both
    ("sees him", {(0, 1), (1, 0)}, {"object pronoun": [(0, 1), (1, 0)]}),
    ("does him .", {(1, 1), (2, 2)}, {}),                   # no French word for the preceding one
])
def test_phenomena_by_hand(english, links, expected):
    found = phenomena(Pair(english.split(), ["x", "y", "z"], links))
    assert {name: links for name, links in found.items() if links} == expected


def test_adverbs_are_translated_and_the_last_is_not_negated(pairs):
    translated, negated = {}, set()
    adverbs = {english for english, _ in lexicon.ADVERBS}
    for pair in pairs:
        for i, j in pair.sure:
            if pair.source[i] in adverbs:
                translated[pair.source[i]] = pair.target[j]
                if "not" in pair.source:
                    negated.add(pair.source[i])
    assert translated == {"often": "souvent", "always": "toujours", "sometimes": "parfois"}
    assert negated == {"often", "always"}
