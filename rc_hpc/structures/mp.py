"""Structures of the Materials Project: fetched once, kept as a snapshot, read from it ever after.

The database moves; a query asked twice may answer differently. So what was fetched is written to a
file named after the query before anything reads it, and wherever that file lies nothing is asked
again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path

from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.structures.listing import file_items
from rc_hpc.structures.record import Item

#: What is fetched of each structure.
FIELDS = ("material_id", "structure", "deprecated")
#: Ids of one request.
IDS = 200
_ID = re.compile(r"(?:[a-z]+-)?[a-z0-9]+")
_RANGE = re.compile(r"(-?[\d.]+)\.\.(-?[\d.]+)")


def parse_query(source: str) -> dict:
    """Search criteria of ``mp:...``.

    Parameters
    ----------
    source
        ``mp:ID,ID``, ``mp:@FILE`` (ids, one a line) or ``mp:KEY=VALUE&KEY=VALUE`` with the keys of
        the client's summary search; values are numbers, true, false, LOW..HIGH, lists with commas,
        or text.

    Returns
    -------
    dict
        JSON values; ids sorted, under ``material_ids``.

    Raises
    ------
    UsageError
        Nothing is asked for, or it is malformed.
    """
    text = source.removeprefix("mp:")
    if not text:
        raise UsageError(
            "mp: alone would fetch the whole database: give ids (mp:mp-149,mp-13), mp:@FILE "
            "or mp:chemsys=Si-O&num_sites=1..20"
        )
    if text.startswith("@"):
        try:
            ids = Path(text[1:]).read_text(encoding="utf-8").split()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(
                f"{source}: {text[1:]} cannot be read ({error}); give a file of ids, one a line"
            ) from error
    elif "=" not in text:
        ids = text.split(",")
    else:
        pairs = [pair.partition("=") for pair in text.split("&")]
        if bad := [key for key, equals, value in pairs if not (key and equals and value)]:
            raise UsageError(
                f"{source}: {bad[0]!r} is no KEY=VALUE; quote the source, since & means "
                "something to the shell"
            )
        return {key: _value(value) for key, _, value in sorted(pairs)}
    if strange := [id_ for id_ in ids if not _ID.fullmatch(id_)] or (not ids and ["no id"]):
        raise UsageError(f"{source}: {strange[0]!r} is no id such as mp-149")
    return {"material_ids": sorted(set(ids))}


def _value(text: str):
    if text in ("true", "false"):
        return text == "true"
    if found := _RANGE.fullmatch(text):
        return [_number(part) for part in found.groups()]
    if "," in text:
        return [_number(part) for part in text.split(",")]
    return _number(text)


def _number(text: str):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def snapshot_path(query: dict) -> Path:
    """Where the answer to a query is kept: in $RC_HPC_SNAPSHOTS, else in the current folder."""
    digest = hashlib.sha256(json.dumps(query, sort_keys=True).encode()).hexdigest()
    return Path(os.environ.get("RC_HPC_SNAPSHOTS", ".")) / f"mp-{digest[:12]}.jsonl"


def mp_items(query: dict) -> Iterator[Item]:
    """Items of the snapshot of a query, which is made first where there is none.

    Raises
    ------
    RcError
        The client is missing, refuses, or finds nothing.
    """
    path = snapshot_path(query)
    if not path.exists():
        _keep(path, query, *fetch(query))
    yield from file_items(str(path), path.name, "", "jsonl")


def fetch(query: dict) -> tuple[list[dict], str]:
    """Entries with ``material_id`` and ``structure``, sorted by id, and the database's version.

    Asks the network.
    """
    key = os.environ.get("MP_API_KEY", "")
    if not key:
        raise UsageError(
            "mp: needs a key of the Materials Project: put yours into the environment "
            "variable MP_API_KEY"
        )
    try:
        from mp_api.client import MPRester
    except ImportError as error:
        raise RcError(f"mp: needs the client mp-api ({error}): pip install 'rc_hpc[mp]'") from error
    requests = [query]
    if ids := query.get("material_ids"):
        requests = [{"material_ids": ids[start : start + IDS]} for start in range(0, len(ids), IDS)]
    try:
        # The endpoint is read here, not at the client's import, so that a stand-in can be named at
        # any time.
        with MPRester(
            key,
            os.environ.get("MP_API_ENDPOINT") or None,
            mute_progress_bars=True,
            use_document_model=False,
        ) as client:
            found = [
                document
                for request in requests
                for document in client.materials.summary.search(
                    **_criteria(request), fields=list(FIELDS), all_fields=False
                )
            ]
            database = str(client.db_version)
    # The client raises its own errors, those of requests, and TypeError for unknown keys.
    except Exception as error:
        text = " ".join(re.sub(r"\x1b\[\d+m", "", str(error)).split())[:300].replace(key, "(key)")
        raise RcError(
            f"mp: the Materials Project cannot be asked ({type(error).__name__}: {text}): "
            "check the query, MP_API_KEY and the network; compute nodes often have none, so "
            "make the snapshot on a login node"
        ) from error
    entries = {str(document["material_id"]): _plain(document) for document in found}
    wanted = ids or []
    missing = [id_ for id_ in wanted if id_ not in entries]
    if missing:
        raise RcError(
            f"mp: {len(missing)} of {len(wanted)} ids are not in the database (version "
            f"{database}), the first {missing[0]}: it may have a new id"
        )
    if not entries:
        raise RcError(
            f"mp: nothing in the database (version {database}) answers {json.dumps(query)}"
        )
    return [entries[id_] for id_ in sorted(entries)], database


def _criteria(request: dict) -> dict:
    return {
        key: tuple(value)
        if isinstance(value, list) and all(isinstance(part, (int, float)) for part in value)
        else value
        for key, value in request.items()
    }


def _plain(document) -> dict:
    structure = document["structure"]
    return {
        "material_id": str(document["material_id"]),
        "deprecated": bool(document.get("deprecated", False)),
        "structure": structure if isinstance(structure, dict) else structure.as_dict(),
    }


def _keep(path: Path, query: dict, entries: list[dict], database: str) -> None:
    """Write the snapshot and, beside it, where it comes from.

    Of several processes the first to finish wins.
    """
    text = "".join(json.dumps(entry, sort_keys=True) + "\n" for entry in entries)
    about = {
        "query": query,
        "database_version": database,
        "client": f"mp-api {version('mp-api')}",
        "n": len(entries),
        "fetched": datetime.now(UTC).isoformat(timespec="seconds"),
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
    }
    for target, content in (
        (path, text),
        (path.with_suffix(".meta.json"), json.dumps(about, indent=1, sort_keys=True) + "\n"),
    ):
        temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            with open(temporary, "w", encoding="utf-8") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.link(temporary, target)
        except FileExistsError:
            return
        except OSError as error:
            raise RcError(
                f"{target}: cannot be written ({error.strerror}): name a folder in RC_HPC_SNAPSHOTS"
            ) from error
        finally:
            temporary.unlink(missing_ok=True)


def listing(source: str):
    """What lists the source; a malformed one is refused at once."""
    return partial(mp_items, parse_query(source))
