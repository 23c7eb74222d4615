"""An .npz file is read without trust: as NumPy reads what it wrote itself, or refused in a line."""

import zipfile

import numpy as np
import pytest

from numpy_attention.training import archive

ARRAYS = {
    "float32": np.arange(12, dtype=np.float32).reshape(3, 4),
    "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "one": np.array(True),
    "empty": np.zeros((0, 3), np.int64),
    "big endian": np.arange(5, dtype=">f4"),
}


@pytest.fixture
def path(tmp_path):
    np.savez(tmp_path / "a.npz", **ARRAYS)
    return tmp_path / "a.npz"


def test_it_gives_what_numpy_gives(path):
    found = archive.read(path)
    assert list(found) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert np.array_equal(found[name], array) and found[name].shape == array.shape
        assert found[name].dtype == array.dtype.newbyteorder("=")
        assert found[name].flags.f_contiguous == array.flags.f_contiguous
        assert found[name].flags.writeable


def test_one_alone(path):
    assert list(archive.read(path, "one")) == ["one"] and archive.read(path, "two") == {}


def written(path, data, name="x.npy", **how):
    with zipfile.ZipFile(path, "w") as made:
        made.writestr(name, data, **how)


def npy(descr, shape="(2,)", values=b"12345678"):
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + values


@pytest.mark.parametrize("data, message", [
    (npy("'<f4'", "(10000000000000,)"), "'x' has 8 bytes of values, expected 40,000,000,000,000"),
    (npy("'<f4'", "(1,)"), "has 8 bytes of values, expected 4"),
    (npy("'|O'"), "holds pickled objects, which are never loaded, expected float32"),
    (npy("'<U1'"), "holds '<U1', expected float32"),
    (npy("'<f2'"), "holds '<f2'"),
    (npy("[('a', '<f4')]"), "is damaged, no array, or holds pickled objects"),
    (npy("'<f4'", "(" * 200), "is damaged"),
    (npy("'<f4'", "(-2,)"), "is damaged"),
    (npy("__import__('os').getcwd()"), "is damaged"),
    (b"", "is damaged"),
])
def test_what_is_no_array_of_numbers(tmp_path, data, message):
    written(tmp_path / "a.npz", data)
    with pytest.raises(ValueError) as told:
        archive.read(tmp_path / "a.npz")
    assert message in str(told.value) and "a.npz" in str(told.value)
    assert "\n" not in str(told.value)


def test_members_that_numpy_does_not_write(tmp_path):
    good = npy("'<f4'")
    path = tmp_path / "a.npz"
    written(path, good, compress_type=zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match="'x.npy' is compressed or encrypted"):
        archive.read(path)
    written(path, good, "x")
    with pytest.raises(ValueError, match="'x' is no array"):
        archive.read(path)
    written(path, good)
    with pytest.warns(UserWarning), zipfile.ZipFile(path, "a") as made:
        made.writestr("x.npy", good)
    with pytest.raises(ValueError, match="'x.npy' is there twice"):
        archive.read(path)


def test_a_method_that_nobody_knows(path):
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 10] = 99           # in the directory at the end
    path.write_bytes(data)
    with pytest.raises(ValueError, match="a.npz"):
        archive.read(path)


def patched(path, *changes):
    """Bytes of the directory at the end changed: (where in the member's entry, what)."""
    data = bytearray(path.read_bytes())
    start = data.index(b"PK\x01\x02")
    for place, value in changes:
        data[start + place:start + place + len(value)] = value
    path.write_bytes(data)


@pytest.mark.parametrize("changes, given, expected", [
    # flags; then the size as stored, and the array's own
    ([(8, b"\x01")], "is compressed or encrypted", "arrays stored plainly"),
    ([(24, (77).to_bytes(4, "little"))], "claims 77 bytes", "as many as the file has"),
    ([(20, (9999).to_bytes(4, "little")), (24, (9999).to_bytes(4, "little"))],
     "claims 9,999 bytes", "as many as the file has"),
])
def test_members_that_are_not_as_their_directory_says(tmp_path, changes, given, expected):
    path = tmp_path / "a.npz"
    written(path, npy("'<f4'"))
    patched(path, *changes)
    with pytest.raises(ValueError) as told:
        archive.read(path)
    said = f"{path} is no checkpoint: its entry 'x.npy' {given}, expected {expected}"
    assert str(told.value) == said


def test_what_is_said_of_an_array(tmp_path):
    path = tmp_path / "a.npz"
    for data, said in (
            (b"", "is damaged, no array, or holds pickled objects, which are never loaded, "
                  "expected an array of numbers"),
            (npy("'<f2'"), "holds '<f2', expected float32, float64, whole numbers or True and "
                           "False"),
    ):
        written(path, data)
        with pytest.raises(ValueError) as told:
            archive.read(path)
        assert str(told.value) == f"{path} is no checkpoint: its entry 'x' {said}"


@pytest.mark.parametrize("end, accepted", [(1000, True), (1001, False)])
def test_a_header_as_long_as_may_be(tmp_path, end, accepted):
    header = npy("'<f4'", values=b"")[10:]
    header = header[:-1] + b" " * (end - 10 - len(header)) + b"\n"
    start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little")
    written(tmp_path / "a.npz", start + header + b"12345678")
    if accepted:
        assert archive.read(tmp_path / "a.npz")["x"].shape == (2,)
    else:
        with pytest.raises(ValueError, match="is damaged"):
            archive.read(tmp_path / "a.npz")


def test_what_cannot_be_opened(tmp_path):
    with pytest.raises(OSError, match=f"{tmp_path.name} cannot be read: Is a directory"):
        archive.read(tmp_path)
