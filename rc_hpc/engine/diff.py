"""What changed between two results of one kind: conditions, rows, and values by structure.

Rows are matched by id and duplicate, other axes by what stands along them (view subsets by their
cameras, tolerances by their values), stored codes by the names that they stand for. Columns are
read one after the other in blocks of rows, so that memory does not grow with the files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.engine.diff_matching import row_name
from rc_hpc.engine.diff_options import DiffOptions
from rc_hpc.engine.diff_values import ROWS, Changed, Example, Pair
from rc_hpc.engine.labels import open_result
from rc_hpc.store.conditions import differences
from rc_hpc.store.content import datasets
from rc_hpc.store.layout import is_length
from rc_hpc.store.opening import DAMAGE, first_line

#: Attributes that tell of the writing, and hashes of what is told in full.
_NOT_TOLD = (
    "file_time",
    "host_count",
    "creator_version",
    "result_versions",
    "environment",
    "options_hash",
    "content_hash",
)
#: Attributes told under names of their own.
_CONDITIONS = ("options", "code", "package_versions", "input_hash")
#: Characters of a line on an option, and rows or places named.
_LINE, _NAMED = 160, 5


@dataclass(frozen=True)
class Axis:
    """What only one of two files has along an axis.

    Attributes
    ----------
    name
        Dimension; ``rows`` are those of structures.
    gone, added
        What only the first and only the second has.
    """

    name: str
    gone: tuple[str, ...]
    added: tuple[str, ...]


@dataclass(frozen=True)
class Differences:
    """What changed from one file to the other.

    Attributes
    ----------
    asked
        What was compared, and how.
    kind
    options, code, versions, attributes
        A line for each that differs: the conditions of the results. Only in a strict comparison
        do options count.
    n_rows
        Rows that both have.
    axes
        Rows, and places along other axes, that only one of them has.
    n_compared
        Datasets that both have and that were compared.
    changed
        Datasets that differ.
    content
        Content hashes of both.
    """

    asked: DiffOptions
    kind: str
    options: tuple[str, ...]
    code: tuple[str, ...]
    versions: tuple[str, ...]
    attributes: tuple[str, ...]
    n_rows: int
    axes: tuple[Axis, ...]
    n_compared: int
    changed: tuple[Changed, ...]
    content: tuple[str, str]

    @property
    def equal(self) -> bool:
        """Whether rows, axes and values are equal; in a strict comparison the options, too."""
        different = self.axes or any(one.counts for one in self.changed)
        return not different and not (self.asked.strict and self.options)


def compare(options: DiffOptions) -> Differences:
    """Compare two finished files.

    Raises
    ------
    UsageError
        They are not two results of one kind or cannot be read, or what is to be compared or
        ignored is not there.
    """
    a, b = options.a, options.b
    try:
        with open_result(a) as old, open_result(b) as new:
            kinds = [str(h5.attrs["kind"]) for h5 in (old, new)]
            if kinds[0] != kinds[1]:
                raise UsageError(
                    f"{a} is a {kinds[0]} file, {b} a {kinds[1]} file: give two of one kind"
                )
            return _compare(Pair(old, new, options), options)
    except UsageError:
        raise
    except RcError as error:
        raise UsageError(str(error)) from error
    except DAMAGE as error:
        raise UsageError(
            f"{a} or {b} is damaged ({first_line(error)}): validate both, and make it again"
        ) from error


def _compare(pair: Pair, options: DiffOptions) -> Differences:
    old, new = ({path for path in datasets(h5) if not is_length(h5[path])} for h5 in pair.files)
    wanted = _wanted(sorted(old | new), options.only, options.ignore)
    changed = []
    for path in wanted:
        if path not in new:
            changed.append(Changed(path, notes=("gone: only the first file has it",)))
        elif path not in old:
            changed.append(Changed(path, notes=("new: only the second file has it",)))
        elif (differs := pair.changed(path)) is not None:
            changed.append(differs)
    attrs = [_plain(h5.attrs) for h5 in pair.files]
    return Differences(
        options,
        attrs[0]["kind"],
        **_conditions(*attrs),
        n_rows=len(pair.rows.a),
        axes=tuple(_axes(pair)),
        n_compared=sum(path in old and path in new for path in wanted),
        changed=tuple(changed),
        content=(attrs[0]["content_hash"], attrs[1]["content_hash"]),
    )


def _axes(pair: Pair) -> Iterator[Axis]:
    matches = {"rows": pair.rows} | pair.matches
    for name, matched in matches.items():
        if matched is not None and (matched.gone or matched.added):
            gone, added = (tuple(map(row_name, keys)) for keys in (matched.gone, matched.added))
            yield Axis(name, gone, added)


def _wanted(paths: list[str], only: Sequence[str], ignore: Sequence[str]) -> list[str]:
    for flag, names in (("--only", only), ("--ignore", ignore)):
        for name in names:
            if not any(_within(path, (name,)) for path in paths):
                raise UsageError(f"{flag} {name}: neither file has such a dataset or group")
    return [
        path for path in paths if (not only or _within(path, only)) and not _within(path, ignore)
    ]


def _within(path: str, names: Sequence[str]) -> bool:
    return any(f"{path}/".startswith(f"{name.strip('/')}/") for name in names)


def _plain(attrs: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in attrs.items()
    }


def _conditions(old: dict, new: dict) -> dict[str, tuple[str, ...]]:
    """Lines on the attributes that differ."""
    code = [json.loads(attrs.get("code", "{}")) for attrs in (old, new)]
    versions = [
        {"rc_hpc": attrs.get("creator_version")} | json.loads(attrs.get("package_versions", "{}"))
        for attrs in (old, new)
    ]
    rest = (old.keys() | new.keys()) - {*_NOT_TOLD, *_CONDITIONS}
    others = [{name: attrs[name] for name in rest & attrs.keys()} for attrs in (old, new)]
    options = [attrs.get("options") for attrs in (old, new)]
    same_input = old.get("input_hash") == new.get("input_hash")
    return {
        "options": tuple(
            line.removeprefix("options.") for line in differences(options[0], options[1], "options")
        ),
        "code": tuple(_code(*code)),
        "versions": tuple(differences(versions[0], versions[1])),
        "attributes": (
            *(() if same_input else ("input: other content",)),
            *differences(others[0], others[1]),
        ),
    }


def _code(old: dict, new: dict) -> Iterator[str]:
    if bool(old) != bool(new):
        yield f"only the {'first' if old else 'second'} file has a fingerprint of its code"
        return
    for module in sorted(old.keys() | new.keys()):
        if old.get(module) != new.get(module):
            word = "gone" if module not in new else "changed" if module in old else "new"
            yield f"{module}: {word}"


def text(found: Differences) -> str:
    """The differences for people."""
    both = f", {found.n_rows} rows in both" if found.n_rows else ""
    lines = [f"{found.asked.a} -> {found.asked.b}: two {found.kind} files{both}"]
    for name in ("options", "code", "versions", "attributes"):
        lines += (f"{name}: {_short(line)}" for line in getattr(found, name))
    for axis in found.axes:
        for word, places in (("gone", axis.gone), ("new", axis.added)):
            if places:
                more = f" and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
                named = ", ".join(places[:_NAMED])
                lines.append(f"{axis.name} {word}: {len(places)} ({named}{more})")
    for changed in found.changed:
        lines += _dataset_lines(changed)
    if found.content[0] != found.content[1]:
        lines.append(f"content hash: was {found.content[0]}, now {found.content[1]}")
    return "\n".join((*lines, _verdict(found)))


def _dataset_lines(changed: Changed) -> Iterator[str]:
    counts = []
    if changed.n_structures:
        counts.append(_number(changed.n_structures, "structure"))
    if changed.n_values:
        counts.append(_number(changed.n_values, "value"))
    told = "" if changed.counts else " (told only)"
    yield f"{changed.path}: {'; '.join(filter(None, (', '.join(counts), *changed.notes)))}{told}"
    for example in changed.examples:
        yield f"  {_example(example)}"
    if changed.n_structures > len(changed.examples):
        yield "  ..."


def _example(example: Example) -> str:
    name = f"{example.id}: " if example.id else ""
    change = f"{name}{example.old} -> {example.new}"
    if example.where == ROWS:
        return f"{change} rows"
    where = f" at {example.where}" if example.where else ""
    more = f" (first of {example.n_values})" if example.n_values > 1 else ""
    return f"{change}{where}{more}"


def _verdict(found: Differences) -> str:
    how = ""
    if found.asked.rtol or found.asked.atol:
        how = f" within rtol {found.asked.rtol:g}, atol {found.asked.atol:g}"
    if found.equal:
        return f"equal: {_number(found.n_compared, 'dataset')}, value by value{how}"
    n_changed = sum(one.counts for one in found.changed)
    axes = "".join(f"{axis.name}, " for axis in found.axes)
    return f"different: {axes}{n_changed} of {_number(found.n_compared, 'dataset')}{how}"


def _number(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"


def _short(line: str) -> str:
    """A line on an option; one on a matrix says only that it changed."""
    return line if len(line) <= _LINE else f"{line.partition(':')[0]}: changed"
