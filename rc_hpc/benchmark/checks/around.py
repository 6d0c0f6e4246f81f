"""Files around the questions of a package of ours, made again and compared: README, licence,
Croissant, structures, settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import rc_hpc
from rc_hpc.benchmark.checks.finding import Finding
from rc_hpc.benchmark.checks.ours import Ours
from rc_hpc.benchmark.checks.written import strictly
from rc_hpc.benchmark.croissant import croissant
from rc_hpc.benchmark.package import MANIFEST
from rc_hpc.benchmark.questions.options import QuestionOptions
from rc_hpc.benchmark.readme import LICENCE, readme
from rc_hpc.benchmark.records import STRATA, Question
from rc_hpc.benchmark.settings import DisplaySettings
from rc_hpc.benchmark.writing import PROVENANCE, base_line, json_file

CROISSANT = "croissant.json"
#: Settings that the card states.
STATED = {
    "display": ("draw_seed", "tilt", "random_views", "bond_factor", "size"),
    "questions": ("visible_count", "visible_mark", "distance_margin"),
}


def check_around(
    root: Path,
    questions: Sequence[Question],
    mini: Sequence[Question],
    ours: Ours,
    digests: Mapping[str, str],
) -> Iterator[Finding]:
    """Files that are not what we write for these questions, structures and settings.

    Parameters
    ----------
    digests
        SHA-256 of the files of the package.
    """
    manifest, faults = strictly(_bytes(root / MANIFEST) or b"")
    yield from (Finding("json", MANIFEST, fault) for fault in faults)
    if isinstance(manifest, dict):
        yield from _settings(manifest, ours)
    used = {q.structure for q in questions}
    bases = [base for name, base in ours.bases.items() if name in used]
    yield from _structures(root / PROVENANCE, bases)
    if ours.version != rc_hpc.__version__:
        return  # its words may be others: `left_out` says so
    metadata = croissant(questions, _Missing(digests), ours.version)
    wanted = {
        "LICENSE": LICENCE.encode(),
        "README.md": readme(questions, mini, bases, _in_order(manifest, ours)).encode(),
        CROISSANT: json_file(metadata),
    }
    for name, content in wanted.items():
        found = _bytes(root / name)
        if found is None:
            yield Finding("file-missing", name, "is not there; every package of ours has one")
        elif found != content:
            yield Finding("rebuilt-file", name, f"{_first(found, content)}")


class _Missing(dict[str, str]):
    """Digests by name; of files that are not there, nothing."""

    def __missing__(self, name: str) -> str:
        return ""


def left_out(ours: Ours) -> Iterator[str]:
    """What of these files cannot be checked, and which settings are not the card's."""
    if ours.version != rc_hpc.__version__:
        yield (
            f"README.md, LICENSE and {CROISSANT} were written by rc_hpc {ours.version}, of which "
            f"{rc_hpc.__version__} does not know the words: not compared"
        )
    recorded = {"display": ours.display, "questions": ours.questions}
    stated = {"display": DisplaySettings(), "questions": QuestionOptions()}
    for group, names in STATED.items():
        for name in names:
            field = "seed" if name == "draw_seed" else name
            value, card = (getattr(of[group], field) for of in (recorded, stated))
            if value != card:
                flag = name.replace("_", "-")
                yield f"built with --{flag} {value:g}, where the card has {card:g}: held to its own"


def _in_order(manifest: Any, ours: Ours) -> Any:
    """The recorded settings in the order in which the manifest tells them, if it does."""
    told = manifest.get("settings") if isinstance(manifest, dict) else None
    return told if told == ours.settings else ours.settings


def _settings(manifest: dict[str, Any], ours: Ours) -> Iterator[Finding]:
    wanted = {"creator", "settings", "view_sets", "files"}
    if missing := sorted(wanted - manifest.keys()):
        yield Finding("manifest", MANIFEST, f"lacks {', '.join(missing)}")
    if strange := sorted(manifest.keys() - wanted):
        yield Finding("manifest", MANIFEST, f"tells of {', '.join(strange)}, which ours do not")
    if manifest.get("creator", (who := f"rc_hpc {ours.version}")) != who:
        told = f"its creator is {manifest['creator']!r}; scenes.h5 was made by {who}"
        yield Finding("manifest", MANIFEST, told)
    sets = manifest.get("view_sets", dict.fromkeys(STRATA, 1))
    if (
        not isinstance(sets, dict)
        or tuple(sets) != STRATA
        or not all(type(number) is int and number > 0 for number in sets.values())
    ):
        yield Finding("manifest", MANIFEST, "view_sets does not tell a number of each stratum")
    for name in _differing(manifest.get("settings", ours.settings), ours.settings):
        yield Finding("settings", MANIFEST, f"{name} is not what scenes.h5 was made with")


def _differing(one: Any, other: Any, name: str = "settings") -> Iterator[str]:
    """Names of what differs in two records."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            if key in one and key in other:
                yield from _differing(one[key], other[key], f"{name}.{key}")
            else:
                yield f"{name}.{key}"
    elif one != other or type(one) is not type(other):
        yield name


def _structures(path: Path, bases: Sequence[Any]) -> Iterator[Finding]:
    found = _bytes(path)
    if found is None:
        yield Finding("file-missing", PROVENANCE, "is not there; every package of ours has one")
        return
    of_name = {base.name: base for base in bases}
    told: dict[str, str] = {}
    for number, line in enumerate(found.decode(errors="replace").splitlines(True), 1):
        row = strictly(line.encode())[0]
        name = row.get("name") if isinstance(row, dict) else None
        source = row.get("source") if isinstance(row, dict) else None
        where = f"{PROVENANCE}, line {number}"
        if not isinstance(name, str) or name not in of_name or name in told:
            yield Finding("structures-file", where, "is no structure that is asked about, or again")
        elif not isinstance(source, str) or line != base_line(of_name[name], source):
            yield Finding("structures-file", where, f"{name}: is not the structure of scenes.h5")
        told[str(name)] = line
    if missing := sorted(of_name.keys() - told.keys()):
        yield Finding("structures-file", PROVENANCE, f"lacks {', '.join(missing)}")


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _first(found: bytes, wanted: bytes) -> str:
    """Where a file first differs from what it should be."""
    lines = (content.decode(errors="replace").splitlines(True) for content in (found, wanted))
    for number, (has, should) in enumerate(zip_longest(*lines, fillvalue=""), 1):
        if has != should:
            return f"line {number} is {_short(has)}, not {_short(should)} as we write it"
    return "holds bytes that are no text"


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
