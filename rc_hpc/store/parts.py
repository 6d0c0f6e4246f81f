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
import uuid
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rc_hpc.core.errors import RcError
from rc_hpc.core.files import clean_leftovers, disk_errors, refuse_link, sync_folder, write_whole
from rc_hpc.store.batch import Batch, Children
from rc_hpc.store.completed import Completed
from rc_hpc.store.conditions import accepted, check_conditions, code_fingerprint
from rc_hpc.store.part_file import ENDING, Form, PartFile
from rc_hpc.store.schema import SCHEMA_VERSION, Schema

log = logging.getLogger(__name__)

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
        identity: dict[str, Any],
        accept_code: str | None = None,
    ):
        self.folder = Path(folder)
        self.schema = schema
        self.dims = {name: int(length) for name, length in dims.items()}
        self.form = Form(schema, self.dims)
        #: Names of the parts that the last `scan` found good, and of those moved to `rejected/`.
        self.good: list[str] = []
        self.set_aside: list[str] = []
        self._run = uuid.uuid4().hex[:8]
        #: Fingerprint of the code at work here.
        self.code = code_fingerprint(identity)
        text = self._text(identity)
        record = self.folder / RECORD
        refuse_link(record)
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

    def _text(self, identity: dict[str, Any]) -> str:
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

    def write(self, batch: Batch, children: Children, name: str) -> str:
        """Write a finished batch; returns the part's file name.

        Parameters
        ----------
        name
            Unique among the writers of this run (rank and batch number); the run is added.
        """
        part = f"{name}-{self._run}{ENDING}"
        marks = {"identity_hash": self.identity_hash, "code": self.code}
        PartFile.write(self.folder / part, self.form, batch, children, marks)
        return part

    def open_part(self, part: str) -> PartFile:
        """A finished part, to be read."""
        return PartFile(self.folder / part)

    def read(self, part: str) -> tuple[Batch, Children]:
        """Batch and children of a part."""
        with self.open_part(part) as file:
            tables = {
                prefix: {column.path: file[prefix + column.path] for column in columns}
                for prefix, columns in self.form.tables().items()
            }
        return tables.pop(""), {prefix[:-1]: arrays for prefix, arrays in tables.items()}

    def columns(self, part: str, *paths: str) -> list[Any]:
        """Some columns of a part."""
        with self.open_part(part) as file:
            return [file[path] for path in paths]

    def names(self) -> list[str]:
        """File names of all parts, unchecked, sorted."""
        return sorted(path.name for path in self.folder.glob(f"*{ENDING}") if path.is_file())

    def problem(self, part: str) -> str:
        """Why a part cannot be used, or an empty string; its checksum is computed again."""
        marks = {
            "identity_hash": (self.identity_hash,),
            "code": (code_fingerprint(self.identity), *self.accepted_code()),
        }
        return PartFile.problem(self.folder / part, self.form, marks)

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
        return sorted(path.name for path in (self.folder / "rejected").glob(f"*{ENDING}"))

    def completed(self, parts: list[str] | None = None) -> Completed:
        """What the parts (by default, all that pass a `scan`) hold, as an index of ids."""
        parts = self.scan() if parts is None else parts
        index = Completed(parts)
        for number, part in enumerate(parts):
            index.add(number, *self.columns(part, "structures/id", "structures/duplicate"))
        return index.seal()

    def count_status(self, parts: list[str]) -> Counter[int]:
        """Number of rows by status code; rows done more than once count once."""
        where = self.completed(parts).where
        count: Counter[int] = Counter()
        for number, part in enumerate(parts):
            [codes] = self.columns(part, "structures/status")
            count.update(codes[where[where[:, 0] == number, 1]].tolist())
        return count

    def clean(self) -> list[str]:
        """Remove what dead writers have left half-written; only one process may call this."""
        return clean_leftovers(self.folder)


def discard(folder: str | Path) -> None:
    """Remove parts, leftovers, flight records and `run.json`; the folder too if that was all."""
    folder = Path(folder)
    if not folder.is_dir():
        return
    ours = (*folder.glob(f"*{ENDING}"), *folder.glob(".*.tmp"), *folder.glob(f"{ACCEPTED}*"))
    for path in (*ours, folder / RECORD):
        path.unlink(missing_ok=True)
    for flights in folder.glob("flight*"):
        shutil.rmtree(flights, ignore_errors=True)
    if not any(folder.iterdir()):
        folder.rmdir()


def read_run(folder: str | Path) -> dict[str, Any]:
    """Content of the folder's `run.json`."""
    record = Path(folder) / RECORD
    refuse_link(Path(folder))
    refuse_link(record)
    try:
        run: dict[str, Any] = json.loads(record.read_text(encoding="utf-8"))
        if {"kind", "schema_version", "dims", "identity"} <= run.keys():
            _check_code_is_named(folder, run["identity"])
            return run
    except FileNotFoundError:
        raise RcError(f"{folder}: not a parts folder (no run.json)") from None
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        raise RcError(f"{record}: cannot be read ({error}): start anew with --overwrite") from error
    raise RcError(f"{record}: not written by rc_hpc: start anew with --overwrite")


def _check_code_is_named(folder: str | Path, identity: Mapping[str, Any]) -> None:
    """Refuse work of versions whose parts do not tell the code that made them."""
    versions = identity.get("result_versions")
    if versions and "code" not in identity:
        raise RcError(
            f"{folder}: begun by rc_hpc {versions['rc_hpc']}, whose parts do not tell what code "
            "made them: finish it with that version, or start anew with --overwrite"
        )
