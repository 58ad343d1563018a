"""Atomic writes: a file is written completely or not at all.

A regular file is replaced by renaming a draft in the same folder. The writer of a draft keeps it locked; the next write
of the same file removes drafts without a lock, which killed processes left behind. What cannot be replaced (a device, a
pipe, a file in a read-only folder) is written in place once the content is complete.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # a system without such locks: abandoned drafts stay
    fcntl = None  # type: ignore[assignment]  # mypy knows no optional modules

PathLike = str | os.PathLike[str]
MOST_LINKS = 40  # symbolic links in a row, as in Linux


@contextmanager
def whole_file(path: PathLike) -> Iterator[BinaryIO]:
    """A file to write: its content reaches ``path`` at the end, or not at all after an error.

    Symbolic links are followed. A replaced file keeps its mode and, where the system permits, its owner.
    """
    with _full_disk_named(path), _written(path) as file:
        yield file


@contextmanager
def _full_disk_named(path: PathLike) -> Iterator[None]:
    """Add the name of the file to errors of writing, which have none."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = os.fspath(path)
        raise


def _written(path: PathLike) -> AbstractContextManager[BinaryIO]:
    """The way to write this file."""
    check_writable_file(path)
    descriptor = _descriptor(path)
    if descriptor is not None:
        return _in_place(partial(os.dup, descriptor))
    status, goal = _status(path), Path(os.path.realpath(path))
    if status is not None and not stat.S_ISREG(status.st_mode):
        return _in_place(partial(os.open, path, os.O_WRONLY))
    if _allows_renaming(goal.parent, status):
        return _replaced(goal, status)
    return _in_place(partial(os.open, goal, os.O_WRONLY | os.O_TRUNC))


def check_writable_file(path: PathLike) -> None:
    """Raise an ``OSError`` with the reason if no file can be written there."""
    if os.path.isdir(path) or os.fspath(path).endswith(("/", os.sep)):
        raise IsADirectoryError(f"{path}: is a folder: name a file in it")
    if _status(path) is not None:
        if not _permits(path, os.W_OK):
            raise PermissionError(f"{path}: is write-protected")
        return
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {folder}")
    _check_writable_folder(path, folder)


def _check_writable_folder(path: PathLike, folder: Path) -> None:
    if not _permits(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{path}: the folder {folder} is write-protected")


@contextmanager
def draft_folder(goal: Path) -> Iterator[Path]:
    """A folder in which to prepare ``goal``, removed at the end or, after a kill, by the next call."""
    if fcntl is None:
        with tempfile.TemporaryDirectory(dir=goal.parent, prefix=_prefix(goal)) as name:
            yield Path(name)
        return
    _remove_abandoned(goal)
    folder, descriptor = _locked_draft(goal, _new_folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


@contextmanager
def whole_folder(goal: Path) -> Iterator[Path]:
    """A folder to fill: at the end it takes the place of ``goal`` and all that is in it, or not at all after an error.

    The caller has checked that what is there may be replaced.
    """
    _check_writable_folder(goal, goal.parent)
    with _full_disk_named(goal), draft_folder(goal) as drafts:
        draft, old = drafts / "new", drafts / "old"
        draft.mkdir()
        yield draft
        if goal.exists():
            os.rename(goal, old)
        try:
            os.rename(draft, goal)
        except BaseException:
            if old.exists() and not goal.exists():
                os.rename(old, goal)
            raise


def _status(path: PathLike) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _descriptor(path: PathLike) -> int | None:
    """The descriptor that a path such as /dev/stdout stands for.

    Opening such a path again would start at the beginning of a file that others are writing to.
    """
    link = Path(os.path.abspath(path))
    own = Path(os.path.realpath("/dev/fd"))
    for _ in range(MOST_LINKS):
        if link.name.isdecimal() and Path(os.path.realpath(link.parent)) == own:
            return int(link.name)
        if not link.is_symlink():
            return None
        link = Path(os.path.abspath(link.parent / os.readlink(link)))
    return None


def _allows_renaming(folder: Path, status: os.stat_result | None) -> bool:
    """Whether a draft in the folder can replace the file; in a sticky folder only its owner can."""
    if not _permits(folder, os.W_OK | os.X_OK):
        return False
    about = os.stat(folder)
    if status is None or not about.st_mode & stat.S_ISVTX:
        return True
    return os.geteuid() in (0, about.st_uid, status.st_uid)


def _permits(path: PathLike, mode: int) -> bool:
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


@contextmanager
def _in_place(opened: Callable[[], int]) -> Iterator[BinaryIO]:
    """An unnamed draft that is copied to the target once it is complete."""
    with tempfile.TemporaryFile() as draft:
        yield draft
        draft.seek(0)
        with open(opened(), "wb") as file:
            shutil.copyfileobj(draft, file)


@contextmanager
def _replaced(goal: Path, status: os.stat_result | None) -> Iterator[BinaryIO]:
    """A draft in the folder of the goal, where renaming it is atomic, that takes its name at the end."""
    _remove_abandoned(goal)
    mode = 0o666 if status is None else 0o600
    draft, descriptor = _locked_draft(goal, partial(os.open, flags=os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode=mode))
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            if status is not None:
                _keep_access(descriptor, status)
            os.fsync(descriptor)
            if fcntl is not None:  # while it is locked: no other process removes it
                os.replace(draft, goal)
        if fcntl is None:  # such systems do not rename open files
            os.replace(draft, goal)
    finally:
        draft.unlink(missing_ok=True)


def _keep_access(descriptor: int, status: os.stat_result) -> None:
    """Give a draft the owner, group and mode of the file it replaces, as far as the system permits."""
    if fcntl is None:
        return
    mode = stat.S_IMODE(status.st_mode) & 0o777
    for owner in (status.st_uid, -1):
        with suppress(OSError):
            os.fchown(descriptor, owner, status.st_gid)
            break
    else:
        mode &= ~stat.S_IRWXG  # another group must not get the permissions of the old one
    with suppress(OSError):
        os.fchmod(descriptor, mode)


def _prefix(goal: Path) -> str:
    """Common prefix of the drafts of a file, of a length that does not depend on its name."""
    return f".swapsvm-{hashlib.sha256(os.fsencode(goal.name)).hexdigest()[:16]}-"


def _new_folder(path: Path) -> int:
    os.mkdir(path)
    return os.open(path, os.O_RDONLY)


def _locked_draft(goal: Path, create: Callable[[Path], int]) -> tuple[Path, int]:
    """Path and descriptor of a new locked draft; the lock ends with the process at the latest."""
    while True:
        path = goal.with_name(_prefix(goal) + secrets.token_hex(8))
        descriptor = create(path)
        if fcntl is None:
            return path, descriptor
        with suppress(OSError):  # a file system without locks: drafts are never removed there
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                return path, descriptor
        os.close(descriptor)  # another process removed it before it was locked


def _remove_abandoned(goal: Path) -> None:
    """Remove the drafts of a file that no process has locked."""
    for path in goal.parent.glob(f"{_prefix(goal)}*") if fcntl is not None else ():
        with suppress(OSError):
            _remove_unlocked(path)


def _remove_unlocked(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    finally:
        os.close(descriptor)
