"""The tolerance frontier: R1 and certificates over delta, under every reading."""

from __future__ import annotations

from rc_hpc.core.kind import Kind
from rc_hpc.kinds.common.deciding import SUBSETS

EXAMPLES = """\
  python -m rc_hpc.sweep frontier                   the 288 prototypes, 14 deltas, default reading
  python -m rc_hpc.sweep frontier packed.h5 --rules all --enumerations all
                                                    every reading side by side
  python -m rc_hpc.sweep frontier packed.h5 --protocol off-axis --subsets all
  python -m rc_hpc.sweep frontier packed.h5 --deltas 0.01,0.15 --symprecs 0.001,0.01,0.1
                                                    the joint grid of delta and symprec
  python -m rc_hpc.tables frontier.h5 --table steps --format csv
                                                    the exact number of certified structures
"""

KIND = Kind(
    name="frontier",
    package=__name__,
    command="sweep frontier",
    line="R1 over the tolerance delta under every reading, and the deltas at which each structure "
    "has phantoms",
    output="frontier.h5",
    examples=EXAMPLES,
    options="options:FrontierOptions",
    schema="schema:FRONTIER",
    dims="work:dims",
    statics="work:statics",
    oracle="oracle:oracle",
    costs="work:costs",
    facts="work:facts",
    warm="work:warm",
    counts="counts:count_frontier",
    tables="tables:tables",
    table_lines={
        "frontier": "R1 by delta, enumeration and merge rule, with point errors",
        "certified": "certified structures by delta, and what stands against the others",
        "steps": "the exact number of certified structures as a function of delta, full protocol",
        "status": "rows by status, with an example of each",
    },
    summary=("frontier", "certified", "status"),
    show="show:show",
    figures="figures:PLOTS",
    figure_lines={
        "frontier": "R1 over delta, by enumeration and merge rule",
        "certified": "the exact number of certified structures over delta",
        "grid": "R1 over delta and symprec (--symprecs of the sweep)",
    },
    code=(*SUBSETS, "kinds/frontier/oracle"),
)
