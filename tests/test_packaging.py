"""The files that make packages agree with each other and with pyproject.toml."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT = PYPROJECT["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
OTHERS = re.compile(r"^(?:import|from) (?:pandas|qpsolvers|pyarrow|onnx|skops|resource|fcntl|benchmarks)", re.MULTILINE)
RULES = re.compile(r"^([a-z-]+(?: [a-z-]+)*):", re.MULTILINE)


def test_smoke_files_exist_and_need_few_packages():
    files = (ROOT / "tests" / "smoke.txt").read_text("utf-8").split()
    assert files == sorted(files)
    for file in files:
        source = (ROOT / file).read_text("utf-8")
        assert not OTHERS.search(source)


@pytest.mark.parametrize("file", ["CITATION.cff", "recipe/recipe.yaml"])
def test_the_version_is_the_same_everywhere(file):
    assert re.search(r"^ *version: (\d\S+)$", (ROOT / file).read_text("utf-8"), re.M)[1] == PROJECT["version"]


def test_the_conda_recipe_has_the_same_dependencies():
    recipe = (ROOT / "recipe" / "recipe.yaml").read_text("utf-8")
    wanted = [f"python {PROJECT['requires-python']}", *PROJECT["dependencies"], *PYPROJECT["build-system"]["requires"]]
    for requirement in wanted:
        name, bounds = re.match(r"([\w-]+) ?(.*)", requirement).groups()
        assert f"- {name} {bounds}\n" in recipe


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_name_targets_that_exist(workflow):
    rules = {name for names in RULES.findall((ROOT / "Makefile").read_text("utf-8")) for name in names.split()}
    text = workflow.read_text("utf-8")
    named = [word for words in re.findall(r"run: make ([a-z -]+?)(?: PYTHON|$)", text, re.M) for word in words.split()]
    named += [name for names in re.findall(r"target: \[(.*)\]", text) for name in names.split(", ")]
    assert set(named) <= rules


def test_workflows_were_found():
    assert {path.stem for path in WORKFLOWS} == {"docs", "nightly", "tests", "wheels"}
