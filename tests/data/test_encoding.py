"""Files that are not UTF-8 text: detection, and the conversion command in the error message."""

import io
import tarfile
import zipfile

import pytest

from numpy_attention.data.encoding import lines_of

GERMAN = "Der Bäcker öffnet die Tür.\nDie Straße ist schön.\n" * 5
CHINESE = "今天天气很好，我们去公园。\n他说：“好的”。\n" * 5
JAPANESE = "猫が犬を見る。\nこれは本です。\n"


def message_of(data):
    with pytest.raises(ValueError) as found:
        lines_of(data, "a.txt")
    message = str(found.value)
    assert message.startswith("a.txt") and "\n" not in message
    assert "iconv -f ISO-8859-1 " not in message
    return message


@pytest.mark.parametrize("text", [GERMAN, CHINESE])
@pytest.mark.parametrize("name, encoding", [
    ("utf-16", "UTF-16"), ("utf-16-le", "UTF-16LE"), ("utf-16-be", "UTF-16BE"),
    ("utf-32", "UTF-32"), ("utf-32-le", "UTF-32LE"), ("utf-32-be", "UTF-32BE")])
def test_utf_16_and_utf_32_get_a_conversion_command(text, name, encoding):
    assert f"iconv -f {encoding} -t UTF-8" in message_of(text.encode(name))


@pytest.mark.parametrize("text, encoding, word", [
    (GERMAN, "cp1252", "CP1252 (Bäcker)"), (GERMAN, "mac_roman", "MACINTOSH (Bäcker)"),
    (CHINESE, "gbk", "GB18030 (今天"), ("今天天氣很好，我們去公園。\n", "big5", "BIG5 (今天"),
    (JAPANESE, "cp932", "CP932 (猫が"), (JAPANESE, "euc_jp", "EUC-JP (猫が"),
    ("고양이가 개를 본다.\n", "cp949", "EUC-KR (고양이가)"),
    ("Кошка видит собаку.\n", "cp1251", "CP1251 (Кошка)"),
    ("Кошка видит собаку.\n", "koi8_r", "KOI8-R (Кошка)"),
    ("Zażółć gęślą jaźń.\n", "cp1250", "CP1250 (Zażółć)"),
    ("Příliš žluťoučký kůň\n", "iso8859_2", "ISO-8859-2 (Příliš)"),
    (JAPANESE, "iso2022_jp", "ISO-2022-JP")])
def test_other_encodings_are_shown_with_an_example_word(text, encoding, word):
    message = message_of(text.encode(encoding))
    assert word in message and "iconv -f" in message


def test_truncated_character_is_not_another_encoding():
    data = GERMAN.encode()
    for cut, command in ((data + b"\xc3", "head -c -1 FILE"), (b"\x9f" + data, "tail -c +2 FILE"),
                         (b"It is \xe2\x80", "head -c -2 FILE"),
                         (b"\x9f" + data + b"\xe2\x80", "tail -c +2 FILE | head -c -2 >")):
        assert "incomplete character" in message_of(cut) and command in message_of(cut)
    assert "CP1252 (café)" in message_of(b"caf\xe9") and "cut in half" in message_of(b"caf\xe9")


def test_lines_of_another_encoding_are_counted():
    message = message_of(GERMAN.encode() + "Bär\n".encode("latin-1"))
    assert "line 11: byte 2" in message and "1 of 11 lines" in message and "CP1252 (Bär)" in message
    assert "line 11: UTF-16" in message_of(GERMAN.encode() + GERMAN.encode("utf-16"))
    assert "probably CESU-8" in message_of(b"a \xed\xa0\xbd\xed\xb8\x80\n")
    assert "line 11 has a NUL character; copy" in message_of(GERMAN.encode() + b"\0\0")


def archive(*names):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name in names:
            made.writestr(name, "application/epub+zip" if name == "mimetype" else "text")
    return file.getvalue()


def tar():
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as made:
        made.addfile(tarfile.TarInfo("a"))
    return file.getvalue()


@pytest.mark.parametrize("data, kind", [
    (archive("en.txt"), "zip"), (archive("a.xml", "word/document.xml"), "Word"),
    (archive("mimetype"), "EPUB"), (tar(), "tar"), (b"\x1f\x8b\x08\0", "gzip"),
    (b"%PDF-1.4\n", "PDF"), (rb"{\rtf1 a}", "RTF"), (b"\x89PNG\r\n\x1a\n", "picture"),
    (b"SQLite format 3\0", "SQLite"), (b"7z\xbc\xaf\x27\x1c", "7z"), (b"\x7fELF\2", "program"),
    (b"a\0\xff\1" * 9, "binary data")])
def test_files_of_other_kinds_are_named(data, kind):
    assert kind in message_of(data)


@pytest.mark.parametrize("data", [
    b"\xef\xbb\xbf\xef\xbb\xbfa\xef\xbb\xbf b\r\n\xef\xbb\xbfc\r\n", b"a b\rc\r", b"a b\r\r\nc"])
def test_byte_order_marks_and_carriage_returns_are_removed(data):
    assert lines_of(data, "a.txt") == ["a b", "c"]


def test_byte_order_mark_as_a_word_is_kept():
    assert lines_of("° W \ufeff / 51\n".encode(), "a.txt") == ["° W \ufeff / 51"]
