"""How well predictions fit the labels of the same rows: the numbers that suit the task, and as a line of text."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..container import require
from ..datasets.labels import is_text
from .output import Facts
from .tasks import CLASSIFY, NOVELTY, REGRESS

OUTLIER, TYPICAL = -1, 1


class Score(NamedTuple):
    """Facts, and the same as text."""

    facts: Facts
    text: str


def score_of(task: str, predicted: np.ndarray, y: np.ndarray | None) -> Score:
    """The score of predictions; without labels only what the predictions tell by themselves."""
    if y is None:
        return share_of_outliers(predicted) if task == NOVELTY else Score({}, "")
    return SCORES[task](predicted, y)


def score_classes(predicted: np.ndarray, y: np.ndarray) -> Score:
    """The accuracy."""
    right = int(agreement(predicted, y).sum())
    return Score({"right": right, "accuracy": right / len(y)}, f"accuracy = {percent(right, len(y))}\n")


def are_numbers(*labels: np.ndarray) -> bool:
    """Whether all of these are numbers or booleans."""
    return all(own.dtype.kind in "biuf" for own in labels)


def agreement(predicted: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Which labels are equal, compared as text unless both are numbers."""
    if are_numbers(predicted, labels):
        return np.asarray(predicted == labels)
    pairs = zip(predicted.tolist(), labels.tolist(), strict=True)
    return np.fromiter((str(ours) == str(theirs) for ours, theirs in pairs), bool, len(labels))


def is_known(labels: np.ndarray, classes: np.ndarray) -> bool:
    """Whether any label is one of the classes, compared as for the accuracy."""
    if are_numbers(labels, classes):
        return bool(np.isin(labels, classes).any())
    return not set(map(str, labels.tolist())).isdisjoint(map(str, classes.tolist()))


def score_numbers(predicted: np.ndarray, y: np.ndarray) -> Score:
    """The mean squared error, and R^2 = 1 - error / variance of y; R^2 is NaN where y does not vary."""
    columns = predicted.shape[1] if predicted.ndim == 2 else 1
    several = f"the model predicts {columns} numbers for each row, to which one label cannot be compared"
    require(columns == 1, f"{several}: predict rows without labels, or use --label 0")
    require(not is_text(y), f"the labels are text, such as {y[0]!r}, but the model predicts numbers: see --label")
    error = float(np.mean((predicted.astype(np.float64).ravel() - y) ** 2))
    variance = float(np.var(y.astype(np.float64)))
    r2 = 1 - error / variance if variance > 0 else float("nan")
    text = f"mean squared error = {error:.6g}\nR^2 = {r2:.4g} ({len(y)} rows)\n"
    return Score({"mean_squared_error": error, "r2": r2}, text)


def share_of_outliers(predicted: np.ndarray) -> Score:
    """The rows outside the boundary."""
    outliers = int((predicted == OUTLIER).sum())
    facts: Facts = {"outliers": outliers, "share_of_outliers": outliers / len(predicted)}
    return Score(facts, f"outliers = {percent(outliers, len(predicted))}\n")


def score_outliers(predicted: np.ndarray, y: np.ndarray) -> Score:
    """The share of outliers and, if all labels are 1 or -1, how many of both kinds are recognized."""
    facts, text = share_of_outliers(predicted)
    if is_text(y) or not np.isin(y, (OUTLIER, TYPICAL)).all():
        return Score(facts, text)
    found, line = score_classes(predicted, y)
    facts, text = facts | found, text + line
    kinds = [y == kind for kind in (OUTLIER, TYPICAL)]
    if all(kind.any() for kind in kinds):
        outliers, typical = (float((predicted == y)[kind].mean()) for kind in kinds)
        balanced = (outliers + typical) / 2
        facts |= {"recall_of_outliers": outliers, "recall_of_typical": typical, "balanced_accuracy": balanced}
        text += f"balanced accuracy = {100 * balanced:.4g}% "
        text += f"({100 * outliers:.4g}% of outliers, {100 * typical:.4g}% of typical rows)\n"
    return Score(facts, text)


def percent(part: int, whole: int) -> str:
    """A share as text."""
    return f"{100 * part / whole:.4g}% ({part}/{whole})"


SCORES = {CLASSIFY: score_classes, REGRESS: score_numbers, NOVELTY: score_outliers}
