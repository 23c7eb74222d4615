"""Checkpoints altered: what their text says, their arrays, the archive around them, single bits."""

import io
import json
import os
import pickle
import warnings
import zipfile

import numpy as np
from hostility import values

TEXTS = (
    b"", b"{", b"[1]", b"null", b"\xff\xfe", b"\xef\xbb\xbf{}", b"[" * 100_000, b'{"a":' * 50_000,
    b"1" * 5000, b'{"format": 1}', b'{"format": 1, "about": {}}', b'{"format": "1"}',
    b'{"format": 1, "format": 2}', b"NaN", b'{"format": 1}garbage', b"\0" * 64)
DEEP = []
for _ in range(200):
    DEEP = [DEEP]
VALUES = (None, 0, 1, -1, 2, 1.5, 1e308, float("nan"), float("inf"), 10**9, 10**20, 10**400, True,
          False, "", "3", "a" * 10_000, "\ud800", "\0", "../../etc/passwd", "nan", [], [1], ["a"],
          [None], {}, {"a": 1}, DEEP, [[[[0]]]], "luong", "transformer", "language-model")


class Payload:
    """What a pickle would execute: the making of a folder."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def altered(rng, data, executed):
    """→ what was done, the bytes of a checkpoint altered; executed: what a payload would make."""
    way = WAYS[rng.choice(len(WAYS), p=SHARES)]
    return way(rng, data, executed)


def contents_of(data):
    with np.load(io.BytesIO(data)) as file:
        return dict(file)


def packed(contents):
    made = io.BytesIO()
    np.savez(made, **contents)
    return made.getvalue()


# ---- what its text says ------------------------------------------------------------------------


def entry(rng, data, executed):
    """An entry of the text replaced, left out, renamed, or one more."""
    contents = contents_of(data)
    about = json.loads(bytes(contents["about"]))
    *way, last = places(about)[rng.integers(len(places(about)))]
    holder = about
    for step in way:
        holder = holder[step]
    where = ".".join(map(str, (*way, last)))
    choice = rng.random()
    if choice < 0.2:
        del holder[last]
        what = f"{where} left out"
    elif choice < 0.3 and isinstance(holder, dict):
        holder[last + "s"] = holder.pop(last)
        what = f"{where} renamed"
    else:
        value = VALUES[rng.integers(len(VALUES))]
        holder[last] = value
        what = f"{where} = {values.named(value) if value is not DEEP else 'nested'}"
    contents["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    return what, packed(contents)


def places(value, way=()):
    """The ways to all entries of a JSON value; of long lists to the first three."""
    found = [way] if way else []
    if isinstance(value, dict):
        for name, item in value.items():
            found += places(item, (*way, name))
    if isinstance(value, list):
        for n, item in enumerate(value[:3]):
            found += places(item, (*way, n))
    return found


def text(rng, data, executed):
    """No text of JSON, or of another."""
    chosen = TEXTS[rng.integers(len(TEXTS))]
    contents = contents_of(data) | {"about": np.frombuffer(chosen, np.uint8)}
    return f"the text {ascii(chosen[:30])}, {len(chosen)} bytes", packed(contents)


# ---- its arrays --------------------------------------------------------------------------------


def array(rng, data, executed):
    """An array replaced, left out or renamed, or one more."""
    contents = contents_of(data)
    names = list(contents)
    name = names[rng.integers(len(names))]
    choice = rng.random()
    if choice < 0.15:
        del contents[name]
        return f"{name} left out", packed(contents)
    if choice < 0.25:
        contents[name + "x"] = contents.pop(name)
        return f"{name} renamed", packed(contents)
    if choice < 0.35:
        other = names[rng.integers(len(names))]
        contents[name] = contents[other]
        return f"{name} = {other}", packed(contents)
    if choice < 0.5:
        contents[name] = np.array([Payload(executed)], dtype=object)
        return f"{name} = a pickle", packed(contents)
    mutant = values.mutant(rng, contents[name])
    value = mutant.value
    if not isinstance(value, (np.ndarray, str, bytes, int, float, list)):
        value = "text"                              # a module, say, which no file can hold
    return f"{name} = {mutant.name}", packed(contents | {name: value})


# ---- the archive -------------------------------------------------------------------------------


def archive(rng, data, executed):
    """Members that are there twice, compressed, of other names, or claim other sizes."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        members = [(info.filename, file.read(info)) for info in file.infolist()]
    n = int(rng.integers(len(members)))
    name, content = members[n]
    how = zipfile.ZIP_STORED
    choice = rng.integers(8)
    if choice == 0:
        members.append(members[n])
        what = f"{name} twice"
    elif choice == 1:
        how = (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)[rng.integers(3)]
        what = f"compressed by method {how}"
    elif choice == 2:
        members[n] = ("../" + name, content)
        what = f"{name} above"
    elif choice == 3:
        size = (b"(10000000000000,)", b"(-1,)", b"()", b"(3, 3, 3)", b"(0, 9999999999999999999)",
                b"(" * 50, b"(True,)")[rng.integers(7)]
        members[n] = (name, claiming(content, size))
        what = f"{name} claims {size.decode()}"
    elif choice == 4:
        members[n] = (name, content[:int(rng.integers(len(content)))])
        what = f"{name} cut off"
    elif choice == 5:
        members[n] = (name.removesuffix(".npy"), content)
        what = f"{name} by another name"
    elif choice == 6:
        members[n] = (name, pickle.dumps(Payload(executed)))
        what = f"{name} a pickle"
    else:
        members[n] = (name, b"\x93NUMPY" + bytes(rng.integers(0, 256, 80, np.uint8)))
        what = f"{name} of random bytes"
    made = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(made, "w", how) as file:
        warnings.simplefilter("ignore")
        for member, content in members:
            file.writestr(member, content)
    return what, made.getvalue()


