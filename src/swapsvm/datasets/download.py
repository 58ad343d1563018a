"""Downloading a data file: resumed when the connection breaks, verified, and only then moved into place."""

from __future__ import annotations

import sys
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from ..writing import draft_folder
from .files import cache_folder, check, download_name
from .registry import DataFile, DatasetError
from .svmlight import PIECE

ATTEMPTS = 3
TIMEOUT = 30  # seconds without a byte


def download(file: DataFile) -> Path:
    """Fetch a file into the cache directory."""
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    goal = folder / download_name(file)
    with draft_folder(goal) as drafts:
        draft = drafts / goal.name
        fetch(file, draft)
        check(draft, file)
        return draft.replace(goal)


def fetch(file: DataFile, draft: Path) -> None:
    """Transfer the file, in several attempts if necessary."""
    if file.address is None:
        raise DatasetError(f"{file.name} is missing and has no public address; {way_out(file)}")
    problem: Exception | None = None
    for _ in range(ATTEMPTS):
        try:
            return transfer(file, draft)
        except DatasetError:
            raise
        except (OSError, HTTPException) as error:
            problem = error
            if isinstance(error, HTTPError):
                error.close()
                draft.unlink(missing_ok=True)  # the server may have refused to resume
    raise DatasetError(f"cannot download {file.address} ({problem}); {way_out(file)}")


def way_out(file: DataFile) -> str:
    """What to do if a download is impossible."""
    return f"get it by other means and save it as {download_name(file)} in $SWAPSVM_DATA or in {cache_folder()}"


def transfer(file: DataFile, draft: Path) -> None:
    """Make one attempt: transfer what the draft lacks, or everything if the server cannot resume."""
    begin = draft.stat().st_size if draft.exists() else 0
    headers = {"User-Agent": "swapsvm"} | ({"Range": f"bytes={begin}-"} if begin else {})
    with urlopen(Request(str(file.address), headers=headers), timeout=TIMEOUT) as answer:
        resumed = answer.headers.get("Content-Range", "").startswith(f"bytes {begin}-")
        if answer.status == 206 and not resumed:
            draft.unlink()
            raise ConnectionError("the server sent a part of the file that was not requested")
        receive(answer, draft, begin if resumed else 0, file)


def receive(answer: HTTPResponse, draft: Path, begin: int, file: DataFile) -> None:
    """Write the answer to the draft from ``begin`` on, up to the size in the registry."""
    length = answer.headers.get("Content-Length", "")
    total = begin + int(length) if length.isdecimal() else None
    with draft.open("r+b" if begin else "wb") as out, DownloadLine(file.name, total) as line:
        out.seek(begin)
        while piece := answer.read1(PIECE):  # read() would lose bytes received before a stall
            out.write(piece)
            line.show(out.tell())
            if out.tell() > file.bytes:
                raise DatasetError(f"{file.address} sends more than the {file.bytes} bytes of {file.name}")
        if total is not None and out.tell() < total:
            raise ConnectionError(f"the connection ended after {out.tell()} of {total} bytes")


class DownloadLine:
    """A line on stderr that counts bytes, if stderr is a terminal."""

    def __init__(self, name: str, total: int | None) -> None:
        self.name, self.total, self.shown = name, total, ""

    def __enter__(self) -> DownloadLine:
        return self

    def __exit__(self, *_: object) -> None:
        if self.shown:
            sys.stderr.write("\n")

    def show(self, done: int) -> None:
        """Redraw the line if its text has changed."""
        of = f" of {self.total / 1e6:.1f}" if self.total else ""
        text = f"\rdownloading {self.name}: {done / 1e6:.1f}{of} MB"
        if text != self.shown and sys.stderr.isatty():
            sys.stderr.write(text)
            sys.stderr.flush()
            self.shown = text
