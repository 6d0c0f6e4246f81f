"""Readings of pictures against the truth: the only step that sees both."""

from __future__ import annotations

from rc_hpc.core.kind import Kind
from rc_hpc.kinds.common.deciding import CAMERAS, LABELS

EXAMPLES = """\
  python -m rc_hpc.read renders.h5                  reads the pictures, without the truth
  python -m rc_hpc.score readings.h5 renders.h5     R2, certified share, causes of losses
  python -m rc_hpc.tables scores.h5 --table losses  every crystal of which something is wrong
"""

KIND = Kind(
    name="scores",
    package=__name__,
    command="score",
    line="scores readings of pictures against the structures that were drawn",
    output="scores.h5",
    examples=EXAMPLES,
    source="options:ScoredSource",
    unit="crystals",
    options="options:ScoreOptions",
    schema="schema:SCORES",
    dims="work:dims",
    statics="work:statics",
    plan="oracle:plan",
    oracle="oracle:oracle",
    costs="work:costs",
    facts="work:facts",
    warm="work:warm",
    counts="counts:count_scores",
    tables="tables:tables",
    table_lines={
        "scores": "R2 with intervals and what is certified, by system and size of the cell",
        "symprecs": "right labels by tolerance, and by pictures",
        "errors": "percentiles of the errors of sites and lattice vectors",
        "losses": "every crystal of which the system or a site is wrong, and why",
        "status": "rows by status, with an example of each",
    },
    summary=("scores", "symprecs", "status"),
    details="details:details",
    figures="figures:PLOTS",
    after="after:after",
    figure_lines={"scores": "R2 and certified share by system and size of the cell"},
    code=(
        *CAMERAS,
        *LABELS,
        "core/vocabulary",
        "images/files",
        "kinds/common/source",
        "kinds/renders/manifest",
        "kinds/renders/schema",
        "kinds/scores/oracle",
        "kinds/scores/source",
    ),
)
