"""The folder `<output>.parts/`: what ranks have finished, one private file per batch.

A part is finished when it has its final name. Its name, the rank and the run that
wrote it have no influence on the merged file.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import socket
import uuid
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import h5py

from rc_hpc.core.errors import RcError
from rc_hpc.core.files import clean_leftovers, disk_errors, sync_folder, write_whole
from rc_hpc.core.fingerprint import fingerprint
from rc_hpc.store import layout
from rc_hpc.store.batch import Batch, Children, check_batch, shape_of
from rc_hpc.store.completed import Completed
from rc_hpc.store.content import datasets
from rc_hpc.store.files import new_h5, seal_problem
from rc_hpc.store.schema import SCHEMA_VERSION, Column, Schema

log = logging.getLogger(__name__)

#: What a damaged HDF5 file raises, depending on where the damage is.
DAMAGE = (OSError, LookupError, RuntimeError, ValueError, TypeError, AttributeError)


#: Name of the file that says what a folder's work depends on.
RECORD = "run.json"
#: Start of the names of the marks that allow parts of other code.
ACCEPTED = "accepted-code-"


def begun(folder: str | Path) -> bool:
    """Whether a run has begun in this parts folder and is not merged yet."""
    return (Path(folder) / RECORD).is_file()


class PartStore:
    """Reader and writer of one parts folder.

    Parameters
    ----------
    folder
        Created where it is missing.
    schema, dims
        What a part holds; `dims` has the lengths that the schema leaves open.
    identity
        What the work depends on: `options_hash`, `options` (JSON text), `input_hash`, ...
        Written to `run.json` by whoever comes first; a later run must have the same.

    Raises
    ------
    RcError
        The folder belongs to other options or another input; names what differs.
    """

    def __init__(
        self,
        folder: str | Path,
        schema: Schema,
        dims: dict[str, int],
        identity: dict,
        accept_code: str | None = None,
    ):
        self.folder = Path(folder)
        self.schema = schema
        self.dims = {name: int(length) for name, length in dims.items()}
        #: Names of the parts that the last `scan` found good, and of those moved to `rejected/`.
        self.good: list[str] = []
        self.set_aside: list[str] = []
        self._run = uuid.uuid4().hex[:8]
        #: Fingerprint of the code at work here.
        self.code = code_fingerprint(identity)
        text = self._text(identity)
        record = self.folder / RECORD
        if not record.exists():
            with disk_errors(self.folder):
                self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(record, text.encode())
        before = read_run(self.folder)
        identity = accepted(before["identity"], identity, accept_code)
        check_conditions(self.folder, before, json.loads(self._text(identity)))
        self.identity = identity
        self.identity_hash = hashlib.sha256(self._text(identity).encode()).hexdigest()
        if self.code != code_fingerprint(identity):
            write_whole(self.folder / f"{ACCEPTED}{self.code}", b"")

    def _text(self, identity: dict) -> str:
        run = {
            "kind": self.schema.kind,
            "schema_version": SCHEMA_VERSION,
            "dims": self.dims,
            "identity": identity,
        }
        return json.dumps(run, sort_keys=True, indent=1)

    @classmethod
    def open(cls, folder: str | Path, schema: Schema) -> PartStore:
        """The store of an existing folder, with what its `run.json` says.

        Raises
        ------
        RcError
            Its parts are of another kind or version.
        """
        run = read_run(folder)
        if (run["kind"], run["schema_version"]) != (schema.kind, SCHEMA_VERSION):
            raise RcError(
                f"{folder}: parts of kind {run['kind']!r}, version {run['schema_version']}, which "
                f"this rc_hpc (kind {schema.kind!r}, version {SCHEMA_VERSION}) cannot read: use "
                "the version that wrote them, or --overwrite"
            )
        return cls(folder, schema, run["dims"], run["identity"])

    def accepted_code(self) -> list[str]:
        """Fingerprints of other code whose parts are joined with those of this run's."""
        return sorted(path.name[len(ACCEPTED) :] for path in self.folder.glob(f"{ACCEPTED}*"))

    def tables(self) -> dict[str, tuple[Column, ...]]:
        """All tables by their path prefix; the main columns have the prefix ''."""
        return {"": self.schema.main} | {
            f"{table}/": columns for table, columns in self.schema.children.items()
        }

    def write(self, batch: Batch, children: Children, name: str) -> str:
        """Write a finished batch; returns the part's file name.

        Parameters
        ----------
        name
            Unique among the writers of this run (rank and batch number); the run is added.
        """
        rows = check_batch(self.schema, batch, self.dims, children)
        part = f"{name}-{self._run}.h5"
        with new_h5(self.folder / part, sealed=True) as h5:
            for prefix, columns in self.tables().items():
                arrays = children[prefix[:-1]] if prefix else batch
                # Bare and uncompressed: a part lives for hours, and is written often.
                for column in columns:
                    h5.create_dataset(
                        prefix + column.path,
                        data=arrays[column.path],
                        dtype=layout.h5_dtype(column),
                        track_times=False,
                    )
            h5.attrs["kind"] = self.schema.kind
            h5.attrs["schema_version"] = SCHEMA_VERSION
            h5.attrs["identity_hash"] = self.identity_hash
            h5.attrs["code"] = self.code
            h5.attrs["host"] = socket.gethostname()
            h5.attrs["rows"] = rows
            h5.attrs["complete"] = True
        return part

    def read(self, part: str) -> tuple[Batch, Children]:
        """Batch and children of a part."""
        with layout.open_h5(self.folder / part) as h5:
            tables = {
                prefix: {
                    column.path: layout.read_rows(h5[prefix + column.path]) for column in columns
                }
                for prefix, columns in self.tables().items()
            }
        return tables.pop(""), {prefix[:-1]: arrays for prefix, arrays in tables.items()}

    def columns(self, part: str, *paths: str) -> list:
        """Some main columns of a part."""
        with layout.open_h5(self.folder / part) as h5:
            return [layout.read_rows(h5[path]) for path in paths]

    def names(self) -> list[str]:
        """File names of all parts, unchecked, sorted."""
        return sorted(path.name for path in self.folder.glob("*.h5") if path.is_file())

    def problem(self, part: str) -> str:
        """Why a part cannot be used, or an empty string; its checksum is computed again."""
        path = self.folder / part
        try:
            if problem := seal_problem(path):
                return problem
            with layout.open_h5(path) as h5:
                return self._problem(h5)
        except DAMAGE as error:
            if (
                isinstance(error, OSError) and error.errno
            ):  # the file system's fault, not the part's
                raise RcError(
                    f"{path}: cannot be read ({os.strerror(error.errno)}); no part was touched"
                ) from error
            return f"damaged: {first_line(error)}"

    def _problem(self, h5: h5py.File) -> str:
        attrs = h5.attrs
        if attrs.get("kind") != self.schema.kind or attrs.get("schema_version") != SCHEMA_VERSION:
            return f"not a part of kind {self.schema.kind!r}, version {SCHEMA_VERSION}"
        if attrs.get("identity_hash") != self.identity_hash:
            return "from a run with other options or another input"
        code = attrs.get("code")
        if code not in (code_fingerprint(self.identity), *self.accepted_code()):
            return f"from a run of other code (fingerprint {code})"
        if not attrs.get("complete", False):
            return "not complete"
        expected = set()
        for prefix, columns in self.tables().items():
            rows = attrs["rows"]
            if prefix:
                rows = len(h5[f"{prefix}structure"])
            for column in columns:
                path = prefix + column.path
                expected.add(path)
                dataset = h5[path]
                if dataset.shape != shape_of(
                    column, int(rows), self.dims
                ) or dataset.dtype != layout.h5_dtype(column):
                    return f"{path}: wrong shape or type"
        if expected != set(datasets(h5)):
            return "holds other datasets than the schema"
        return ""

    def scan(self) -> list[str]:
        """Check all parts, move unusable ones to `rejected/`, return the names of the good ones.

        Only one process may call this. Every part is read once, for its checksum.
        """
        self.good, self.set_aside = [], []
        for part in self.names():
            problem = self.problem(part)
            if problem:
                self._reject(part, problem)
            else:
                self.good.append(part)
        return list(self.good)

    def _reject(self, part: str, problem: str) -> None:
        rejected = self.folder / "rejected"
        with disk_errors(rejected):
            rejected.mkdir(exist_ok=True)
            target = rejected / part
            while target.exists():
                target = target.with_name(f"again-{target.name}")
            os.replace(self.folder / part, target)
            sync_folder(rejected)
        self.set_aside.append(part)
        log.warning(
            "%s: %s; moved to %s, its rows are done again", self.folder / part, problem, rejected
        )

    def rejected(self) -> list[str]:
        """File names of the parts ever set aside."""
        return sorted(path.name for path in (self.folder / "rejected").glob("*.h5"))

    def completed(self, parts: list[str] | None = None) -> Completed:
        """What the parts (by default, all that pass a `scan`) hold, as an index of ids."""
        parts = self.scan() if parts is None else parts
        index = Completed(parts)
        for number, part in enumerate(parts):
            with layout.open_h5(self.folder / part) as h5:
                index.add(
                    number, layout.read_rows(h5["structures/id"]), h5["structures/duplicate"][()]
                )
        return index.seal()

    def count_status(self, parts: list[str]) -> Counter:
        """Number of rows by status code; rows done more than once count once."""
        where = self.completed(parts).where
        count: Counter = Counter()
        for number, part in enumerate(parts):
            with layout.open_h5(self.folder / part) as h5:
                codes = layout.read_rows(h5["structures/status"])
            count.update(codes[where[where[:, 0] == number, 1]].tolist())
        return count

    def clean(self) -> list[str]:
        """Remove what dead writers have left half-written; only one process may call this."""
        return clean_leftovers(self.folder)


