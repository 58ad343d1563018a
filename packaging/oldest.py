"""The oldest versions of the dependencies that pyproject.toml promises to support, as requirements for pip."""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path(__file__).parent.with_name("pyproject.toml").read_text())["project"]
sys.stdout.write(" ".join(dependency.replace(">=", "==") for dependency in project["dependencies"]) + "\n")
