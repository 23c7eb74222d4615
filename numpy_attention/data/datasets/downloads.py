"""Download and check files that cannot be included in the package.

If the environment variable NUMPY_ATTENTION_DATA names a folder, files are read only from that
folder. Otherwise a file is downloaded once, with a progress bar, into pooch's cache folder for this
package. The SHA-256 of a file is checked at every use, except for a file that changes over the
years. A download goes to a temporary file, which gets its final name only after the check.
"""

import hashlib
import os
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

ENVIRONMENT = "NUMPY_ATTENTION_DATA"


class RemoteFile(NamedTuple):
    """A public file: its path below the data folder, its address and its SHA-256.

    sha256: None if the file changes over the years. member: if url is a zip archive, the name of
    the file in the archive.
    """

    path: str
    url: str
    sha256: str | None = None
    member: str | None = None


def folder() -> Path:
    """Return the data folder: the one that NUMPY_ATTENTION_DATA names, or else pooch's cache."""
    named = os.environ.get(ENVIRONMENT)
    if named:
        return Path(named).expanduser()
    import pooch  # here, since it takes longer to import than the whole package
    return Path(pooch.os_cache("numpy_attention"))


def fetch_file(file: RemoteFile, cache: str | Path | None = None, progress: bool = True) -> Path:
    """Download a `RemoteFile` if necessary, check it, and return its local Path.

    cache: a folder to use instead of pooch's if NUMPY_ATTENTION_DATA is not set. Raises ValueError
    for a wrong checksum or a damaged archive, and ConnectionError if a download fails. Raises
    NotADirectoryError if this variable is not a folder, FileNotFoundError if the file is not in it.
    """
    if os.environ.get(ENVIRONMENT):
        return _local_file(file)
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


def _local_file(file: RemoteFile) -> Path:
    named = folder()
    if not named.is_dir():
        raise NotADirectoryError(f"{ENVIRONMENT} = {named} is not a folder; correct the variable, "
                                 "or unset it to download the file")
    path = named / file.path
    origin = f"{file.member} from {file.url}" if file.member else f"the file at {file.url}"
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; save {origin} under this name, or unset "
                                f"{ENVIRONMENT} to download the file automatically")
    if file.sha256 is not None and _sha256(path) != file.sha256:
        raise ValueError(f"{path} is damaged or is a different edition: its SHA-256 begins with "
                         f"{_sha256(path)[:12]}; expected {file.sha256[:12]}. Replace it "
                         f"with {origin}, or unset {ENVIRONMENT} to download the file")
    return path


def _download(file: RemoteFile, target: Path, progress: bool) -> None:
    import pooch
    import requests

    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel("WARNING")  # the progress bar is enough
    # Some servers reject the default user agent of Python's HTTP library.
    headers = {"User-Agent": "Mozilla/5.0 (compatible; numpy_attention)"}
    downloader = pooch.HTTPDownloader(
        progressbar=progress, headers=headers, timeout=30, chunk_size=1 << 16
    )
    known = None if file.sha256 is None else f"sha256:{file.sha256}"
    saved = f"{file.member} from this archive" if file.member else "the file"
    remedy = (f"try again later, or save an intact copy of {saved} as FOLDER/{file.path} and set "
              f"{ENVIRONMENT}=FOLDER")
    try:
        pooch.retrieve(
            file.url, known, fname=target.name, path=target.parent, downloader=downloader
        )
    except requests.exceptions.RequestException as error:
        reason = f"cannot be downloaded ({type(error).__name__}); check the network,"
        if isinstance(error, requests.exceptions.HTTPError):
            status = "nothing" if error.response is None else error.response.status_code
            reason = f"cannot be downloaded, because the server answered {status};"
        raise ConnectionError(f"{file.url} {reason} {remedy}") from None
    except ValueError:
        raise ValueError(f"the file at {file.url} was discarded, because it is damaged or a "
                         f"different edition; {remedy}") from None
    finally:
        logger.setLevel(level)


def _member(archive: Path, file: RemoteFile) -> bytes:
    try:
        with zipfile.ZipFile(archive) as opened:
            return opened.read(file.member or "")
    except (zipfile.BadZipFile, KeyError):
        raise ValueError(f"{file.member} is missing or damaged in {file.url}; try again later, or "
                         f"save it as FOLDER/{file.path} and set {ENVIRONMENT}=FOLDER") from None


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
