"""Count what is in the shipped corpora: prints the tables of the README that stands beside them.

    python tools/count_corpora.py
"""

from numpy_attention.data.datasets.bible import LENGTHS, SPLITS, load_bible_en, load_bible_en_es


def crosses(links):
    """Whether two of the links stand in another order on the target side than on the source's."""
    links = sorted(links)
    for k, (a, b) in enumerate(links):
        if any(a < c and b > d for c, d in links[k + 1:]):
            return True
    return False


def parallel_row(part, split, pairs):
    """A row of the table on bible-en-es, for a list of Pair."""
    english = [token for pair in pairs for token in pair.source]
    spanish = [token for pair in pairs for token in pair.target]
    sure = [link for pair in pairs for link in pair.sure]
    possible = sum(len(pair.possible) for pair in pairs)
    numbers = (len(pairs), len(english), len(spanish), len(set(english)), len(set(spanish)),
               len(sure), possible)
    monotone = sum(i == j for i, j in sure) / len(sure)
    several = [pair.sure for pair in pairs if len(pair.sure) > 1]
    crossing = sum(map(crosses, several)) / len(several)
    cells = [part, split, *(f"{number:,}" for number in numbers)]
    cells += [f"{monotone:.1%}", f"{crossing:.1%}"]
    return row(cells)


def running_row(split, chapters):
    """A row of the table on bible-en, for a list of chapters."""
    tokens = [token for chapter in chapters for verse in chapter for token in verse]
    verses = sum(map(len, chapters))
    numbers = (len(chapters), verses, len(tokens), len(set(tokens)))
    return row([split, *(f"{number:,}" for number in numbers)])


def row(cells):
    return f"| {' | '.join(cells)} |"


def readme_rows():
    """The rows of both tables, after each corpus or part a row with all its splits together."""
    rows = []
    for part in LENGTHS:
        loaded = {split: load_bible_en_es(part, split) for split in SPLITS}
        loaded["all"] = sum(loaded.values(), [])
        rows += [parallel_row(part, split, pairs) for split, pairs in loaded.items()]
    loaded = {split: load_bible_en(split) for split in SPLITS}
    loaded["all"] = sum(loaded.values(), [])
    rows += [running_row(split, chapters) for split, chapters in loaded.items()]
    return rows


if __name__ == "__main__":
    print("\n".join(readme_rows()))
