"""Verses of SWORD modules: from OSIS markup to tokens, and from two Bibles' verses to links.

    parse_verse      markup → tokens, and for each token the Strong's tag that it stands under
    align_verses     which Spanish verse renders which English one, where the Bibles count apart
    link_words       equal Strong's numbers that occur equally often → sure and possible links
    cut_points       places at punctuation on both sides that no link crosses
"""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass

# A word: letters or digits, inner hyphens and apostrophes, and one at its end ("fathers'");
# else a punctuation mark.
WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*'?|[^\w\s]")
# Without the last apostrophe: the World English Bible quotes speech, and its closing mark is the
# same character.
QUOTED_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*|[^\w\s]")
CLOSING = frozenset(",;:.?!)—")

# Not the Bible's text: notes, headings, speakers' names. Canonical titles (of psalms) are the
# Bible's and stay.
NOTES = re.compile(
    r"<note\b.*?</note>"
    r"|<speaker\b.*?</speaker>"
    r"|<title\b(?![^>]*canonical)[^>]*>.*?</title>", re.DOTALL)
# an unconverted marker (\nd), paragraph signs, editors' brackets
LEFTOVERS = re.compile(r"\\\w+\*?|[¶\[\]]")
INLINE = ("<q", "</q", "<seg", "</seg", "<divineName", "</divineName", "<foreign", "</foreign")

# Strong's numbers that stand for no word of a translation: the Hebrew object marker and the Greek
# article.
UNLINKED = frozenset(("H0853", "G3588"))

# Spanish added pronouns that belong to the verb before them ("oyéndo" + "lo"), and words before
# them that are no verb.
PRONOUNS = frozenset("lo la los las le les me te se nos os".split())
NO_VERBS = frozenset("josué no jehová gentes dios que ellos como y cuánto os".split())


@dataclass(frozen=True)
class Verse:
    """Tokens; for each the number of its tag, or None; and for each tag its Strong's numbers."""

    tokens: tuple
    tags: tuple
    numbers: tuple


# ---- one verse ---------------------------------------------------------------------------------


def parse_verse(markup, word=WORD):
    """Verse of an OSIS string: lower-cased words and punctuation, each with its tag."""
    pieces = re.split(r"(<[^>]+>)", LEFTOVERS.sub(" ", NOTES.sub(" ", markup)))
    text = ""
    owners = []                     # the tag of each character of the text
    numbers = []
    current = None
    for k, piece in enumerate(pieces):
        if not piece.startswith("<"):
            piece = plain_letters(piece, word)
            text += piece
            owners += [current] * len(piece)
        elif piece.startswith("<w "):
            found = re.search(r'lemma="([^"]*)"', piece)
            numbers.append(tuple(found[1].replace("strong:", "").split()) if found else ())
            current = len(numbers) - 1
        elif piece == "</w>":
            current = None
        elif not piece.startswith(INLINE) and not joins(piece, text, pieces[k + 1]):
            text += " "
            owners.append(None)
    tokens = []
    tags = []
    for match in word.finditer(text):
        token = match[0]
        under = [owner for owner in owners[slice(*match.span())] if owner is not None]
        tokens.append(token)
        tags.append(under[0] if under and token[0].isalnum() else None)
    return Verse(tuple(tokens), tuple(tags), tuple(numbers))


def plain_letters(text, word):
    """Lower case, no ligature, straight apostrophes; marks that close what is quoted stay."""
    text = text.lower().replace("æ", "ae")
    if word is WORD:
        return text.replace("’", "'")
    return re.sub(r"(?<=\w)’(?=\w)", "'", text)


def joins(tag, before, added):
    """Whether an added word continues the one before: a Spanish pronoun set tight after a verb."""
    if not tag.startswith("<transChange"):
        return False
    last = re.search(r"\w*$", before)[0]
    return last != "" and last not in NO_VERBS and added.lower() in PRONOUNS


def without_subscription(verse):
    """The verse without the note on where a letter was written.

    The Spanish text sets it after its last "amén".
    """
    ends = [i for i, token in enumerate(verse.tokens) if token == "amén"]
    if not ends or not {"escrita", "enviada"} & set(verse.tokens[ends[-1]:]):
        return verse
    stop = ends[-1] + 2
    return Verse(verse.tokens[:stop], verse.tags[:stop], verse.numbers)


