"""Rows that share an id: which one owns it, and what the others say."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rc_hpc.core.errors import Status


@dataclass(frozen=True)
class Twin:
    """One of several rows with the same id.

    Attributes
    ----------
    at
        Number of the row among all rows of the parts.
    duplicate, sha256, source, status, message
        Its columns of these names.
    """

    at: int
    duplicate: int
    sha256: str
    source: str
    status: int
    message: str


def without_repeats(twins: list[Twin]) -> list[Twin]:
    """Rows ordered by (duplicate, sha256), those that were done more than once only once."""
    unique = {(twin.duplicate, twin.sha256): twin for twin in reversed(twins)}
    return [unique[key] for key in sorted(unique)]


def resolve_duplicates(id_: str, twins: list[Twin]) -> list[Twin]:
    """Order rows with one id by sha256 (rows without one last); the first owns the id.

    The others get `duplicate` 1, 2, ..., status `duplicate_id` and a message that names both
    sources; their other columns stay. The order of reading has no influence.
    """
    twins = sorted(
        twins, key=lambda twin: (not twin.sha256, twin.sha256, twin.source, twin.duplicate)
    )
    owner = replace(twins[0], duplicate=0)
    return [owner] + [
        replace(
            twin,
            duplicate=number,
            status=int(Status.duplicate_id),
            message=_message(id_, owner, twin),
        )
        for number, twin in enumerate(twins[1:], 1)
    ]


def _message(id_: str, owner: Twin, twin: Twin) -> str:
    same = "the same" if twin.sha256 == owner.sha256 else "another"
    text = (
        f"id {id_!r} of {twin.source} is taken by {same} structure of {owner.source}: "
        "rename one of them, or name the folder above both"
    )
    return f"{text}; {twin.message}" if twin.message else text
