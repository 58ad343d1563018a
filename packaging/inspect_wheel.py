"""inspect_wheel.py WHEEL: what a wheel weighs and whether it has the files it needs, and no others."""

import sys
import zipfile
from pathlib import Path

NEEDED = ("licenses/LICENSE", "swapsvm/py.typed", "swapsvm/_core.pyi", "swapsvm/datasets/registry.toml")
FOREIGN = ("tests/", "benchmarks/", "campaign/", "core/", "packaging/")


def faults(names: list[str]) -> list[str]:
    """What is wrong with a wheel of these files."""
    lacking = [f"lacks {needed}" for needed in NEEDED if not any(name.endswith(needed) for name in names)]
    modules = [name for name in names if name.startswith("swapsvm/_core.") and name.endswith((".so", ".pyd"))]
    return (
        lacking
        + [f"has {name}" for name in names if name.startswith(FOREIGN)]
        + ([] if len(modules) == 1 else [f"has {len(modules)} compiled modules"])
    )


def main(wheel: Path) -> int:
    """Report on a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        module = sum(info.file_size for info in archive.infolist() if info.filename.startswith("swapsvm/_core."))
    found = faults(names)
    sys.stdout.write(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB, {len(names)} files, ")
    sys.stdout.write(f"compiled module and its types {module / 1e6:.2f} MB\n")
    sys.stderr.writelines(f"{wheel.name}: {fault}\n" for fault in found)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
