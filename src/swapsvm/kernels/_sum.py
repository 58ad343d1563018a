"""Sums of kernels over groups of columns, and kernels with what data give them: gamma, and the numbers of columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

import numpy as np

from .. import _core
from ..arrays import Matrix
from ..columns import without_empty_columns
from ..parameters import check_number
from ..rows import Rows, as_rows
from ._bandwidth import resolve_gamma
from ._formulas import Kernel, Linear, Scaled

Columns = int | str | slice | Sequence[int | str] | np.ndarray
Names = Sequence[str] | np.ndarray | None
LEAST_WEIGHT = 1e-30  # so that weights have all digits in single precision


@dataclass(frozen=True)
class Sum(Kernel):
    """k(x, z) = sum_t weights_t k_t(x[columns_t], z[columns_t]).

    Parameters
    ----------
    terms : sequence of (kernel, columns)
        ``kernel`` is a ``Linear``, ``Rbf``, ``Poly``, ``Sigmoid`` or ``Laplacian``; its ``gamma`` can be a rule, such
        as ``"scale"``, which a fit applies to these columns alone. ``columns`` are chosen as in scikit-learn's
        ``ColumnTransformer``: a position, a name, a list of either, a slice, or a mask. Names need a DataFrame. Groups
        may overlap; columns in no group have no effect.
    weights : sequence of float, optional
        One positive number for each term, by default 1.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from swapsvm import SVC
    >>> from swapsvm.kernels import Linear, Rbf, Sum
    >>> X, y = load_wine(as_frame=True, return_X_y=True)
    >>> kernel = Sum([(Rbf(gamma="scale"), slice(0, 6)), (Linear(), ["hue", "flavanoids"])], weights=[1, 2])
    >>> model = SVC(kernel=kernel).fit(X, y)
    >>> model.relative_gap_ <= 1e-3, model.model_.vectors.kernel.terms[1]
    (True, (Linear(), (10, 6)))
    """

    terms: Sequence[tuple[Kernel, Columns]]
    weights: Sequence[float] | None = None

    name = "sum"

    def __post_init__(self) -> None:
        terms = tuple((kernel, _kept(columns)) for kernel, columns in _pairs(self.terms))
        for kernel, _ in terms:
            if not isinstance(kernel, Linear | Scaled):
                raise ValueError(f"{kernel!r} cannot be a term of a sum: use Linear, Rbf, Poly, Sigmoid or Laplacian")
        object.__setattr__(self, "terms", terms)
        if self.weights is None:
            return
        weights = tuple(np.asarray(self.weights, dtype=object).ravel().tolist())
        if len(weights) != len(terms):
            raise ValueError(f"weights has {len(weights)} numbers for {len(terms)} terms: one for each is needed")
        for weight in weights:
            allowed = f"positive, from {LEAST_WEIGHT:g} to {1 / LEAST_WEIGHT:g}: leave out a term without weight"
            check_number("weights", weight, lambda number: LEAST_WEIGHT <= number <= 1 / LEAST_WEIGHT, allowed)
        object.__setattr__(self, "weights", tuple(map(float, weights)))

    def __hash__(self) -> int:
        return hash(repr(self))  # slices have no hash before Python 3.12

    @property
    def positive(self) -> bool:
        return all(kernel.positive for kernel, _ in self.terms)

    def parts(self, X: Matrix) -> Iterator[tuple[Kernel, Matrix, float]]:
        """Each kernel with its columns of X, copied, and its weight."""
        weights = (1.0,) * len(self.terms) if self.weights is None else self.weights
        for (kernel, columns), weight in zip(self.terms, weights, strict=True):
            yield kernel, _taken(X, positions(columns, X.shape[1])), weight

    def compiled(self, X: Matrix) -> tuple[tuple[Rows, _core.KernelSpec, float], ...]:
        """The terms as the core takes them, each with rows of its own columns."""
        parts = self.parts(X)
        return tuple((as_rows(*without_empty_columns(own)), part.spec(), weight) for part, own, weight in parts)

    def values(self, X: Matrix, Z: Matrix) -> np.ndarray:
        parts = zip(self.parts(X), self.parts(Z), strict=True)
        return np.sum([weight * kernel.values(own, other) for (kernel, own, weight), (_, other, _) in parts], axis=0)


def resolved(kernel: Kernel, X: Matrix, weights: np.ndarray | None = None, names: Names = None) -> Kernel:
    """The kernel with the gamma that its rule gives for these rows, and with columns by their positions."""
    if isinstance(kernel, Sum):
        terms = []
        for own, columns in kernel.terms:
            places = positions(columns, X.shape[1], names)
            terms.append((resolved(own, _taken(X, places), weights) if _has_rule(own) else own, places))
        return replace(kernel, terms=terms)
    if _has_rule(kernel):
        return replace(kernel, gamma=resolve_gamma(kernel.gamma, type(kernel), X, weights))
    return kernel


def positions(columns: Columns, count: int, names: Names = None) -> tuple[int, ...]:
    """The positions of some of ``count`` columns; ``ValueError`` if there are none, or not as many."""
    found = _found(columns, count, names)
    outside = [place for place in found if not -count <= place < count]
    if outside:
        raise ValueError(f"column {outside[0]} of a sum of kernels does not exist: X has {count} columns")
    if not found:
        raise ValueError(f"columns={columns!r} selects no column: leave out this term of the sum")
    return tuple(place % count for place in found)


def are_positions(places: object, columns: Columns, count: int, names: Names = None) -> bool:
    """Whether a fit finds these positions for this choice of columns, at the cost of as many numbers as given."""
    if not isinstance(places, tuple) or not all(type(place) is int for place in places):
        return False
    return len(_found(columns, count, names)) == len(places) and positions(columns, count, names) == places


def _found(columns: Columns, count: int, names: Names) -> Sequence[int]:
    if isinstance(columns, slice):
        return range(count)[_by_position(columns, names)]
    listed = [columns] if isinstance(columns, int | str) else list(columns)
    if listed and all(isinstance(column, bool) for column in listed):
        if len(listed) != count:
            raise ValueError(f"a mask of {len(listed)} columns does not fit X, which has {count}")
        return np.flatnonzero(listed).tolist()
    return [_position(column, names) if isinstance(column, str) else int(column) for column in listed]


def _by_position(columns: slice, names: Names) -> slice:
    """Slices of names include their end, as in pandas."""
    start, stop = columns.start, columns.stop
    first = _position(start, names) if isinstance(start, str) else start
    last = _position(stop, names) + 1 if isinstance(stop, str) else stop
    return slice(first, last, columns.step)


def _position(name: str, names: Names) -> int:
    if names is None:
        raise ValueError(f"the column {name!r} is chosen by its name, but X has no names: pass a DataFrame")
    (places,) = np.nonzero(np.asarray(names) == name)
    if len(places) != 1:
        found = f"{len(places)} columns" if len(places) else "no column"
        raise ValueError(f"X has {found} {name!r}; its columns are {list(names)}")
    return int(places[0])


def _taken(X: Matrix, places: tuple[int, ...]) -> Matrix:
    if hasattr(X, "some_columns"):  # rows that lie elsewhere
        return X.some_columns(places)
    first, last = places[0], places[-1]
    if places == tuple(range(first, last + 1)):
        return X[:, first : last + 1]
    return X[:, list(places)]


def _has_rule(kernel: Kernel) -> TypeGuard[Scaled]:
    return isinstance(kernel, Scaled) and isinstance(kernel.gamma, str)


def _pairs(terms: object) -> list[tuple[Kernel, Columns]]:
    listed = list(terms) if isinstance(terms, Iterable) else []
    if not listed or not all(isinstance(term, tuple | list) and len(term) == 2 for term in listed):
        raise ValueError(f"terms={terms!r} must be a list of pairs (kernel, columns)")
    return [(kernel, columns) for kernel, columns in listed]


def _kept(columns: Columns) -> Columns:
    """The same choice of columns as an immutable value of Python's own types."""
    if isinstance(columns, slice):
        return columns
    values = np.asarray(columns, dtype=None if isinstance(columns, np.ndarray) else object)
    listed = values.ravel().tolist()
    if values.ndim > 1 or not all(isinstance(column, int | str | np.integer) for column in listed):
        raise ValueError(f"columns={columns!r} must be positions, names, a slice or a mask of columns")
    plain = tuple(column if isinstance(column, bool | str) else int(column) for column in listed)
    return plain if values.ndim else plain[0]
