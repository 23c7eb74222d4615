"""Downloads from a local server, and errors for failed or corrupt ones."""

import hashlib
import io
import socket
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, HTTPServer

import pooch
import pytest

from numpy_attention.data.datasets import downloads
from numpy_attention.data.datasets.downloads import RemoteFile, fetch_file

TEXT = "one line\nand another\n".encode() * 1000
SHA256 = hashlib.sha256(TEXT).hexdigest()


def zipped(name, data):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return buffer.getvalue()


class Handler(BaseHTTPRequestHandler):
    contents = {
        "/good.txt": TEXT,
        "/corrupt.txt": TEXT[:-1] + b"?",
        "/short.txt": TEXT,
        "/good.zip": zipped("fra.txt", TEXT),
        "/other.zip": zipped("deu.txt", TEXT),
        "/broken.zip": zipped("fra.txt", TEXT)[:-30],
    }

    def do_GET(self):
        self.server.requests.append((self.path, self.headers["User-Agent"]))
        data = self.contents.get(self.path)
        if data is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if self.path == "/short.txt" else data)

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def running():
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        often = {"poll_interval": 0.02}
        thread = threading.Thread(target=server.serve_forever, kwargs=often, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def server(running, monkeypatch):
    monkeypatch.delenv(downloads.ENVIRONMENT, raising=False)
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("no_proxy", "*")
    running.requests = []
    return running


def remote(server, name, path="corpus/file.txt", sha256=SHA256, member=None):
    return RemoteFile(path, f"http://127.0.0.1:{server.server_port}/{name}", sha256, member)


def left_behind(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_file_is_fetched_once_unless_damaged(server, tmp_path, capsys):
    file = remote(server, "good.txt")
    path = fetch_file(file, cache=tmp_path)
    assert path == tmp_path / "corpus" / "file.txt" and path.read_bytes() == TEXT
    assert "100%" in capsys.readouterr().err  # the progress bar
    assert fetch_file(file, cache=tmp_path) == path and len(server.requests) == 1
    path.write_bytes(TEXT[:100])
    assert fetch_file(file, cache=tmp_path, progress=False).read_bytes() == TEXT
    assert len(server.requests) == 2
    assert capsys.readouterr().err == "" and left_behind(tmp_path) == [path]
    assert all("numpy_attention" in agent for _, agent in server.requests)


def test_default_folder_is_the_user_cache(monkeypatch, tmp_path):
    monkeypatch.delenv("NUMPY_ATTENTION_DATA", raising=False)
    assert downloads.folder() == pooch.os_cache("numpy_attention")
    monkeypatch.setenv("NUMPY_ATTENTION_DATA", str(tmp_path))
    assert downloads.folder() == tmp_path


def test_corrupt_download_keeps_the_old_file(server, tmp_path):
    path = tmp_path / "corpus" / "file.txt"
    path.parent.mkdir()
    path.write_bytes(b"an older edition")
    message = r"corrupt.txt was discarded, .*as FOLDER/corpus/file.txt and set NUMPY_ATT"
    with pytest.raises(ValueError, match=message):
        fetch_file(remote(server, "corrupt.txt"), cache=tmp_path, progress=False)
    assert path.read_bytes() == b"an older edition" and left_behind(tmp_path) == [path]


@pytest.mark.parametrize("sha256", [SHA256, None])
def test_broken_transfer_leaves_no_file(server, tmp_path, sha256):
    file = remote(server, "short.txt", sha256=sha256)
    message = r"short.txt cannot be downloaded \(\w+\); check the network"
    with pytest.raises(ConnectionError, match=message):
        fetch_file(file, cache=tmp_path, progress=False)
    assert left_behind(tmp_path) == []


def test_missing_file_and_unreachable_server(server, tmp_path):
    with pytest.raises(ConnectionError, match="nothing.txt cannot be downloaded, .* answered 404"):
        fetch_file(remote(server, "nothing.txt"), cache=tmp_path, progress=False)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound but not listening, so connecting fails
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/a.txt"
        message = r"a.txt cannot be downloaded \(ConnectionError\).*NUMPY_ATTENTION_DATA"
        with pytest.raises(ConnectionError, match=message):
            fetch_file(RemoteFile("corpus/a.txt", url, SHA256), cache=tmp_path, progress=False)
    assert left_behind(tmp_path) == []


def test_archive_without_checksum(server, tmp_path):
    file = remote(server, "good.zip", sha256=None, member="fra.txt")
    path = fetch_file(file, cache=tmp_path, progress=False)
    assert path.read_bytes() == TEXT and left_behind(tmp_path) == [path]
    path.write_bytes(b"unpinned: what is there is taken")
    assert fetch_file(file, cache=tmp_path) == path and len(server.requests) == 1


@pytest.mark.parametrize("name, message", [
    ("other.zip", "^fra.txt is missing or .*other.zip"), ("broken.zip", "damaged .*DATA=FOLDER$"),
])
def test_bad_archives(server, tmp_path, name, message):
    file = remote(server, name, sha256=None, member="fra.txt")
    with pytest.raises(ValueError, match=message):
        fetch_file(file, cache=tmp_path, progress=False)
    assert left_behind(tmp_path) == []


def test_folder_from_environment_variable(server, tmp_path, monkeypatch):
    file = remote(server, "good.txt")
    monkeypatch.setenv(downloads.ENVIRONMENT, str(tmp_path))
    message = r"file.txt is missing; save the file at http.*or unset NUMPY_ATT"
    with pytest.raises(FileNotFoundError, match=message):
        fetch_file(file)
    path = tmp_path / "corpus" / "file.txt"
    path.parent.mkdir()
    path.write_bytes(TEXT + b"x")
    with pytest.raises(ValueError, match=f"expected {SHA256[:12]}. Replace it with the file at h"):
        fetch_file(file)
    assert fetch_file(file._replace(sha256=None)) == path
    path.write_bytes(TEXT)
    assert fetch_file(file) == path
    monkeypatch.setenv(downloads.ENVIRONMENT, str(path))
    with pytest.raises(NotADirectoryError, match="is not a folder"):
        fetch_file(file)
    assert server.requests == []
