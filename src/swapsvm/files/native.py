"""Models in swapsvm's own file format (see ``container``)."""

from __future__ import annotations

from ..container import Format, as_mapping, as_text, opened, require
from ..estimators import SVC
from ..writing import PathLike
from .fields import Header, fields_of, svc_of

MODEL = Format(b"\x89swapsvm\r\n\x1a\n", 1, "a model saved by swapsvm")


def save(model: SVC, path: PathLike) -> None:
    """Write a fitted SVC to a file.

    The file is written completely or not at all. Support vectors, coefficients, parameters and the certificate are
    saved bit for bit; ``trace_``, ``results_`` and ``cache_counts_`` are not saved. A parameter that is not a plain
    value (such as a ``RandomState``) is saved as its default.

    Parameters
    ----------
    model : SVC
        A fitted model with any kernel except a callable.
    path : str or path
        Output file; an existing file is replaced.

    Raises
    ------
    ValueError
        If the model is not fitted or cannot be saved.

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
    MODEL.write(path, *fields_of(model))


def load(path: PathLike) -> SVC:
    """Read a model that ``save`` wrote.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    SVC
        Its predictions equal those of the saved model bit for bit.

    Raises
    ------
    ValueError
        If the file is not a model, truncated, damaged, or of a newer version; the message says which.
    """
    with opened(path) as file:
        header, arrays = MODEL.read(file)
        _check_kind(header)
        return svc_of(header, arrays)


def read_version(path: PathLike) -> str:
    """The version of swapsvm that saved a model; the checksum is verified."""
    with opened(path) as file:
        header, _ = MODEL.read_header(file)
        _check_kind(header)
        return as_text(as_mapping(header["versions"])["swapsvm"])


def _check_kind(header: Header) -> None:
    estimator, versions = header.get("estimator"), header.get("versions")
    require(estimator == "SVC", f"it holds {estimator!r}, which is not an SVC")
    named = isinstance(versions, dict) and isinstance(versions.get("swapsvm"), str)
    require(named, f"its versions {versions!r} do not name the version of swapsvm that wrote it")
