"""What the pictures of a benchmark's questions determine: options that remain, by views."""

from __future__ import annotations

from rc_hpc.core.kind import Kind
from rc_hpc.kinds.common.deciding import CAMERAS, LABELS

DESCRIPTION = """\
Which of the four options agree with the pictures, for 1, 2, 3 and 8 of a scene. Points and cell are
reconstructed without correspondence between views; an option agrees where some set of points that
explains every centre makes it right. Centres are read in three ways: all; those of discs that a
view shows to at least a share (--thetas), where paint may hide others; all, to the pixel. An atom
paints its whole disc, or something before it does: where any of that is white, it is not there.
Fog, sizes of single discs and what covers what are not read, and an atom that no picture shows to
that share is not thought of: an answer that hangs on it is counted as misled. Without scenes.h5
only what texts tell of the three default views is known, and the rest is counted as unknown."""
EXAMPLES = """\
  python -m rc_hpc.benchmark determine benchmark/   every question of the package, for 1, 2, 3 and 8
                                                    views
  mpiexec -n 8 python -m rc_hpc.benchmark determine benchmark/ -o determined.h5
  python -m rc_hpc.benchmark determine benchmark/ --shard 0/16
                                                    one share of a job array; then: merge
  python -m rc_hpc.tables determined.h5             the tables again
"""

KIND = Kind(
    name="determined",
    package=__name__,
    command="benchmark determine",
    line="which options of a benchmark's questions its pictures leave, by number of views",
    description=DESCRIPTION,
    output="determined.h5",
    examples=EXAMPLES,
    source="options:BenchmarkSource",
    unit="questions",
    options="options:DeterminedOptions",
    schema="schema:DETERMINED",
    dims="work:dims",
    statics="work:statics",
    oracle="oracle:oracle",
    costs="work:costs",
    facts="work:facts",
    warm="work:warm",
    counts="counts:count_determined",
    tables="tables:tables",
    table_lines={
        "determined": "by stratum and number of views: share whose pictures leave the right option "
        "alone, expected score, and contradictions, under every sight",
        "asked": "the same for the pictures that each question shows, all strata together too",
        "floors": "expected score by stratum of readers who do not reconstruct",
        "reconstruction": "by stratum and views: points too many and atoms missed",
        "undetermined": "questions that their own pictures do not determine",
        "status": "rows by status, with an example of each",
    },
    summary=("asked", "status"),
    figures="figures:PLOTS",
    figure_lines={
        "determined": "share determined and expected score by stratum and number of views",
        "floors": "what pictures determine beside what readers get who do not reconstruct",
    },
    code=(
        *CAMERAS,
        *LABELS,
        "benchmark/cameras",
        "benchmark/package",
        "benchmark/questions/rules",
        "benchmark/questions/texts",
        "benchmark/reading/answers",
        "benchmark/reading/cells",
        "benchmark/reading/floors",
        "benchmark/reading/meanings",
        "benchmark/reading/points",
        "benchmark/reading/reader",
        "benchmark/reading/sights",
        "benchmark/reading/told",
        "benchmark/records",
        "benchmark/scene_file",
        "benchmark/settings",
        "core/cells",
        "core/vocabulary",
        "geometry/pairs",
        "images/scene",
        "kernels/candidates",
        "kernels/certificate",
        "kernels/compiled",
        "kernels/coverage",
        "kernels/doors",
        "kernels/enumeration",
        "kernels/grid",
        "kernels/merge",
        "kernels/occlusion",
        "kernels/perspective",
        "kernels/points",
        "kernels/profile",
        "kernels/records",
        "kernels/search",
        "kernels/steps",
        "kernels/subsets",
        "kernels/ties",
        "kinds/common/source",
        "kinds/determined/oracle",
        "kinds/determined/source",
        "oracle/geometry",
        "oracle/reading",
    ),
)
