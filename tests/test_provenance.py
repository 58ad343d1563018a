"""The sources of a line of the study."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from swapsvm import _core
from swapsvm.study import provenance, records

CORE = Path(__file__).parents[1] / "core"
MEASURING = {"study", "plotting"}  # what is around a fit
DRAWN_IN = {"extras", "writing", "container", "passes"}  # imported for other things than the fits of the study


def line(digest):
    return {"provenance": {"digest": digest}} if digest else {}


def test_the_digest_covers_all_that_a_run_imports():
    code = (
        "import sys, numpy as np; from swapsvm.study import fits;"
        "X = np.random.default_rng(0).normal(size=(60, 3)); y = np.arange(60) % 3;"
        "[fits.fitted({'solver': s, 'gamma': 1.0}, X, y)[0].predict(X) for s in ('swap2', 'cvm', 'block')];"
        "print(*(n.split('.')[1] for n in sys.modules if n.startswith('swapsvm.')))"
    )
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert set(found.split()) - MEASURING - DRAWN_IN - {"_core"} <= set(provenance.DECIDING)


@pytest.mark.parametrize("name", provenance.DECIDING)
def test_what_decides_exists(name):
    assert provenance.modules_of(name) and all(path.is_file() for path in provenance.modules_of(name))


def digest_of_folder(folder):
    """The digest of core/source_digest.cmake, by other code."""
    names = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.suffix in (".cpp", ".hpp"))
    lines = "".join(f"{name} {hashlib.sha256((folder / name).read_bytes()).hexdigest()}\n" for name in names)
    return hashlib.sha256(lines.encode()).hexdigest()


@pytest.mark.skipif(not CORE.is_dir(), reason="the sources of the core are not here")
def test_the_core_knows_the_sources_it_was_compiled_from():
    assert _core.source_digest() == digest_of_folder(CORE), "the compiled core is older than its sources: build it"


@pytest.mark.skipif(shutil.which("cmake") is None, reason="CMake is not here")
@pytest.mark.skipif(not CORE.is_dir(), reason="the sources of the core are not here")
def test_any_change_of_a_source_changes_the_digest(tmp_path):
    folder, header = tmp_path / "core", tmp_path / "digest.hpp"
    (folder / "steps").mkdir(parents=True)
    (folder / "steps" / "fw.hpp").write_text("one")
    (folder / "state.cpp").write_text("two")

    def written():
        script = ["cmake", "-D", f"FOLDER={folder}", "-D", f"OUTPUT={header}", "-P", CORE / "source_digest.cmake"]
        subprocess.run(script, check=True, capture_output=True)
        return header.read_text()

    first = written()
    assert first == f'#define SWAPSVM_SOURCE_DIGEST "{digest_of_folder(folder)}"\n'
    (folder / "steps" / "fw.hpp").write_text("One")
    assert written() != first


def test_a_change_of_a_module_changes_the_digest(tmp_path, monkeypatch):
    package = tmp_path / "swapsvm"
    shutil.copytree(provenance.PACKAGE, package, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    monkeypatch.setattr(provenance, "PACKAGE", package)
    digest = provenance.source_digest.__wrapped__
    first = digest()
    assert first == provenance.source_digest()  # wherever the package lies
    step = package / "solvers" / "swap.py"
    step.write_bytes(step.read_bytes().replace(b"\n", b"\r\n"))
    assert digest() == first  # as checked out on Windows
    (package / "study" / "tables.py").write_text("")
    assert digest() == first
    step.write_text(step.read_text() + "\n# changed\n")
    changed = digest()
    monkeypatch.setattr(provenance._core, "source_digest", lambda: "another core")
    assert len({first, changed, digest()}) == 3


def git(folder, *words):
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not here")
def test_a_checkout_has_a_commit_and_an_installed_package_a_version(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "PACKAGE", tmp_path / "swapsvm")
    monkeypatch.setattr(provenance, "version", lambda name: "1.2.3")
    commit = provenance.commit.__wrapped__
    (tmp_path / "swapsvm").mkdir()
    source = tmp_path / "swapsvm" / "__init__.py"
    source.write_text("")
    assert commit() == "1.2.3"
    git(tmp_path, "init", "--quiet")
    assert commit() == "1.2.3"  # in the folder of another project, as a virtual environment is
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    assert len(commit()) == 40
    source.write_text("changed")
    assert commit().endswith("-dirty")


def test_a_line_says_when_and_where_it_was_made():
    found = provenance.provenance()
    assert set(found) == {"commit", "digest", "load", "date"} and found["date"].endswith("Z")
    assert len(found["digest"]) == 64 and (found["load"] is None or found["load"] >= 0)


def test_only_lines_of_the_newest_sources_count():
    old, new, none = line("a"), line("b"), line(None)
    assert records.newest([none, old, new, old, new]) == [new, new]
    assert records.newest([new, old, none]) == [old]
    assert records.newest([none, none]) == [] == records.newest([])
    assert records.digest_of(none) is None and records.digest_of(old) == "a"
