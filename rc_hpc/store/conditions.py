"""What results depend on, then and now: whether work can be joined, and what differs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rc_hpc.core.errors import RcError
from rc_hpc.core.fingerprint import fingerprint
from rc_hpc.core.text import parse_json


def code_fingerprint(identity: Mapping[str, Any]) -> str:
    """Fingerprint of the code that an identity names; empty where it names none."""
    code = _parsed("code", identity.get("code"))
    return fingerprint(code) if code else ""


def accepted(
    before: Mapping[str, Any], now: Mapping[str, Any], accept_code: str | None
) -> dict[str, Any]:
    """`now` with the code of `before`, where that is the code that may be accepted."""
    if accept_code and before.get("code") and code_fingerprint(before) == accept_code:
        return {**now, "code": before["code"]}
    return dict(now)


def check_conditions(path: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
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


def differences(old: Any, new: Any, key: str = "") -> list[str]:
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


def _parsed(key: str, value: Any) -> Any:
    """Options and versions may come as JSON text: look into it."""
    if key.endswith(("options", "result_versions", "code")) and isinstance(value, str):
        try:
            return parse_json(value)
        except ValueError:
            return value
    return {} if value is None and key.endswith("code") else value
