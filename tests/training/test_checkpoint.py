"""Checkpoints: written atomically, never unpickled, and with clear errors for invalid files."""

import builtins
import errno
import io
import json
import os
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small import translator_model

from numpy_attention.training import checkpoint


@pytest.fixture
def path(tmp_path):
    checkpoint.save(tmp_path / "run.npz", checkpoint.parameters(translator_model()), {"note": "ü"})
    return tmp_path / "run.npz"


def test_round_trip(path):
    arrays, about = checkpoint.load(path)
    assert about["note"] == "ü"
    other = translator_model(seed=9)
    checkpoint.restore(other, arrays)
    assert np.array_equal(other.vector, translator_model().vector)
    assert [p.name for p in path.parent.iterdir()] == ["run.npz"]


class Full(io.FileIO):
    """A file on a disk with room for only `space` bytes."""

    space = 0

    def write(self, data):
        if self.tell() + len(data) > self.space:
            raise OSError(errno.ENOSPC, "full")
        return super().write(data)


@given(space=st.integers(0, 9000), name=st.sampled_from(["write", "flush", "fsync", "replace"]))
def test_failed_write_keeps_the_old_file(space, name, tmp_path):
    """Law: after any failure the old checkpoint is intact and no other file is left."""
    path = tmp_path / "run.npz"
    checkpoint.save(path, {"x": np.ones(3)}, {"note": "old"})
    before = path.read_bytes()

    def fail(*arguments, **keywords):
        raise OSError(errno.EIO, "broken")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Full, "space", space if name == "write" else 10**6)
        patch.setattr(builtins, "open", lambda file, mode: Full(file, mode))
        if name in ("fsync", "replace"):
            patch.setattr(os, name, fail)
        if name == "flush":
            patch.setattr(Full, "flush", fail)
        try:
            checkpoint.save(path, {"x": np.zeros(2000, np.float32)}, {"note": "new"})
        except OSError as error:
            assert "run.npz cannot be written: " in str(error) and "\n" not in str(error)
        else:
            assert name == "write" and space > 8000
            before = path.read_bytes()
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]
    assert path.read_bytes() == before
    assert checkpoint.load(path)[1]["note"] in ("old", "new")


def test_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match="train a model first"):
        checkpoint.load(tmp_path / "none.npz")


@pytest.mark.parametrize("keep", [0, 1, 30, 0.5, 0.99])
def test_truncated(path, keep):
    data = path.read_bytes()
    path.write_bytes(data[:keep if isinstance(keep, int) else int(keep * len(data))])
    for load in (checkpoint.load, checkpoint.load_about):
        with pytest.raises(ValueError, match="run.npz"):
            load(path)


def test_flipped_byte(path):
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        place = archive.getinfo("parameters/C.npy").header_offset + 400
    data[place] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(ValueError, match="corrupted"):
        checkpoint.load(path)
    assert checkpoint.load_about(path)["note"] == "ü"           # does not read the arrays


def test_pickle_is_never_loaded(tmp_path):
    class Payload:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "executed"),)
    np.savez(tmp_path / "evil.npz", about=np.array([Payload()], dtype=object))
    for load in (checkpoint.load, checkpoint.load_about):
        with pytest.raises(ValueError, match="pickled objects"):
            load(tmp_path / "evil.npz")
    assert not (tmp_path / "executed").exists()


def test_not_a_checkpoint(tmp_path):
    np.savez(tmp_path / "plain.npz", x=np.zeros(2))
    with pytest.raises(ValueError, match="no array 'about'"):
        checkpoint.load(tmp_path / "plain.npz")
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(ValueError, match="text.npz"):
        checkpoint.load(tmp_path / "text.npz")
    np.savez(tmp_path / "garbled.npz", about=np.frombuffer(b"{not json", np.uint8))
    with pytest.raises(ValueError, match="not a checkpoint"):
        checkpoint.load(tmp_path / "garbled.npz")
    np.savez(tmp_path / "listed.npz", about=np.frombuffer(b"[1]", np.uint8))
    with pytest.raises(ValueError, match=r"'about' is \[1\]; expected a dict"):
        checkpoint.load(tmp_path / "listed.npz")


@pytest.mark.parametrize("extra, wrote", [({}, "try another"), ({"version": "9.1"}, "running")])
def test_unknown_format_names_both_versions(tmp_path, extra, wrote):
    about = json.dumps({"format": 99} | extra).encode()
    np.savez(tmp_path / "future.npz", about=np.frombuffer(about, np.uint8))
    message = f"99; expected 1. It .*{wrote}.*, or train again"
    for load in (checkpoint.load, checkpoint.load_about):
        with pytest.raises(ValueError, match=message):
            load(tmp_path / "future.npz")


