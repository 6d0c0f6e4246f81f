"""How far a run has come."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from rc_hpc.core.errors import RcError, Status
from rc_hpc.core.files import parts_folder
from rc_hpc.kinds.registry import KINDS, schema_of
from rc_hpc.store import layout
from rc_hpc.store.parts import PartStore, begun, read_run
from rc_hpc.store.reader import open_ours


@dataclass(frozen=True)
class Progress:
    """How far a run has come.

    Attributes
    ----------
    where
        The finished file, or the parts folder.
    finished
        The merged file is there.
    rows
        Rows done, each id and duplicate once.
    by_status
        Rows by the name of their status.
    total
        Rows of the whole job, where known.
    parts, unusable, rejected
        Files of parts in the folder, those among them that cannot be used, or not wholly, and those
        set aside earlier.
    noun
        What a row is, in the plural.
    """

    where: Path
    finished: bool
    rows: int
    by_status: dict[str, int] = field(default_factory=dict)
    total: int | None = None
    parts: int = 0
    unusable: tuple[str, ...] = ()
    rejected: int = 0
    noun: str = "structures"

    @property
    def missing(self) -> int | None:
        """Rows not done yet, where the total is known."""
        return None if self.total is None else self.total - self.rows


def status(output: str | Path, total: int | None = None) -> Progress:
    """Progress of the run that writes `output`.

    From its parts while there are any, else from the file.

    Nothing is changed, and a run may be going on. `total` defaults to `total` of the run's
    identity.

    Raises
    ------
    RcError
        There is neither the file nor its parts folder.
    """
    output = Path(output)
    folder = parts_folder(output)
    if output.exists() and not begun(folder):
        with open_ours(output) as h5:
            codes = Counter(layout.read_rows(h5["structures/status"]).tolist())
            return Progress(
                output,
                True,
                codes.total(),
                _named(codes),
                codes.total() if total is None else total,
                noun=_noun(str(h5.attrs["kind"])),
            )
    if not begun(folder):
        raise RcError(
            f"{output}: neither the file nor {folder.name} exists: nothing has been run for "
            "this --output"
        )
    kind = read_run(folder)["kind"]
    store = PartStore.open(folder, schema_of(kind, folder))
    names = store.names()
    found = {name: store.look(name) for name in names}
    codes = store.count_status(part for one in found.values() for part in one.parts)
    return Progress(
        folder,
        False,
        codes.total(),
        _named(codes),
        store.identity.get("total") if total is None else total,
        len(names),
        tuple(name for name, one in found.items() if one.problem or one.damaged),
        len(store.rejected()),
        _noun(kind),
    )


def _noun(kind: str) -> str:
    return KINDS[kind].unit if kind in KINDS else "rows"


def _named(codes: Counter) -> dict[str, int]:
    return {Status(code).name: codes[code] for code in sorted(codes)}
