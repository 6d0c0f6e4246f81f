"""The design of cameras: a seeded search, judged on structures that it did not see."""

from __future__ import annotations

from rc_hpc.core.kind import Kind
from rc_hpc.kinds.common.deciding import NOISE, SUBSETS

DESCRIPTION = """\
Better cameras by a seeded search, judged on structures that it did not see. Structures are split
by composition. (1) Random starts are brought to a minimum of geometric_cost = gain^2 + 0.1 mean
kappa^2 (gain: largest standard deviation of an all-view least-squares position per sigma; mean
over camera pairs) by coordinate exchange over a lattice of 1000 directions. (2) On a sample of
the training structures the sets are scored by cost = geometric_cost (1 + ambiguity +
phantom_rate): phantoms per atom at delta 0.5 with all cameras, and the share of structures and
view subsets with a phantom at --delta, or with --ask unique that of subsets of two and three views
with a place that is the only one on no image point, so that other crystals may have the pictures;
the best, no two alike within 5 degrees, are improved by small random turns of one camera after the
other. (3) The sets found and those of --beside are
read under centroid noise (rule common, estimator all-views, labeller statistical). The best set
is that with the highest noise tolerance, R1 averaged over all sigmas but 0, on the training
structures; what is told of it comes from the held-out ones. Beside the HDF5 file a protocol file
of the best set is written, with the ending .toml."""
EXAMPLES = """\
  python -m rc_hpc.sweep design                     five cameras for the 288 prototypes, half
                                                    of them held out
  python -m rc_hpc.sweep design packed.h5 --held-out eval.txt --training 200
                                                    judged on the structures that the file lists
  python -m rc_hpc.sweep design packed.h5 --keep axis_a,axis_b,axis_c -o kept.h5
                                                    the principal axes stay, two cameras are free
  python -m rc_hpc.sweep design packed.h5 --ask unique -o unique.h5
                                                    few crystals that two or three views confuse
  python -m rc_hpc.sweep design packed.h5 --views 4 --beside frozen,mine.toml -o four.h5
  python -m rc_hpc.tables design.h5 --table phantoms
  python -m rc_hpc.sweep noise packed.h5 --protocols frozen,design.toml
                                                    the best set goes wherever --protocol does
"""

KIND = Kind(
    name="design",
    package=__name__,
    command="sweep design",
    line="better cameras by a seeded search, judged on structures that it did not see",
    description=DESCRIPTION,
    output="design.h5",
    examples=EXAMPLES,
    options="options:DesignOptions",
    schema="schema:DESIGN",
    dims="work:dims",
    statics="work:statics",
    plan="plan:plan",
    oracle="oracle:oracle",
    costs="work:costs",
    facts="work:facts",
    warm="work:warm",
    beside="beside:BestCameras",
    counts="counts:read_design",
    tables="tables:tables",
    table_lines={
        "verdict": "the best set against those beside it, on held-out structures, with exact tests",
        "candidates": "every set: scores of the search, R1 on both sides",
        "held-out": "R1 by sigma on held-out structures",
        "paired": "structures right under the best set or one beside it only, by sigma",
        "phantoms": "phantoms over the view subsets of each size",
        "cameras": "view directions",
        "status": "rows by status, with an example of each",
    },
    summary=("verdict", "candidates", "status"),
    lattice="directions are judged by the lattice vectors that they look along",
    code=(
        *SUBSETS,
        *NOISE,
        "geometry/camera_sets",
        "kinds/design/oracle",
        "kinds/design/plan",
        "kinds/design/search",
        "kinds/design/sides",
    ),
)
