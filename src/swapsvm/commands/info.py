"""``swapsvm info MODEL`` and ``swapsvm convert MODEL OUTPUT``, and the facts about a model that verbs print."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from ..estimators import SVC, SVR
from ..files.label_lines import to_line
from ..files.model_files import check_target, format_of_model, read_model, write_model
from ..files.native import read_version
from ..files.steps import first_step
from ..kernels import Kernel, Sum
from ..models import Outputs
from .output import Facts, answer
from .parser import Verbs, add_json, add_model
from .tasks import Model, machine_of, task_of

MOST_SHOWN = 12  # classes


def add_info(verbs: Verbs) -> None:
    """Add the verb ``info``."""
    parser = verbs.add("info", "describe a model and its certificate", run_info)
    add_model(parser)
    add_json(parser)


def run_info(arguments: argparse.Namespace) -> None:
    """Print the facts, one per line."""
    known = facts_in(read_model(arguments.model))
    facts = {"model": arguments.model, **file_facts(arguments.model), **known}
    width = max(map(len, facts))
    answer(arguments, facts, "".join(f"{name.replace('_', ' '):{width}}  {shown(v)}\n" for name, v in facts.items()))


def add_convert(verbs: Verbs) -> None:
    """Add the verb ``convert``."""
    text = "write a model in another format, chosen by the extension of the output file"
    parser = verbs.add("convert", text, run_convert)
    add_model(parser)
    output = "output file: .libsvm for LIBSVM's text, .onnx for ONNX, else swapsvm's format"
    parser.add_argument("output", metavar="OUTPUT", help=output)
    add_json(parser)


def run_convert(arguments: argparse.Namespace) -> None:
    """Read and write."""
    model = read_model(arguments.model)
    check_target(arguments.output, model)
    write_model(model, arguments.output)
    facts = {"model": arguments.model, "output": arguments.output, "bytes": Path(arguments.output).stat().st_size}
    answer(arguments, facts, f"{arguments.output}: {facts['bytes']} bytes\n")


def file_facts(path: str) -> Facts:
    """Format, writer and size of the file."""
    format = format_of_model(path)
    written_by = f"swapsvm {read_version(path)}" if format == "native" else "LIBSVM or for it"
    return {"format": format, "written_by": written_by, "bytes": Path(path).stat().st_size}


def facts_in(model: BaseEstimator) -> Facts:
    """The facts of a model that may be a search or a pipeline; its features are those of the rows that it takes."""
    steps = [type(step).__name__ for _, step in model.steps] if isinstance(model, Pipeline) else []
    facts = {**facts_of(machine_of(model)), "features": first_step(model).n_features_in_}
    return {"steps": np.array(steps), **facts} if steps else facts


def facts_of(model: Model) -> Facts:
    """Kernel, size and certificate of a model."""
    kernel = model.model_.vectors.kernel
    return {
        "estimator": type(model).__name__,
        "task": task_of(model),
        "features": model.n_features_in_,
        **({"classes": model.classes_} if isinstance(model, SVC) else {}),
        **({"outputs": len(model.model_.intercept)} if isinstance(model.model_, Outputs) else {}),
        **facts_of_kernel(kernel),
        **strength_of(model),
        "support_vectors": len(model.support_),
        **({"support_vectors_by_class": model.n_support_} if isinstance(model, SVC) else {}),
        "stop_reason": model.stop_reason_,
        "relative_gap": model.relative_gap_,
        "primal_value": model.primal_value_,
        "dual_value": model.dual_value_,
        "simplex_gap": model.simplex_gap_,
        "dual_gap": model.dual_gap_,
        "iterations": int(np.sum(model.n_iter_)),
        "kernel_evaluations": model.n_evaluations_,
    }


def facts_of_kernel(kernel: Kernel) -> Facts:
    """Its name and parameters; of a sum those of its terms."""
    if not isinstance(kernel, Sum):
        return {"kernel": kernel.name, **{name: getattr(kernel, name) for name in kernel.parameter_names()}}
    weights = kernel.weights or [1.0] * len(kernel.terms)
    terms = [
        {**facts_of_kernel(part), "columns": columns, "weight": weight}
        for (part, columns), weight in zip(kernel.terms, weights, strict=True)
    ]
    return {"kernel": kernel.name, "terms": terms}


def strength_of(model: Model) -> Facts:
    """The weight of the loss, and what else states the problem."""
    if isinstance(model, SVC):
        return {"C": model.C, "multiclass": model.multiclass}
    if isinstance(model, SVR):
        return {"C": model.C, "epsilon": model.epsilon_}
    return {"slack": model.slack, "C": model.C_, "contamination": model.contamination, "offset": model.offset_}


def written_report(head: str, facts: Facts) -> str:
    """Two lines about a model that was just written: ``head``, its certificate and its file."""
    certificate = f"relative gap {facts['relative_gap']:.2g} ({facts['stop_reason']})"
    return f"{head}; {certificate}; {facts['seconds']:.2f} s\nmodel: {facts['model']}\n"


def shown(value: object) -> str:
    """A value as people read it."""
    if isinstance(value, list):
        return " + ".join(map(shown_term, value))
    if isinstance(value, np.ndarray):
        listed = ", ".join(to_line(item) for item in value[:MOST_SHOWN].tolist())
        return f"{listed}, ... ({len(value)})" if len(value) > MOST_SHOWN else listed
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def shown_term(term: Facts) -> str:
    """One kernel of a sum."""
    parameters = ", ".join(f"{k}={shown(v)}" for k, v in term.items() if k not in ("kernel", "columns", "weight"))
    kernel = f"{term['kernel']}({parameters})" if parameters else term["kernel"]
    return f"{shown(term['weight'])} * {kernel} of columns {shown(np.array(term['columns']))}"
