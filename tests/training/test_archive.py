"""Reading untrusted .npz files: same result as NumPy, or a one-line error."""

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


def test_read_matches_numpy(path):
    found = archive.read(path)
    assert list(found) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert np.array_equal(found[name], array) and found[name].shape == array.shape
        assert found[name].dtype == array.dtype.newbyteorder("=")
        assert found[name].flags.f_contiguous == array.flags.f_contiguous
        assert found[name].flags.writeable


def test_read_one_array(path):
    assert list(archive.read(path, "one")) == ["one"] and archive.read(path, "two") == {}


def test_folder_raises(tmp_path):
    with pytest.raises(OSError, match=f"{tmp_path.name} cannot be read: "):
        archive.read(tmp_path)


def written(path, data, name="x.npy", **how):
    with zipfile.ZipFile(path, "w") as made:
        made.writestr(name, data, **how)


def npy(descr, shape="(2,)", values=b"12345678"):
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + values


@pytest.mark.parametrize("data, message", [
    (npy("'<f4'", "(10000000000000,)"), "'x' holds 8 bytes, but float32 of shape (1000000"),
    (npy("'<f4'", "(1,)"), "holds 8 bytes, but float32 of shape (1,) needs 4"),
    (npy("'|O'"), "holds pickled objects, which are never loaded. Pass an intact"),
    (npy("'<U1'"), "has dtype <U1; expected float32"),
    (npy("'<f2'"), "has dtype <f2"),
    (npy("[('a', '<f4')]"), "has dtype |V4"),
    (npy("'<f4'", "(" * 200), "cannot be read"),
    (npy("'<f4'", "(-2,)"), "of shape (-2,) needs -8"),
    (npy("__import__('os').getcwd()"), "cannot be read"),
    (b"", "cannot be read"),
])
def test_invalid_arrays(tmp_path, data, message):
    written(tmp_path / "a.npz", data)
    with pytest.raises(ValueError) as error:
        archive.read(tmp_path / "a.npz")
    assert message in str(error.value) and "a.npz" in str(error.value)
    assert "\n" not in str(error.value)


def test_members_that_numpy_does_not_write_raise(tmp_path):
    good = npy("'<f4'")
    path = tmp_path / "a.npz"
    written(path, good, compress_type=zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match="'x.npy' is compressed or encrypted"):
        archive.read(path)
    written(path, good, "x")
    with pytest.raises(ValueError, match="'x' is not a .npy file"):
        archive.read(path)
    written(path, good)
    with pytest.warns(UserWarning), zipfile.ZipFile(path, "a") as made:
        made.writestr("x.npy", good)
    with pytest.raises(ValueError, match="'x.npy' occurs twice"):
        archive.read(path)


@pytest.mark.parametrize("changes, message", [
    # flags; then the compressed size and the array size
    ([(8, b"\x01")], "its array 'x.npy' is compressed or encrypted"),
    ([(10, b"\x63")], "is compressed or encrypted"),
    ([(24, (77).to_bytes(4, "little"))], "claims to hold 77 bytes, but the file stores"),
    ([(20, (9999).to_bytes(4, "little")), (24, (9999).to_bytes(4, "little"))], "to hold 9,999 byt"),
])
def test_members_that_differ_from_their_directory_entry_raise(tmp_path, changes, message):
    path = tmp_path / "a.npz"
    written(path, npy("'<f4'"))
    data = bytearray(path.read_bytes())
    start = data.index(b"PK\x01\x02")         # the member's directory entry, at the end
    for place, value in changes:
        data[start + place:start + place + len(value)] = value
    path.write_bytes(data)
    with pytest.raises(ValueError, match=f"a.npz is not a checkpoint: .*{message}"):
        archive.read(path)
