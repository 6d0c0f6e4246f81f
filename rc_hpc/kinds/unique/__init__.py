"""Uniqueness: could another crystal have the very same pictures?"""

from __future__ import annotations

from rc_hpc.core.kind import Kind
from rc_hpc.kinds.common.deciding import SUBSETS

DESCRIPTION = """\
Could another crystal have the very same pictures? "Certified" says that the maximal reading is the
truth; this says whether it is the only one. An explanation is a set of atoms, in the known lattice,
that has the pictures of a view subset. Of each structure, subset and policy: unique (one
explanation), determined (several, all of one crystal system, which is proved), undetermined (an
explanation of another system is stored: the witness), unknown with the reason, or inadmissible
(none, or under physical not the truth). Policies: any number of atoms; counts of each species
known; physical: counts, no two atoms closer than half the sum of their covalent radii, all within
the drawn cell; fewest atoms of each species. No two sites are within 0.1 Å. Needs python-sat:
pip install 'rc_hpc[unique]'."""
EXAMPLES = """\
  python -m rc_hpc.sweep unique                     the 288 prototypes, exact pictures
  python -m rc_hpc.sweep unique census.packed.h5 --policy counts,physical
  python -m rc_hpc.sweep unique packed.h5 --protocol off-axis -o off.h5
                                                    under other cameras
  python -m rc_hpc.sweep unique packed.h5 --delta 0.01 -o near.h5
                                                    explanations within the census's tolerance
  python -m rc_hpc.tables unique.h5 --table readers
  python -m rc_hpc.figures unique.h5 -o figures     with two crystals that have the same pictures
"""

KIND = Kind(
    name="unique",
    package=__name__,
    command="sweep unique",
    line="could another crystal have the same pictures? unique, determined, or a witness",
    description=DESCRIPTION,
    output="unique.h5",
    examples=EXAMPLES,
    options="options:UniqueOptions",
    schema="schema:UNIQUE",
    dims="work:dims",
    statics="work:statics",
    plan="plan:plan",
    oracle="oracle:oracle",
    costs="work:costs",
    facts="work:facts",
    warm="work:warm",
    beside="beside:Versions",
    counts="counts:count_unique",
    tables="tables:tables",
    table_lines={
        "unique": "cells that are unique, determined, undetermined and unknown, by number of views "
        "and policy",
        "readers": "R1 that is guaranteed to any reader, beside that of single readers; luck",
        "subsets": "the same statuses for every view subset",
        "reasons": "why cells are unknown",
        "witness": "the smallest pair of crystals with the same pictures",
        "status": "rows by status, with an example of each",
    },
    summary=("unique", "readers", "status"),
    details="details:details",
    show="show:show",
    export="export:export",
    figures="figures:PLOTS",
    figure_lines={
        "unique": "cells that are not forced, by status, and R1, by number of views and policy",
        "witness": "two crystals of different crystal systems with the same pictures",
    },
    code=(
        *SUBSETS,
        "kernels/covers",
        "kernels/lattices",
        "kernels/places",
        "kernels/sites",
        "oracle/chance",
        "oracle/decision",
        "oracle/explanations",
        "oracle/fewest",
        "oracle/levels",
        "oracle/molecular",
        "oracle/rotations",
        "oracle/solving",
        "oracle/symmetries",
        "oracle/systems",
        "oracle/uniqueness",
        "kinds/unique/oracle",
        "kinds/unique/plan",
    ),
)
