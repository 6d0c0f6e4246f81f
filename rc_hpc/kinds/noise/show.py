"""One structure of a noise sweep in words, and how it is read over sigma as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rc_hpc.core.errors import UsageError
from rc_hpc.kinds.common.lists import options_in
from rc_hpc.kinds.noise.schema import NOISE
from rc_hpc.kinds.packed.about import about, row_of
from rc_hpc.kinds.packed.reader import RowReader
from rc_hpc.report import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def show(
    path: Path, _packed: Path | None, id_: str, subset: str | None
) -> tuple[str, Figure | None]:
    """Of how many seeds a structure is read rightly at each sigma; none drawn of a refused one.

    Raises
    ------
    UsageError
        There is no such structure; a view subset is asked for, which noise has none of.
    """
    if subset is not None:
        raise UsageError(f"--subset {subset}: a noise sweep is of all cameras of its protocols")
    with RowReader(path, NOISE) as file:
        row = row_of(file, id_)
        lines, ok = about(file, row)
        if not ok:
            return "\n".join(lines), None
        sigmas = file.read("axes/sigma")
        axes = ("rule", "estimator", "merge", "labeller")
        readings = zip(*(map(str, file.read(f"axes/{one}")) for one in axes), strict=True)
        right = file.read("noise/correct_crystal_system", row, row + 1)[0]
        error = file.read("noise/median_error", row, row + 1)[0]
    curves: dict[str, np.ndarray] = {}
    names = [one["name"] for one in options_in(path)["protocols"]]
    n = right.shape[-1]
    for r, reading in enumerate(readings):
        for p, name in enumerate(names):
            which = f"{name}; {', '.join(reading)}"
            curves[which] = right[p, r].sum(axis=-1) / n
            lines.append(f"{which}: crystal system right")
            for s, sigma in enumerate(sigmas.tolist()):
                middle = np.nanmedian(error[p, r, s]) if np.isfinite(error[p, r, s]).any() else None
                off = "" if middle is None else f", atoms off by {middle:.3g} Å (median)"
                lines.append(f"  sigma {sigma:g} Å: {right[p, r, s].sum()} of {n} seeds{off}")
    return "\n".join(lines), _draw(curves, sigmas, n)


def _draw(curves: dict[str, np.ndarray], sigmas: np.ndarray, n: int) -> Figure:
    with style.styled():
        made, ((ax,),) = style.figure(style.PAGE_IN, 2.6 + 0.14 * len(curves))
        for number, (name, share) in enumerate(curves.items()):
            ax.plot(sigmas, share, label=name, clip_on=False, **style.series(number))
        ax.set_ylim(0, 1)
        ax.set_xlabel("sigma of the disc centres (Å)")
        ax.set_ylabel(f"share of {n} seeds with the\nright crystal system")
        ax.figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=1)
    return made
