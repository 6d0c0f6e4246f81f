"""Pictures of structures, one for each camera, with a manifest of what they show."""

from __future__ import annotations

from rc_hpc.core.kind import Kind
from rc_hpc.kinds.common.deciding import CAMERAS

EXAMPLES = """\
  python -m rc_hpc.render structures/ -o renders.h5
                                                    PNGs in folder renders, their manifest beside it
  python -m rc_hpc.render packed.h5 --convention C4 -o off-axis.h5
                                                    another convention, no cell is read anew
  mpiexec -n 8 python -m rc_hpc.render big.jsonl    under MPI; on SLURM: srun in mpiexec's place
  python -m rc_hpc.render --compare                 pixels that differ from ASE's own drawing
  python -m rc_hpc.render packed.h5 --shard 0/16    a share of a job array; then: merge renders.h5
  python -m rc_hpc.render validate renders.h5       checksums of all pictures (also: status, merge)

  The pictures go into a folder beside the manifest, named like it without the ending. File names
  are hashes: only the manifest tells which structure and camera a picture shows.
  Under a launcher matplotlib's font cache goes to the node's own disk; MPLCONFIGDIR names another
  folder.
"""

KIND = Kind(
    name="renders",
    package=__name__,
    command="render",
    line="pictures of crystal structures, one for each camera, with a manifest of what they show",
    output="renders.h5",
    examples=EXAMPLES,
    options="options:RenderOptions",
    schema="schema:RENDERS",
    dims="work:dims",
    statics="work:statics",
    oracle="oracle:oracle",
    costs="work:costs",
    facts="work:facts",
    warm="work:warm",
    beside="beside:PictureFolder",
    lattice="the convention of the pictures draws a cell with its edges",
    code=(
        *CAMERAS,
        "core/constants",
        "core/vocabulary",
        "images/build",
        "images/draw",
        "images/fast",
        "images/files",
        "images/glyphs",
        "images/reference",
        "images/scene",
        "images/ties",
        "images/view",
        "kinds/renders/oracle",
    ),
)
