"""The steps from SWORD markup to the shipped files, on small pieces of text."""

import importlib.util
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parent.parent.parent / "tools"
specification = importlib.util.spec_from_file_location("build_corpora", TOOLS / "build_corpora.py")
build = importlib.util.module_from_spec(specification)
specification.loader.exec_module(build)


def tagged(*words):
    """Verse from words like "light/H216" (a tag), "la+luz/H216" (a tag on two words), "the" (no tag)."""
    tokens, tags, numbers = [], [], []
    for word in words:
        text, _, number = word.partition("/")
        if number:
            numbers.append(tuple(number.split("&")))
        for token in text.split("+"):
            tokens.append(token)
            tags.append(len(numbers) - 1 if number else None)
    return build.Verse(tuple(tokens), tuple(tags), tuple(numbers))


def numbered(*verses):
    """[(reference, Verse)]: verses with the same number have all Strong's numbers in common, others none."""
    return [(f"Gen 1:{k}", tagged(*(f"w/H{n}{x}" for x in "abcd"))) for k, n in enumerate(verses, start=1)]


def w(number, text):
    return f'<w lemma="strong:{number}">{text}</w>'


def test_words_and_punctuation_come_apart_with_their_tags():
    verse = build.parse_verse(f"And {w('H0430', 'God')} {w('H0559', 'said')}, let be {w('H0216 H1961', 'light')}.")
    assert verse.tokens == ("and", "god", "said", ",", "let", "be", "light", ".")
    assert verse.tags == (None, 0, 1, None, None, None, 2, None)
    assert verse.numbers == (("H0430",), ("H0559",), ("H0216", "H1961"))


def test_a_tag_may_cover_several_words_but_no_punctuation():
    verse = build.parse_verse(w("H0216", "y la luz,") + " fin")
    assert verse.tokens == ("y", "la", "luz", ",", "fin")
    assert verse.tags == (0, 0, 0, None, None)


@pytest.mark.parametrize("markup, tokens", [
    ("God<note placement=\"foot\"><reference>1:1 </reference>A note.</note>made", "god made"),
    ("<title>ב BETH.</title> Wherewithal", "wherewithal"),
    ('<title canonical="true" type="psalm">A Psalm.</title> <l level="1"/>Lord', "a psalm . lord"),
    ("<speaker>Beloved</speaker> Let him", "let him"),
    ('¶ the \\nd <divineName><w lemma="strong:H3068">LORD</w></divineName>’s [but]', "the lord's but"),
    ("his brothers’ sons of Judæa, Tubal-cain", "his brothers' sons of judaea , tubal-cain"),
    ('tha<w lemma="strong:H1">t</w> is', "that is"),
    ('said,<lb type="x-p"/>Go<l eID="gen1"/>up', "said , go up"),
    ('<q marker="" who="Jesus">I say</q>;', "i say ;"),
])
def test_markup_is_removed(markup, tokens):
    assert " ".join(build.parse_verse(markup).tokens) == tokens


@pytest.mark.parametrize("markup, tokens", [
    (w("H0559", "di") + '<transChange type="added">les</transChange>', "diles"),
    (w("H3091", "Josué") + '<transChange type="added">los</transChange>', "josué los"),
    (w("G1", "dado") + '<transChange type="added">á ser</transChange>' + w("G0652", "apóstol"), "dado á ser apóstol"),
])
def test_added_words_stand_alone_unless_they_are_pronouns_of_a_verb(markup, tokens):
    assert " ".join(build.parse_verse(markup).tokens) == tokens


def test_quotation_marks_of_modern_text_stand_apart_from_apostrophes():
    verse = build.parse_verse("‘Don’t go,’ the sons’ god’s word”", build.QUOTED_WORD)
    assert " ".join(verse.tokens) == "‘ don't go , ’ the sons ’ god's word ”"


def test_subscriptions_are_cut_off_and_other_verses_are_not():
    verse = build.parse_verse("La gracia sea con todos. Amén. Fué escrita de Corinto.")
    assert " ".join(build.without_subscription(verse).tokens) == "la gracia sea con todos . amén ."
    verse = build.parse_verse("la palabra que está escrita: amén, dijo")
    assert build.without_subscription(verse) == verse


