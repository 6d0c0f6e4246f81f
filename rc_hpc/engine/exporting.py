"""Structures of result files as files of other programs."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rc_hpc.core.errors import Exit, RcError, Status, UsageError
from rc_hpc.core.files import appear, name_a_file, name_a_folder
from rc_hpc.core.ids import asked_ids
from rc_hpc.core.text import file_stem
from rc_hpc.engine.report_options import ExportOptions
from rc_hpc.engine.results import kind_of
from rc_hpc.kinds.common.atoms import packed_of, spare_inputs, spare_results
from rc_hpc.kinds.common.exported import Exported
from rc_hpc.kinds.common.lists import options_in
from rc_hpc.kinds.common.selection import Selection
from rc_hpc.kinds.registry import KINDS
from rc_hpc.store.reader import read_table
from rc_hpc.store.schema import of_molecules

if TYPE_CHECKING:
    from ase import Atoms


def export(options: ExportOptions, quiet: bool) -> int:
    """Write structures; returns the exit code.

    Raises
    ------
    UsageError
        The kind has none, or one that is asked for is not there.
    RcError
        The output cannot be written.
    """
    kind = kind_of(options.file)
    if not kind.export:
        able = ", ".join(one.name for one in KINDS.values() if one.export)
        raise UsageError(f"{options.file} is a {kind.name} file; only {able} files hold structures")
    if options.format != "extxyz" and of_molecules(options_in(options.file)):
        raise UsageError(
            f"--format {options.format} is of crystals, and {options.file} holds molecules: take "
            "extxyz"
        )
    output = options.output or Path(_DEFAULT[options.format].format(options.what))
    (name_a_folder if options.format == "poscar" else name_a_file)(output)
    if output.exists() and not options.overwrite:
        raise UsageError(f"{output} is there already: choose another -o, or --overwrite")
    read = (
        [options.file] if kind.source else [options.file, packed_of(options.file, options.packed)]
    )
    spare_inputs(output, *read)
    spare_results(output)
    ids = _meant(options)
    exported = kind.load("export")(options.file, options.packed, options.what, ids, options.subset)
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        empty: list[str] = []
        written = _WRITERS[options.format](_with_atoms(exported, empty), output)
    except OSError as error:
        raise RcError(
            f"{output}: cannot be written ({error.strerror}): choose another -o or free space"
        ) from error
    if not quiet:
        told = f"{options.what} of {written} structures"
        if empty and options.what != "phantoms":
            told += f", without {len(empty)} of which there are no atoms"
        if options.what == "phantoms" and not written:
            told = f"no phantoms on {options.subset or 'all cameras: name fewer with --subset'}"
        print(f"{output}: {told}")
    return Exit.CLEAN


def _with_atoms(exported: Iterable[Exported], empty: list[str]) -> Iterator[Exported]:
    """Those that have atoms, which most formats demand; ids of the others go into `empty`."""
    for one in exported:
        if len(one.numbers):
            yield one
        else:
            empty.append(one.id)


def _meant(options: ExportOptions) -> tuple[str, ...]:
    """Ids of the structures that are chosen; none stands for all."""
    chosen = options.chosen
    if not chosen.given:
        return ()
    if chosen == Selection(ids=chosen.ids):  # what is named must be there, and be usable
        return asked_ids(str(chosen.ids), "--ids")
    read = read_table(options.file, ["structures/id", "structures/status"])
    ids = read["structures/id"][read["structures/status"] == Status.ok]
    return tuple(str(ids[place]) for place in chosen.places(list(ids), str(options.file)))


def atoms_of(one: Exported) -> Atoms:
    """The same as ASE takes it, with all facts."""
    from ase import Atoms

    periodic = one.lattice is not None
    facts = dict(one.facts)
    atoms = Atoms(one.numbers, one.positions, cell=one.lattice, pbc=periodic, info=facts)
    for name, values in one.columns.items():
        atoms.set_array(name, values)
    return atoms


def _readable(text: str) -> str:
    """A text that extxyz gives back as it is: one that it would not is JSON, as ASE reads it."""
    from ase.io.extxyz import key_val_dict_to_str, key_val_str_to_dict

    back = key_val_str_to_dict(key_val_dict_to_str({"text": text, "next": 1}))
    same = len(back) == 2 and isinstance(back.get("text"), str) and back["text"] == text
    if same and text.isprintable():
        return text
    return f"_JSON {json.dumps(text)}".replace("\\", "\\\\")


def _extxyz(exported: Iterable[Exported], output: Path) -> int:
    """One file, a frame a structure, with all facts."""
    from ase.io import write

    written = 0
    with appear(output, run=False) as path, open(path, "w", encoding="utf-8") as file:
        for one in exported:
            atoms = atoms_of(one)
            for name, fact in atoms.info.items():
                atoms.info[name] = _readable(fact) if isinstance(fact, str) else fact
            write(file, atoms, format="extxyz")
            written += 1
    return written


def _cif(exported: Iterable[Exported], output: Path) -> int:
    """One file, a data block a structure, P 1."""
    from ase.io.cif import write_cif

    written = 0
    with appear(output, run=False) as path, open(path, "wb") as file:
        for one in exported:
            block = io.BytesIO()
            write_cif(block, atoms_of(one), wrap=False)
            name = file_stem(one.id).encode()
            file.write(block.getvalue().replace(b"data_image0", b"data_" + name, 1))
            written += 1
    return written


def _poscar(exported: Iterable[Exported], output: Path) -> int:
    """A folder, a file a structure."""
    from ase.io.vasp import write_vasp

    written = 0
    output.mkdir(parents=True, exist_ok=True)
    for one in exported:
        with appear(output / f"{file_stem(one.id)}.vasp", durable=False, run=False) as path:
            write_vasp(path, atoms_of(one), sort=True, direct=True)
        written += 1
    return written


_WRITERS = {"extxyz": _extxyz, "cif": _cif, "poscar": _poscar}
_DEFAULT = {"extxyz": "{}.extxyz", "cif": "{}.cif", "poscar": "{}"}
