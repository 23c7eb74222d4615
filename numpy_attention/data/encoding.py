"""Decode UTF-8 text into lines. For other bytes, explain what they are and what to do.

Byte order marks and signatures identify most kinds of files. For other text, charset-normalizer
guesses the encoding.
"""

import csv
import re
import unicodedata
from contextlib import suppress

MARK = b"\xef\xbb\xbf"      # U+FEFF in UTF-8
# WikiText-2 has the mark as a word between spaces, which is kept; other marks are removed
MARKED = re.compile(rb"(?<! )\xef\xbb\xbf|\xef\xbb\xbf(?! )")
# byte order marks; UTF-32 is first, because its mark may begin like the mark of UTF-16
MARKS = {
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
JAPANESE = b"\x1b$B"       # ISO-2022-JP switches from ASCII to Japanese
WIDE = ("UTF-32LE", "UTF-32BE", "UTF-16LE", "UTF-16BE")
# encodings from frequent to rare, by their names in Python; ICONV has different names in iconv
ENCODINGS = (
    "cp1252", "gb18030", "cp1251", "cp932", "cp1250", "big5", "euc_kr", "cp949", "euc_jp",
    "koi8_r", "cp1256", "cp1254", "cp1253", "cp1255", "cp874", "cp1257", "cp1258", "iso8859_2",
    "cp850", "cp866", "mac_roman",
)
ICONV = {"mac_roman": "MACINTOSH", "iso8859_2": "ISO-8859-2"}
HIRAGANA = re.compile("[\u3041-\u3096]")     # only in Japanese
SIGNS = ("No", "Sc", "Sk", "So")            # categories of ¹, ¤ etc., rare in text
SAMPLE = 4096       # bytes from which an encoding is guessed
SHOWN = 16          # characters of a word
HEAD = 2048         # bytes or characters that show the kind of a file
MOST = 40           # lines that show the kind of a file

UNPACK = "unpack it, and use the text file in it"
EXPORT = "export it as plain text (UTF-8)"
OTHER = "use a plain text file"
SIGNATURES = (
    (rb"\x1f\x8b", "gzip data", "rename it to end with .gz, or unpack it: gunzip < FILE > NEW"),
    (rb"BZh[1-9]1AY&SY", "bzip2 data",
     "rename it to end with .bz2, or unpack it: bunzip2 < FILE > NEW"),
    (rb"\xfd7zXZ\0", "xz data", "rename it to end with .xz, or unpack it: unxz < FILE > NEW"),
    (rb"\x28\xb5\x2f\xfd", "Zstandard data", "unpack it: unzstd FILE"),
    (rb"\x1f\x9d", "compressed data", "unpack it: uncompress FILE"),
    (rb"\x04\x22\x4d\x18", "LZ4 data", "unpack it: unlz4 FILE"),
    (rb"PK\x03\x04.{26}mimetypeapplication/epub", "an EPUB book", EXPORT),
    (rb"PK\x03\x04.{26}mimetypeapplication/vnd", "an OpenDocument file", EXPORT),
    (rb"PK\x03\x04.*word/document", "a Word document (.docx)", EXPORT),
    (rb"PK\x03\x04.*xl/workbook", "an Excel workbook (.xlsx)", EXPORT),
    (rb"PK\x03\x04.*ppt/presentation", "a PowerPoint file (.pptx)", EXPORT),
    (rb"PK\x03\x04.{26}[^/]{1,99}\.npy", "NumPy arrays (.npz)", OTHER),
    (rb"PK(\x03\x04|\x05\x06)", "a zip archive", UNPACK),
    (rb"7z\xbc\xaf\x27\x1c", "a 7z archive", UNPACK),
    (rb"Rar!\x1a\x07", "a RAR archive", UNPACK),
    (rb".{257}ustar", "a tar archive", "unpack it with tar xf FILE, and use the text file in it"),
    (rb"%PDF-\d", "a PDF", "extract its text: pdftotext FILE NEW"),
    (rb"%!PS-", "PostScript", EXPORT),
    (rb"\{\\rtf", "a Rich Text document (RTF)", EXPORT),
    (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Office document (.doc, .xls)", EXPORT),
    (rb"SQLite format 3\0", "an SQLite database", EXPORT),
    (rb"PAR1|ARROW1|\x89HDF\r\n|Obj\x01", "a table (Parquet, Arrow, HDF5 or Avro)", EXPORT),
    (rb"\x80[\x02-\x05][\x95c}\]K(X]", "a Python pickle", OTHER),
    (rb"\x93NUMPY", "a NumPy array (.npy)", OTHER),
    (rb"\x89PNG\r\n|\xff\xd8\xff|GIF8[79]a|RIFF.{4}WEBP|II\*\0|MM\0\*", "a picture", OTHER),
    (rb"RIFF.{4}WAVE|OggS\0|fLaC\0|ID3[\2-\4]\0|\0\0\0.ftyp|\x1a\x45\xdf\xa3",
     "sound or video", OTHER),
    (rb"\x7fELF|\xcf\xfa\xed\xfe|MZ.{2}\0\0|\0asm", "a program", OTHER),
)
COLUMNS = "write each of its columns to a text file, one sentence per line"
SENTENCES = "write its sentences to a text file, one per line"
MARKUP = (
    (r"<!doctype html|<html\b|<head\b|<body\b", "HTML",
     "save the page as text, for instance with: pandoc -t plain FILE -o NEW"),
    (r"<(srcset|refset|tstset|mteval)\b|<!doctype mteval", "WMT SGML",
     r"extract the sentences: sed -nE 's|.*<seg[^>]*> *(.*)</seg>.*|\1|p' FILE > NEW"),
    (r"<\?xml|<!doctype|<(tmx|tei|teicorpus|xliff|mediawiki|rss)\b[^<]*>|<doc \w+=|<url>http",
     "XML", SENTENCES),
    (r'[\[\s]*\{\s*"[^"\n]*"\s*:', "JSON",
     "extract the text from its field: jq -r .FIELD FILE > NEW"),
    (r"(?-i:WEBVTT)(\n| -)|\d+\s*\n\d+:\d\d:\d\d[,.]\d+ -->", "a subtitle file",
     "remove the cue numbers and timestamps, for example with: "
     "sed '/-->/d; /^[0-9]*[[:space:]]*$/d; /^WEBVTT/d' FILE > NEW"),
    (r"\[script info\]", "a SubStation subtitle file",
     "extract its dialogue: sed -nE 's/^Dialogue:([^,]*,){9}//p' FILE > NEW"),
    (r'(#[^\n]*\n|\s)*msgid "', "a PO catalogue",
     "write the msgid texts to one file and the msgstr texts to another, one text per line"),
    (r"(#[^\n]*\n)*1(-\d+)?\t([^\t\n]*\t){8}", "a CoNLL-U treebank",
     "extract its sentences: sed -n 's/^# text = //p' FILE > NEW"),
    (r'("[^"\n]*"[,;])+"[^"\n]*"\s*\n', "CSV", COLUMNS),
    (r"version https://git-lfs", "a Git LFS pointer", "fetch the file itself: git lfs pull"),
)


def lines_of(data: bytes, name: str) -> list[str]:
    """Decode UTF-8 text, and return its lines without line endings or byte order marks.

    Carriage returns end lines only in a text without newlines. name: the name of the file, for
    messages. Raises ValueError if the bytes are not UTF-8 text.
    """
    check_signature(data, name)
    # a search for one byte takes a twentieth of the time of one for several
    if b"\0" in data or b"\x1b" in data and JAPANESE in data:
        raise ValueError(explain(data, name))
    text = MARKED.sub(b"", data) if MARK[:1] in data and MARK in data else data
    rows = text.split(b"\n" if b"\n" in text else b"\r")
    if not rows[-1]:
        rows.pop()
    try:
        if b"\r" in text:
            return [row.rstrip(b"\r").decode() for row in rows]
        return [row.decode() for row in rows]
    except UnicodeDecodeError:
        raise ValueError(explain(data, name)) from None


def check_signature(data: bytes, name: str, but: str = "") -> None:
    """Raise ValueError for data that begin like an archive, a document or another binary file.

    name: for messages. but: a kind in SIGNATURES that is accepted, such as "gzip data".
    """
    head = data[:HEAD] + data[-HEAD:]       # a zip archive lists its files at its end
    for signature, kind, advice in SIGNATURES:
        if kind != but and re.match(signature, head, re.DOTALL):
            raise ValueError(f"{name} is {kind}, not plain text; {advice}")


def check_not_markup(lines: list[str], name: str) -> None:
    """Raise ValueError if the lines of file `name` look like HTML, XML, JSON, subtitles or CSV."""
    head = "\n".join(lines[:MOST])[:HEAD].lstrip() + "\n"
    for start, kind, advice in MARKUP:
        if re.match(start, head, re.IGNORECASE):
            raise ValueError(f"{name} is {kind}, not plain text; {advice}")
    if name.endswith(".csv") and len(lines) > 1:
        columns = set()
        with suppress(csv.Error):       # such as a long field: not CSV
            columns = {len(row) for row in csv.reader(lines[:MOST]) if row}
        if len(columns) == 1 and columns != {1}:
            raise ValueError(f"{name} is CSV, not plain text; {COLUMNS}")


def explain(data: bytes, name: str) -> str:
    """Return an error message for data that are not UTF-8 text: their likely kind, and a remedy."""
    if JAPANESE in data:
        return f"{name} is ISO-2022-JP; convert it with: {iconv('ISO-2022-JP')}"
    place = first_wrong(data)
    number = data.count(b"\n", 0, place) + 1
    there = data[place:place + SAMPLE]
    for mark, encoding in MARKS.items():
        if there.startswith(mark):
            if place:
                return (f"{name}, line {number}: {encoding} text begins here, as if files were "
                        f"joined; convert each file before you join them: {iconv(encoding)}")
            return f"{name} is {encoding}; convert it with: {iconv(encoding)}"
    for encoding in WIDE if b"\0" in data[:SAMPLE] else ():
        if is_wide(data[:SAMPLE], encoding):
            return f"{name} looks like {encoding}; convert it with: {iconv(encoding)}"
    nuls = data.count(b"\0")
    if nuls:
        if nuls > len(data) // 10 or first_wrong(data.replace(b"\0", b"")) >= 0:
            return f"{name} is binary data, not text; {OTHER}"
        return (f"{name}, line {number} has a NUL character; copy the file again, or remove "
                "all NUL characters: tr -d '\\000' < FILE > NEW")
    return cut_letter(data, name) or other_encoding(data, name, place)


def iconv(encoding: str) -> str:
    """Return the shell command that converts a file from this encoding to UTF-8."""
    return f"iconv -f {iconv_name(encoding)} -t UTF-8 FILE > NEW"


def iconv_name(encoding: str) -> str:
    """Convert Python's name of an encoding to iconv's name."""
    return ICONV.get(encoding, encoding.upper().replace("_", "-"))


def first_wrong(data: bytes) -> int:
    """Return the position of the first byte that is NUL or not UTF-8, or -1 if there is none."""
    nul = data.find(b"\0")
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start if nul < 0 else min(nul, error.start)
    return nul


def is_wide(data: bytes, encoding: str) -> bool:
    """Return whether data without a byte order mark are likely text in `encoding`, one of WIDE."""
    unit = 4 if "32" in encoding else 2
    errors = "strict" if unit == 4 else "replace"       # the sample may end within a pair of UTF-16
    try:
        text = data[:len(data) // unit * unit].decode(encoding, errors)
    except UnicodeDecodeError:
        return False
    odd = sum(unicodedata.category(c) in ("Cc", "Cn", "Co") and c not in "\t\n\r" for c in text)
    usual = sum(c in " \n\r" for c in text)
    return usual > 0 and odd + text[:-1].count("\ufffd") <= len(text) // 20


def cut_letter(data: bytes, name: str) -> str:
    """Return an error message if the data begin or end within a UTF-8 character, otherwise ""."""
    first = re.match(rb"[\x80-\xbf]{0,3}", data)
    half = rb"(?:[\xc2-\xf4]|[\xe0-\xf4][\x80-\xbf]|[\xf0-\xf4][\x80-\xbf]{2})?\Z"
    last = re.compile(half).search(data, max(len(data) - 3, 0))
    assert first and last
    whole = data[first.end():last.start()]
    if first_wrong(whole) >= 0 or whole.isascii() and max(len(first[0]), len(last[0])) < 2:
        return ""
    commands = {"start": f"tail -c +{first.end() + 1} FILE" if first[0] else "",
                "end": f"head -c -{len(last[0])}" if last[0] else ""}
    ends = " and ".join(end for end, command in commands.items() if command)
    command = " | ".join(filter(None, commands.values())) + " FILE" * (not first[0])
    return (f"{name} is UTF-8 with an incomplete character at its {ends}; copy the file again, "
            f"or cut off the character: {command} > NEW")


def other_encoding(data: bytes, name: str, place: int) -> str:
    """Return an error message with possible encodings of the lines that are not UTF-8.

    place: the position in `data` of the first byte that is not UTF-8.
    """
    rows = data.splitlines() if b"\n" not in data else data.removesuffix(b"\n").split(b"\n")
    wrong = [row for row in rows if first_wrong(row) >= 0]
    right = sum(not row.isascii() for row in rows) - len(wrong)
    at = first_wrong(wrong[0])
    byte = (f"{name}, line {rows.index(wrong[0]) + 1}: byte {at + 1} (0x{data[place]:02x}) is not "
            "UTF-8")
    if re.match(rb"\xed[\xa0-\xbf]", wrong[0][at:]):
        return (f"{byte}; the line is probably CESU-8, which some databases write. "
                "Convert the file: uconv -f CESU-8 -t UTF-8 FILE > NEW")
    found = candidates(b"\n".join(wrong)[:SAMPLE], word_at(wrong[0], at))
    if not found:
        return f"{byte} or another common encoding; {OTHER}"
    words = [f"{iconv_name(encoding)} ({word})" for encoding, word in found.items()]
    shown = " or ".join(words).replace(" or ", ", ", len(words) - 2)
    if right > len(wrong) // 9:     # by chance, a few lines of another encoding are UTF-8 too
        return (f"{byte}; {len(wrong):,} of {len(rows):,} lines may be in {shown}. List these "
                "lines with grep -naxv '.*' FILE, and correct them")
    only = place in (0, len(data) - 1) and (data[:place] + data[place + 1:]).isascii()
    cut = ", unless this letter is cut in half" * only
    return (f"{byte}; the encoding may be {shown}{cut}. Choose the one whose word is correct, "
            f"and convert the file: {iconv(next(iter(found)))}")


def word_at(row: bytes, place: int) -> bytes:
    """Return the word around the byte at `place` in a line, shortened if the word is long."""
    before = re.search(rb"\S*\Z", row[max(place - SHOWN, 0):place])
    after = re.match(rb"\S+", row[place:place + 2 * SHOWN])
    assert before and after
    return after[0] if len(before[0]) == SHOWN else before[0] + after[0]


def candidates(sample: bytes, word: bytes) -> dict[str, str]:
    """Guess up to three encodings of a sample. Return {encoding: `word` decoded with it}."""
    from charset_normalizer import from_bytes  # only when it is needed
    matches = from_bytes(sample, cp_isolation=list(ENCODINGS), threshold=0.5)
    likely = [(match.chaos > 0.1 or not HIRAGANA.search(str(match)), round(match.chaos, 2),
               sum(unicodedata.category(c) in SIGNS for c in str(match)), -match.coherence,
               min(map(ENCODINGS.index, {match.encoding, *match.could_be_from_charset})))
              for match in matches]
    found: dict[str, str] = {}
    for encoding in [*(ENCODINGS[place] for *_, place in sorted(likely)), *ENCODINGS]:
        seen = word.decode(encoding, "ignore")[:SHOWN]
        if seen.isprintable() and not seen.isascii() and seen not in found.values():
            found[encoding] = seen
    return dict(list(found.items())[:3])
