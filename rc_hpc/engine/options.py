"""Options of every run: what is read, and how the work is gone about."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from rc_hpc.core.errors import UsageError
from rc_hpc.core.files import parts_folder
from rc_hpc.core.kind import Kind
from rc_hpc.core.options import Options, names, opt
from rc_hpc.kinds.common.selection import Selection
from rc_hpc.kinds.registry import PACKED

#: Endings of files that are packed already.
HDF5 = (".h5", ".hdf5")
FORMATS = ("cif", "poscar", "xyz", "json", "jsonl", "db")
PROGRESS = ("auto", "bar", "plain", "none")


def parse_shard(text: str) -> tuple[int, int]:
    """Read ``i/N`` (shards counted from zero) as (i, N).

    Raises
    ------
    UsageError
        Not of that form, or not one of 0/N to N-1/N.
    """
    found = re.fullmatch(r"\s*(\d+)\s*/\s*(\d+)\s*", text, re.ASCII)
    if found is None:
        raise UsageError(f"--shard {text!r}: write it as i/N, such as 0/8 for the first of eight")
    i, n = int(found[1]), int(found[2])
    if n == 0:
        raise UsageError(f"--shard {text}: there must be at least one shard, such as 0/1")
    if i >= n:
        raise UsageError(
            f"--shard {text}: shards count from zero, 0/{n} to {n - 1}/{n} "
            f"(in a SLURM array: --array=0-{n - 1})"
        )
    return i, n


def parse_budget(text: str) -> float:
    """Read CPU seconds: a number from 0 on."""
    seconds = float(text)
    if not 0 <= seconds <= 1e7:
        raise ValueError("give seconds from 0 (any) to 10 million")
    return seconds


def _elements(flag: str, symbols: tuple[str, ...]) -> None:
    for symbol in symbols:
        if not re.fullmatch(r"[A-Z][a-z]?", symbol):
            raise UsageError(f"{flag} {','.join(symbols)}: {symbol!r} is no element")


@dataclass(frozen=True)
class SourceOptions(Options):
    """What is read.

    Attributes
    ----------
    source
        Files, folders, globs, names of collections.
    chosen
        Which of the structures.
    format, seed
        See `rc_hpc.structures.sources.iter_items`.
    species
        Elements of POSCAR files that name none.
    """

    source: tuple[str, ...] = opt(
        ("prototypes",),
        "CIF, POSCAR, extxyz or JSON file (gz too), folder, glob, ASE database, packed HDF5, "
        "'mp:IDS' or 'mp:QUERY' (Materials Project), 'aflow' (the encyclopedia), 'prototypes', "
        "'catalogue' (48 of them), 'g2' (148 molecules) or 'synthetic:N'",
        metavar="SOURCE",
        positional=True,
        many=True,
        recorded=False,
    )
    chosen: Selection = Selection()
    format: str | None = opt(
        None, "format of files whose name does not tell it", choices=FORMATS, recorded=False
    )
    seed: int = opt(0, "seed of 'synthetic:N'", metavar="N", recorded=False)
    species: tuple[str, ...] = opt(
        (),
        "elements of POSCAR files that name none (VASP 4), in the order of their counts",
        parse=names,
        metavar="A,B",
        check=_elements,
        recorded=False,
    )

    @property
    def packed_file(self) -> Path | None:
        """The packed file that is the source, or None.

        Raises
        ------
        UsageError
            It is not there, not alone, or goes with options of packing.
        """
        packed = [source for source in self.source if Path(source).suffix in HDF5]
        if not packed:
            return None
        if len(self.source) > 1:
            raise UsageError(f"{packed[0]} is packed: it must be the only source")
        refused = ("format", "species") if self.chosen.given else ("packed", "format", "species")
        for name in refused:
            if getattr(self, name, None) not in (None, ()):
                raise UsageError(
                    f"--{name} is for what is packed first, and {packed[0]} is an HDF5 file, "
                    "which is taken as it is"
                )
        if not Path(packed[0]).is_file():
            raise UsageError(f"no file {packed[0]}")
        return Path(packed[0])

    @property
    def as_it_is(self) -> Path | None:
        """The packed file whose structures are all computed; None where some are chosen first."""
        packed = self.packed_file
        return None if self.chosen.given else packed


@dataclass(frozen=True)
class PackedSourceOptions(SourceOptions):
    """The same for commands that pack what is not packed."""

    packed: Path | None = opt(
        None,
        "where the packed structures go when SOURCE is not packed, or some of it are chosen",
        parse=Path,
        metavar="FILE",
        told="beside the output",
        recorded=False,
    )


@dataclass(frozen=True)
class WorkOptions(Options):
    """How work on an output is gone about; nothing of it changes the result.

    Attributes
    ----------
    output
        The file to write.
    resume, overwrite
        What to do with earlier work of this output.
    progress
        See `rc_hpc.parallel.progress.MODES`.
    state
        File in which the run tells programs how it stands.
    """

    output: Path = opt(help="file to write", parse=Path, short="-o", metavar="FILE", recorded=False)
    resume: bool = opt(
        False,
        "go on with earlier work of this output, under the same options and input",
        kept=False,
        recorded=False,
    )
    overwrite: bool = opt(False, "remove earlier work of this output", kept=False, recorded=False)
    progress: str = opt(
        "auto",
        "how progress is shown",
        choices=PROGRESS,
        told="a bar on a terminal, else plain lines",
        recorded=False,
    )
    state: Path | None = opt(
        None,
        "tell programs in this file how the run stands",
        parse=Path,
        metavar="FILE",
        kept=False,
        recorded=False,
    )

    def __post_init__(self):
        super().__post_init__()
        if self.resume and self.overwrite:
            raise UsageError("--resume and --overwrite contradict each other: give one")


@dataclass(frozen=True)
class CodedWorkOptions(WorkOptions):
    """The same where the result depends on the code that made it.

    Attributes
    ----------
    accept_code
        Fingerprint of other code whose work may be joined with this run's.
    """

    accept_code: str | None = opt(
        None,
        "join work done by code of this fingerprint, for him who knows that it gives the same; "
        "recorded in the result",
        metavar="OLD",
        kept=False,
        recorded=False,
    )


@dataclass(frozen=True)
class RunOptions(CodedWorkOptions):
    """The same for runs over many structures.

    Attributes
    ----------
    shard
        (i, N): do only the i-th of N shares and do not merge.
    dry_run
        Only say what would be done.
    cpu_budget
        CPU time for one structure, s, beside ten times what it is predicted to take; 0: any.
    """

    cpu_budget: float = opt(
        60.0,
        "CPU seconds for one structure, beside ten times what it is predicted to take; what is "
        "not done then has the status timed_out; 0: any; recorded in the result",
        parse=parse_budget,
        metavar="S",
        recorded=False,
    )

    shard: tuple[int, int] | None = opt(
        None,
        "do the i-th (from 0) of N shares, for job arrays; 'merge' joins them",
        parse=parse_shard,
        metavar="i/N",
        kept=False,
        recorded=False,
    )
    dry_run: bool = opt(
        False,
        "say what would be done and how long it may take",
        kept=False,
        recorded=False,
    )

    def __post_init__(self):
        super().__post_init__()
        if self.overwrite and self.shard:
            raise UsageError(
                "--overwrite with --shard would remove the other shards' work; "
                "remove the files by hand"
            )


def sources(kind: Kind) -> type[Options]:
    """Options that say what a kind reads."""
    if kind is PACKED:
        return SourceOptions
    own: type[Options] | None = kind.load("source")
    return own or PackedSourceOptions


def check_names(run: RunOptions, source: SourceOptions) -> None:
    """Refuse an output that has no name, or would replace what is read or written beside it.

    Raises
    ------
    UsageError
    """
    packed: Path | None = getattr(source, "packed", None)
    for option, path in {"-o": run.output, "--packed": packed, "--state": run.state}.items():
        if path is not None and not path.name:
            raise UsageError(f"{option} {path} is a folder: name a file")
    if packed is None and isinstance(source, PackedSourceOptions) and not source.as_it_is:
        packed = run.output.with_name(f"{run.output.stem}.packed.h5")
    written = {"-o": run.output, "--packed": packed, "--state": run.state}
    taken = {os.path.realpath(one): one for one in source.source}
    for output in filter(None, (run.output, packed)):
        taken[os.path.realpath(parts_folder(output))] = f"the folder of the parts of {output}"
    for option, path in written.items():
        if path is None:
            continue
        if os.path.realpath(path) in taken:
            also = taken[os.path.realpath(path)]
            raise UsageError(f"{option} {path} is {also} too: name another file")
        taken[os.path.realpath(path)] = f"the file of {option}"