def discard(folder: str | Path) -> None:
    """Remove parts, leftovers, flight records and `run.json`; the folder too if nothing else is in it."""
    folder = Path(folder)
    if not folder.is_dir():
        return
    ours = (*folder.glob("*.h5"), *folder.glob(".*.tmp"), *folder.glob(f"{ACCEPTED}*"))
    for path in (*ours, folder / RECORD):
        path.unlink(missing_ok=True)
    for flights in folder.glob("flight*"):
        shutil.rmtree(flights, ignore_errors=True)
    if not any(folder.iterdir()):
        folder.rmdir()


def read_run(folder: str | Path) -> dict:
    """Content of the folder's `run.json`."""
    record = Path(folder) / RECORD
    try:
        run = json.loads(record.read_text(encoding="utf-8"))
        if {"kind", "schema_version", "dims", "identity"} <= run.keys():
            return run
    except FileNotFoundError:
        raise RcError(f"{folder}: not a parts folder (no run.json)") from None
    except (OSError, ValueError, AttributeError) as error:
        raise RcError(f"{record}: cannot be read ({error}): start anew with --overwrite") from error
    raise RcError(f"{record}: not written by rc_hpc: start anew with --overwrite")


def first_line(error: Exception) -> str:
    """What an exception says, on one line."""
    return str(error).partition("\n")[0] or type(error).__name__