def test_non_finite_values(tmp_path):
    path = tmp_path / "nan.npz"
    checkpoint.save(path, {"W": np.ones(2)}, {})
    with pytest.raises(checkpoint.NonFiniteError, match="'W' contains NaN .* not written"):
        checkpoint.save(path, {"W": np.array([1.0, np.nan])}, {})
    with np.load(path) as last:
        assert last["W"].all()
        np.savez(path, W=np.array([np.inf]), about=last["about"])
    with pytest.raises(ValueError, match="the array 'W' contains NaN or infinity"):
        checkpoint.load(path)


def test_parameters_of_another_model(path):
    arrays, _ = checkpoint.load(path)
    with pytest.raises(ValueError, match="shape"):
        checkpoint.restore(translator_model(hidden=8), arrays)
    del arrays["parameters/C"]
    model = translator_model(seed=4)
    before = model.vector.copy()
    with pytest.raises(ValueError, match=r"missing 'C'"):
        checkpoint.restore(model, arrays)
    assert np.array_equal(model.vector, before)         # a failed restore changes nothing


def test_best_vector_is_split_in_the_order_of_its_file(tmp_path):
    parameters = {"parameters/b": np.zeros(2), "parameters/part.W": np.zeros((2, 3))}
    checkpoint.save(tmp_path / "old.npz", parameters | {"best": np.arange(8.0)}, {})
    arrays, _ = checkpoint.load(tmp_path / "old.npz")
    assert arrays.keys() == parameters.keys() | {"best/b", "best/part.W"}
    assert arrays["best/b"].tolist() == [0, 1]
    assert arrays["best/part.W"].tolist() == [[2, 3, 4], [5, 6, 7]]


def test_arrays_are_readable_with_numpy(path):
    with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
        assert np.array_equal(file["parameters/attention.v_a"], translator_model().attention.v_a)


NAMES = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=6)
ARRAYS = st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), max_size=5)
JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(),
                    lambda inner: st.lists(inner, max_size=3), max_leaves=5)


@given(arrays=st.dictionaries(NAMES.map("parameters/".__add__), ARRAYS, max_size=4),
       note=st.dictionaries(NAMES.map("my_".__add__), JSON, max_size=3))
def test_round_trip_of_any_arrays(tmp_path, arrays, note):
    given = {name: np.array(values, np.float32) for name, values in arrays.items()}
    checkpoint.save(tmp_path / "law.npz", given, note)
    found, about = checkpoint.load(tmp_path / "law.npz")
    assert found.keys() == given.keys() and about.items() >= note.items()
    for name, array in given.items():
        np.testing.assert_array_equal(found[name], array)


def test_checkpoint_is_synced_before_it_is_renamed(tmp_path, monkeypatch):
    sizes = []
    sync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda number: (sizes.append(os.fstat(number).st_size),
                                                     sync(number)))
    checkpoint.save(tmp_path / "run.npz", {"a": np.zeros(3)}, {})
    assert sizes == [(tmp_path / "run.npz").stat().st_size]


def save_about(path, text):
    np.savez(path, about=np.frombuffer(text.encode(), np.uint8))


def test_invalid_about_entries(tmp_path):
    path = tmp_path / "a.npz"
    save_about(path, json.dumps({"format": 1, "version": 3}))
    with pytest.raises(ValueError, match="a.npz cannot be loaded: 'version' is 3"):
        checkpoint.load_about(path)
    for depth in (16, 60, 100_000):
        save_about(path, '{"format": 1, "more": ' + depth * "[" + depth * "]" + "}")
        with pytest.raises(ValueError, match="checkpoint: 'about' is too deeply nested. Use"):
            checkpoint.load_about(path)
    save_about(path, '{"format": 1, "more": ' + 15 * "[" + 15 * "]" + "}")
    assert "more" in checkpoint.load_about(path)


def test_best_vector_of_another_length_raises():
    arrays = {"parameters/w": np.zeros((2, 3))}
    with pytest.raises(ValueError, match=r"'best' has shape \(5,\); expected \(6,\), one number"):
        checkpoint._split("a", np.zeros(5), arrays)
    with pytest.raises(ValueError, match=r"'best' has shape \(5,\); expected \(0,\), one number"):
        checkpoint._split("a", np.zeros(5), {})


@pytest.mark.parametrize("version, text", [
    ("1.0.0", "version 1.0.0, and you are running"), ("1" * 21, f"version {'1' * 20}…, and you"),
    (3, "an unknown version; "), ([1], "an unknown version; ")])
def test_version_is_shown_on_one_line(version, text):
    assert checkpoint.versions({"version": version}).startswith(f"It was written by {text}")


def test_partial_file_removed_by_another_process_is_ignored(tmp_path, monkeypatch):
    partial = tmp_path / f"run.npz.1{checkpoint.PARTIAL}"
    monkeypatch.setattr(type(tmp_path), "iterdir", lambda folder: iter([partial]))
    checkpoint.remove_partial(tmp_path / "run.npz")


def test_only_the_prefix_of_a_parameter_name_is_replaced():
    arrays = {"parameters/parameters/W": np.zeros((1, 2))}
    assert list(checkpoint._split("a", np.ones(2), arrays)) == ["best/parameters/W"]
