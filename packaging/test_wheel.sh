#!/usr/bin/env bash
# test_wheel.sh WHEEL FOLDER [REQUIREMENT ...]: install a wheel in a new environment, with nothing but wheels, and run
# the tests of tests/smoke.txt there; no compiler is in the PATH, no source of the package in sight.
set -euo pipefail

wheel=$(realpath "$1")
folder=$2
shift 2
rm -rf "$folder"
"$PYTHON" -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --only-binary :all: "${wheel}[smoke]" "$@"
cp -r "$(dirname "$0")/../tests" "$(dirname "$0")/../pyproject.toml" "$folder"
cd "$folder"
folder=$PWD
env -i PATH="$folder/bin" HOME="$folder" OMP_NUM_THREADS=2 \
  "$folder/bin/python" -m pytest -p no:cacheprovider --quiet "@tests/smoke.txt"
