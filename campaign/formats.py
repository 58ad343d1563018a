"""Every format that the package reads: how to make a malformed file, and how to use it."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from swapsvm import SVC, SVCCV, SVDD, SVR, SVRCV, OneClassSVM, files
from swapsvm.container import PREFIX
from swapsvm.kernels import Linear, Poly, Rbf, Sum

from . import mutation

Random = np.random.Generator
OLD = Path(__file__).parents[1] / "tests" / "golden"  # files of earlier versions


@dataclass(frozen=True)
class Format:
    """``seeds`` are valid files, ``malformed`` changes one, ``read`` reads it, ``use`` does what a user does next."""

    name: str
    suffix: str
    seeds: Callable[[], list[bytes]]
    malformed: Callable[[Random, bytes], bytes]
    read: Callable[[Path], Any]
    use: Callable[[Any], None]


def data(m: int = 24, d: int = 4, classes: int = 2, *, sparse: bool = False) -> tuple[Any, np.ndarray]:
    """Rows and labels."""
    rng = np.random.default_rng(m + d)
    X = rng.normal(size=(m, d)).round(3)
    X = sp.csr_matrix(X * (X > 0)) if sparse else X
    return X, np.arange(m) % classes


def written(write: Callable[[Path], Any], name: str = "file") -> bytes:
    """The bytes that a writer writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path)
        return path.read_bytes()


# ---- containers: native models and checkpoints --------------------------------------------------------------------


def in_container(rng: Random, file: bytes) -> bytes:
    """A change that the checksum does not reveal: of the header, of an array, of the prefix, or of raw bytes."""
    magic, version, _, length = PREFIX.unpack(file[: PREFIX.size])
    header, body = file[PREFIX.size : PREFIX.size + length], file[PREFIX.size + length : -32]
    choice = rng.random()
    if choice < 0.4:
        header = json.dumps(mutation.of_header(rng, json.loads(header))).encode()
    elif choice < 0.7:
        header, body = _with_changed_array(rng, json.loads(header), body)
    elif choice < 0.8:
        header = mutation.of_bytes(rng, header)
    elif choice < 0.9:
        body = mutation.of_bytes(rng, body)
    else:
        return mutation.of_bytes(rng, file)
    return sealed(magic, version, header, body)


def sealed(magic: bytes, version: int, header: bytes, body: bytes) -> bytes:
    """A container with correct lengths and checksum."""
    length = PREFIX.size + len(header) + len(body) + 32
    text = PREFIX.pack(magic, version, length, len(header)) + header + body
    return text + hashlib.sha256(text).digest()


def _with_changed_array(rng: Random, header: dict[str, Any], body: bytes) -> tuple[bytes, bytes]:
    """The listing is updated with the array, so that only later checks can find the fault."""
    arrays, at = [], 0
    for entry in header["arrays"]:
        dtype = np.dtype(entry["type"])
        count = int(np.prod(entry["shape"]))
        arrays.append(np.frombuffer(body, dtype, count, at).reshape(entry["shape"]))
        at += dtype.itemsize * count
    chosen = int(rng.integers(len(arrays)))
    arrays[chosen] = mutation.of_array(rng, arrays[chosen])
    for entry, array in zip(header["arrays"], arrays, strict=True):
        entry["type"], entry["shape"] = array.dtype.str, array.shape
    return json.dumps(header).encode(), b"".join(array.tobytes() for array in arrays)


def model_files() -> list[bytes]:
    made = []
    for options in ({"sparse": True}, {"classes": 3}, {"m": 8, "d": 2}):
        X, y = data(**options)
        for kernel in ("rbf", "linear"):
            model = SVC(kernel=kernel, n_jobs=1).fit(X, y)
            made.append(written(lambda path, model=model: files.save(model, path)))
    K = np.eye(6) + 1
    made.append(written(lambda path: files.save(SVC(kernel="precomputed").fit(K, [0, 1] * 3), path)))
    X, y = data()
    others = [estimator.fit(X, y) for estimator in (SVR(n_jobs=1), OneClassSVM(n_jobs=1), SVDD(n_jobs=1))]
    others += [search(Cs=2, gammas=2, cv=2, n_jobs=1).fit(X, y) for search in (SVCCV, SVRCV)]
    others.append(SVC(n_jobs=1).fit(X, np.array(["no", "yes"])[y]))
    terms = Sum([(Rbf("scale"), slice(0, 2)), (Poly(0.5, 1.0), [3, 1]), (Linear(), 0)], weights=[1.0, 0.5, 2.0])
    others += [SVC(kernel=terms, n_jobs=1).fit(X, y), SVDD(kernel=terms, n_jobs=1).fit(X)]
    others.append(SVR(kernel=terms, n_jobs=1).fit(X, X[:, :2]))
    others += [pipeline.fit(X.round(), y) for pipeline in pipelines()]
    made += [written(lambda path, model=model: files.save(model, path)) for model in others]
    return made + [path.read_bytes() for path in sorted(OLD.glob("format-*.swapsvm"))]


