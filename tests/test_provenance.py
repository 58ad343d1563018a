"""The sources of a line of the study."""

import hashlib
import re
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
    made = {"provenance": {"digest": digest}} if digest else {}
    return {"method": "fw", **made}


def test_the_digest_covers_all_that_a_run_imports():
    code = (
        "import sys, numpy as np; from swapsvm.study import fits;"
        "X = np.random.default_rng(0).normal(size=(60, 3)); y = np.arange(60) % 3;"
        "[fits.fitted({'solver': s, 'gamma': 1.0}, X, y)[0].predict(X) for s in ('swap2', 'cvm', 'block')];"
        "print(*(n.split('.')[1] for n in sys.modules if n.startswith('swapsvm.')))"
    )
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert set(found.split()) - MEASURING - DRAWN_IN - {"_core"} <= set(provenance.EVERY_MODULE)


@pytest.mark.parametrize("name", [*provenance.EVERY_MODULE, *provenance.MODULES_OF_STEPS])
def test_what_decides_exists(name):
    assert provenance.modules_of(name) and all(path.is_file() for path in provenance.modules_of(name))


def digests_of_folder(folder):
    """The digests of core/source_digests.cmake, by other code."""
    paths = sorted(path for path in folder.rglob("*") if path.suffix in (".cpp", ".hpp"))
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


@pytest.mark.skipif(not CORE.is_dir(), reason="the sources of the core are not here")
def test_the_core_knows_the_sources_it_was_compiled_from():
    assert _core.source_digests() == digests_of_folder(CORE), "the compiled core is older than its sources: build it"


@pytest.mark.skipif(not CORE.is_dir(), reason="the sources of the core are not here")
def test_the_sources_of_steps_exist_and_include_no_others():
    assert all((CORE / name).exists() for name in provenance.CORE_OF_STEPS)
    rules = [*(CORE / "steps").iterdir(), CORE / "run.cpp"]
    included = {name.rpartition("../")[2] for path in rules for name in re.findall('#include "(.*)"', path.read_text())}
    assert included and {name for name in included if not name.startswith("steps/")} <= provenance.CORE_OF_STEPS


@pytest.mark.skipif(shutil.which("cmake") is None, reason="CMake is not here")
@pytest.mark.skipif(not CORE.is_dir(), reason="the sources of the core are not here")
def test_any_change_of_a_source_changes_its_digest(tmp_path):
    folder, header = tmp_path / "core", tmp_path / "digests.hpp"
    (folder / "steps").mkdir(parents=True)
    (folder / "steps" / "fw.hpp").write_text("one")
    (folder / "state.cpp").write_text("two")

    def written():
        script = ["cmake", "-D", f"FOLDER={folder}", "-D", f"OUTPUT={header}", "-P", CORE / "source_digests.cmake"]
        subprocess.run(script, check=True, capture_output=True)
        return dict(re.findall(r'\{"(.*?)", "(.*?)"\},', header.read_text()))

    first = written()
    assert first == digests_of_folder(folder)
    (folder / "steps" / "fw.hpp").write_text("One")
    assert written() == digests_of_folder(folder) != first


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A copy of the package, whose digests can change."""
    package = tmp_path / "swapsvm"
    shutil.copytree(provenance.PACKAGE, package, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    monkeypatch.setattr(provenance, "PACKAGE", package)
    return package


def digests(*methods):
    return [provenance.source_digest.__wrapped__(method) for method in methods]


def change(path):
    path.write_text(path.read_text() + "\n# changed\n")


def test_a_change_of_a_module_changes_the_digest(package, monkeypatch):
    first = digests("swap", "block")
    assert first == [provenance.source_digest("swap"), provenance.source_digest("block")]  # wherever the package lies
    step = package / "solvers" / "swap.py"
    step.write_bytes(step.read_bytes().replace(b"\n", b"\r\n"))
    assert digests("swap", "block") == first  # as checked out on Windows
    (package / "study" / "tables.py").write_text("")
    assert digests("swap", "block") == first
    change(step)
    changed = digests("swap", "block")
    monkeypatch.setattr(provenance._core, "source_digests", lambda: {"run.cpp": "another"})
    assert len({*first, *changed, *digests("swap", "block")}) == 6


def test_single_steps_do_not_depend_on_what_they_never_enter(package, monkeypatch):
    methods = ("swap", "cvm", "block", "scikit-learn")
    swap, cvm, block, peer = digests(*methods)
    assert swap == cvm and len({swap, block, peer}) == 3
    change(package / "solvers" / "surrogate.py")
    assert digests(*methods) == [swap, cvm, changed := digests("block")[0], peer] and changed != block
    core = {**provenance._core.source_digests(), "low_rank.cpp": "another"}
    monkeypatch.setattr(provenance._core, "source_digests", lambda: core)
    assert digests(*methods) == [swap, cvm, last := digests("block")[0], peer] and last != changed
    core["steps/swap.hpp"] = "another"
    assert digests("swap")[0] != swap and digests("scikit-learn") == [peer]


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
    found = provenance.provenance("swap")
    assert set(found) == {"commit", "digest", "load", "date"} and found["date"].endswith("Z")
    assert len(found["digest"]) == 64 and (found["load"] is None or found["load"] >= 0)


def test_only_lines_of_the_newest_sources_count():
    old, new, none = line("a"), line("b"), line(None)
    assert records.newest([none, old, new, old, new]) == [new, new]
    assert records.newest([new, old, none]) == [old]
    assert records.newest([none, none]) == [] == records.newest([])
    assert records.digest_of(none) is None and records.digest_of(old) == "a"


def test_each_method_has_its_newest_sources():
    block, old, new = {**line("c"), "method": "block"}, line("a"), line("b")
    assert records.newest([old, new, block]) == [new, block]
    assert records.newest([block, new, {**line("d"), "method": "block"}]) == [new, {**line("d"), "method": "block"}]
