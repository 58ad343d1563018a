#!/usr/bin/env bash
# test_core.sh FOLDER [CMAKE OPTION ...]: build the core and its tests without Python, and run them.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$1
shift
cmake -G Ninja -S . -B "$folder" -DSWAPSVM_MODULE=OFF -DSWAPSVM_TESTS=ON "$@"
cmake --build "$folder" --target core_tests
cmake --build "$folder" --target run_core_tests
