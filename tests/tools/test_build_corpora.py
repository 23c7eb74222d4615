"""From verses to the lines of the shipped files: splits, clauses that are withheld, chapters."""

import build_corpora as build
import pytest
from bible_text import tagged
from verses import parse_verse


def test_split_ignores_punctuation_and_takes_the_share_asked_for():
    words = build.words_of("go , and sin no more .".split())
    assert words == build.words_of("go and sin , no more !".split())
    splits = [build.split_of(f"verse {n}", 10) for n in range(4000)]
    assert abs(splits.count("test") / 4000 - 0.1) < 0.02
    assert abs(splits.count("valid") / 4000 - 0.1) < 0.02
    assert build.split_of("in the beginning", 0) == "train"
    assert build.split_of("in the beginning", 100) == "test"


def test_lines_hold_text_links_and_ends_and_withhold_what_two_splits_share():
    pairs = []
    for k in range(60):
        english = tagged("and/H1", "so/H2", ",", f"word{k}/H3", ".")
        spanish = tagged("y/H1", "la+cosa/H2", ":", f"palabra{k}/H3", ".")
        pairs.append((f"Gen 1:{k + 1}", english, spanish))
    lines = build.parallel_lines(pairs, percent=20)
    assert all(lines.values())
    assert sum(map(len, lines.values())) == 60
    for split, rows in lines.items():
        for row in rows:
            reference, english, spanish, links, ends = row.split("\t")
            k = int(reference.split(":")[1]) - 1
            assert (english, spanish) == (f"and so , word{k} .", f"y la cosa : palabra{k} .")
            assert (links, ends) == ("0-0 1p1 1p2 3-4", "3-4! 5-6")
            assert split == build.split_of(f"and so word{k}", 20)
    alone = build.parallel_lines(pairs, percent=0)
    assert [row.split("\t")[4] for row in alone["train"]] == ["3-4 5-6"] * 60


def test_chapters_stay_whole_and_are_parted_by_an_empty_line():
    verses = [(f"Gen {c}:{v}", parse_verse(f"verse {v} of {c}."))
              for c in range(1, 41) for v in (1, 2)]
    verses.append(("Gen 41:1", parse_verse("")))
    lines = build.chapter_lines(verses, percent=20)
    assert all(lines.values())
    for split, rows in lines.items():
        chapters = "\n".join(rows).split("\n\n")
        for chapter in chapters:
            c = chapter.split()[3]
            assert chapter == f"verse 1 of {c} .\nverse 2 of {c} ."
            assert split == build.split_of(f"Gen {c}", 20)


def test_a_folder_without_the_modules_is_refused(tmp_path):
    pytest.importorskip("pysword", reason="pysword is needed to build the corpora only")
    with pytest.raises(FileNotFoundError, match="engKJV2006eb.conf under .* --fetch"):
        build.main([str(tmp_path), "--output", str(tmp_path / "out")])
    assert not (tmp_path / "out").exists()
