"""Models in files: the package's own format, LIBSVM's model text, and ONNX.

None of the readers executes anything that a file says, and none reserves memory that the file's size does not justify.

::

    save ── parts ── coding      SVC as named arrays and a header of plain values
    load ── parts ── checks      and back, once everything fits together
"""

from .native import load, save

__all__ = ["load", "save"]
