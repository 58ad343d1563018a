"""The registry of data sets: ``registry.toml`` as objects."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"


class DatasetError(OSError):
    """A data file is missing, cannot be downloaded, or does not match the registry."""


@dataclass(frozen=True)
class DataFile:
    """One text in svmlight format; see ``registry.toml`` for the fields."""

    name: str
    bytes: int
    address: str | None = None
    text: str | None = None
    archive: str | None = None
    original: str | None = None
    published: bool = False

    @property
    def expected(self) -> str:
        """The checksums, as error messages show them."""
        return " or ".join(filter(None, (self.text, self.archive and f"{self.archive} of the archive")))


@dataclass(frozen=True)
class Entry:
    """One data set; see ``registry.toml`` for the fields."""

    name: str
    train: DataFile
    test: DataFile | None
    rows: int
    test_rows: int
    classes: int
    features: int
    values: str
    paper: str | None = None
    largest_pair: int | None = None
    smallest_pair: int | None = None
    dense: bool = False
    recipe: str = "as_distributed"
    file_features: int | None = None

    @property
    def files(self) -> list[DataFile]:
        """The files it is made from."""
        return [file for file in (self.train, self.test) if file]


@cache
def registry() -> dict[str, Entry]:
    """All entries by name."""
    table = tomllib.loads(files(__package__).joinpath("registry.toml").read_text("utf-8"))
    for fields in table["files"].values():
        if "address" in fields:
            fields["address"] = fields["address"].replace("{libsvm}", LIBSVM)
    known = {name: DataFile(name, **fields) for name, fields in table["files"].items()}
    return {
        name: Entry(name, **{**fields, "train": known[fields["train"]], "test": known.get(fields.get("test"))})
        for name, fields in table["sets"].items()
    }


def find_entry(name: str) -> Entry:
    """The entry of a data set."""
    try:
        return registry()[name]
    except KeyError:
        raise ValueError(f"unknown data set {name!r}: use one of {', '.join(registry())}") from None
