"""What models are trained for: the tasks of ``train`` and ``tune``, LIBSVM's numbers of them, and labels that suit."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.pipeline import Pipeline

from ..container import require
from ..datasets.labels import is_text
from ..estimators import SVC, SVDD, SVR, OneClassSVM

Model = SVC | SVR | OneClassSVM | SVDD

CLASSIFY, REGRESS, NOVELTY = "classify", "regress", "novelty"
TASKS = (CLASSIFY, REGRESS, NOVELTY)
LIBSVM_TYPES = {"0": CLASSIFY, "2": NOVELTY, "3": REGRESS}
REFUSED_TYPES = {
    "1": "there is no nu: use -s 0 and choose C, for example with `swapsvm tune`",
    "4": "there is no nu: use -s 3 with -p auto, which learns the width of the tube",
}

FEW_CLASSES = 20  # this many are plausible whatever the labels are
RARE_PART, RARE_VALUES, MOST = 0.05, 0.1, 0.5  # of the mean rows of a value; parts of the values


def task_named(text: str) -> str:
    """A task by its name or LIBSVM's number."""
    if text in REFUSED_TYPES:
        raise argparse.ArgumentTypeError(f"{text}: {REFUSED_TYPES[text]}")
    return LIBSVM_TYPES.get(text, text)


def task_among(tasks: Sequence[str], text: str) -> str:
    """The same for a verb that serves only these tasks."""
    task = task_named(text)
    if task == NOVELTY and task not in tasks:
        reason = "a detector has no score to compare: choose --slack and --contamination of `swapsvm train`"
        raise argparse.ArgumentTypeError(f"{text}: {reason}")
    return task


def task_of(model: BaseEstimator) -> str:
    """The task that a model was trained for."""
    return CLASSIFY if is_classifier(model) else REGRESS if is_regressor(model) else NOVELTY


def machine_of(model: BaseEstimator) -> Model:
    """The estimator with the support vectors: of a search the one that it chose, of a pipeline its last step."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    machine = getattr(last, "best_estimator_", last)
    if not isinstance(machine, Model):
        raise ValueError(f"this {type(machine).__name__} has no model of all rows: it was fitted with refit=False")
    return machine


def checked_targets(task: str | None, y: np.ndarray | None, name: str, columns: bool = False) -> np.ndarray | None:
    """What a model of this task learns from labels; ``ValueError`` if they do not suit it.

    Without a task, classes are meant, and labels that look like something else are refused. ``columns`` tells whether
    any column of the file could be the labels.
    """
    if task == NOVELTY:
        return None
    require(y is not None, f"{name}: has no labels; only --task {NOVELTY} needs none")
    labels = np.asarray(y)
    if task == REGRESS:
        return checked_numbers(labels, name)
    if task is None:
        check_classes(labels, name, columns)
    return np.array(list(map(str, labels.tolist())), dtype=object) if has_fractions(labels) else labels


def checked_numbers(labels: np.ndarray, name: str) -> np.ndarray:
    """The labels as numbers."""
    if is_text(labels):
        shown = repr(labels[0])[:40]
        raise ValueError(
            f"{name}: its labels are text, such as {shown}, but --task {REGRESS} needs numbers: "
            f"use --task {CLASSIFY}, or name the column of the numbers with --label"
        )
    return labels.astype(np.float64)


def check_classes(labels: np.ndarray, name: str, columns: bool = False) -> None:
    """Refuse labels that look like numbers to predict, or like names of rows.

    Numbers with fractions do. So do more than twenty distinct whole numbers of which at least a tenth are rare, with
    less than a twentieth of the mean number of rows, or a single one: classes are sampled for their own sake, while
    measured numbers thin out towards their extremes. Text does if most of more than twenty labels occur only once.
    """
    way_out = f"use --task {REGRESS} to predict numbers, or --task {CLASSIFY} if they are classes"
    other = ", or name the label column with --label" if columns else ""
    require(not has_fractions(labels), f"{name}: its labels are numbers with fractions: {way_out}{other}")
    values, counts = np.unique(labels, return_counts=True)
    limit = 1 if is_text(labels) else max(int(RARE_PART * counts.mean()), 1)
    rare = int((counts <= limit).sum())
    if len(values) <= FEW_CLASSES or rare < (MOST if is_text(labels) else RARE_VALUES) * len(values):
        return
    often = "only once" if limit == 1 else f"at most {limit} times"
    found = f"has {len(values)} distinct labels in {len(labels)} rows, {rare} of them {often}"
    if is_text(labels):
        raise ValueError(f"{name}: {found}, like names of rows: use --task {CLASSIFY} if they are classes{other}")
    raise ValueError(f"{name}: {found}, like measured numbers: {way_out}{other}")


def check_folds(task: str, folds: int, y: np.ndarray) -> None:
    """Refuse more folds than rows, or for classes more than the rows of the most frequent label."""
    most, rows = len(y), "rows"
    if task == CLASSIFY:
        most, rows = int(np.unique(y, return_counts=True)[1].max()), "rows of the most frequent label"
    require(folds <= most, f"-v {folds}: there are only {most} {rows}: use at most {most} folds")


def has_fractions(labels: np.ndarray) -> bool:
    """Whether these are numbers that are not all whole."""
    return labels.dtype.kind == "f" and bool((labels != np.trunc(labels)).any())
