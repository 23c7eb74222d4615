"""Hold out a fraction (`share`) of the user's text for validation."""

from collections import Counter
from itertools import chain

import numpy as np

from numpy_attention.data.pairs import Pair, as_pairs
from numpy_attention.data.running_text import Text, as_text
from numpy_attention.validation.arguments import check_generator, check_number
from numpy_attention.validation.messages import plural

SHARE = 0.05


def hold_out_pairs(pairs: list[Pair], rng: np.random.Generator,
                   share: float = SHARE) -> tuple[list[Pair], list[Pair]]:
    """Split pairs at random into training and validation pairs; return (training, validation).

    share: the fraction of pairs to hold out; at least one is held out. Pairs with the same source
    sentence stay together. Raises ValueError for fewer than two different source sentences.
    """
    pairs = as_pairs(pairs)
    check_generator(rng)
    check_number("share", share, 0, 1, "a fraction from 0 to 1")
    counts = Counter(pair.source for pair in pairs)
    sources = list(counts)
    if len(sources) < 2:
        raise ValueError(f"got {plural(len(pairs), 'pair')} with only "
                         f"{plural(len(sources), 'distinct source sentence')}; holding out pairs "
                         "for validation needs at least 2. Add more text, or pass valid_source "
                         "and valid_target")
    held = set()
    number = 0
    for i in rng.permutation(len(sources))[:-1]:
        held.add(sources[i])
        number += counts[sources[i]]
        if number >= share * len(pairs):
            break
    kept = [pair for pair in pairs if pair.source not in held]
    return kept, [pair for pair in pairs if pair.source in held]


def hold_out_end(text: Text, share: float = SHARE) -> tuple[Text, Text]:
    """Split off the end of a Text for validation; return (training, validation).

    share: the fraction of the sentences to split off, or of the characters in a text of characters.
    At least one is split off. Raises ValueError for fewer than two sentences or characters.
    """
    text = as_text(text)
    check_number("share", share, 0, 1, "a fraction from 0 to 1")
    characters = text.unit == "characters"
    items: list = list(chain.from_iterable(text.sentences)) if characters else text.sentences
    if len(items) < 2:
        raise ValueError(f"got {plural(len(items), 'character' if characters else 'sentence')}; "
                         "holding out text for validation needs at least 2. Add more lines of "
                         "text, or pass valid_text")
    end = len(items) - max(1, round(share * len(items)))
    parts = items[:end], items[end:]
    kept, held = (Text([[part] if characters else part], text.unit) for part in parts)
    return kept, held
