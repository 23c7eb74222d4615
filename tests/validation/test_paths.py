"""Files and folders given by the user: only regular files are accepted; errors are on one line."""

import errno
import os
import re
import socket
from pathlib import Path

import pytest

from numpy_attention.validation.paths import (
    LONGEST,
    as_path,
    existing_file,
    exists,
    is_folder,
    make_folder,
    path_errors,
    short_path,
)


@pytest.fixture
def loop(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    return tmp_path / "loop"


def test_file_and_link(tmp_path):
    (tmp_path / "a").write_text("text")
    (tmp_path / "b").symlink_to("a")
    assert existing_file(str(tmp_path / "a")) == tmp_path / "a"
    assert existing_file(tmp_path / "b") == tmp_path / "b"
    assert exists(tmp_path / "a") and not exists(tmp_path / "c")
    assert not exists(tmp_path / "a" / "c")


def test_invalid_files(tmp_path, loop):
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
    for path, kind, message in (
            (tmp_path / "none", FileNotFoundError, "none does not exist; check the spelling"),
            (tmp_path, IsADirectoryError, "is a folder; pass the path of a file"),
            (tmp_path / "pipe", ValueError, "is a named pipe; pass the path of a regular file"),
            (tmp_path / "socket", ValueError, "is a socket"),
            ("/dev/zero", ValueError, "/dev/zero is a device"),
            (loop, OSError, "cannot be read: .*A link points to itself"),
            (tmp_path / ("a" * 300), ValueError, "contains a name of more than 255 bytes"),
            (b"x", TypeError, "^path is b'x', of type bytes; expected a str or a Path"),
            ("", ValueError, "^path is empty; expected the name of a file$"),
            ("a\0b", ValueError, r"^path 'a\\x00b' contains an invalid character"),
            ("\ud800", ValueError, "contains an invalid character; use another name")):
        with pytest.raises(kind, match=message) as error:
            existing_file(path)
        assert "\n" not in str(error.value) and "[Errno" not in str(error.value)


def test_folders(tmp_path, loop):
    assert make_folder(tmp_path / "a" / "b").is_dir() and make_folder(tmp_path / "a").is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="file is a file; pass the path of a folder"):
        make_folder(tmp_path / "file")
    for path in (tmp_path / "file" / "a", loop, "/proc/nothing/here"):
        with pytest.raises(OSError, match="cannot be created"):
            make_folder(path)
    assert is_folder(tmp_path / "a") and not is_folder(tmp_path / "file")
    assert not is_folder(tmp_path / "none") and not is_folder(tmp_path / "file" / "a")
    for function in (exists, is_folder):
        with pytest.raises(OSError, match="cannot be read"):
            function(loop)


@pytest.mark.parametrize("function", [exists, is_folder, existing_file, make_folder])
def test_folder_without_permission(function, locked):
    with pytest.raises(PermissionError, match=r"inside cannot be .*\. Change the permissions, or "):
        function(locked / "inside")


def test_path_errors_keep_the_type_and_name_the_path():
    with pytest.raises(PermissionError, match=r"^x cannot be written: .*\. Change the permissions"):
        with path_errors("x", "written"):
            raise PermissionError(errno.EACCES, "no")
    with pytest.raises(OSError, match=r"^x cannot be written: .*\. Free some space"):
        with path_errors("x", "written"):
            raise OSError(errno.ENOSPC, "no")
    with pytest.raises(OSError, match="^ours$"):            # already a complete message
        with path_errors("x", "written"):
            raise OSError("ours")


def test_long_paths_are_shortened_at_the_start():
    assert short_path(
        "a/b") == "a/b" and re.fullmatch(f"…a{{{LONGEST - 2}}}/b", short_path("a" * 999 + "/b"))


def test_undecodable_file_names():
    assert as_path(os.fsdecode(b"\xff")).name == "\udcff"
    assert as_path("x/y") == as_path(Path("x/y")) == Path("x/y")
