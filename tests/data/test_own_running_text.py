"""What a language model's run learnt from: the reader's own text, its end held out, and corpora as words or letters."""

import pytest

from numpy_attention.data import own_running_text as running_text
from numpy_attention.runs import resume as runs
from numpy_attention.data.running_text import Text


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("".join(f"The {i}.\n\n" for i in range(40)))
    (tmp_path / "b.txt").write_text("Some more\n")
    return tmp_path


def test_the_end_is_held_out(folder):
    corpus = running_text.own_text("a.txt")
    assert corpus["text"] == str(folder / "a.txt") and runs.splits_of(corpus) == ("train", "valid")
    assert runs.label(corpus) == "a"
    train, valid = running_text.load(corpus, "train", "valid")
    assert train.sentences == [["The", f"{i}."] for i in range(38)] and valid.sentences == [["The", "38."], ["The", "39."]]
    assert running_text.load(corpus, "valid") == [valid] and not train.whole
    corpus = running_text.own_text("a.txt", "b.txt", lowercase=True, tokenize=True)
    train, valid = running_text.load(corpus, "train", "valid")
    assert len(train.sentences) == 40 and train.sentences[1] == ["the", "1", "."] and valid.sentences == [["some", "more"]]


def test_letters(folder):
    train, valid = running_text.load(running_text.own_text("a.txt", characters=True, lowercase=True), "train", "valid")
    assert train.unit == valid.unit == "characters"
    whole, = train.sentences
    end, = valid.sentences
    text = (folder / "a.txt").read_text().lower()
    assert "".join(whole + end) == text and len(end) == round(0.05 * len(text))


def test_what_has_changed_is_refused(folder):
    corpus = running_text.own_text("a.txt", "b.txt")
    with pytest.raises(ValueError, match="no 'test' split of .*a.txt, only train and valid.*--text"):
        running_text.load(corpus, "test")
    (folder / "b.txt").write_text("Some less\n")
    with pytest.raises(ValueError, match="has changed since"):
        running_text.load(corpus, "train")
    with pytest.raises(FileNotFoundError, match="c.txt does not exist"):
        running_text.own_text("a.txt", "c.txt")


@pytest.mark.parametrize("text, parts", [
    (Text([[["a"], ["b"]]]), (1, 1)), (Text([[["a"]] * 100]), (95, 5)), (Text([[list("ab")]], "characters"), (1, 1)),
    (Text([[list("abcdefghij") * 8]], "characters"), (76, 4)),
])
def test_at_least_one_is_held_out_and_one_kept(text, parts):
    halves = running_text.hold_out(text)
    found = [half.sentences[0] if text.unit == "characters" else half.sentences for half in halves]
    assert tuple(map(len, found)) == parts and [half.unit for half in halves] == [text.unit] * 2
    assert found[0] + found[1] == (text.sentences[0] if text.unit == "characters" else text.sentences)


@pytest.mark.parametrize("text, what", [(Text([[["a", "b"]]]), "1 sentence"), (Text([[["a"]]], "characters"), "1 character")])
def test_nothing_to_hold_out(text, what):
    with pytest.raises(ValueError, match=what + r"\(s\): expected at least 2"):
        running_text.hold_out(text)


def test_corpora_by_name(monkeypatch):
    text = Text([[["a", "bc"], []], [["d"]]], whole=True)
    monkeypatch.setattr("numpy_attention.data.running_text.load", lambda name, split: text)
    assert running_text.load({"name": "bible-en"}, "train", "test") == [text, text]
    letters, = running_text.load({"name": "bible-en", "characters": True}, "valid")
    assert letters == Text([[list("a bc\n\n")], [list("d\n")]], "characters", True)
    assert running_text.as_characters(letters) is letters
