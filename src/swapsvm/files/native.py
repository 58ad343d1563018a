"""Models in swapsvm's own file format (see ``container``)."""

from __future__ import annotations

import platform

import numpy as np
import scipy
import sklearn
from sklearn.base import BaseEstimator

from .. import __version__
from ..container import Format, Json, as_mapping, as_text, opened, require
from ..writing import PathLike
from .first_format import upgraded
from .forms import Arrays, Reader, Writer
from .registry import FORMS, MODELS, check_savable
from .steps import final_model

MODEL = Format(b"\x89swapsvm\r\n\x1a\n", 2, "a model saved by swapsvm", oldest=1)
Header = dict[str, Json]


def save(model: BaseEstimator, path: PathLike) -> None:
    """Write a fitted model to a file.

    The file is written completely or not at all. Support vectors, coefficients, parameters and the certificate are
    saved bit for bit, and of a search its grid, its scores and the model that it chose; ``trace_``, ``results_`` and
    ``cache_counts_`` are not saved. Of the parameters, ``checkpoint``, and callbacks, random generators and splitters
    that are objects of the running program, are saved as their defaults.

    Parameters
    ----------
    model : SVC, SVR, OneClassSVM, SVDD, SVCCV, SVRCV or Pipeline
        A fitted model with any kernel except a Python function, or a search with any scoring except a callable.
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


def load(path: PathLike) -> BaseEstimator:
    """Read a model that ``save`` wrote.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    estimator
        Of the type that was saved. Its predictions equal those of the saved model bit for bit.

    Raises
    ------
    ValueError
        If the file is not a model, truncated, damaged, or of a newer version; the message says which.
    """
    with opened(path) as file:
        version = MODEL.read_version(file)
        header, arrays = MODEL.read(file)
        _check_versions(header)
        return model_of(upgraded(header, arrays) if version == 1 else header, arrays)


def read_version(path: PathLike) -> str:
    """The version of swapsvm that saved a model; the checksum is verified."""
    with opened(path) as file:
        header, _ = MODEL.read_header(file)
        _check_versions(header)
        return as_text(as_mapping(header["versions"])["swapsvm"])


def fields_of(model: BaseEstimator) -> tuple[Header, Arrays]:
    """The header and the arrays of a fitted model."""
    check_savable(model)
    writer = Writer(FORMS)
    content = writer.json(model, "")
    packages = {"swapsvm": __version__, "scikit-learn": sklearn.__version__, "numpy": np.__version__}
    versions: Json = {**packages, "scipy": scipy.__version__, "python": platform.python_version()}
    return {"versions": versions, "model": content}, writer.arrays


def model_of(header: Header, arrays: Arrays) -> BaseEstimator:
    """The model of these fields, which are taken out of ``arrays``; ``ValueError`` if they do not fit together."""
    reader = Reader(FORMS, arrays)
    model = reader.value(header["model"])
    reader.end()
    named = type(final_model(model)) in MODELS
    require(named, f"it holds a {type(final_model(model)).__name__}, which is not a model")
    return model


def _check_versions(header: Header) -> None:
    versions = header.get("versions")
    named = isinstance(versions, dict) and isinstance(versions.get("swapsvm"), str)
    require(named, f"its versions {versions!r} do not name the version of swapsvm that wrote it")
