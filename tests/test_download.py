"""Downloads from a local server that stalls, disconnects, sends wrong data or works."""

from __future__ import annotations

import bz2
import dataclasses
import hashlib
import io
import re
import threading
from contextlib import redirect_stderr
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from swapsvm.datasets import DatasetError, download, load
from swapsvm.datasets.registry import DataFile, Entry, registry

TEXT = b"".join(b"%d 1:%d 2:0.5\n" % (i % 2, i + 1) for i in range(20_000))
ARCHIVE = bz2.compress(TEXT)


class Server(ThreadingHTTPServer):
    """Serves ``content``; ``cut`` lists after how many bytes the first answers end, ``ranges`` whether it resumes."""

    daemon_threads = True
    content, cut, ranges, stall, status = TEXT, (), True, False, 200

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = []
        self.release = threading.Event()

    def handle_error(self, request, client_address):
        """A client that disconnects is part of the test."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self):
        server, asked = self.server, self.headers.get("Range")
        server.asked.append(asked)
        begin = int(re.match(r"bytes=(\d+)-", asked)[1]) if asked and server.ranges else 0
        self.answer(begin)
        attempt = len(server.asked) - 1
        end = server.cut[attempt] if attempt < len(server.cut) else len(server.content)
        self.wfile.write(server.content[begin:end])
        self.wfile.flush()
        if server.stall and end < len(server.content):
            server.release.wait(10)

    def answer(self, begin):
        server = self.server
        self.send_response(server.status if server.status != 200 else 206 if begin else 200)
        self.send_header("Content-Length", str(len(server.content) - begin))
        if begin:
            self.send_header("Content-Range", server_range(server, begin))
        self.end_headers()

    def log_message(self, *_):
        pass


def server_range(server, begin):
    return f"bytes {begin + (server.ranges == 'wrong')}-{len(server.content) - 1}/{len(server.content)}"


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("SWAPSVM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SWAPSVM_DATA", raising=False)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(download, "TIMEOUT", 0.3)
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.release.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def file(server):
    """A file that the server has."""
    address = f"http://127.0.0.1:{server.server_address[1]}/folder/rows"
    return DataFile("rows", len(TEXT), address=address, text=f"sha256:{hashlib.sha256(TEXT).hexdigest()}")


def test_file_is_put_in_the_cache(server, file, cache):
    assert download.download(file) == cache / "rows"
    assert [path.name for path in cache.iterdir()] == ["rows"]
    assert (cache / "rows").read_bytes() == TEXT
    assert server.asked == [None]


def test_load_downloads_once(server, file, cache, monkeypatch):
    server.content = ARCHIVE
    file = dataclasses.replace(file, address=f"{file.address}.bz2")
    entry = Entry("rows", file, None, rows=20_000, test_rows=0, classes=2, features=2, values="")
    monkeypatch.setitem(registry(), "rows", entry)
    for _ in range(2):
        assert load("rows").X_train.shape == (20_000, 2)
    assert len(server.asked) == 1
    assert sorted(path.name for path in cache.iterdir()) == ["rows", "rows.bz2"]


@pytest.mark.parametrize("stall", [False, True], ids=["cut off", "stalled"])
def test_broken_download_is_resumed(server, file, cache, stall):
    server.cut, server.stall = (100_000, 150_000), stall
    download.download(file)
    assert (cache / "rows").read_bytes() == TEXT
    assert server.asked == [None, "bytes=100000-", "bytes=150000-"]


def test_server_that_cannot_resume_starts_again(server, file, cache):
    server.cut, server.ranges = (100_000,), False
    download.download(file)
    assert (cache / "rows").read_bytes() == TEXT
    assert server.asked == [None, "bytes=100000-"]


def test_wrong_range_is_thrown_away(server, file, cache):
    server.cut, server.ranges = (100_000,), "wrong"
    download.download(file)
    assert (cache / "rows").read_bytes() == TEXT
    assert server.asked == [None, "bytes=100000-", None]


@pytest.mark.parametrize("stall", [False, True], ids=["cut off", "stalled"])
def test_hopeless_download_says_where_the_file_is_to_be_put(server, file, cache, stall):
    server.cut, server.stall = (10, 20, 30), stall
    with pytest.raises(DatasetError, match="timed out" if stall else "ended after 30 of") as caught:
        download.download(file)
    for part in (file.address, str(cache), "$SWAPSVM_DATA", "save it as rows in"):
        assert part in str(caught.value)
    assert not list(cache.iterdir())


def test_wrong_bytes_are_refused(server, file, cache):
    server.content = TEXT.replace(b"0.5", b"0.6")
    with pytest.raises(DatasetError, match=f"is not rows of the registry .{file.text}.*delete"):
        download.download(file)
    assert not list(cache.iterdir())


def test_more_bytes_than_expected_are_refused(server, file, cache):
    server.content = TEXT * 100
    with pytest.raises(DatasetError, match=f"sends more than the {len(TEXT)} bytes of rows"):
        download.download(file)
    assert len(server.asked) == 1
    assert not list(cache.iterdir())


def test_error_of_the_server_is_told(server, file, cache):
    server.status = 404
    with pytest.raises(DatasetError, match=r"rows \(HTTP Error 404: Not Found\); get it by other means"):
        download.download(file)
    assert not list(cache.iterdir())


def test_archive_is_checked_as_a_whole(server, file, cache):
    server.content = ARCHIVE
    archive = f"md5:{hashlib.md5(ARCHIVE).hexdigest()}"
    file = dataclasses.replace(file, text=None, archive=archive, address=f"{file.address}.bz2")
    assert download.download(file) == cache / "rows.bz2"
    with pytest.raises(DatasetError, match=f"{archive[:-1]}0 of the archive"):
        download.download(dataclasses.replace(file, archive=f"{archive[:-1]}0"))


def test_offline_is_an_error_of_one_line(server, file, cache):
    server.shutdown()
    server.server_close()
    with pytest.raises(DatasetError, match=r"cannot download http://127.0.0.1.*refused") as caught:
        download.download(file)
    assert "\n" not in str(caught.value)


def test_file_without_address(file):
    with pytest.raises(DatasetError, match="rows is missing and has no public address; get it by other means"):
        download.download(dataclasses.replace(file, address=None))


def test_progress_is_one_line_on_a_terminal(server, file, monkeypatch):
    stderr = io.StringIO()
    monkeypatch.setattr(stderr, "isatty", lambda: True)
    with redirect_stderr(stderr):
        download.download(file)
    assert stderr.getvalue().startswith("\rdownloading rows: ")
    assert stderr.getvalue().endswith("\rdownloading rows: 0.3 of 0.3 MB\n")


def test_progress_is_silent_elsewhere(server, file, capsys):
    download.download(file)
    assert capsys.readouterr() == ("", "")
