"""Models in files: the package's own format, LIBSVM's model text, and ONNX; and tables of rows to train on.

None of the readers executes anything that a file says, and none reserves memory that the file's size does not justify.

::

    save, load ──────────────────── native ── parts ── coding      a header of plain values, and arrays
    export_libsvm, import_libsvm ── libsvm ───────── checks      whatever is read is checked before it is used
    export_onnx ─────────────────── onnx_graph
    read_table ── tables ── csv_tables, array_tables, parquet_tables
"""

from .libsvm import export_libsvm, import_libsvm
from .native import load, save
from .onnx_graph import export_onnx
from .table import Request, Table
from .tables import read_table
from .trusted import TRUSTED_TYPES

__all__ = [
    "TRUSTED_TYPES",
    "Request",
    "Table",
    "export_libsvm",
    "export_onnx",
    "import_libsvm",
    "load",
    "read_table",
    "save",
]
