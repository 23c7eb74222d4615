"""Count what is in the shipped corpora: prints the two tables of numpy_attention/data/shipped/README.md.

    python tools/count_corpora.py
"""

from numpy_attention.data.bible import LENGTHS, SPLITS, load_bible_en, load_bible_en_es


def crosses(links):
    """Whether two of the links stand in another order on the target side than on the source side."""
    links = sorted(links)
    return any(b > d for k, (a, b) in enumerate(links) for c, d in links[k + 1:] if a < c)


def parallel_row(part, split, pairs):
    """A row of the table on bible-en-es, for a list of Pair."""
    english = [token for pair in pairs for token in pair.source]
    spanish = [token for pair in pairs for token in pair.target]
    sure = [link for pair in pairs for link in pair.sure]
    several = [pair.sure for pair in pairs if len(pair.sure) > 1]
    numbers = len(pairs), len(english), len(spanish), len(set(english)), len(set(spanish)), len(sure)
    numbers += (sum(len(pair.possible) for pair in pairs),)
    shares = sum(i == j for i, j in sure) / len(sure), sum(map(crosses, several)) / len(several)
    cells = [part, split] + [f"{number:,}" for number in numbers] + [f"{share:.1%}" for share in shares]
    return f"| {' | '.join(cells)} |"


def running_row(split, chapters):
    """A row of the table on bible-en, for a list of chapters."""
    tokens = [token for chapter in chapters for verse in chapter for token in verse]
    numbers = len(chapters), sum(map(len, chapters)), len(tokens), len(set(tokens))
    return f"| {split} | {' | '.join(f'{number:,}' for number in numbers)} |"


def readme_rows():
    """The rows of both tables, after each corpus or part a row with all its splits together."""
    rows = []
    for part in LENGTHS:
        loaded = {split: load_bible_en_es(part, split) for split in SPLITS}
        loaded["all"] = sum(loaded.values(), [])
        rows += [parallel_row(part, split, pairs) for split, pairs in loaded.items()]
    loaded = {split: load_bible_en(split) for split in SPLITS}
    loaded["all"] = sum(loaded.values(), [])
    return rows + [running_row(split, chapters) for split, chapters in loaded.items()]


if __name__ == "__main__":
    print("\n".join(readme_rows()))
