"""The steps from SWORD markup to links and cuts, on small pieces of text."""

import pytest
import verses
from bible_text import numbered, tagged


def w(number, text):
    return f'<w lemma="strong:{number}">{text}</w>'


def test_words_and_punctuation_come_apart_with_their_tags():
    god = w("H0430", "God")
    said = w("H0559", "said")
    light = w("H0216 H1961", "light")
    verse = verses.parse_verse(f"And {god} {said}, let be {light}.")
    assert verse.tokens == ("and", "god", "said", ",", "let", "be", "light", ".")
    assert verse.tags == (None, 0, 1, None, None, None, 2, None)
    assert verse.numbers == (("H0430",), ("H0559",), ("H0216", "H1961"))


def test_a_tag_may_cover_several_words_but_no_punctuation():
    verse = verses.parse_verse(w("H0216", "y la luz,") + " fin")
    assert verse.tokens == ("y", "la", "luz", ",", "fin")
    assert verse.tags == (0, 0, 0, None, None)


@pytest.mark.parametrize("markup, tokens", [
    ("God<note placement=\"foot\"><reference>1:1 </reference>A note.</note>made", "god made"),
    ("<title>ב BETH.</title> Wherewithal", "wherewithal"),
    ('<title canonical="true" type="psalm">A Psalm.</title> <l level="1"/>Lord', "a psalm . lord"),
    ("<speaker>Beloved</speaker> Let him", "let him"),
    ('¶ the \\nd <divineName><w lemma="strong:H3068">LORD</w></divineName>’s [but]',
     "the lord's but"),
    ("his brothers’ sons of Judæa, Tubal-cain", "his brothers' sons of judaea , tubal-cain"),
    ('tha<w lemma="strong:H1">t</w> is', "that is"),
    ('said,<lb type="x-p"/>Go<l eID="gen1"/>up', "said , go up"),
    ('<q marker="" who="Jesus">I say</q>;', "i say ;"),
])
def test_markup_is_removed(markup, tokens):
    assert " ".join(verses.parse_verse(markup).tokens) == tokens


@pytest.mark.parametrize("markup, tokens", [
    (w("H0559", "di") + '<transChange type="added">les</transChange>', "diles"),
    (w("H3091", "Josué") + '<transChange type="added">los</transChange>', "josué los"),
    (w("G1", "dado") + '<transChange type="added">á ser</transChange>' + w("G0652", "apóstol"),
     "dado á ser apóstol"),
])
def test_added_words_stand_alone_unless_they_are_pronouns_of_a_verb(markup, tokens):
    assert " ".join(verses.parse_verse(markup).tokens) == tokens


def test_quotation_marks_of_modern_text_stand_apart_from_apostrophes():
    verse = verses.parse_verse("‘Don’t go,’ the sons’ god’s word”", verses.QUOTED_WORD)
    assert " ".join(verse.tokens) == "‘ don't go , ’ the sons ’ god's word ”"


def test_subscriptions_are_cut_off_and_other_verses_are_not():
    verse = verses.parse_verse("La gracia sea con todos. Amén. Fué escrita de Corinto.")
    assert " ".join(verses.without_subscription(verse).tokens) == "la gracia sea con todos . amén ."
    verse = verses.parse_verse("la palabra que está escrita: amén, dijo")
    assert verses.without_subscription(verse) == verse


def test_one_word_to_one_word_is_sure_and_a_span_is_possible():
    english = tagged("and", "god/H1", "light/H2")
    spanish = tagged("dios/H1", "la+luz/H2")
    sure, possible = verses.link_words(english, spanish)
    assert sure == {(1, 0)}
    assert possible == {(1, 0), (2, 1), (2, 2)}


def test_numbers_link_in_order_only_where_they_occur_equally_often():
    english = tagged("god/H1", "light/H2", "god/H1", "earth/H3")
    sure, _ = verses.link_words(english, tagged("luz/H2", "dios/H1", "dios/H1"))
    assert sure == {(0, 1), (1, 0), (2, 2)}
    sure, _ = verses.link_words(english, tagged("luz/H2", "dios/H1"))
    assert sure == {(1, 0)}


def test_two_numbers_on_one_word_link_it_twice_and_unlinked_numbers_never():
    english = tagged("jesus/G1", "christ/G2", "the/G3588")
    sure, _ = verses.link_words(english, tagged("jesucristo/G1&G2", "el/G3588"))
    assert sure == {(0, 0), (1, 0)}


def test_cuts_need_punctuation_on_both_sides_and_no_crossing_link():
    english = "a , b , c .".split()
    spanish = "x , y , z .".split()
    assert verses.cut_points(english, spanish, {(0, 0), (2, 2), (4, 4)}) == [(2, 2), (4, 4)]
    assert verses.cut_points(english, spanish, {(0, 2), (2, 0), (4, 4)}) == [(4, 4)]
    assert verses.cut_points(english, spanish, {(0, 4), (2, 2), (4, 0)}) == []
    assert verses.cut_points(english, "x y , z .".split(), {(0, 0), (2, 1), (4, 3)}) == [(4, 3)]


def test_interchangeable_cuts_are_paired_in_order_or_not_at_all():
    english = "a , b , c .".split()
    assert verses.cut_points(english, "x , y , z .".split(), {(0, 0), (4, 4)}) == [(2, 2), (4, 4)]
    assert verses.cut_points(english, "x , z .".split(), {(0, 0), (4, 2)}) == []


def test_a_cut_comes_after_a_run_of_punctuation_and_before_an_opening_mark():
    assert verses.cut_points("a ) , b ?".split(), "x , ¿ y ?".split(), {(0, 0), (3, 3)}) == [(3, 2)]


def test_displaced_verses_find_their_partner():
    english = numbered(1, 2, 3, 4, 5, 6)
    spanish = numbered(1, 9, 2, 3, 4, 6)
    partners = [(0, 0), (1, 2), (2, 3), (3, 4), (5, 5)]
    expected = [(english[i][0], english[i][1], spanish[j][1]) for i, j in partners]
    assert verses.align_verses(english, spanish) == expected


def test_no_verse_is_the_partner_of_two():
    pairs = verses.align_verses(numbered(1, 2, 2, 3), numbered(1, 9, 8, 2))
    assert [reference for reference, _, _ in pairs] == ["Gen 1:1", "Gen 1:2"]


def test_a_displaced_verse_takes_the_most_alike_one():
    spanish = numbered(1, 9, 2, 2)
    spanish[3] = ("Gen 1:4", tagged("w/H2a", "w/H2b", "w/H2c", "w/H7"))
    assert verses.align_verses(numbered(1, 2, 8, 6), spanish)[1][2] == spanish[2][1]


def test_a_verse_joined_with_its_neighbour_is_left_out():
    english = [("Gen 1:1", tagged(*[f"w/H{n}" for n in range(4)]))]
    joined = [("Gen 1:1", tagged(*[f"w/H{n}" for n in range(4)], *["w/H9"] * 16))]
    assert verses.align_verses(english, english) == [("Gen 1:1", english[0][1], english[0][1])]
    assert verses.align_verses(english, joined) == []
