"""The page about the command line shows what the commands print, and lists every option."""

import re

import pytest

from swapsvm.commands.program import make_parser
from swapsvm.commands.training_options import NOT_HERE

from .console_pages import PAGES, ran, same

TEXT = PAGES[0].read_text("utf-8")
_, VERBS = make_parser()


def test_outputs_on_the_page_are_those_of_the_commands(tmp_path):
    blocks = list(ran(TEXT, tmp_path))
    assert len(blocks) > 12
    for block, printed in blocks:
        assert same(block["text"], printed), f"run python -m tests.console_pages:\n{block['text']}\n{printed}"


def test_outputs_are_compared():
    assert same("gap 0.1 in 100 rows; 0.10 s\n", "gap 3e-5 in 101 rows; 2.20 s\n")
    assert not same("100 rows\n", "120 rows\n") and not same("100 rows\n", "100 columns\n")


@pytest.mark.parametrize("verb", VERBS)
def test_the_page_has_every_verb_and_option(verb):
    section = re.search(rf"^## {verb}\n(.*?)(?=^## )", TEXT, re.M | re.S)
    assert section, f"no section about {verb}"
    for action in VERBS[verb].parser.actions if verb != "demo" else ():
        for option in set(action.option_strings) - {"-h", "--help", "--json", *NOT_HERE}:
            assert re.search(rf"`{option}\b", section[1]) or f"`{option}`" in TEXT.partition("## train")[0], option
