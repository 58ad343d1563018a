"""The stub of the compiled module is what nanobind generates from it."""

import ast
from pathlib import Path

from nanobind.stubgen import StubGen

import swapsvm
from swapsvm import _core


def test_the_stub_is_that_of_the_compiled_module():
    generator = StubGen(_core)
    generator.put(_core)
    stub = Path(swapsvm.__file__).with_name("_core.pyi").read_text()
    assert ast.dump(ast.parse(generator.get())) == ast.dump(ast.parse(stub)), "run `make stub`"
