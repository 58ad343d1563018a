"""Files are complete or absent, whatever exists at the path."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from swapsvm import writing
from swapsvm.writing import draft_folder, whole_file

SUPERUSER = os.geteuid() == 0
NOBODY = 65534
NULL = (1, 3)  # the numbers of /dev/null in Linux
ALONE = {**os.environ, "PYTHONPATH": str(Path(writing.__file__).parent)}  # the module without its package: starts fast


def write(path, content=b"new"):
    with whole_file(path) as file:
        file.write(content)


def write_half(path):
    with whole_file(path) as file:
        file.write(b"half")
        raise RuntimeError("the other half is missing")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.fixture
def humble():
    """A folder of an unprivileged user, as which this process runs meanwhile."""
    folder = Path(tempfile.mkdtemp())
    if SUPERUSER:
        os.chown(folder, NOBODY, NOBODY)
        os.setegid(NOBODY)
        os.seteuid(NOBODY)
    yield folder
    if SUPERUSER:
        os.seteuid(0)
        os.setegid(0)
    folder.chmod(0o700)
    shutil.rmtree(folder)


def test_a_file_is_written_and_replaced(tmp_path):
    path = tmp_path / "a"
    write(path, b"old")
    write(path)
    assert path.read_bytes() == b"new" and names(tmp_path) == ["a"]


def test_an_error_leaves_the_old_file(tmp_path):
    path = tmp_path / "a"
    write(path, b"old")
    with pytest.raises(RuntimeError, match="the other half"):
        write_half(path)
    assert path.read_bytes() == b"old" and names(tmp_path) == ["a"]


# ---- what is at the path -----------------------------------------------------------------------------------------


def test_a_pipe_is_written_to(tmp_path):
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write(pipe, b"through")
    reader.join(30)
    assert got == [b"through"] and stat.S_ISFIFO(os.stat(pipe).st_mode) and names(tmp_path) == ["pipe"]


def test_a_device_is_written_to_and_stays_one(tmp_path):
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(*NULL))
        device.open("wb").close()
    except PermissionError:
        pytest.skip("this user cannot make or open devices")
    before = os.stat(device)
    write(device)
    after = os.stat(device)
    assert (after.st_ino, after.st_mode, after.st_rdev) == (before.st_ino, before.st_mode, before.st_rdev)
    assert names(tmp_path) == ["null"]


def test_an_error_writes_nothing_to_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(RuntimeError, match="the other half"):  # there is no reader: opening it would wait
        write_half(pipe)


STDOUT = """
import sys
from writing import whole_file
print("before", flush=True)
with whole_file(sys.argv[1]) as file:
    file.write(b"content\\n")
