"""Where the atoms of a result file are: in the packed file that it was computed from."""

from __future__ import annotations

from pathlib import Path

from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.store.opening import HDF5
from rc_hpc.store.reader import open_ours


def packed_of(path: Path, named: Path | None = None) -> Path:
    """The packed file of a result: that which is named, or one beside it.

    Parameters
    ----------
    path
        A file of results; a packed file is its own.
    named
        Taken in place of looking for it.

    Raises
    ------
    UsageError
        There is none, or the named one is that of other results.
    """
    with open_ours(path) as h5:
        if h5.attrs["kind"] == "packed":
            return path
        wanted = str(h5.attrs["input_hash"])
    if named is not None:
        try:
            with open_ours(named, "packed") as h5:
                own = str(h5.attrs["content_hash"])
        except RcError as error:
            raise UsageError(f"--packed {error}") from error
        if own != wanted:
            raise UsageError(
                f"--packed {named}: {path} was not computed from it: name the packed file that was"
            )
        return named
    likely = path.with_name(f"{path.name.removesuffix('.h5')}.packed.h5")
    others = sorted(one for one in path.parent.glob("*.h5") if one not in (path, likely))
    for candidate in (likely, *others):
        if candidate.is_file() and _hash_of(candidate) == wanted:
            return candidate
    raise UsageError(
        f"{path}: the packed file that it was computed from is not beside it: name it with --packed"
    )


def spare_inputs(output: Path, *inputs: Path) -> None:
    """Refuse to write over what is read.

    Raises
    ------
    UsageError
        The output is one of these files; names it.
    """
    for one in inputs:
        if output.exists() and one.exists() and output.samefile(one):
            raise UsageError(f"-o {output} is read here: name another file")


def spare_results(output: Path) -> None:
    """Refuse to write other formats over an HDF5 file, which may have taken hours.

    Raises
    ------
    UsageError
    """
    if output.is_file():
        with open(output, "rb") as file:
            if file.read(len(HDF5)) == HDF5:
                raise UsageError(f"-o {output} is an HDF5 file: name another file")


def _hash_of(path: Path) -> str:
    """Content hash of a packed file; empty where it is none."""
    try:
        with open_ours(path, "packed") as h5:
            return str(h5.attrs["content_hash"])
    except RcError:
        return ""
