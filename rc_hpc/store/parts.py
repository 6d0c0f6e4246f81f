"""The folder `<output>.parts/`: what ranks have finished, one private file a rank and run.

A record in such a file is finished when it is whole. The names of the files, and which rank and run
wrote a record, have no influence on the merged file.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rc_hpc.core.errors import RcError
from rc_hpc.core.files import clean_leftovers, disk_errors, refuse_link, sync_folder, write_whole
from rc_hpc.store.batch import Batch, Children
from rc_hpc.store.conditions import accepted, check_conditions, code_fingerprint
from rc_hpc.store.part_file import ENDING, FORMAT, Form, Found, Part, PartFile, PartWriter, look
from rc_hpc.store.schema import SCHEMA_VERSION, Schema

log = logging.getLogger(__name__)

#: Name of the file that says what a folder's work depends on.
RECORD = "run.json"
#: Start of the names of the marks that allow parts of other code.
ACCEPTED = "accepted-code-"
#: What a merge leaves beside the parts while it is at work.
SPILLS = "*.spill"


def begun(folder: str | Path) -> bool:
    """Whether a run has begun in this parts folder and is not merged yet."""
    return (Path(folder) / RECORD).is_file()


def begun_work(folder: str | Path) -> bool:
    """Whether a parts folder holds work, of this or of earlier versions."""
    return any(any(Path(folder).glob(pattern)) for pattern in (f"*{ENDING}", "*.h5"))


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
    rank
        Of the writer, told in the name of its file.

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
        rank: int = 0,
    ):
        self.folder = Path(folder)
        self.schema = schema
        self.dims = {name: int(length) for name, length in dims.items()}
        self.form = Form(schema, self.dims)
        #: Parts that the last `scan` found good, and files and records that it could not use.
        self.good: list[Part] = []
        self.set_aside: list[str] = []
        #: Parts written here: they need no check.
        self.written: list[Part] = []
        self._name = f"{rank}-{uuid.uuid4().hex[:8]}{ENDING}"
        self._writer: PartWriter | None = None
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
            "part_format": FORMAT,
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
        options = json.loads(run["identity"].get("options", "{}"))
        return cls(folder, schema.of(options), run["dims"], run["identity"])

    def accepted_code(self) -> list[str]:
        """Fingerprints of other code whose parts are joined with those of this run's."""
        return sorted(path.name[len(ACCEPTED) :] for path in self.folder.glob(f"{ACCEPTED}*"))

    def write(self, batch: Batch, children: Children, rows: Sequence[int] | np.ndarray) -> Part:
        """Write a finished batch.

        Parameters
        ----------
        rows : (n,)
            Number of each row in the source: what tells that it is done.
        """
        if self._writer is None:
            marks = {"identity_hash": self.identity_hash, "code": self.code}
            self._writer = PartWriter(self.folder / self._name, self.form, marks)
        part = self._writer.write(batch, children, np.asarray(rows, np.int64))
        self.written.append(part)
        return part

    def open_part(self, part: Part) -> PartFile:
        """A finished part, to be read."""
        return PartFile(self.folder / part.file, part.at)

    def read(self, part: Part) -> tuple[Batch, Children]:
        """Batch and children of a part."""
        with self.open_part(part) as file:
            tables = {
                prefix: {column.path: file[prefix + column.path] for column in columns}
                for prefix, columns in self.form.tables().items()
            }
        return tables.pop(""), {prefix[:-1]: arrays for prefix, arrays in tables.items()}

    def columns(self, part: Part, *paths: str) -> list[Any]:
        """Some columns of a part."""
        with self.open_part(part) as file:
            return [file[path] for path in paths]

    def names(self) -> list[str]:
        """Names of all files of parts, unchecked, sorted."""
        return sorted(path.name for path in self.folder.glob(f"*{ENDING}") if path.is_file())

    def look(self, name: str) -> Found:
        """What lies in a file; its checksums are computed again, and nothing is changed."""
        marks = {
            "identity_hash": (self.identity_hash,),
            "code": (code_fingerprint(self.identity), *self.accepted_code()),
        }
        return look(self.folder / name, self.form, marks)

    def scan(self) -> list[Part]:
        """Look at all files, set aside what cannot be used, return the good parts.

        Only one process may call this. Every file is read once, for its checksums.
        """
        return self.settle({name: self.look(name) for name in self.names()})

    def settle(self, found: Mapping[str, Found]) -> list[Part]:
        """Set aside what was found to be unusable, keep and return the good parts.

        Files are moved to `rejected/`; of single records that are damaged it is told, and their
        rows are done again. Only one process may call this.
        """
        self.good, self.set_aside = [], []
        for name in sorted(found):
            one = found[name]
            self.good += one.parts
            if one.problem:
                self._reject(name, one.problem)
            for problem in one.damaged:
                self.set_aside.append(name)
                log.warning("%s: %s; its rows are done again", self.folder / name, problem)
            if one.torn:
                log.info("%s: a record was not finished and does not count", self.folder / name)
        return list(self.good)

    def _reject(self, name: str, problem: str) -> None:
        rejected = self.folder / "rejected"
        with disk_errors(rejected):
            rejected.mkdir(exist_ok=True)
            target = rejected / name
            while target.exists():
                target = target.with_name(f"again-{target.name}")
            os.replace(self.folder / name, target)
            sync_folder(rejected)
        self.set_aside.append(name)
        log.warning(
            "%s: %s; moved to %s, its rows are done again", self.folder / name, problem, rejected
        )

    def rejected(self) -> list[str]:
        """File names of the parts ever set aside."""
        return sorted(path.name for path in (self.folder / "rejected").glob(f"*{ENDING}"))

    def count_status(self, parts: Iterable[Part]) -> Counter[int]:
        """Number of rows by status code; rows done more than once count once."""
        seen: list[np.ndarray] = []
        codes: list[np.ndarray] = []
        for part in parts:
            seen.append(part.rows)
            codes += self.columns(part, "structures/status")
        if not seen:
            return Counter()
        _, first = np.unique(np.concatenate(seen), return_index=True)
        return Counter(np.concatenate(codes)[first].tolist())

    def clean(self) -> list[str]:
        """Remove what dead writers have left half-written; only one process may call this."""
        removed = clean_leftovers(self.folder)
        for spill in self.folder.glob(SPILLS):
            spill.unlink(missing_ok=True)
            removed.append(spill.name)
        return removed


def done_rows(parts: Iterable[Part], total: int) -> np.ndarray:
    """Which rows of a source of `total` are done, (total,) bool."""
    done = np.zeros(total, bool)
    for part in parts:
        done[part.rows[part.rows < total]] = True
    return done


def discard(folder: str | Path) -> None:
    """Remove parts, leftovers, flight records and `run.json`; the folder too if that was all."""
    folder = Path(folder)
    if not folder.is_dir():
        return
    # those of earlier versions are HDF5
    patterns = (f"*{ENDING}", "*.h5", SPILLS, ".*.tmp", f"{ACCEPTED}*")
    ours = [path for pattern in patterns for path in folder.glob(pattern)]
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
            if run.get("part_format") != FORMAT:
                raise RcError(
                    f"{folder}: its parts are of another format than this version of rc_hpc writes"
                    " and reads: finish the work with the version that began it, or start anew "
                    "with --overwrite"
                )
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
