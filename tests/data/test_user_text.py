"""User text: its files, tokenization, held-out part, and changes since training."""

import os
from pathlib import Path

import pytest

from numpy_attention.data.selection import selected
from numpy_attention.data.user_text import UserPairs, UserText


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("".join(f"The {i}.\n\n" for i in range(40)))
    (tmp_path / "b.txt").write_text("Some more\n")
    return tmp_path


# ---- pairs ---------------------------------------------------------------------------------------


def test_pairs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_text("".join(f"A {'x ' * (i % 4)}{i}\n" for i in range(80)))
    own = UserPairs("a", "a", lowercase=True, max_length=4, count=20)
    assert own.source == str(tmp_path / "a") and own.splits == ("train", "valid")
    train, valid = own.load("train", "valid")
    assert len(train) == 20 and 1 <= len(valid) <= 4 and train[0].source == ("a", "0")
    assert max(len(pair.source) for pair in train) == 4
    assert own.load("valid") == [valid]
    message = "has no 'test' split.*, or pass other files as source and target$"
    with pytest.raises(ValueError, match=message):
        own.load("test")
    message = r"no pair in 'a \(train\)' has at most 1 token on .* increase max_length"
    with pytest.raises(ValueError, match=message):
        UserPairs("a", "a", max_length=1).load("train")
    (tmp_path / "a").write_text("B 1\nB 2\n")
    with pytest.raises(ValueError, match="has changed since .* or train again in another folder$"):
        own.load("train")
    (tmp_path / "a").unlink()
    with pytest.raises(FileNotFoundError, match="a does not exist"):
        own.load("train")


@pytest.mark.parametrize("limit", [{"max_length": 4}, {"count": 60}])
def test_limits_keep_train_and_valid_disjoint(limit, tmp_path):
    (tmp_path / "a").write_text("".join(f"{'x ' * (i % 7)}{i}\n" for i in range(300)))
    file = tmp_path / "a"
    whole, few = (UserPairs(file, file, **limits).load("train", "valid") for limits in ({}, limit))
    for (learnt, _), (_, measured) in ((whole, few), (few, whole), (few, few)):
        assert measured
        assert {pair.source for pair in learnt}.isdisjoint(pair.source for pair in measured)
    for part, all_of_it in zip(few, whole):
        assert set(part) <= set(all_of_it) and len(part) <= limit.get("count", 300)
        assert max(len(pair.source) for pair in part) <= limit.get("max_length", 7)


def test_validation_files(tmp_path):
    for name, text in (("a", "1\n2\n"), ("b", "1 2 3\n")):
        (tmp_path / name).write_text(text)
    a = tmp_path / "a"
    b = tmp_path / "b"
    own = UserPairs(a, a, b, b)
    assert [len(pairs) for pairs in own.load("train", "valid")] == [2, 1]
    b.write_text("1 2\n")
    with pytest.raises(ValueError, match="has changed since"):
        own.load("train")
    message = ("^valid_target is missing; pass both validation files, or omit both to hold out "
               "training pairs$")
    with pytest.raises(ValueError, match=message):
        UserPairs(a, a, b)
    with pytest.raises(FileNotFoundError, match="nowhere does not exist"):
        UserPairs(a, tmp_path / "nowhere")


# ---- running text --------------------------------------------------------------------------------


def test_end_of_a_text_is_held_out(folder):
    own = UserText("a.txt")
    assert own.text == str(folder / "a.txt") and own.splits == ("train", "valid")
    assert own.label == "a"
    train, valid = own.load("train", "valid")
    assert train.sentences == [["The", f"{i}."] for i in range(38)]
    assert valid.sentences == [["The", "38."], ["The", "39."]]
    assert own.load("valid") == [valid] and not train.has_articles
    train, valid = UserText("a.txt", "b.txt", lowercase=True, tokenize=True).load("train", "valid")
    assert len(train.sentences) == 40 and train.sentences[1] == ["the", "1", "."]
    assert valid.sentences == [["some", "more"]]


def test_letters(folder):
    train, valid = UserText("a.txt", characters=True, lowercase=True).load("train", "valid")
    assert train.unit == valid.unit == "characters"
    (whole,) = train.sentences
    (end,) = valid.sentences
    text = (folder / "a.txt").read_text().lower()
    assert "".join(whole + end) == text and len(end) == round(0.05 * len(text))
    message = r"^tokenize \(into words\) and characters \(into single characters\) cannot both"
    with pytest.raises(ValueError, match=message):
        UserText("a.txt", characters=True, tokenize=True)


