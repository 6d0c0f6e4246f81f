"""The occlusion sweep: R1 where discs hide the centres of others."""

from __future__ import annotations

from rc_hpc.core.kind import Kind
from rc_hpc.kinds.common.deciding import SUBSETS

DESCRIPTION = """\
R1 where discs hide the centres of others. Conditions O0 to O3 take away none, informative, all or
redundant occluded centres; the table tells what the pictures lose from what a rule does. --verify
names when a view that misses a candidate lets it pass: painted (any disc covers the spot; the first
of the default ones, since it loses least), 3-of-V, covered, strict, or the record's excused, which
knows the answer and is there for parity only."""
EXAMPLES = """\
  python -m rc_hpc.sweep occlusion                  the 288 prototypes, four conditions, rules that
                                                    know nothing of what is hidden
  python -m rc_hpc.sweep occlusion packed.h5 --verify painted,covered,strict,2-of-V,3-of-V
  python -m rc_hpc.sweep occlusion packed.h5 --verify excused,strict --enumerations anchor \\
      --rules first --delta 0.15
                                                    the released experiment
  python -m rc_hpc.tables occlusion.h5 --table sites
                                                    how many atoms fewer than two views show
"""

KIND = Kind(
    name="occlusion",
    package=__name__,
    command="sweep occlusion",
    line="R1 where discs hide the centres of others, by what is taken away and by how misses are "
    "judged",
    description=DESCRIPTION,
    output="occlusion.h5",
    examples=EXAMPLES,
    options="options:OcclusionOptions",
    schema="schema:OCCLUSION",
    dims="work:dims",
    statics="work:statics",
    oracle="oracle:oracle",
    costs="work:costs",
    facts="work:facts",
    warm="work:warm",
    counts="counts:count_occlusion",
    tables="tables:tables",
    table_lines={
        "occlusion": "R1 by condition and reading, what is the pictures' loss and what the rule's",
        "visibility": "share of the drawn atoms that each view hides",
        "sites": "atoms of the cells by the views that show them",
        "status": "rows by status, with an example of each",
    },
    summary=("occlusion", "visibility", "status"),
    show="show:show",
    figures="figures:PLOTS",
    figure_lines={"occlusion": "R1 by what is taken away and by verification rule"},
    lattice="which atoms are equivalent is told by a space group",
    code=(
        *SUBSETS,
        "kernels/occlusion",
        "kinds/occlusion/oracle",
        "kinds/occlusion/readings",
        "symmetry/conventional",
        "symmetry/orbits",
    ),
)
