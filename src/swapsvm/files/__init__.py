"""Models in files (swapsvm's own format, LIBSVM's text, ONNX), tables of rows and labels, and shards of large ones.

No reader executes content of a file, or allocates memory out of proportion to the size of the file.

::

    save, load ──────────────────── native ─────── registry ─┬─ descriptions   of estimators ── kinds, checks
    export_libsvm, import_libsvm ── libsvm ────────────┤     ├─ steps          of pipelines
    export_onnx ─────────────────── onnx_files ────────┘     └─ forms          of values: JSON, and arrays
    read_table ── tables ── csv_tables, array_tables, parquet_tables
    write_shards ── sharding ── survey ── row_streams    a large file cut at a steady memory
"""

from .libsvm import export_libsvm, import_libsvm
from .native import load, save
from .onnx_files import export_onnx
from .sharding import write_shards
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
    "write_shards",
]