def pipelines() -> list[Pipeline]:
    """Every step that a file can hold."""
    scalers = [SimpleImputer(), StandardScaler(), MinMaxScaler(), MaxAbsScaler(), RobustScaler(), Normalizer()]
    encoded = [("hot", OneHotEncoder(handle_unknown="ignore"), [0]), ("number", OrdinalEncoder(), slice(1, 3))]
    columns = ColumnTransformer(encoded, remainder="passthrough")
    return [make_pipeline(*scalers, SVR(n_jobs=1)), make_pipeline(columns, SVC(n_jobs=1))]


def use_model(model: Any) -> None:
    """Predict a few rows, if the model is not too wide, and save."""
    last = model[-1] if isinstance(model, Pipeline) else model
    if model.n_features_in_ <= 1 << 16 and getattr(last, "refit", True):
        rows = np.ones((3, model.n_features_in_))
        for method in ("decision_function", "score_samples"):
            if hasattr(model, method):
                sparse = last is model and model.kernel != "precomputed"
                getattr(model, method)(sp.csr_matrix(rows) if sparse else rows)
        model.predict(rows)
    files.save(model, "copy")


CHECKPOINTED = {"C": 3.0, "n_jobs": 1, "max_time": 1.0, "gamma": 0.5}


def checkpoint_files() -> list[bytes]:
    def fit(path: Path, **options: Any) -> None:
        SVC(checkpoint=path, **CHECKPOINTED, **options).fit(*data(200, 3))

    return [written(fit), written(lambda path: fit(path, solver="swap2", max_iter=30))]


def read_checkpoint(path: Path) -> Any:
    solver = "swap2" if b"'swap2'" in path.read_bytes() else "block"
    return SVC(checkpoint=path, solver=solver, **CHECKPOINTED).fit(*data(200, 3))


def use_checkpoint(model: Any) -> None:
    if model.stop_reason_ == "gap" and model.relative_gap_ > model.tol:
        raise AssertionError(f"a checkpoint made a false certificate: {model.relative_gap_}")


# ---- text ---------------------------------------------------------------------------------------------------------


def libsvm_files() -> list[bytes]:
    models = [SVC(kernel=kernel, n_jobs=1).fit(*data(classes=k)) for kernel in ("rbf", "poly") for k in (2, 3)]
    models += [estimator.fit(*data()) for estimator in (SVR(n_jobs=1), OneClassSVM(n_jobs=1))]
    return [written(lambda path, model=model: files.export_libsvm(model, path)) for model in models]


def svmlight_files() -> list[bytes]:
    return [b"+1 1:0.5 3:2 # first\n-1 2:1 4:-3e-2\n1 qid:3 1:1\n-1 4:2\n" * 3, b"0 1:1\n1 2:1\n2 3:1\n1 1: 3\n"]


def csv_files() -> list[bytes]:
    plain = "\n".join(f"{k % 2},{k * 0.1:.2f},{k},{-k}" for k in range(12)).encode() + b"\n"
    quoted = b'label,"a b",c\nyes,1,2\nno,3,4\n"ye""s",5,6\n'
    return [plain, quoted, plain.replace(b",", b"\t"), plain.replace(b",", b";")]


def use_table(table: Any) -> None:
    """Train on the table, if it is small."""
    if table.y is None or not 2 <= table.X.shape[0] <= 5000 or table.X.shape[1] > 1 << 16:
        return
    if 2 <= len(np.unique(table.y)) <= 20:
        SVC(n_jobs=1, max_iter=20).fit(table.X, table.y).predict(table.X[:3])