def test_one_word_to_one_word_is_sure_and_a_span_is_possible():
    sure, possible = build.link_words(tagged("and", "god/H1", "light/H2"), tagged("dios/H1", "la+luz/H2"))
    assert sure == {(1, 0)}
    assert possible == {(1, 0), (2, 1), (2, 2)}


def test_numbers_link_in_order_only_where_they_occur_equally_often():
    english = tagged("god/H1", "light/H2", "god/H1", "earth/H3")
    assert build.link_words(english, tagged("luz/H2", "dios/H1", "dios/H1"))[0] == {(0, 1), (1, 0), (2, 2)}
    assert build.link_words(english, tagged("luz/H2", "dios/H1"))[0] == {(1, 0)}


def test_two_numbers_on_one_word_link_it_twice_and_unlinked_numbers_never():
    sure, _ = build.link_words(tagged("jesus/G1", "christ/G2", "the/G3588"), tagged("jesucristo/G1&G2", "el/G3588"))
    assert sure == {(0, 0), (1, 0)}


def test_cuts_need_punctuation_on_both_sides_and_no_crossing_link():
    english, spanish = "a , b , c .".split(), "x , y , z .".split()
    assert build.cut_points(english, spanish, {(0, 0), (2, 2), (4, 4)}) == [(2, 2), (4, 4)]
    assert build.cut_points(english, spanish, {(0, 2), (2, 0), (4, 4)}) == [(4, 4)]
    assert build.cut_points(english, spanish, {(0, 4), (2, 2), (4, 0)}) == []
    assert build.cut_points(english, "x y , z .".split(), {(0, 0), (2, 1), (4, 3)}) == [(4, 3)]


def test_interchangeable_cuts_are_paired_in_order_or_not_at_all():
    english = "a , b , c .".split()
    assert build.cut_points(english, "x , y , z .".split(), {(0, 0), (4, 4)}) == [(2, 2), (4, 4)]
    assert build.cut_points(english, "x , z .".split(), {(0, 0), (4, 2)}) == []


def test_a_cut_comes_after_a_run_of_punctuation_and_before_an_opening_mark():
    assert build.cut_points("a ) , b ?".split(), "x , ¿ y ?".split(), {(0, 0), (3, 3)}) == [(3, 2)]


def test_displaced_verses_find_their_partner():
    pairs = build.align_verses(numbered(1, 2, 3, 4, 5, 6), numbered(1, 9, 2, 3, 4, 6))
    english, spanish = numbered(1, 2, 3, 4, 5, 6), numbered(1, 9, 2, 3, 4, 6)
    expected = [(0, 0), (1, 2), (2, 3), (3, 4), (5, 5)]
    assert pairs == [(english[i][0], english[i][1], spanish[j][1]) for i, j in expected]


def test_no_verse_is_the_partner_of_two():
    pairs = build.align_verses(numbered(1, 2, 2, 3), numbered(1, 9, 8, 2))
    assert [reference for reference, _, _ in pairs] == ["Gen 1:1", "Gen 1:2"]


def test_a_displaced_verse_takes_the_most_alike_one():
    spanish = numbered(1, 9, 2, 2)
    spanish[3] = ("Gen 1:4", tagged("w/H2a", "w/H2b", "w/H2c", "w/H7"))
    assert build.align_verses(numbered(1, 2, 8, 6), spanish)[1][2] == spanish[2][1]


def test_a_verse_joined_with_its_neighbour_is_left_out():
    english = [("Gen 1:1", tagged(*[f"w/H{n}" for n in range(4)]))]
    joined = [("Gen 1:1", tagged(*[f"w/H{n}" for n in range(4)], *["w/H9"] * 16))]
    assert build.align_verses(english, english) == [("Gen 1:1", english[0][1], english[0][1])]
    assert build.align_verses(english, joined) == []


def test_split_ignores_punctuation_and_takes_the_share_asked_for():
    assert build.words_of("go , and sin no more .".split()) == build.words_of("go and sin , no more !".split())
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
    verses = [(f"Gen {c}:{v}", build.parse_verse(f"verse {v} of {c}.")) for c in range(1, 41) for v in (1, 2)]
    verses.append(("Gen 41:1", build.parse_verse("")))
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
