"""Verses in few letters, for the tests of the tools."""

from verses import Verse


def tagged(*words):
    """Verse of words: "light/H216" (a tag), "la+luz/H216" (a tag on two), "the" (no tag)."""
    tokens = []
    tags = []
    numbers = []
    for word in words:
        text, _, number = word.partition("/")
        if number:
            numbers.append(tuple(number.split("&")))
        for token in text.split("+"):
            tokens.append(token)
            tags.append(len(numbers) - 1 if number else None)
    return Verse(tuple(tokens), tuple(tags), tuple(numbers))


def numbered(*verses):
    """[(reference, Verse)]: verses of one number share all Strong's numbers, others none."""
    return [(f"Gen 1:{k}", tagged(*(f"w/H{n}{x}" for x in "abcd")))
            for k, n in enumerate(verses, start=1)]
