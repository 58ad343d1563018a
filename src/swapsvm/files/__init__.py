"""Models in files: the package's own format, LIBSVM's model text, and ONNX.

None of the readers executes anything that a file says, and none reserves memory that the file's size does not justify.

::

    save ── parts ── coding      SVC as named arrays and a header of plain values
    load ── parts ── checks      and back, once everything fits together
"""

from .libsvm import export_libsvm, import_libsvm
from .native import load, save
from .trusted import TRUSTED_TYPES

__all__ = ["TRUSTED_TYPES", "export_libsvm", "import_libsvm", "load", "save"]
