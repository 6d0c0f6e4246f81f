"""Crystals read from their pictures, with certificates."""

from __future__ import annotations

from rc_hpc.core.kind import Kind
from rc_hpc.kinds.common.deciding import CAMERAS, LABELS

DESCRIPTION = """\
Crystals from the pixels of their pictures, with no truth and no training: discs by fill and
sub-pixel arcs (radii calibrated on the installed renderer), scales, lattice, sites, label; drawn
again and compared, so that a reading is certified or says why not. --knowledge names what it may
open beside the pictures. rc_hpc.score alone sees the truth.

The standard error of a disc is that of a circle through its edge pixels. Where few of them lie on
a circle by chance there is no disc; the error does not tell so, and rc_hpc.show draws it dashed."""
EXAMPLES = """\
  python -m rc_hpc.read renders.h5                  lattice, sites and label from pictures, cameras
                                                    and convention alone
  python -m rc_hpc.read renders.h5 --knowledge K1 -o k1.h5
                                                    lattice, scales and origins are known too
  python -m rc_hpc.read renders.h5 --knowledge released -o parity.h5
                                                    the released study's own reading, repeated
  python -m rc_hpc.read photos/ --cameras mine.toml --convention drawn.toml
                                                    a folder of PNGs for each crystal, named by
                                                    camera
  mpiexec -n 8 python -m rc_hpc.read renders.h5     under MPI; on SLURM: srun in mpiexec's place
  python -m rc_hpc.read renders.h5 --shard 0/16     a share of a job array; then: merge readings.h5
  python -m rc_hpc.score readings.h5 renders.h5     then: readings against the truth

  Of a manifest the names, hashes and sizes of the pictures, the cameras and the rules of drawing
  are opened, and from K1 on what that level names; where atoms lie is never opened.
"""

KIND = Kind(
    name="readings",
    package=__name__,
    command="read",
    line="reads crystals from their pictures, and certifies them by drawing them again",
    description=DESCRIPTION,
    output="readings.h5",
    examples=EXAMPLES,
    source="options:PicturesSource",
    unit="crystals",
    options="options:ReadingsOptions",
    schema="schema:READINGS",
    dims="work:dims",
    statics="work:statics",
    plan="plan:plan",
    oracle="oracle:oracle",
    costs="work:costs",
    facts="work:facts",
    warm="work:warm",
    beside="beside:Versions",
    counts="counts:count_readings",
    tables="tables:tables",
    table_lines={
        "readings": "crystals by how reading ended, with pixels, tries and standard errors",
        "pixels": "crystals by the pixels that differ where they are drawn again",
        "discs": "discs found by camera: edge pixels, standard errors, scales",
        "doubts": "crystals without a certificate, and why",
        "status": "rows by status, with an example of each",
    },
    summary=("readings", "status"),
    details="details:details",
    figures="figures:PLOTS",
    show="show:show",
    export="export:export",
    after="after:after",
    figure_lines={"pixels": "crystals by the pixels that differ where they are drawn again"},
    code=(
        *CAMERAS,
        *LABELS,
        "core/vocabulary",
        "geometry/pairs",
        "images/build",
        "images/conventions",
        "images/fast",
        "images/files",
        "images/glyphs",
        "images/pixels",
        "images/scene",
        "images/ties",
        "images/view",
        "kernels/bundle",
        "kernels/candidates",
        "kernels/certificate",
        "kernels/copies",
        "kernels/compiled",
        "kernels/coverage",
        "kernels/discs",
        "kernels/displacements",
        "kernels/doors",
        "kernels/edges",
        "kernels/enumeration",
        "kernels/grid",
        "kernels/merge",
        "kernels/perspective",
        "kernels/points",
        "kernels/profile",
        "kernels/records",
        "kernels/registration",
        "kernels/search",
        "kernels/steps",
        "kernels/subsets",
        "kernels/ties",
        "kinds/common/source",
        "kinds/readings/oracle",
        "kinds/readings/plan",
        "kinds/readings/source",
        "kinds/readings/told",
        "kinds/renders/manifest",
        "kinds/renders/schema",
        "oracle/geometry",
        "oracle/reading",
        "symmetry/conventional",
        "reader",
    ),
)
