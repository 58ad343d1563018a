"""The mutants still fit the sources, their tests exist, and the committed page lists exactly them, all caught."""

import ast
from collections import Counter
from pathlib import Path

import pytest

from . import mutants
from .mutants import HEAD, PACKAGE, PAGE, as_code, as_row, caught_by, every_mutant

MUTANTS = every_mutant()
every_one = pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
TESTS = Path(__file__).parent


def names_in(name):
    """The names of the tests of a file."""
    tree = ast.parse((TESTS / name).read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def rows_of_page():
    """The cells of each row of the committed page: without the last one, and the last one."""
    text = PAGE.read_text("utf-8")
    assert text.startswith(HEAD)
    return [line.removesuffix(" |\n").rsplit(" | ", 1) for line in text.removeprefix(HEAD).splitlines(keepends=True)]


@every_one
def test_the_original_text_occurs_exactly_once(mutant):
    text = (PACKAGE / mutant.file).read_text("utf-8")
    assert text.count(mutant.original) == 1
    assert mutant.source() != text


@every_one
def test_a_fault_is_still_python(mutant):
    ast.parse(mutant.source())


@every_one
def test_the_tests_that_must_notice_exist(mutant):
    assert mutant.tests
    for test in mutant.tests:
        file, *names = test.split("::")
        assert set(names) <= names_in(file)


def test_there_are_enough_mutants_of_each_kind():
    kinds = Counter(mutant.file.split("/")[0].removesuffix(".py") for mutant in MUTANTS)
    assert sum(kinds.values()) >= 40
    assert kinds["solvers"] >= 10 and kinds["stopping"] >= 5 and kinds["study"] >= 25


def test_the_page_lists_exactly_the_mutants():
    assert [row[0] for row in rows_of_page()] == [as_row(m, []).rsplit(" | ", 1)[0] for m in MUTANTS]


def test_every_mutant_on_the_page_was_caught_by_one_of_its_tests():
    for mutant, (_, caught) in zip(MUTANTS, rows_of_page(), strict=True):
        known = {name for test in mutant.tests for name in test.split("::")[1:] or names_in(test)}
        names = caught.replace("`", "").split(", ")
        assert names and set(names) <= known, mutant.name


def test_a_text_in_a_cell_is_on_one_line():
    assert as_code("a\n    b | c") == r"`a b \| c`"
    assert as_code("a `b`") == "`` a `b` ``"


def test_a_fault_is_undone_and_a_survivor_has_no_test(tmp_path, monkeypatch):
    mutant = MUTANTS[0]
    target = tmp_path / mutant.file
    target.parent.mkdir(parents=True)
    sound = (PACKAGE / mutant.file).read_text("utf-8")
    target.write_text(sound, "utf-8")
    seen = []

    def failed(package, tests, first):
        seen.append((package / mutant.file).read_text("utf-8"))
        return []

    monkeypatch.setattr(mutants, "failed_tests", failed)
    assert caught_by(mutant, tmp_path) == []
    assert seen == [mutant.source()] and target.read_text("utf-8") == sound
    assert "**nothing**" in as_row(mutant, [])
