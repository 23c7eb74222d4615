"""Paths of every kind but a plain good file, made within a folder; and texts that are damaged."""

import gzip
import os
import socket

TEXT = "the cat sees\na dog runs far\nthe dog sees\na cat runs\n"

# what a text file may hold instead
CONTENTS = {
    "nothing": b"",
    "blank lines": b"\n\n \n\t\n",
    "one line": b"the cat sees\n",
    "no line end": TEXT.encode() + b"the end",
    "a byte order mark": b"\xef\xbb\xbf" + TEXT.encode(),
    "CRLF": TEXT.replace("\n", "\r\n").encode(),
    "only CR": TEXT.replace("\n", "\r").encode(),
    "latin-1": "el niño corrió\nla niña comió\n".encode("latin-1"),
    "UTF-16": TEXT.encode("utf-16"),
    "NUL": b"the \0cat\nruns\n",
    "random bytes": bytes(range(256)) * 4,
    "half a letter": b"the cat \xc3\nruns far\n",
    "a surrogate": b"the \xed\xa0\x80 cat\nruns far\n",
    "a line of 100,000 letters": b"a" * 100_000 + b"\nthe cat\n",
    "a line of 20,000 words": b"a " * 20_000 + b"\nthe cat\n",
    "right to left": "שלום עולם\nمرحبا بالعالم\n".encode(),
    "controls": b"the \x1b[31mcat\x07\nruns \x85 \xe2\x80\xa8 far\n",
    "special tokens": b"<s> </s> <unk> <pad>\n</s> a <s>\n",
    "one line more": TEXT.encode() + b"the cat\n",
    "a blank line within": b"the cat\n\na dog\nruns\n",
    "the same line": b"the cat\n" * 20,
    "right": TEXT.encode(),
}


def any_text(rng, path):
    """Write a damaged text; → its name."""
    name = list(CONTENTS)[rng.integers(len(CONTENTS))]
    path.write_bytes(CONTENTS[name])
    return name


def any_path(rng, folder):
    """→ what it is, a path."""
    kind = KINDS[rng.integers(len(KINDS))]
    return kind.__name__, kind(folder)


def missing(folder):
    return folder / "missing"


def empty_name(folder):
    return ""


def a_folder(folder):
    (folder / "folder").mkdir(exist_ok=True)
    return folder / "folder"


def a_pipe(folder):
    if not (folder / "pipe").exists():
        os.mkfifo(folder / "pipe")
    return folder / "pipe"


def a_socket(folder):
    path = folder / "socket"
    if not path.exists():
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path))
    return path


def endless(folder):
    return "/dev/zero"


def nothing(folder):
    return "/dev/null"


def full(folder):
    return "/dev/full"


def a_loop(folder):
    if not (folder / "loop").is_symlink():
        (folder / "loop").symlink_to("loop")
    return folder / "loop"


def within_a_loop(folder):
    return a_loop(folder) / "a.png"


def dangling(folder):
    if not (folder / "dangling").is_symlink():
        (folder / "dangling").symlink_to(folder / "nowhere")
    return folder / "dangling"


def too_long(folder):
    return folder / ("a" * 300)


def far_too_long(folder):
    return "a/" * 5000


def with_nul(folder):
    return "a\0b"


def not_utf8(folder):
    return os.fsdecode(os.fsencode(folder) + b"/\xff\xfe.png")


def half_a_pair(folder):
    return "\ud800.png"


def a_file(folder):
    (folder / "file").write_text(TEXT)
    return folder / "file"


def below_a_file(folder):
    return a_file(folder) / "a.png"


def a_zip(folder):
    with gzip.open(folder / "a.gz", "wb") as file:
        file.write(TEXT.encode())
    return folder / "a.gz"


def no_zip(folder):
    (folder / "b.gz").write_text(TEXT)
    return folder / "b.gz"


def a_hyphen(folder):
    return "-"


def a_tilde(folder):
    return "~nobody-of-this-name/a.png"


KINDS = (missing, empty_name, a_folder, a_pipe, a_socket, endless, nothing, full, a_loop,
         within_a_loop, dangling, too_long, far_too_long, with_nul, not_utf8, half_a_pair, a_file,
         below_a_file, a_zip, no_zip, a_hyphen, a_tilde)
