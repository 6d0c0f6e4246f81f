"""Lists of structure ids as files: one id a line."""

from __future__ import annotations

from pathlib import Path

from rc_hpc.core.errors import UsageError


def read_ids(path: Path, flag: str) -> tuple[str, ...]:
    """Ids of a file in its order; blank lines and a byte-order mark are none.

    Parameters
    ----------
    flag
        The option that named the file, for messages.

    Raises
    ------
    UsageError
        The file cannot be read, or holds no ids.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{flag} {path}: cannot be read ({error})") from error
    ids = tuple(line.strip() for line in text.split("\n") if line.strip())
    if not ids:
        raise UsageError(f"{flag} {path}: holds no ids")
    return ids