def code_fingerprint(identity: Mapping) -> str:
    """Fingerprint of the code that an identity names; empty where it names none."""
    code = _parsed("code", identity.get("code"))
    return fingerprint(code) if code else ""


def accepted(before: Mapping, now: Mapping, accept_code: str | None) -> dict:
    """`now` with the code of `before`, where that is the code that may be accepted."""
    if accept_code and before.get("code") and code_fingerprint(before) == accept_code:
        return {**now, "code": before["code"]}
    return dict(now)


def check_conditions(path: Path, before: Mapping, now: Mapping) -> None:
    """Refuse to go on with earlier work that was done under other conditions.

    Parameters
    ----------
    path
        Where that work lies.
    before, now
        What its results depend on, as JSON values.

    Raises
    ------
    RcError
        Names what differs.
    """
    different = differences(before, now)
    if not different:
        return
    cure = "use the old ones, --overwrite, or another -o"
    old = code_fingerprint(before.get("identity", before))
    code = [line.removeprefix("code.").split(":")[0] for line in different if _of_code(line)]
    told = [line for line in different if not _of_code(line)]
    if code:
        more = f" and {len(code) - 3} more" if len(code) > 3 else ""
        told.append(f"code: {', '.join(code[:3])}{more} of rc_hpc differ")
    if old and len(told) == 1 and code:
        cure += f"; --accept-code {old} joins both where you know that they give the same"
    raise RcError(f"{path} was made under other conditions ({'; '.join(told)}): {cure}")


def _of_code(line: str) -> bool:
    return line.startswith("code.")


def differences(old, new, key: str = "") -> list[str]:
    """Leaves that differ between two JSON values, as 'key: was old, now new'."""
    old, new = _parsed(key, old), _parsed(key, new)
    if isinstance(old, dict) and isinstance(new, dict):
        lines = []
        for name in sorted(old.keys() | new.keys()):
            lines += differences(old.get(name), new.get(name), f"{key}.{name}" if key else name)
        # a hash tells nothing when what it covers is named already
        named = [line for line in lines if "_hash:" not in line]
        return named or lines
    return (
        []
        if old == new
        else [f"{key.removeprefix('identity.')}: was {json.dumps(old)}, now {json.dumps(new)}"]
    )


def _parsed(key: str, value):
    """Options and versions may come as JSON text: look into it."""
    if key.endswith(("options", "result_versions", "code")) and isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return {} if value is None and key.endswith("code") else value
