"""Files with user code: reading without running, running once, and errors."""

import hashlib
import sys

import pytest
from custom_files import MINE, in_score, written

from numpy_attention.attention.dot import DotAttention
from numpy_attention.custom import code
from numpy_attention.custom.code import NAME, custom_class_of, parted, place_in_code, read


def test_read_does_not_run_the_file(tmp_path):
    marker = tmp_path / "ran"
    found = read(written(tmp_path, f"open({str(marker)!r}, 'a').write('x')\n"))
    assert found.name == "mine.py"
    assert found.digest == hashlib.sha256(found.path.read_bytes()).hexdigest()
    assert not marker.exists()
    assert found.module is found.module and marker.read_text() == "x"


def test_later_changes_of_the_file_are_ignored(tmp_path):
    path = written(tmp_path, "class A:\n    x = 1\n")
    found = read(path)
    path.write_text("class A:\n    x = 2\n")
    assert found.found("A").x == 1


def test_defined_names(tmp_path):
    found = read(written(tmp_path, "from pathlib import Path\nclass A: pass\ndef f(): pass\nx = 1"))
    assert list(found.defined()) == ["A", "f"]
    assert found.found("x") == 1
    with pytest.raises(ValueError, match=r"^mine\.py does not define 'B': it defines A, f$"):
        found.found("B")


def test_modules_in_the_same_folder_can_be_imported(tmp_path):
    (tmp_path / "mine_helper.py").write_text("x = 3\n")
    before = list(sys.path)
    assert read(written(tmp_path, "from mine_helper import x\n")).found("x") == 3
    assert sys.path == before


@pytest.mark.parametrize("text, message", [
    ("x = (\n", r"mine\.py cannot be run: line 1 is not Python: '\(' was never closed$"),
    ("\0", r"mine\.py is binary data"),
    ("x = 1\ny = 1 / 0\n", r"line 2 of mine\.py: ZeroDivisionError: division by zero$"),
    ("def f():\n    return {}[1]\nf()\n", r"line 2 of mine\.py, in f: KeyError: 1$"),
    ("import sys\nsys.exit(3)\n", r"line 2 of mine\.py: SystemExit: 3$"),
    ("raise ValueError('x' * 500)\n", ": ValueError: x{100,200}…$"),
])
def test_files_that_cannot_run(text, message, tmp_path):
    path = written(tmp_path, text)
    modules, before = set(sys.modules), list(sys.path)
    with pytest.raises(ValueError, match=message) as error:
        read(path).module
    assert "\n" not in str(error.value)
    assert sys.path == before and set(sys.modules) == modules


def test_keyboard_interrupt_propagates(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        read(written(tmp_path, "raise KeyboardInterrupt\n")).module


def test_invalid_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"^no\.py does not exist"):
        read("no.py")
    with pytest.raises(ValueError, match=r"^mine\.txt is not a Python file; its name must end w"):
        read(written(tmp_path, MINE, "mine.txt").name)
    with pytest.raises(ValueError, match="letters, digits"):
        read(written(tmp_path, MINE, "my mine.py"))
    monkeypatch.setattr(code, "MOST", 10)
    with pytest.raises(ValueError, match=r"^mine\.py has more than 10 bytes"):
        read(written(tmp_path, "x" * 11).name)
    assert read(written(tmp_path, "x" * 10)).text == b"x" * 10


@pytest.mark.parametrize("name, valid", [
    ("mine.py:A", True), ("m-1.x+y.py:Ü_1", True), ("x" * 100 + ".py:A", True),
    ("x" * 101 + ".py:A", False), ("m.py:A" + "a" * 99, True), ("m.py:A" + "a" * 100, False),
    ("../m.py:A", False), ("a/m.py:A", False), ("a\\m.py:A", False), ("c:m.py:A", False),
    (".m.py:A", False), ("-m.py:A", False), ("m m.py:A", False), ("$(m).py:A", False),
    ("m.py:1", False), ("m.py:A.B", False), ("m.py:A\n", False), ("m.py:", False), (".py:A", False),
    ("http://x/m.py:A", False),
])
def test_name_pattern(name, valid):
    assert bool(NAME.fullmatch(name)) is valid


def test_parted():
    assert parted("a/mine.py:Mine") == ("a/mine.py", "Mine")
    assert parted("c:/mine.py") == ("c:/mine.py", "")


def test_custom_class_of(tmp_path):
    path = written(tmp_path)
    found = read(path)
    one = custom_class_of(found.found("Mine"))
    assert one.name == "mine.py:Mine" and one.kind is found.found("Mine")
    path.write_text("")                     # the code that was run counts
    assert custom_class_of(one.kind).code.digest == found.digest
    here = custom_class_of(Here)
    assert here.name == "test_code.py:Here"
    assert here.code.digest == hashlib.sha256(open(__file__, "rb").read()).hexdigest()


class Here:
    pass


def test_class_outside_a_file_raises():
    with pytest.raises(ValueError, match="int is not defined at the top level of a file"):
        custom_class_of(int)

    class Local:
        pass
    with pytest.raises(ValueError, match="Local is not defined at the top level of a file"):
        custom_class_of(Local)
    with pytest.raises(ValueError, match="DotAttention is part of numpy_attention; pass its name"):
        custom_class_of(DotAttention)
    with pytest.raises(TypeError, match="`kind` is 'x'"):
        custom_class_of("x")


def test_place_in_code(tmp_path):
    kind = read(written(tmp_path, in_score("raise KeyError"))).found("Mine")
    with pytest.raises(KeyError) as error:
        kind.score(None, None, None)
    assert place_in_code(error.value) == "line 22 of mine.py, in Mine.score"
    with pytest.raises(ZeroDivisionError) as error:
        1 / 0
    assert place_in_code(error.value) == ""