print("after")
"""


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
@pytest.mark.parametrize("to_file", [False, True])
def test_stdout_by_its_name(name, to_file, tmp_path):
    if not os.path.exists(name):
        pytest.skip(f"there is no {name}")
    command = [sys.executable, "-c", STDOUT, name]
    if to_file:
        with (tmp_path / "out").open("wb") as out:
            subprocess.run(command, stdout=out, check=True, env=ALONE)
        got = (tmp_path / "out").read_bytes()
    else:
        got = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=ALONE).stdout
    assert got.split() == [b"before", b"content", b"after"]


def test_a_link_is_followed(tmp_path):
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to("folder/target")
    (tmp_path / "second").symlink_to("link")
    write(tmp_path / "second")
    assert target.read_bytes() == b"new" and link.is_symlink() and (tmp_path / "second").is_symlink()
    assert names(tmp_path / "folder") == ["target"]


def test_a_dangling_link_gets_its_target(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "target")
    write(link)
    assert (tmp_path / "target").read_bytes() == b"new" and link.is_symlink()


@pytest.mark.parametrize(
    ("goal", "error", "match"),
    [
        ("none/a", FileNotFoundError, "there is no folder .*none"),
        ("lost", FileNotFoundError, "there is no folder .*gone"),
        ("circle", OSError, "Too many levels"),
        ("folder", IsADirectoryError, "is a folder: name a file in it"),
        (300 * "a", OSError, "name too long"),
    ],
)
def test_paths_that_cannot_be_files(goal, error, match, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "lost").symlink_to("gone/target")
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(error, match=match):
        write(tmp_path / goal)


@pytest.mark.parametrize("length", [1, 250, 255])
def test_names_up_to_the_limit(length, tmp_path):
    write(tmp_path / (length * "n"))
    write(tmp_path / (length * "n"))
    assert names(tmp_path) == [length * "n"]


# ---- access ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o666, 0o755])
def test_the_mode_of_a_file_is_kept(mode, tmp_path):
    path = tmp_path / "a"
    path.touch()
    path.chmod(mode)
    write(path)
    assert mode_of(path) == mode


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_gets_the_mode_of_the_mask(mask, mode, tmp_path):
    before = os.umask(mask)
    try:
        write(tmp_path / "a")
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "a") == mode


@pytest.mark.skipif(not SUPERUSER, reason="only a superuser gives files away")
def test_the_owner_of_a_file_is_kept(tmp_path):
    path = tmp_path / "a"
    path.touch()
    os.chown(path, 1234, 4321)
    write(path)
    assert (os.stat(path).st_uid, os.stat(path).st_gid) == (1234, 4321)


@pytest.mark.skipif(not SUPERUSER, reason="only a superuser gives files away")
def test_what_was_for_a_group_is_not_for_another(humble):
    path = humble / "a"
    path.write_bytes(b"old")
    os.seteuid(0)
    os.chown(path, 1234, 4321)
    path.chmod(0o666)
    os.seteuid(NOBODY)
    write(path)
    assert os.stat(path).st_uid == NOBODY and mode_of(path) == 0o606


def test_a_write_protected_file_is_left_alone(humble):
    path = humble / "a"
    path.write_bytes(b"old")
    path.chmod(0o400)
    with pytest.raises(PermissionError, match="is write-protected"):
        write(path)
    assert path.read_bytes() == b"old"


def test_in_a_write_protected_folder_a_file_is_written_in_place(humble):
    path = humble / "a"
    path.write_bytes(b"something longer")
    humble.chmod(0o500)
    write(path)
    assert path.read_bytes() == b"new"
    with pytest.raises(PermissionError, match=r"the folder .* is write-protected"):
        write(humble / "b")


@pytest.mark.skipif(not SUPERUSER, reason="needs a file of somebody else")
def test_in_a_sticky_folder_the_file_of_another_user_is_written_in_place(humble):
    os.seteuid(0)
    os.chown(humble, 1234, 1234)
    humble.chmod(0o1777)
    path = humble / "a"
    path.write_bytes(b"old")
    path.chmod(0o666)
    os.seteuid(NOBODY)
    write(path)
    assert path.read_bytes() == b"new" and os.stat(path).st_uid == 0


# ---- killed and concurrent writers -------------------------------------------------------------------------------

KILLED = """
import os, signal, sys, pathlib
from writing import draft_folder, whole_file
opened = {"file": whole_file, "folder": lambda path: draft_folder(pathlib.Path(path))}[sys.argv[2]]
with opened(sys.argv[1]):
    print("there", flush=True)
    sys.stdin.read()
"""


def started(path, kind):
    command = [sys.executable, "-c", KILLED, str(path), kind]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ALONE)
    assert process.stdout.readline() == b"there\n"
    return process


def killed(process):
    process.send_signal(signal.SIGKILL)
    process.communicate()


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_the_draft_of_a_killed_writer_is_removed_by_the_next(kind, tmp_path):
    path, other = tmp_path / "a", tmp_path / "b"
    killed(started(path, kind))
    [left] = names(tmp_path)
    write(other)
    assert names(tmp_path) == sorted([left, "b"])  # only drafts of the same file are removed
    write(path)
    assert names(tmp_path) == ["a", "b"]


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_the_draft_of_a_living_writer_stays(kind, tmp_path):
    path = tmp_path / "a"
    process = started(path, kind)
    write(path)
    assert len(names(tmp_path)) == 2
    _, errors = process.communicate(b"")
    assert process.returncode == 0 and not errors
    assert names(tmp_path) == ["a"] and path.read_bytes() == (b"" if kind == "file" else b"new")


def test_many_writers_at_once(tmp_path):
    path = tmp_path / "a"
    contents = [bytes([65 + k]) * 10_000 for k in range(8)]
    failures = []

    def repeat(content):
        try:
            for _ in range(40):
                write(path, content)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=repeat, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and path.read_bytes() in contents and names(tmp_path) == ["a"]


def test_a_draft_folder_ends_with_its_block(tmp_path):
    with draft_folder(tmp_path / "a") as folder:
        (folder / "part").write_bytes(b"part")
        assert folder.parent == tmp_path
    assert names(tmp_path) == []


def test_strange_files_with_names_of_drafts_do_no_harm(tmp_path):
    path = tmp_path / "a"
    killed(started(path, "file"))
    [left] = names(tmp_path)
    os.mkfifo(tmp_path / (left + "p"))
    (tmp_path / "precious").write_bytes(b"old")
    (tmp_path / (left + "l")).symlink_to("precious")
    write(path)
    assert (tmp_path / "precious").read_bytes() == b"old" and path.read_bytes() == b"new"


def test_a_name_that_ends_in_a_slash_is_no_file(tmp_path):
    with pytest.raises(IsADirectoryError), whole_file(f"{tmp_path}/model/"):
        pass
    assert not any(tmp_path.iterdir())
