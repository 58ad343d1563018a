"""Protein and KDD-Full, which are not everywhere: the whole study on made files of the same form.

The files are found in ``$SWAPSVM_DATA`` under the names and in the formats of the published ones. Their sizes and
checksums replace those of the registry, in the program and in its processes.
"""

import bz2
import csv
import gzip
import os
import subprocess
import sys
import tomllib

import numpy as np
import pytest

from swapsvm.datasets import kdd
from swapsvm.study import records

ROWS = {"protein": (240, 90), "kddcup99": (300, 120)}
PROGRAM = '''
"""The study with the sizes and checksums of the made files; the processes of the study import this, too."""
import hashlib
import os
from dataclasses import replace
from pathlib import Path

from swapsvm.cli import main
from swapsvm.datasets.registry import registry

FOLDER, ROWS = Path(os.environ["SWAPSVM_DATA"]), {rows!r}


def made(file, name):
    digest = hashlib.sha256((FOLDER / name).read_bytes()).hexdigest()
    return replace(file, text=None, archive=f"sha256:{{digest}}")


for name, names in {files!r}.items():
    entry, (rows, test_rows) = registry()[name], ROWS[name]
    train, test = map(made, entry.files, names)
    registry()[name] = replace(entry, train=train, test=test, rows=rows, test_rows=test_rows)

if __name__ == "__main__":
    raise SystemExit(main())
'''
FILES = {"protein": ("protein.bz2", "protein.t.bz2"), "kddcup99": ("kddcup.data.gz", "corrected.gz")}


def protein_rows(rng, count):
    """LIBSVM's text: three classes, numbered features of two decimals."""
    for k in range(count):
        columns = np.sort(rng.choice(np.arange(1, 358), 30, replace=False))
        values = rng.random(30).round(2) + (columns % 3 == k % 3)
        yield f"{k % 3} " + " ".join(f"{c}:{v:.2f}" for c, v in zip(columns, values, strict=True)) + "\n"


def connections(rng, count):
    """UCI's text: 41 attributes, some of them symbols, and the kind of attack with a full stop."""
    labels = ("normal", "smurf", "neptune", "ipsweep", "guess_passwd")
    for _ in range(count):
        label = labels[rng.integers(len(labels))]
        fields = []
        for columns in kdd.attributes():
            if "" in columns:
                fields.append(f"{rng.integers(0, 50) * (1 if label == 'normal' else 3)}")
            else:
                fields.append(list(columns)[rng.integers(len(columns))])
        yield ",".join([*fields, f"{label}."]) + "\n"


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """The folder of a small study of both sets, from their files to the report."""
    folder, rng = tmp_path_factory.mktemp("absent"), np.random.default_rng(0)
    data = folder / "data"
    data.mkdir()
    for name, rows, compress in (("protein", protein_rows, bz2.compress), ("kddcup99", connections, gzip.compress)):
        for file, count in zip(FILES[name], ROWS[name], strict=True):
            (data / file).write_bytes(compress("".join(rows(rng, count)).encode()))
    program = folder / "study.py"
    program.write_text(PROGRAM.format(rows=ROWS, files=FILES))
    words = ["reproduce", "--paper", "--only", "protein,kddcup99", "--methods", "swap2,cvm,block,sklearn"]
    words += ["--experiments", "paper-3,paper-levels,paper-full,relative,today", "--budget", "10"]
    words += ["--repetitions", "2", "--tune", "--jobs", "2", "--output", str(folder / "out")]
    environment = {**os.environ, "SWAPSVM_DATA": str(data), "SWAPSVM_CACHE": str(folder / "cache")}
    for _ in range(2):  # the second call has nothing to do
        done = subprocess.run([sys.executable, program, *words], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert "tuning" not in done.stderr and "failed" not in done.stderr
    return folder / "out"


@pytest.mark.parametrize("name", ROWS)
def test_both_sets_are_tuned(study, name):
    parameters = tomllib.loads((study / "parameters.toml").read_text())[name]
    assert parameters["gamma"] > 0 and parameters["method"] == "cvm"
    lines = [line for line in records.read(study / "tuning.jsonl") if line["data"] == name]
    assert {line["method"] for line in lines} == {"block", "cvm"} and len(lines) == 26
    assert {line["rows"] for line in lines} == {int(0.3 * ROWS[name][0])}


@pytest.mark.parametrize("name", ROWS)
def test_both_sets_are_run_with_what_was_tuned(study, name):
    parameters = tomllib.loads((study / "parameters.toml").read_text())[name]
    found = [line for line in records.read_runs(study / "runs.jsonl") if line["data"] == name]
    cells = {(line["experiment"], line["method"], line["seed"]) for line in found}
    sampled = {(rule, m, s) for rule in ("paper-3", "paper-levels") for m in ("cvm", "swap2") for s in (0, 1)}
    assert sampled < cells and ("today", "sklearn", 0) in cells and len(cells) == len(found)
    for line in found:
        assert line["parameters"]["C"] == parameters["C"] and not line["measures"]["cut"]
        assert line["measures"]["accuracy"] > 0.6  # three classes of protein, two of KDD-Full


@pytest.mark.parametrize("title", ["Protein", "KDD-Full"])
def test_both_sets_are_in_the_report(study, title):
    with (study / "tables" / "relative-time.csv").open(newline="") as file:
        row = next(row for row in csv.DictReader(file) if row["data set"] == title)
    assert float(row["SWAP-2o"]) > 0
    assert "<svg" in (study / "report.html").read_text()