# ---- two verses --------------------------------------------------------------------------------


def occurrences(verse):
    """{Strong's number: [positions of the words under its first tag, under its second, ...]}."""
    words = defaultdict(list)
    for i, tag in enumerate(verse.tags):
        if tag is not None:
            words[tag].append(i)
    found = defaultdict(list)
    for tag in sorted(words):
        for number in dict.fromkeys(verse.numbers[tag]):
            if number not in UNLINKED:
                found[number].append(words[tag])
    return found


def link_words(english, spanish):
    """(sure, possible) links of two verses.

    Numbers that occur equally often link their k-th tag to the k-th. A tag of one word to a tag of
    one word is a sure link; where a tag covers several, all pairs of their words are possible.
    Possible links contain the sure ones.
    """
    left = occurrences(english)
    right = occurrences(spanish)
    sure = set()
    possible = set()
    for number, tags in left.items():
        if len(tags) == len(right.get(number, ())):
            for a, b in zip(tags, right[number]):
                possible.update((i, j) for i in a for j in b)
                if len(a) == len(b) == 1:
                    sure.add((a[0], b[0]))
    return sure, possible


def likeness(english, spanish):
    """Dice coefficient of the two verses' Strong's numbers.

    0 for none in common, 1 for the same ones equally often.
    """
    a = Counter({number: len(tags) for number, tags in occurrences(english).items()})
    b = Counter({number: len(tags) for number, tags in occurrences(spanish).items()})
    total = a.total() + b.total()
    return 2 * (a & b).total() / total if total else 0.0


def fits(english, spanish):
    """Whether two verses can be the same: of like length, or of much the same Strong's numbers."""
    a, b = sorted((len(english.tokens), len(spanish.tokens)))
    return b - a <= 5 + 0.4 * a or likeness(english, spanish) >= 0.75


def align_verses(english, spanish, reach=5, clearly=0.25):
    """[(reference, English verse, Spanish verse)] of two lists of (reference, Verse), matched.

    Both lists are in the same order. A few chapters are numbered differently. A verse is displaced
    when some Spanish verse within `reach` positions is alike by at least 0.5, and by `clearly` more
    than its namesake. A displaced verse is paired with the most alike one that is no other verse's
    partner, from a likeness of 0.6; every other verse with its namesake, from 0.3, if that is still
    free. Pairs that do not fit, mostly as one Bible joins what the other divides, are left out.
    """
    partner = {}
    candidates = []
    namesakes = []
    for i, (_, verse) in enumerate(english):
        own = likeness(verse, spanish[i][1])
        others = []
        if own < 0.75:
            near = range(max(0, i - reach), min(len(spanish), i + reach + 1))
            others = [(likeness(verse, spanish[j][1]), j) for j in near]
        if others and max(others)[0] >= max(0.5, own + clearly):
            candidates += [(-other, i, j) for other, j in others if other >= 0.6]
        elif own >= 0.3:
            partner[i] = i
        if own >= 0.3:
            namesakes.append(i)
    taken = set(partner)
    for _, i, j in sorted(candidates):
        if i not in partner and j not in taken:
            partner[i] = j
            taken.add(j)
    partner.update((i, i) for i in namesakes if i not in partner and i not in taken)
    pairs = [(english[i][0], english[i][1], spanish[j][1]) for i, j in sorted(partner.items())]
    return [pair for pair in pairs if fits(pair[1], pair[2])]


def cut_points(english, spanish, possible):
    """[(i, j)]: both token sequences can be cut before i and j, at punctuation, across no link.

    Cuts between the same links are interchangeable, so they are paired in order where both sides
    have equally many, and not used otherwise. The ends of the verse, (0, 0) and the two lengths,
    are not among the points.
    """
    groups = defaultdict(lambda: ([], []))
    for side, tokens in enumerate((english, spanish)):
        for i in range(1, len(tokens)):
            if tokens[i - 1] in CLOSING and tokens[i] not in CLOSING:
                left = frozenset(link for link in possible if link[side] < i)
                groups[left][side].append(i)
    return sorted(cut for a, b in groups.values() if len(a) == len(b) for cut in zip(a, b))
