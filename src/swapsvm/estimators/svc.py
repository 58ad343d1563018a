"""Support vector classification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from ..arrays import ArrayLike, Matrix, MatrixLike
from ..fitting.budget import check_budget, is_budget
from ..fitting.elsewhere import by_pieces, targets_of
from ..fitting.frames import encoded_labels, missing_labels_named
from ..fitting.growing import Batches, given_classes
from ..fitting.inputs import (
    ClassWeight,
    class_weights,
    fitted_kernel,
    merged,
    new_batch,
    new_rows,
    sample_weights,
    training_data,
    unless_ones,
)
from ..fitting.results import Results
from ..fitting.separation import check_separable
from ..fitting.session import Reader, Session
from ..fitting.subproblems import Classification, Solution, functions_of
from ..gram import Gram
from ..kernels import Kernel
from ..models import SCHEMES, ByClass, Functions, Name, Scheme, scheme_of
from .base import KernelMachine, appending
from .constraints import COUNT, POSITIVE_OR_INF, TRUE_OR_FALSE, key_of, one_of
from .declaration import ModelAttribute, estimator, parameter
from .scikit import ABSENT, INSTEAD


@estimator
class SVC(ClassifierMixin, KernelMachine):
    """Kernel support vector classifier with squared hinge loss, trained on the simplex and certified.

    The problem solved, for each pair of classes (or each class against all others, see ``multiclass``), is the L2-SVM
    with a regularized bias,

        min over w, b, xi:  1/2 |w|^2 + 1/2 b^2 + C/2 sum_i s_i xi_i^2,   y_i (w'phi(x_i) + b) >= 1 - xi_i,

    where s are the sample weights. Every fit reports a certificate: P and D between which the
    optimum lies, recomputed in double precision.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_, class_weight_, n_features_in_, feature_names_in_
        As in scikit-learn.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_, fit_status_, shape_fit_
        As in scikit-learn's SVC. ``n_iter_`` has one entry per pair of classes; ``fit_status_`` is 0 if all converged.
        Where rows are merged (see Notes), ``support_`` lists only the first of equal rows. With ``multiclass="ovr"``
        and more than two classes these, and the certificate, have one entry per class in place of one per pair, and
        ``dual_coef_`` has the shape (n_classes, n_SV).
    model_ : Pairwise or AgainstRest
        The decision functions of all pairs of classes, or of all classes, from which these attributes are read.
    primal_value_, dual_value_ : array of shape (n_pairs,)
        The certificate of each pair of classes: P, the primal value of the best multiple of the decision function, and
        D, the dual value, both recomputed in double precision, rounding included. The optimum lies between them.
    relative_gap_ : float
        P / D - 1, the largest of the pairs.
    simplex_gap_ : float
        The relative gap of the simplex, at which solvers other than "block" stop; the largest of the pairs.
    dual_gap_ : float
        The gap that the solver stopped at, in units of the problem on the simplex, as ``eps`` is; the largest of the
        pairs.
    stop_reason_ : str
        ``"gap"``, or the reason of the first pair that ended otherwise (see ``Result``), such as ``"max_time"`` or
        ``"interrupted"``.
    trace_ : structured array
        Records of the run: pair, iteration, support, evaluations, kind, seconds, value, gap.
    results_ : list of Result
        One per pair of classes.
    n_evaluations_ : int
        Kernel values computed.
    cache_counts_ : dict
        Hits, misses and evictions of cached lines, bytes in use and budget.
    gamma_ : float
        The resolved value of ``gamma``, if the kernel has one.

    Notes
    -----
    With 1024 rows or more, equal rows of one class are merged into the first of them, which gets the weight of all, if
    that saves about a tenth of the rows or more. This is exact: the decision function and its certificate are those of
    the rows as given, among which a merged coefficient is divided equally. Rows are not merged for
    ``kernel="precomputed"``, for kernel functions, and for solvers other than "block".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from swapsvm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC(C=16).fit(X, y)
    >>> bool(model.score(X, y) > 0.95), model.relative_gap_ <= 0.01, model.stop_reason_
    (True, True, 'gap')
    """

    C: float = parameter(
        default=1.0,
        kind="float",
        text="""
        Weight of the loss. ``LinearSVC(loss="squared_hinge", C=C/2)`` solves the same problem for a linear kernel.
        ``inf`` is the hard margin: no row is allowed on the wrong side of it, and classes that no hyperplane separates
        are refused with a proof (``NotSeparableError``). Weights of rows then have no effect, unless they are 0.
        """,
        allowed=[POSITIVE_OR_INF],
    )
    class_weight: ClassWeight = parameter(
        default=None,
        kind='dict or "balanced"',
        text="Factors of the sample weights of each class.",
        allowed=[one_of("balanced"), dict, None],
    )
    max_vectors: int | None = parameter(
        default=None,
        kind="int",
        text="""
        If given, the model has at most this many support vectors, at least one for each class. They are chosen by a
        rough fit; their coefficients are the best for all rows, and the certificate is for the problem without this
        limit. ``stop_reason_`` is ``"gap"`` if the gap is within ``tol`` all the same, else ``"max_vectors"``;
        ``n_iter_`` counts Newton steps, and ``trace_`` is empty. With as many vectors as rows this is an ordinary fit.
        Cannot be combined with ``C=inf``, ``warm_start`` and ``checkpoint``. Callbacks see the rough fit only, and
        above 32768 rows in a pair of classes they are not called.
        """,
        allowed=[COUNT, None],
    )
    multiclass: str = parameter(
        default="ovo",
        kind='{"ovo", "ovr"}',
        text="""
        How more than two classes are trained: ``"ovo"``, one problem for each pair of classes, whose votes decide, or
        ``"ovr"``, one problem for each class against all others, of which the largest decision value decides.
        """,
        allowed=[key_of(SCHEMES)],
    )
    decision_function_shape: str = parameter(
        default="ovr",
        kind='{"ovr", "ovo"}',
        text="""
        Shape of ``decision_function`` for more than two classes: a column for each class, or, only with
        ``multiclass="ovo"``, for each pair of classes.
        """,
        allowed=[one_of("ovr", "ovo")],
    )
    break_ties: bool = parameter(
        default=False,
        kind="bool",
        text="""
        True promises, as in scikit-learn, that for more than two classes ``predict`` is the class of the largest value
        of ``decision_function``; it therefore needs ``decision_function_shape="ovr"``. Here the promise holds in any
        case and costs nothing: with ``multiclass="ovo"`` summed decision values decide tied votes, and with "ovr" there
        are no votes.
        """,
        allowed=[TRUE_OR_FALSE],
    )

    INSTEAD: ClassVar[Mapping[str, str]] = {
        **INSTEAD,
        "probability": "calibrate the model instead: "
        "CalibratedClassifierCV(SVC(...), ensemble=False), of sklearn.calibration, has predict_proba",
        "nu": "scikit-learn's NuSVC has it. Use C, or search for it by SVCCV",
        "multi_class": "use multiclass='ovr' or multiclass='ovo'",
        "loss": f"{ABSENT}. The loss is the squared hinge",
        "penalty": f"{ABSENT}. The penalty is the squared norm",
    }

    TARGETS: ClassVar[dict[str, bool]] = {}  # of the validation of y

    dual_coef_ = ModelAttribute[np.ndarray](lambda model: model.coef)
    intercept_ = ModelAttribute[np.ndarray](lambda model: model.intercept)
    n_support_ = ModelAttribute[np.ndarray](lambda model: model.counts)

    def _fit(
        self, session: Session, X: MatrixLike | Batches, y: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> None:
        known = X.classes if isinstance(X, Batches) else None
        X, y = training_data(self, X, y)
        classes, labels = encoded_labels(y, known)
        weights = sample_weights(sample_weight, X)
        class_weight = class_weights(self.class_weight, labels, classes, weights)
        weights = weights * class_weight[labels]
        kernel = fitted_kernel(self, X, weights)
        weights = merged(self, X, labels, weights)
        live = weights > 0
        groups = [((labels == c) & live).nonzero()[0] for c in range(len(classes))]
        scheme = scheme_of(self.multiclass, len(classes))
        plan = self._plan(scheme, groups, classes, unless_ones(weights))
        gram = session.open_gram(kernel, X, groups, self.value_type(kernel, X), plan)
        functions, results = self._functions(session, gram, plan, partial(self._part_attributes, scheme, classes))
        self.model_: ByClass = self._exact(scheme.of_all(X, kernel, groups, functions)[0])
        self.classes_, self.class_weight_ = classes, class_weight
        self.shape_fit_ = X.shape
        self._set_certificate(plan, results)
        self.primal_value_, self.dual_value_ = np.ascontiguousarray(results.bounds.T)

    @appending
    def partial_fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Append a batch of rows to those of earlier calls, and continue from the last solution.

        The model is that of one ``fit`` of all rows, within its certificate. The estimator keeps the rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The new rows.
        y : array of shape (n_samples,)
            Their labels.
        classes : array of shape (n_classes,)
            All labels of this and later batches; needed for the first one, which must have rows of two of them.
        sample_weight : array of shape (n_samples,), optional
            Their weights.

        Returns
        -------
        self
        """
        before = self._earlier
        batch = new_batch(self, X, y, sample_weight, before is None)
        assert batch.y is not None
        with missing_labels_named(batch.y):
            check_classification_targets(batch.y)
        return self._grow(replace(batch, classes=given_classes(before, classes, batch.y)))

    def _functions(
        self, session: Session, gram: Gram, plan: list[Classification], read: Reader[Classification]
    ) -> tuple[Functions, Results]:
        """The decision function of each problem, and its certificate."""
        if self.max_vectors is not None and is_budget(self.max_vectors, gram):
            found, results = self._solve_over_few(session, gram, plan, read, int(self.max_vectors))
            return Functions.of({sub.about: own.alone() for sub, own in zip(plan, found, strict=True)}), results
        results = self._solve(session, gram, plan, read)
        if np.isinf(self.C):
            for sub, result in zip(plan, results, strict=True):
                check_separable(sub.name, sub.labels, sub.on(gram), result)
        return functions_of(gram, plan, results), results

    def _check_settings(self) -> None:
        super()._check_settings()
        check_budget(self)
        if self.max_vectors is not None and np.isinf(self.C):
            raise ValueError("max_vectors needs a finite C: few vectors leave no hard margin (C=inf)")
        self._check_ties()
        if (self.multiclass, self.decision_function_shape) == ("ovr", "ovo"):
            raise ValueError("decision_function_shape='ovo' needs the pairs of classes of multiclass='ovo'")

    def _check_ties(self) -> None:
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError(
                "break_ties must be False when decision_function_shape is 'ovo': predict is not its largest value"
            )

    def _plan(
        self, scheme: Scheme, groups: list[np.ndarray], classes: np.ndarray, weights: np.ndarray | None
    ) -> list[Classification]:
        present = [c for c, rows in enumerate(groups) if len(rows)]
        if len(present) < 2:
            raise ValueError(f"at least two classes with positive weight are needed; got {len(present)} class")

        names, sizes = classes.tolist(), [len(rows) for rows in groups]

        def of(about: Name, positive: Name, negative: Name) -> Classification:
            rows, labels = sum(sizes[c] for c in (*positive, *negative)), tuple(names[c] for c in about)
            return Classification(labels, rows, self.C, weights, about, positive, negative)

        return [of(about, *sides) for about, sides in scheme.sides(present, len(groups)).items()]

    def value_type(self, kernel: Kernel, X: Matrix) -> np.dtype:
        """Without a ridge, rounding of single precision would decide whether classes are separable."""
        return np.dtype(np.float64) if np.isinf(self.C) else super().value_type(kernel, X)

    def _part_attributes(
        self, scheme: Scheme, classes: np.ndarray, sub: Classification, gram: Gram, at: Solution
    ) -> Mapping[str, object]:
        """Attributes of an estimator that is fitted to one problem."""
        function = sub.function(gram, at)
        model, own = scheme.part(gram.X, gram.kernel, gram.groups, sub.about, function)
        return {"model_": self._exact(model), "classes_": classes[own]}

    def _exact(self, model: ByClass) -> ByClass:
        """With C=inf in double: single precision could put a row on the wrong side of a small margin."""
        if not np.isinf(self.C):
            return model
        return replace(model, vectors=replace(model.vectors, rows=model.vectors.rows.astype(np.float64)))

    @by_pieces
    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Signed distances in units of the margin.

        Two classes: shape (n_samples,), positive for ``classes_[1]``. More: one column per class (``"ovr"``: votes,
        ties broken by summed decision values) or per pair of classes (``"ovo"``: positive for the first of the pair).
        With ``multiclass="ovr"`` one column per class, its own decision value; -inf for a class without rows.
        """
        rows = new_rows(self, X)
        decisions = self.model_.decisions(rows, self._threads())
        if len(self.classes_) == 2:
            return decisions[:, 0]
        return decisions if self.decision_function_shape == "ovo" else self.model_.scores(decisions)

    @by_pieces
    def predict(self, X: MatrixLike) -> np.ndarray:
        """The class of each row.

        With more than two classes by votes of the pairs, ties by summed decision values, or with ``multiclass="ovr"``
        by the largest decision value.
        """
        self._check_ties()
        rows = new_rows(self, X)
        decisions = self.model_.certain_decisions(rows, self._threads())
        return np.asarray(self.classes_[self.model_.winners(decisions)])

    def score(self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:
        """The share of rows that are predicted right; ``y`` can be left out for shards that have labels."""
        return float(super().score(X, targets_of(X, y), sample_weight))

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features, for a linear kernel: one row per pair of classes, or with "ovr" per class."""
        self._check_linear("coef_")
        return self.model_.linear_coefficients()
