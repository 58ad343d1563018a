"""References for the package: an exact quadratic program, and Q and the kernels in plain NumPy."""

import warnings

import clarabel
import numpy as np
import scipy.sparse as sp
from qpsolvers import solve_qp
from scipy.optimize import minimize_scalar
from scipy.special import gammaln


def _squared_distances(X, Z):
    return ((X[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2)


def _absolute_distances(X, Z):
    return np.abs(X[:, None, :] - Z[None, :, :]).sum(axis=2)


KERNELS = {
    "linear": lambda X, Z: X @ Z.T,
    "rbf": lambda X, Z, gamma: np.exp(-gamma * _squared_distances(X, Z)),
    "poly": lambda X, Z, gamma, coef0, degree: (gamma * (X @ Z.T) + coef0) ** degree,
    "sigmoid": lambda X, Z, gamma, coef0: np.tanh(gamma * (X @ Z.T) + coef0),
    "laplacian": lambda X, Z, gamma: np.exp(-gamma * _absolute_distances(X, Z)),
    "precomputed": lambda X, Z: X,
}


def kernel_values(kernel, X, Z=None):
    """Values of a kernel of the package for the rows of X against those of Z (by default X), in double."""
    X = np.asarray(X, dtype=np.float64)
    Z = X if Z is None else np.asarray(Z, dtype=np.float64)
    return KERNELS[kernel.name](X, Z, **{name: getattr(kernel, name) for name in kernel.parameter_names()})


def l2_svm_matrix(K, y, C, weights=None):
    """Q_ij = y_i y_j (k_ij + 1) + [i == j] / (C w_i)."""
    ridge = 1.0 / (C * (np.ones(len(y)) if weights is None else np.asarray(weights)))
    return np.outer(y, y) * (K + 1.0) + np.diag(ridge)


def slack_matrix(K, C, weights=None):
    """Q_ij = k_ij + [i == j] / (C w_i)."""
    return K + np.diag(1.0 / (C * (np.ones(len(K)) if weights is None else np.asarray(weights))))


def value(Q, a, c=None):
    """g(a) = -a'Qa + c'a."""
    return float(-a @ Q @ a + (0.0 if c is None else c @ a))


def gradient(Q, a, c=None):
    """-2Qa + c."""
    return -2.0 * (Q @ a) + (0.0 if c is None else c)


def gap(Q, a, c=None):
    """max_i grad_i - a'grad."""
    slope = gradient(Q, a, c)
    return float(slope.max() - a @ slope)


def primal_gap(Q, a, ridge, c=None, scales=False):
    """Primal minus dual at w = sum a phi, with the best offset nu and the best slack for it.

    ``scales``: f (P / D - 1) of the SVM without an offset, P at the best multiple of w.
    """
    score = Q @ a - (0.0 if c is None else c / 2)
    ridge = np.broadcast_to(np.asarray(ridge, float), len(a))
    hard, soft = ridge == 0, ridge > 0
    f, norm, margins = a @ Q @ a, a @ Q @ a - ridge @ a**2, (score - ridge * a)[soft]

    def primal(t):  # of t w and offset t nu = 1, or of w and offset nu
        if scales:
            return f * (f * (t**2 * norm + (np.maximum(1 - t * margins, 0) ** 2 / ridge[soft]).sum()) - 1)
        return norm - 2 * t + (np.maximum(t - margins, 0) ** 2 / ridge[soft]).sum() - value(Q, a, c)

    if scales:
        least = 1 / score[hard].min() if hard.any() else 0.0
        ends = least, max(2 * least, 4 / max(f, 1e-300))
    else:
        ends = margins.min(initial=score.min()) - abs(f), score[hard].min() if hard.any() else score.max() + abs(f)
    found = minimize_scalar(primal, bounds=ends, method="bounded", options={"xatol": 1e-14 * max(map(abs, ends))})
    return float(min(found.fun, primal(ends[0]), primal(ends[1])))


def approximation(Q, a, c=None):
    """The least Delta for which a is a Delta-approximate solution ([SWAP14]): gap <= Delta, and no active vertex is
    further below the mean, grad_i - a'grad >= -Delta.
    """
    slope = gradient(Q, a, c)
    return float(max(slope.max() - a @ slope, a @ slope - slope[a > 0].min()))


def on_face(Q, variables, c=None):
    """The solution of the problem restricted to these variables, as weights of all."""
    variables = np.sort(variables)
    a = np.zeros(len(Q))
    a[variables] = exact_weights(Q[np.ix_(variables, variables)], None if c is None else c[variables])
    return a


def is_coreset(Q, variables, eps, c=None):
    """Whether the solution on the face of these variables has a gap of at most eps on the whole problem ([SWAP14])."""
    return gap(Q, on_face(Q, variables, c), c) <= eps


def curvature(Q):
    """C_g of -a'Qa: the largest (s - a)'Q(s - a) on the simplex. It is convex in both, so two vertices attain it."""
    diagonal = np.diag(Q)
    return float((diagonal[:, None] - 2 * Q + diagonal[None, :]).max())


def lipschitz(Q):
    """Largest modulus of an eigenvalue of the Hessian -2Q."""
    return float(2.0 * np.abs(np.linalg.eigvalsh(Q)).max())


def exact_weights(Q, c=None):
    """The maximum of -a'Qa + c'a on the simplex: an interior point, then its face solved as a linear system."""
    m, scale = len(Q), np.abs(Q).max() or 1.0
    P, q = 2.0 * Q / scale, np.zeros(m) if c is None else -np.asarray(c) / scale
    a = _interior_point(P, q)
    candidates = [a] + [_on_face(P, q, np.flatnonzero(a > least * a.max())) for least in (1e-3, 1e-5, 1e-7)]
    best = min((b for b in candidates if b is not None), key=lambda b: gap(Q, b, c))
    assert gap(Q, best, c) <= 1e-9 * scale
    return best


def _interior_point(P, q):
    m = len(P)
    simplex, total = sp.csc_matrix(np.ones((1, m))), np.ones(1)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Clarabel.rs terminated")  # the result is judged by its gap
        for tol in (1e-13, 1e-11, 1e-9):
            precision = {"tol_gap_abs": tol, "tol_gap_rel": tol, "tol_feas": tol, "max_iter": 500}
            a = solve_qp(sp.csc_matrix(P), q, A=simplex, b=total, lb=np.zeros(m), solver="clarabel", **precision)
            if a is not None:
                return np.maximum(a, 0.0) / np.maximum(a, 0.0).sum()
    raise AssertionError("the quadratic program has no solution")


def _on_face(P, q, support):
    """The stationary point of a face if it lies in it: Pa + q = -multiplier, sum a = 1."""
    n = len(support)
    system = np.ones((n + 1, n + 1))
    system[:n, :n], system[n, n] = P[np.ix_(support, support)], 0.0
    b = np.linalg.lstsq(system, np.append(-q[support], 1.0), rcond=None)[0][:n]
    if b.min() < 0:
        return None
    a = np.zeros(len(P))
    a[support] = b / b.sum()
    return a


def decision_values(K, y, a, f):
    """Decisions sum_j a_j y_j (k(x_j, x) + 1) / f for kernel values K of shape (points, rows)."""
    return (K + 1.0) @ (a * y) / f


def least_ellipsoid_log_volume(X):
    """log volume of the minimum volume ellipsoid around the rows of X, by an interior point method on its primal.

    The ellipsoid is |L'x + b| <= 1 with L lower triangular: maximize sum_k log L_kk. Each point is a second-order cone,
    each logarithm t_k <= log L_kk an exponential one.
    """
    d = X.shape[1]
    rows, columns = np.tril_indices(d)
    entries = len(rows)
    cones, blocks, offsets = [], [], []
    for x in X:  # (1, L'x + b)
        block = np.zeros((d + 1, entries + 2 * d))
        block[1 + columns, np.arange(entries)] = -x[rows]
        block[np.arange(1, d + 1), entries + np.arange(d)] = -1.0
        cones.append(clarabel.SecondOrderConeT(d + 1))
        blocks.append(block)
        offsets.append(np.eye(d + 1)[0])
    for k in range(d):  # (t_k, 1, L_kk)
        block = np.zeros((3, entries + 2 * d))
        block[0, entries + d + k] = -1.0
        block[2, np.flatnonzero((rows == k) & (columns == k))] = -1.0
        cones.append(clarabel.ExponentialConeT())
        blocks.append(block)
        offsets.append(np.eye(3)[1])
    objective = np.concatenate([np.zeros(entries + d), -np.ones(d)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    nothing = sp.csc_matrix((len(objective), len(objective)))
    constraints = sp.csc_matrix(np.concatenate(blocks))
    solver = clarabel.DefaultSolver(nothing, objective, constraints, np.concatenate(offsets), cones, settings)
    return d / 2 * np.log(np.pi) - gammaln(d / 2 + 1) + solver.solve().obj_val
