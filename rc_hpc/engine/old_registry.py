"""All figures, by the kind of file whose tables they show. A new kind: a module with `PLOTS`, and a line here."""

from __future__ import annotations

from rc_hpc.kinds.census import figures as census
from rc_hpc.kinds.frontier import figures as frontier
from rc_hpc.kinds.noise import figures as noise
from rc_hpc.kinds.occlusion import figures as occlusion
from rc_hpc.report.plot import Plot

#: By the `kind` of a file, as in its root attributes; each draws a frame of rc_hpc.tables.
OF_FILES: dict[str, tuple[Plot, ...]] = {
    "census": census.PLOTS,
    "frontier": frontier.PLOTS,
    "noise": noise.PLOTS,
    "occlusion": occlusion.PLOTS,
}