def packed(pack: Callable[[bytes], bytes]) -> Callable[[Random, bytes], bytes]:
    """A change of the text inside, of the archive, or a text that is far longer than its archive."""

    def malformed(rng: Random, text: bytes) -> bytes:
        if rng.random() < 0.002:
            longest = 10 ** int(rng.integers(5, 8))
            return pack(text + [b" ", b"1:1 ", b"\n", b"0", b"# "][int(rng.integers(5))] * longest)
        if rng.random() < 0.6:
            return pack(mutation.of_bytes(rng, text))
        return mutation.of_bytes(rng, pack(text))

    return malformed


# ---- arrays -------------------------------------------------------------------------------------------------------


def npy_files() -> list[bytes]:
    X, y = data()
    return [_npy(array) for array in (X, X.astype(np.float32), np.asfortranarray(X), y.astype(str), X > 0)]


def _npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def in_npy(rng: Random, file: bytes) -> bytes:
    """A change of the text of the header, with its length corrected, or of any bytes."""
    if rng.random() < 0.4:
        return mutation.of_bytes(rng, file)
    begin, length = 10, int.from_bytes(file[8:10], "little")
    header = mutation.of_bytes(rng, file[begin : begin + length].rstrip())[:60000] + b"\n"
    return file[:8] + len(header).to_bytes(2, "little") + header + file[begin + length :]


def read_npy(path: Path) -> Any:
    np.save(path.with_name("y.npy"), np.arange(24) % 2)
    return files.read_table(path)


def npz_files() -> list[bytes]:
    X, y = data()
    made = []
    for save in (np.savez, np.savez_compressed):
        file = io.BytesIO()
        save(file, X=X, y=y)
        made.append(file.getvalue())
    return made


def in_npz(rng: Random, file: bytes) -> bytes:
    """A changed member inside a valid archive, or a change of any bytes."""
    if rng.random() < 0.4:
        return mutation.of_bytes(rng, file)
    with zipfile.ZipFile(io.BytesIO(file)) as archive:
        members = {info.filename: (archive.read(info), info.compress_type) for info in archive.infolist()}
    name = str(rng.choice(list(members)))
    members[name] = in_npy(rng, members[name][0]), members[name][1]
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for member, (content, method) in members.items():
            archive.writestr(zipfile.ZipInfo(member), content, method)
    return made.getvalue()


def parquet_files() -> list[bytes]:
    import pyarrow as pa
    from pyarrow import parquet

    columns: dict[str, Any] = {"y": [0, 1] * 6, "a": np.arange(12.0), "b": np.arange(12)}
    odd = {"c": [None, *range(11)], "d": ["x"] * 12, "e": [[1]] * 12, "f": pa.array(range(12), pa.timestamp("us"))}
    tables = [pa.table(columns), *(pa.table(columns | {name: values}) for name, values in odd.items())]
    return [written(lambda path, table=table: parquet.write_table(table, path)) for table in tables]


FORMATS = [
    Format("native", ".swapsvm", model_files, in_container, files.load, use_model),
    Format("checkpoint", ".ckpt", checkpoint_files, in_container, read_checkpoint, use_checkpoint),
    Format("libsvm", ".libsvm", libsvm_files, mutation.of_bytes, files.import_libsvm, use_model),
    Format("svmlight", ".svm", svmlight_files, mutation.of_bytes, files.read_table, use_table),
    Format("svmlight.bz2", ".svm.bz2", svmlight_files, packed(bz2.compress), files.read_table, use_table),
    Format("svmlight.gz", ".svm.gz", svmlight_files, packed(gzip.compress), files.read_table, use_table),
    Format("csv", ".csv", csv_files, mutation.of_bytes, files.read_table, use_table),
    Format("csv.gz", ".csv.gz", csv_files, packed(gzip.compress), files.read_table, use_table),
    Format("npy", ".npy", npy_files, in_npy, read_npy, use_table),
    Format("npz", ".npz", npz_files, in_npz, files.read_table, use_table),
    Format("parquet", ".parquet", parquet_files, mutation.of_bytes, files.read_table, use_table),
]
