"""``python docs/check_offline.py FOLDER``: no page of a built site loads anything from elsewhere.

Links can lead to other sites; scripts, style sheets, fonts and images must be local.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

ELSEWHERE = re.compile(r"^\s*(?:[a-z]+:)?//", re.IGNORECASE)
IN_STYLE = re.compile(r"""(?:url\(\s*|@import\s+)["']?((?:[a-z]+:)?//[^"')\s]+)""", re.IGNORECASE)
LOADS = {"src", "srcset", "poster", "data"}
NOT_LOADED = {"canonical", "prev", "next", "search", "author", "index", "genindex", "copyright", "top", "help"}


class Loads(HTMLParser):
    """The addresses that a browser loads automatically."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.found += [given[name] for name in LOADS & given.keys()]
        if tag in ("link", "use", "image") and not set(given.get("rel", "").split()) & NOT_LOADED:
            self.found += [given[name] for name in ("href", "xlink:href") if name in given]
        self.found += IN_STYLE.findall(given.get("style", ""))


def external_loads(path: Path) -> Iterator[str]:
    """The external addresses that this page or style sheet loads."""
    text = path.read_text("utf-8")
    if path.suffix == ".html":
        page = Loads()
        page.feed(text)
        yield from (address for address in page.found if ELSEWHERE.match(address))
        text = "\n".join(re.findall(r"<style.*?</style>", text, re.DOTALL))
    yield from IN_STYLE.findall(text)


def main(folder: str) -> int:
    pages = [path for path in Path(folder).rglob("*") if path.suffix in (".html", ".css", ".svg")]
    bad = [f"{path}: loads {address}" for path in pages for address in external_loads(path)]
    sys.stdout.write("\n".join([*bad, f"{len(pages)} files checked, {len(bad)} loads from elsewhere"]) + "\n")
    return 1 if bad or not pages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
