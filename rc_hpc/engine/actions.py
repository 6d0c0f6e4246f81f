"""What can be done with finished and unfinished outputs: status, merge, validate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rc_hpc.core.door import Parser, Talk, setup_logging
from rc_hpc.core.errors import Exit, RcError, UsageError
from rc_hpc.core.files import parts_folder
from rc_hpc.core.kind import Kind
from rc_hpc.core.options import Options, opt
from rc_hpc.engine.merging import merge_output
from rc_hpc.engine.status import status
from rc_hpc.engine.validate import validate
from rc_hpc.kinds.common.beside import Beside
from rc_hpc.kinds.registry import KINDS, of_command
from rc_hpc.store.claim import Claim
from rc_hpc.store.parts import begun, read_run
from rc_hpc.store.reader import open_ours

LINES = {
    "status": "how many structures are done, by status",
    "merge": "join the parts that ranks, shards or a killed run have left",
    "validate": "check a file or a parts folder: schema, order, checksums",
}


@dataclass(frozen=True)
class ActionOptions(Options):
    """On which output."""

    output: Path = opt(
        help="output of a run",
        parse=Path,
        positional=True,
        metavar="FILE",
        recorded=False,
    )


@dataclass(frozen=True)
class MergeOptions(ActionOptions):
    """The same, and how much must be there."""

    partial: bool = opt(
        False, "merge what is there although structures are missing", recorded=False
    )


def parser(command: str, action: str) -> Parser:
    """Argument parser of an action on one command's output."""
    p = Parser(f"python -m rc_hpc.{command} {action}", f"{LINES[action]}.")
    p.add_options(_options(action), output=Path(of_command(command)[0].output))
    return p


def run_action(command: str, argv: list[str]) -> int:
    """Run ``status``, ``merge`` or ``validate`` of one command's output."""
    action, *rest = argv
    asked = parser(command, action).read(rest)
    setup_logging(asked.make(Talk))
    actions: dict[str, Callable[[str, Any], int]] = {
        "status": _status,
        "merge": _merge,
        "validate": _validate,
    }
    return actions[action](command, asked.make(_options(action)))


def _options(action: str) -> type[ActionOptions]:
    return MergeOptions if action == "merge" else ActionOptions


def _status(command: str, options: ActionOptions) -> int:
    output = options.output
    packed = output.with_name(f"{output.stem}.packed.h5")
    begins = packed.exists() or begun(parts_folder(packed))
    if not output.exists() and not begun(parts_folder(output)) and begins:
        print(f"{output}: not begun; its structures come first, in {packed.name}")
        command, output = "pack", packed
    progress = status(output)
    total = "" if progress.total is None else f" of {progress.total}"
    where = "in the finished file" if progress.finished else f"done, in {progress.parts} parts"
    print(f"{progress.where}: {progress.rows}{total} {progress.noun} {where}")
    for name, count in progress.by_status.items():
        print(f"  {name}: {count}")
    for part in progress.unusable:
        print(f"  unusable part: {part} (its {progress.noun} are done again on --resume)")
    if progress.rejected:
        print(f"  parts set aside earlier: {progress.rejected}")
    if not progress.finished and progress.missing:
        print("  next: run with --resume, or merge when nothing is missing")
    elif not progress.finished:
        print(f"  next: python -m rc_hpc.{command} merge {output}")
    return Exit.CLEAN


def _merge(command: str, options: MergeOptions) -> int:
    output = options.output
    folder = parts_folder(output)
    if not begun(folder):
        why = f"there is no {folder}: has a run written to this --output?"
        raise RcError(f"{output}: nothing to merge, {'it is finished' if output.exists() else why}")
    kind = _kind_of(command, output, read_run(folder)["kind"])
    claim = Claim(folder)
    try:
        digest = merge_output(kind, output, options.partial)
    finally:
        claim.release()
    print(f"{output}: written, content hash {digest}")
    return Exit.CLEAN


def _validate(command: str, options: ActionOptions) -> int:
    output, folder = options.output, parts_folder(options.output)
    unfinished = not output.exists() and folder.is_dir()
    problems = validate(folder if unfinished else output)
    if not problems and output.is_file():
        with open_ours(output) as h5:
            kind = KINDS[h5.attrs["kind"]]
        problems = (kind.load("beside") or Beside)(output).problems()
    for problem in problems:
        print(problem)
    if not problems:
        print(f"{output}: {'not finished; its parts are valid' if unfinished else 'valid'}")
    return Exit.FATAL if problems else Exit.CLEAN


def _kind_of(command: str, output: Path, name: str) -> Kind:
    """The kind of that name, which must be one of the command's."""
    kind = KINDS.get(name)
    if kind is None:
        raise RcError(f"{output}: its parts are of kind {name!r}, of another version of rc_hpc")
    if kind not in of_command(command):
        raise UsageError(
            f"{output}: its parts are of kind {name!r}: "
            f"python -m rc_hpc.{kind.command.split()[0]} merge joins them"
        )
    return kind
