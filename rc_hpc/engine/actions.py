"""What can be done with finished and unfinished outputs: status, merge, validate."""

from __future__ import annotations

import argparse
from pathlib import Path

from rc_hpc.core.errors import Exit, RcError
from rc_hpc.core.old_door import setup_logging


def run_action(command: str, argv: list[str]) -> int:
    """Run ``status``, ``merge`` or ``validate`` of one command's output."""
    default = {
        "census": "census.h5",
        "pack": "packed.h5",
        "render": "renders.h5",
        "sweep": "frontier.h5",
    }[command]
    p = argparse.ArgumentParser(prog=f"python -m rc_hpc.{command}")
    actions = p.add_subparsers(dest="action", required=True)
    for name, text in (
        ("status", "how many structures are done, by status"),
        ("merge", "join the parts that ranks, shards or a killed run have left"),
        ("validate", "check a file or a parts folder: schema, order, checksums"),
    ):
        action = actions.add_parser(name, help=text, description=text)
        action.add_argument(
            "output", nargs="?", type=Path, default=Path(default), help="default: %(default)s"
        )
        if name == "merge":
            action.add_argument(
                "--partial",
                action="store_true",
                help="merge what is there although structures are missing",
            )
    args = p.parse_args(argv)
    args.quiet, args.verbose = False, 0
    setup_logging(args)
    return {"status": _status, "merge": _merge, "validate": _validate}[args.action](command, args)


def _status(command: str, args) -> int:
    from rc_hpc.core.files import parts_folder
    from rc_hpc.engine.validate import status
    from rc_hpc.store.parts import begun

    packed = args.output.with_name(f"{args.output.stem}.packed.h5")
    if (
        not args.output.exists()
        and not begun(parts_folder(args.output))
        and (packed.exists() or begun(parts_folder(packed)))
    ):
        print(f"{args.output}: not begun; its structures come first, in {packed.name}")
        command, args.output = "pack", packed
    found = status(args.output)
    total = "" if found.total is None else f" of {found.total}"
    print(
        f"{found.where}: {found.rows}{total} structures {'in the finished file' if found.finished else f'done, in {found.parts} parts'}"
    )
    for name, count in found.by_status.items():
        print(f"  {name}: {count}")
    for part in found.unusable:
        print(f"  unusable part: {part} (its structures are done again on --resume)")
    if found.rejected:
        print(f"  parts set aside earlier: {found.rejected}")
    if not found.finished:
        print(
            "  next: run with --resume, or merge when nothing is missing"
            if found.missing
            else f"  next: python -m rc_hpc.{command} merge {args.output}"
        )
    return Exit.CLEAN


def _merge(command: str, args) -> int:
    from rc_hpc.core.files import parts_folder
    from rc_hpc.engine.old_census import merge_census
    from rc_hpc.engine.old_pictures import merge_renders
    from rc_hpc.engine.packing import merge_packed
    from rc_hpc.engine.sweeps import merge_sweep
    from rc_hpc.store.claim import Claim
    from rc_hpc.store.parts import begun

    folder = parts_folder(args.output)
    if not begun(folder):
        found = (
            "it is finished"
            if args.output.exists()
            else f"there is no {folder}: has a run written to this --output?"
        )
        raise RcError(f"{args.output}: nothing to merge, {found}")
    claim = Claim(folder)
    try:
        digest = {
            "census": merge_census,
            "pack": merge_packed,
            "render": merge_renders,
            "sweep": merge_sweep,
        }[command](args.output, args.partial)
    finally:
        claim.release()
    print(f"{args.output}: written, content hash {digest}")
    return Exit.CLEAN


def _validate(command: str, args) -> int:
    from rc_hpc.core.files import parts_folder
    from rc_hpc.engine.validate import validate

    unfinished = not args.output.exists() and parts_folder(args.output).is_dir()
    problems = validate(parts_folder(args.output) if unfinished else args.output)
    if command == "render" and not problems and args.output.is_file():
        from rc_hpc.engine.old_pictures import picture_problems

        problems = picture_problems(args.output)
    for problem in problems:
        print(problem)
    if not problems:
        print(f"{args.output}: {'not finished; its parts are valid' if unfinished else 'valid'}")
    return Exit.FATAL if problems else Exit.CLEAN