def claiming(content, shape):
    """The bytes of an array whose header says another shape."""
    start = content.index(b"'shape': ") + len(b"'shape': ")
    end = content.index(b", }", start)
    header = content[10:start] + shape + content[end:content.index(b"\n") + 1]
    return content[:8] + len(header).to_bytes(2, "little") + header + content[content.index(b"\n")
                                                                              + 1:]


# ---- bits, and other files ---------------------------------------------------------------------


def bits(rng, data, executed):
    """Bits turned, anywhere or in the directory at the end; or bytes lost."""
    made = bytearray(data)
    choice = rng.random()
    if choice < 0.2:
        size = int(rng.integers(len(data)))
        return f"the first {size} bytes", data[:size]
    if choice < 0.3:
        start = int(rng.integers(len(data)))
        length = int(rng.integers(1, 200))
        return f"without {length} bytes at {start}", data[:start] + data[start + length:]
    first = 0 if choice < 0.6 else data.index(b"PK\x01\x02")
    places = rng.integers(first, len(data), int(rng.integers(1, 5)))
    for place in places:
        made[place] ^= 1 << int(rng.integers(8))
    return f"bits turned at {places.tolist()}", bytes(made)


def other(rng, data, executed):
    """Another file altogether."""
    array_alone = io.BytesIO()
    np.save(array_alone, np.zeros(3))
    chosen = {
        "nothing": b"", "a text": b"hello\n", "a pickle": pickle.dumps(Payload(executed)),
        "an .npy file": array_alone.getvalue(), "an empty archive": b"PK\x05\x06" + b"\0" * 18,
        "zeros": b"\0" * 1000, "random bytes": bytes(rng.integers(0, 256, 2000, np.uint8)),
        "two after each other": data + data, "garbage before it": b"garbage" * 50 + data,
    }
    name = list(chosen)[rng.integers(len(chosen))]
    return name, chosen[name]


WAYS = (entry, text, array, archive, bits, other)
SHARES = (0.4, 0.05, 0.2, 0.15, 0.15, 0.05)
