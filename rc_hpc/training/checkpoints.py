"""Checkpoints: a folder of unfinished work, one file a seed, whole or not there."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from pathlib import Path

from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.core.files import clean_leftovers, disk_errors, write_whole
from rc_hpc.core.text import parse_json
from rc_hpc.engine.options import CodedWorkOptions
from rc_hpc.store.conditions import accepted, check_conditions, code_fingerprint
from rc_hpc.store.parts import ACCEPTED, RECORD

#: Begin of a checkpoint; the digest of the rest follows.
_MAGIC = b"rc_hpc checkpoint 1\n"
_HEAD = len(_MAGIC) + hashlib.sha256().digest_size


def prepare_folder(folder: Path, work: CodedWorkOptions, identity: dict) -> dict:
    """Make the folder ready under the rules of --resume and --overwrite.

    Returns
    -------
    dict
        `identity`, or that of the earlier work where other code is accepted.
    """
    record = folder / RECORD
    with disk_errors(folder):
        clean_leftovers(folder)
        old = sorted(folder.glob("*.pt"))
        if work.overwrite:
            for path in (*old, *folder.glob(f"{ACCEPTED}*"), record):
                path.unlink(missing_ok=True)
        elif old and not work.resume:
            raise UsageError(
                f"{folder} holds the unfinished work of an earlier run: --resume goes on with it, "
                "--overwrite starts anew"
            )
        elif old and record.exists():
            before = parse_json(record.read_text(encoding="utf-8"))
            joined = accepted(before, identity, work.accept_code)
            check_conditions(folder, before, plain(joined))
            if joined != identity:
                (folder / f"{ACCEPTED}{code_fingerprint(identity)}").touch()
            identity = joined
    write_whole(record, json.dumps(identity, sort_keys=True).encode())
    return identity


def accepted_code(folder: Path) -> list[str]:
    """Fingerprints of the other code that was accepted for the work in the folder."""
    return sorted(path.name.removeprefix(ACCEPTED) for path in folder.glob(f"{ACCEPTED}*"))


def plain(identity: Mapping) -> dict:
    """An identity as JSON gives it back."""
    return json.loads(json.dumps(identity))


def in_bytes(state: Mapping) -> bytes:
    """A state of tensors and numbers as torch's file."""
    import torch

    buffer = io.BytesIO()
    torch.save(state, buffer)
    return buffer.getvalue()


def save(path: Path, state: Mapping) -> None:
    """Write a state as torch's own file."""
    write_whole(path, in_bytes(state))


def save_checked(path: Path, state: Mapping) -> None:
    """Write a checkpoint behind a digest of it: torch reads flipped bits without a word."""
    data = in_bytes(state)
    write_whole(path, _MAGIC + hashlib.sha256(data).digest() + data)


def load_checked(path: Path) -> dict:
    """Read a checkpoint of `save_checked`, or one that 0.1.0 wrote without a digest.

    Raises
    ------
    RcError
        It cannot be read, or is not as it was written.
    """
    import torch

    try:
        data = path.read_bytes()
        if data.startswith(_MAGIC):
            digest, data = data[len(_MAGIC) : _HEAD], data[_HEAD:]
            if hashlib.sha256(data).digest() != digest:
                raise ValueError("its digest is another")
        return torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except Exception as error:
        raise RcError(f"{path}: cannot be read ({type(error).__name__}: {error})") from error
