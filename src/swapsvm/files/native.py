"""Models in files of the package's own format (see ``container``)."""

from __future__ import annotations

from ..container import Format, Json, as_mapping, as_text, opened, require
from ..estimators import SVC
from ..writing import PathLike
from .parts import Parts, put_together, taken_apart

MODEL = Format(b"\x89swapsvm\r\n\x1a\n", 1, "a model saved by swapsvm")


def save(model: SVC, path: PathLike) -> None:
    """Write a fitted SVC to a file.

    The file appears as a whole or not at all. Support vectors, coefficients, parameters and the certificate are kept
    bit for bit; ``trace_``, ``results_`` and ``cache_counts_`` are not. A parameter that is an object of the running
    program (such as a ``RandomState``) comes back as its default.

    Parameters
    ----------
    model : SVC
        Fitted; its kernel may be any but a callable.
    path : str or path
        Where to; what is there is replaced.

    Raises
    ------
    ValueError
        If the model is not fitted or has something that cannot be written.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from swapsvm import SVC
    >>> from swapsvm.files import load, save
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "iris.swapsvm")
    ...     save(SVC(C=16).fit(X, y), path)
    ...     model = load(path)
    >>> model.predict(X[:2]).tolist(), model.stop_reason_
    ([0, 0], 'gap')
    """
    parts = taken_apart(model)
    MODEL.write(path, parts.header, parts.arrays)


def load(path: PathLike) -> SVC:
    """Read what ``save`` wrote.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    SVC
        Predicts as the saved one, bit for bit.

    Raises
    ------
    ValueError
        If the file is not a model, is truncated, damaged, or of a newer version; the message says which.
    """
    with opened(path) as file:
        header, arrays = MODEL.read(file)
        _check_kind(header)
        return put_together(Parts(header, arrays))


def read_version(path: PathLike) -> str:
    """The version of swapsvm that saved a model; the checksum is verified."""
    with opened(path) as file:
        header, _ = MODEL.read_header(file)
        _check_kind(header)
        return as_text(as_mapping(header["versions"])["swapsvm"])


def _check_kind(header: dict[str, Json]) -> None:
    estimator, versions = header.get("estimator"), header.get("versions")
    require(estimator == "SVC", f"it holds {estimator!r}, which is not an SVC")
    named = isinstance(versions, dict) and isinstance(versions.get("swapsvm"), str)
    require(named, f"its versions {versions!r} do not name the version of swapsvm that wrote it")