# ---- both ----------------------------------------------------------------------------------------


def test_saved_settings(folder):
    assert UserPairs("a.txt", "b.txt", columns=(1, 2)).saved()["columns"] == [1, 2]
    pairs = UserPairs("a.txt", Path("b.txt"), tokenize=True, held_out_seed=3, count=7).saved()
    paths = {"source": str(folder / "a.txt"), "target": str(folder / "b.txt")}
    digest = pairs.pop("digest")
    assert pairs == paths | {
        "lowercase": False, "tokenize": True, "held_out_seed": 3, "count": 7
    }
    assert digest == "5e79364a404ab514"
    text = UserText("a.txt", characters=True).saved()
    assert text == {
        "text": str(folder / "a.txt"), "characters": True, "lowercase": False, "tokenize": False,
        "digest": "aa03133384d7cfcd",
    }
    os.remove("a.txt")                                          # a run still loads without its text
    for saved in (pairs | {"digest": digest}, text):
        assert selected(saved).saved() == saved
        with pytest.raises(FileNotFoundError, match="a.txt does not exist"):
            selected(saved).load("train")


@pytest.mark.parametrize("where", ["new/data", "new/runs", "new/runs/one", "new", "."])
def test_moved_text_is_found_near_its_run(where, folder):
    (folder / "old" / "data").mkdir(parents=True)
    (folder / "old" / "runs" / "one").mkdir(parents=True)
    (folder / "a.txt").rename(folder / "old" / "data" / "c.txt")
    saved = UserText("old/data/c.txt").saved()
    learned, _ = UserText("old/data/c.txt").load("train", "valid")
    (folder / "old").rename(folder / "new")
    (folder / "new" / "data" / "c.txt").rename(folder / where / "c.txt")
    (folder / "new" / "runs" / "c.txt").touch(where != "new/runs")    # skipped by digest
    assert selected(saved, None, Path("new/runs/one")).load("train") == [learned]
    windows = saved | {"text": "C:\\me\\data\\c.txt"}
    assert selected(windows, None, folder / "new" / "runs" / "one").load("train") == [learned]


def test_each_moved_file_is_searched_for_separately(tmp_path):
    (tmp_path / "en").write_text("Yes\n")
    (tmp_path / "fr").write_text("Oui\n")
    files = [tmp_path / name for name in ("en", "fr", "fr", "en")]
    saved = UserPairs(*files).saved()
    elsewhere = saved | {"valid_source": "/away/fr", "valid_target": "/away/en"}
    learned, valid = selected(elsewhere, None, tmp_path).load("train", "valid")
    assert (learned[0].source, valid[0].source) == (("Yes",), ("Oui",))
    (tmp_path / "en").write_text("Oui\n")
    (tmp_path / "fr").write_text("Yes\n")
    assert selected(saved).load("train") == [learned]


def test_missing_or_changed_text_raises(folder):
    own = UserText("a.txt")
    own.folder = folder / "runs"
    (folder / "a.txt").write_text("Another.\n")
    with pytest.raises(ValueError, match=r"a\.txt has changed since .* restore the old files"):
        own.load("train")
    own.text = str(folder / "moved" / "a.txt")
    with pytest.raises(ValueError, match=r"a\.txt does not exist, and the text found .* is not "):
        own.load("train")
    (folder / "a.txt").rename("a.txt.gz")
    message = r"a\.txt does not exist.*a\.txt\.gz exists, but its bytes.*; unpack it"
    with pytest.raises(FileNotFoundError, match=message):
        own.load("train")
    os.remove("a.txt.gz")
    with pytest.raises(FileNotFoundError, match=r"a\.txt does not exist, and .* no a\.txt in .*"
                                                "runs, its parent folders .* repeat the t"):
        own.load("train")


def test_symlink_keeps_its_name(folder):
    (folder / "link.txt").symlink_to("a.txt")
    assert UserText("link.txt").text == str(folder / "link.txt")


@pytest.mark.parametrize("settings, error, message", [
    (dict(tokenize=1), TypeError, "tokenize is 1"), (dict(digest=3), TypeError, "digest is 3"),
    (dict(max_length=0), ValueError, "max_length = 0"),
    (dict(held_out_seed=-1), ValueError, "held_out_seed = -1"),
])
def test_invalid_settings(tmp_path, settings, error, message):
    path = tmp_path / "a.txt"
    path.write_text("a b\nc d\n")
    with pytest.raises(error, match=message):
        UserPairs(path, path, **settings)
