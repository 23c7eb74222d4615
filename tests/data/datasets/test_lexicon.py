"""The words of the grammar that agree, by hand."""

import numpy as np

from numpy_attention.data.datasets.grammar import grammar_en_fr
from numpy_attention.data.datasets.lexicon import ADJECTIVES, ADVERBS, DETERMINERS, PRONOUNS

NEW = next(adjective for adjective in ADJECTIVES if adjective.english == "new")


def test_determiners_agree_in_gender_and_number():
    singular = [one.forms(gender, False) for one in DETERMINERS if one.singular for gender in "mf"]
    assert [" ".join(forms) for forms in singular] == [
        "the le", "the la", "a un", "a une", "my mon", "my ma", "our notre", "our notre",
        "your votre", "your votre", "this ce", "this cette",
    ]  # fmt: skip
    plural = [one.forms(gender, True) for one in DETERMINERS for gender in "mf"]
    assert [" ".join(forms) for forms in plural[::2]] == [
        "the les", "some des", "my mes", "our nos", "your vos", "these ces", "two deux",
        "three trois",
    ]  # fmt: skip
    assert plural[1::2] == plural[::2]


def test_pronouns_know_the_person_and_the_form_that_go_with_them():
    found = [(english, french, person, gender, NEW.form(gender, plural))
             for english, french, person, gender, plural in PRONOUNS]
    assert [" ".join(words) for words in found] == [
        "i je je m nouveau", "he il il m nouveau", "she elle il f nouvelle",
        "we nous nous m nouveaux", "you vous vous m nouveaux", "they ils ils m nouveaux",
    ]  # fmt: skip


def test_adverbs_are_translated_and_the_last_is_never_negated():
    translated, negated = {}, set()
    adverbs = {english for english, _ in ADVERBS}
    for pair in grammar_en_fr(np.random.default_rng(0), 400):
        for i, j in pair.sure:
            if pair.source[i] in adverbs:
                translated[pair.source[i]] = pair.target[j]
                if "not" in pair.source:
                    negated.add(pair.source[i])
    assert translated == {"often": "souvent", "always": "toujours", "sometimes": "parfois"}
    assert negated == {"often", "always"}
