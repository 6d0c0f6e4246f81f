"""The census: what the cameras determine of each structure, for every subset of them."""

from __future__ import annotations

from rc_hpc.core.kind import Kind
from rc_hpc.kinds.common.deciding import SUBSETS

EXAMPLES = """\
  python -m rc_hpc.census                           the 288 prototypes, all 26 view subsets
  python -m rc_hpc.census structures/ -o out.h5     every structure file of a folder
  mpiexec -n 8 python -m rc_hpc.census big.jsonl    under MPI; on SLURM: srun python -m ...
  python -m rc_hpc.census census.packed.h5 --delta 0.15 -o loose.h5
                                                    again at another tolerance; nothing is read anew
  python -m rc_hpc.census packed.h5 --shard 0/16    one share of a job array; then: census merge
  python -m rc_hpc.census g2 -o molecules.h5        molecules, labelled by point group
  python -m rc_hpc.census --resume                  go on where a stopped or killed run was
  python -m rc_hpc.census status census.h5          how far it is (also: merge, validate)
"""

KIND = Kind(
    name="census",
    package=__name__,
    command="census",
    line="what do the cameras determine of each structure, for every subset of them?",
    description="What do the cameras determine of each structure, for every subset of them?",
    output="census.h5",
    examples=EXAMPLES,
    options="options:CensusOptions",
    schema="schema:CENSUS",
    dims="work:dims",
    statics="work:statics",
    oracle="oracle:oracle",
    costs="work:costs",
    facts="work:facts",
    warm="work:warm",
    plan="plan:plan",
    counts="counts:count_census",
    tables="tables:tables",
    table_lines={
        "reference": "R0, R1 by subset size and for the full protocol, quarantine, certificates, "
        "position errors",
        "subsets": "every view subset: kappa, phantoms, R1",
        "views": "the view curve: mean, least and largest R1 by number of views, mean phantom "
        "excess",
        "violations": "nested pairs of subsets: how often more cameras give less, by structure "
        "and in sum",
        "falling": "the pairs over which R1 itself falls",
        "granularity": "R0 and R1 for crystal system, Bravais lattice, point group and space group",
        "systems": "R1 by true crystal system, of molecules by point group",
        "phantom-deltas": "structures that have a phantom at some tolerance up to delta, by number "
        "of views",
        "phantom-steps": "the same at every delta at which a number changes; where it is named",
        "status": "rows by status, with an example of each",
    },
    summary=("reference", "status"),
    long=("phantom-steps",),
    details="details:details",
    show="show:show",
    page="page:page",
    export="export:export",
    figures="figures:PLOTS",
    figure_lines={
        "view-curve": "R1 by number of views: mean, least and largest over the subsets; phantom "
        "excess",
        "subsets": "every view subset: R1, and the share of structures with phantoms",
        "granularity": "R0 and R1 for crystal system, Bravais lattice, point group and space group",
        "systems": "R1 by true crystal system, of molecules by point group",
        "phantom-deltas": "structures that have a phantom at some tolerance up to delta",
    },
    code=(
        *SUBSETS,
        "kinds/census/oracle",
        "kinds/census/plan",
        *(f"kernels/{name}" for name in ("covers", "lattices", "places", "sites")),
        *(f"oracle/{name}" for name in ("explanations", "fewest", "levels", "parsimony")),
        *(f"oracle/{name}" for name in ("rotations", "solving", "symmetries")),
    ),
)
