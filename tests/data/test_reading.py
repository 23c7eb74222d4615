"""Reading text files, and errors for malformed ones."""

import bz2
import gzip
import lzma
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numpy_attention.data import running_text
from numpy_attention.data.cloze import read_questions
from numpy_attention.data.pairs import Pair
from numpy_attention.data.reading import read_lines, read_pairs, read_tab_pairs, read_text
from numpy_attention.data.text_form import TextForm, word_tokens
from numpy_attention.data.user_text import UserPairs, UserText


def write(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return path


def test_only_newlines_separate_lines(tmp_path):
    path = write(tmp_path / "a.txt", b"\xef\xbb\xbfone\r\ntwo\xe2\x80\xa8more\x0bstill\nthree")
    assert read_lines(path) == ["one", "two\u2028more\x0bstill", "three"]


@pytest.mark.parametrize("compress, suffix", [
    (gzip.compress, "gz"), (bz2.compress, "bz2"), (lzma.compress, "xz")])
def test_read_pairs_of_a_compressed_file(tmp_path, compress, suffix):
    data = compress("The cat .\nA Dog, now\n".encode())
    source = write(tmp_path / f"a.en.{suffix}", data)
    target = write(tmp_path / "a.fr", "Le chat .\nUn chien !\n")
    assert read_pairs(source, target) == [
        Pair(("The", "cat", "."), ("Le", "chat", ".")),
        Pair(("A", "Dog,", "now"), ("Un", "chien", "!")),
    ]
    pair = read_pairs(source, target, TextForm("words", True).tokens)[1]
    assert pair == Pair(("a", "dog", ",", "now"), ("un", "chien", "!"))


@pytest.mark.parametrize(
    "source, target, message",
    [
        ("a\nb\nc\n", "x\n", r"a.txt has 3 lines but .*b.txt has 1, so line 2 has no partner"),
        ("a\n\nc\n\n", "x\ny\n \nz\n", r"a.txt, line 2: the source is empty; add the missing "
         "sentence, or pass skip_blank=True to leave out such lines, 3 of 4$"),
        ("a\tb\tCC0\nc\td\tCC0\n", "x\ny\n", r"a.txt has 3 tab-separated .*say which .*cut -f1"),
        ("", "", "are empty; expected one sentence per line"),
        (b"a\nna\xefve\n", "x\ny\n", r"a.txt, line 2: byte 3 \(0xef\) is not UTF-8.*naïve"),
        ("a\n".encode("utf-16-le"), "x\n", r"a.txt looks like UTF-16LE"),
        ("ab\nabcdefghi\0j\n", "x\ny\n", "a.txt, line 2 has a NUL character; copy"),
    ],
)
def test_bad_parallel_files(tmp_path, source, target, message):
    with pytest.raises(ValueError, match=message):
        read_pairs(write(tmp_path / "a.txt", source), write(tmp_path / "b.txt", target))


MARKUP = {
    "<!DOCTYPE html>\n": "HTML", '<?xml version="1.0"?>\n<tmx>': "XML", '{"text": "a"}\n': "JSON",
    "1\n0:00:01,0 --> 0:00:02,0\n": "a subtitle", "WEBVTT\n": "subtitle", "[Script Info]\n": "SubS",
    '<refset setid="a">\n': "SGML", '# x\nmsgid ""\n': "PO", "en,de\nI see,ja\n": "CSV",
}


@pytest.mark.parametrize("text", MARKUP)
def test_markup_raises_except_for_characters(text, tmp_path):
    path = write(tmp_path / "a.csv", "\n" + text)
    with pytest.raises(ValueError, match=f"a.csv is .*{MARKUP[text]}.*, not plain text"):
        read_text(path)
    assert "".join(running_text.read(path, TextForm("characters")).sentences[0]).strip()


@pytest.mark.parametrize("text", [
    "<s> the cat </s>\n", "{ a set }\n", '"Yes," he said.\n', "1\nis one\n", "a, b\nc\n",
    "<g> a\n", "[a] b\n", "<url> is here\n", "WebVTT is a format\n", "a,b\rc\na,b\n"])
def test_text_that_begins_like_markup_is_accepted(text, tmp_path):
    assert read_text(write(tmp_path / "a.csv", text))


def test_missing_folder_and_damaged_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing.txt does not exist"):
        read_lines(tmp_path / "nothing.txt")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read_lines(tmp_path)
    whole = gzip.compress(b"some text that is long enough\n" * 50)
    for data, advice in ((whole[:-12], "Copy or"), (b"no gzip at all", "Remove .gz from its name"),
                         (whole[:20] + b"\xff\xff\xff" + whole[23:], "Copy or download it again$")):
        with pytest.raises(ValueError, match=f"is not valid gzip data: .*[.] {advice}"):
            read_lines(write(tmp_path / "a.gz", data))


def test_pipes_devices_and_symlink_loops_raise(tmp_path):
    os.mkfifo(tmp_path / "pipe")                                # nobody ever writes to it
    (tmp_path / "loop").symlink_to("loop")
    for path, kind, message in ((tmp_path / "pipe", ValueError, "is a named pipe"),
                                ("/dev/zero", ValueError, "is a device"),
                                (tmp_path / "loop", OSError, "A link points to itself")):
        with pytest.raises(kind, match=message):
            read_lines(path)
        with pytest.raises(kind, match=message):
            UserText(path)


def test_tab_pairs_ignore_an_attribution_column(tmp_path):
    lines = "Go.\tVa\u202f!\nHi.\tL'ami.\tCC-BY 2.0 (France) Attribution: someone\n"
    path = write(tmp_path / "fra.txt", lines)
    assert read_tab_pairs(path, str.split, word_tokens) == [
        Pair(("Go.",), ("Va", "!")), Pair(("Hi.",), ("L'ami", ".")),
    ]


@pytest.mark.parametrize(
    "text, message",
    [
        ("Go.\tVa !\nHi.\n", "line 2 has 1 column; expected source TAB target"),
        ("a\tb\tc\td\n", "line 1 has 4 columns;"),
        ("Go.\t \n", "line 1 has no target; add it, or remove the line"),
        ("\tVa\n", "line 1 has no source; add it, or remove the line"),
        ("", "is empty"),
    ],
)
def test_bad_tab_pairs(tmp_path, text, message):
    with pytest.raises(ValueError, match=r"fra.txt.*" + message):
        read_tab_pairs(write(tmp_path / "fra.txt", text), str.split, str.split)


def test_read_text(tmp_path):
    path = write(tmp_path / "a.txt", "The end .\n \nOf it\n")
    assert read_text(path) == [["The", "end", "."], ["Of", "it"]]
    whole = [["the", "end", "."], [], ["of", "it"]]
    assert read_text(path, TextForm("spaces", True).tokens, blank_lines=True) == whole
    with pytest.raises(ValueError, match="contains no text"):
        read_text(write(path, "\n\n"))


def test_tokens_of_a_line_are_checked(tmp_path):
    tabbed = write(tmp_path / "b.txt", "a\tb\n")
    path = write(tmp_path / "a.txt", "a b\n")
    with pytest.raises(TypeError, match="^tokens is 7, of type int; expected a function"):
        read_pairs(path, path, 7)
    for read in (lambda: read_text(path, len),
                 lambda: read_pairs(path, path, str.upper),
                 lambda: read_tab_pairs(tabbed, str.split, str.upper)):
        with pytest.raises(TypeError, match="^the return value of `tokens` "):
            read()
    with pytest.raises(TypeError, match="^blank_lines is 1, of type int; expected True or False$"):
        read_text(path, blank_lines=1)


def test_columns_of_one_file_and_skipped_blank_lines(tmp_path):
    path = write(tmp_path / "a.tsv", "7\tthe cat\tel gato\tCC0\r\n8\ta dog\t\tCC0\n9\tno\tno\n")
    pairs = read_pairs(path, path, columns=(2, 3), skip_blank=True)
    assert pairs == [Pair(("the", "cat"), ("el", "gato")), Pair(("no",), ("no",))]
    for read, message in (
            (lambda: read_pairs(path, path, columns=(2, 3)), "is empty; .* such lines, 1 of 3$"),
            (lambda: read_pairs(path, path, columns=(4, 1)), "line 3 has 3 columns; .* least 4"),
            (lambda: read_pairs(path, path), "4 tab-.* pass `columns` to .* read, or extract one"),
            (lambda: read_text(path), "a.tsv has 4 tab-separated columns; extract one first")):
        with pytest.raises(ValueError, match=message):
            read()
    # the same file twice, without columns, is a copy task
    copied = write(tmp_path / "b.txt", "a b\nc\n")
    assert all(pair.source == pair.target for pair in read_pairs(copied, copied))


# ---- law: any bytes load, or raise a one-line error ---------------------------------------------

BYTES = st.one_of(
    st.binary(max_size=60),
    st.text("a \t\r\n\x0b\x85\u2028\0\ufeff|XN1", max_size=60).map(str.encode),
    st.text("ab .\t\n", max_size=60).map(lambda text: gzip.compress(text.encode())),
)
HISTORY_READOUTS = {
    "words": lambda path: running_text.read(path, TextForm("words")),
    "characters": lambda path: running_text.read(path, TextForm("characters")),
    "pairs": lambda path: read_pairs(path, path),
    "tab pairs": lambda path: read_tab_pairs(path, str.split, word_tokens),
    "questions": read_questions,
    "user text": lambda path: UserText(path).load("train", "valid"),
    "user pairs": lambda path: UserPairs(path, path, tokenize=True).load("train", "valid"),
}


@pytest.mark.parametrize("reader", HISTORY_READOUTS)
@pytest.mark.parametrize("name", ["text.txt", "text.txt.gz"])
@given(data=BYTES)
def test_any_bytes_load_or_raise_an_error_in_one_line(reader, name, data, tmp_path):
    path = write(tmp_path / name, data)
    try:
        HISTORY_READOUTS[reader](path)
    except (ValueError, OSError) as error:
        message = str(error)
        assert name in message or "needs at least 2" in message
        assert "\n" not in message and len(message) < 400
    assert [file.name for file in tmp_path.iterdir()] == [name] and path.read_bytes() == data


@given(lines=st.lists(st.text("ab c.", min_size=1, max_size=9).filter(str.strip), min_size=2,
                      max_size=9, unique=True))
def test_user_pairs_are_the_lines_of_both_files(lines, tmp_path):
    path = write(tmp_path / "a.txt", "\n".join(lines))
    train, valid = UserPairs(path, path).load("train", "valid")
    found = [" ".join(pair.source) for pair in train + valid]
    assert sorted(found) == sorted(" ".join(line.split()) for line in lines)
