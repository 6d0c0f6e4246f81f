"""Displayed scenes of base structures, of which questions of the benchmark are drawn."""

from __future__ import annotations

from rc_hpc.core.kind import Kind
from rc_hpc.kinds.common.deciding import LABELS

EXAMPLES = """\
  python -m rc_hpc.benchmark scenes catalogue -o displays.h5
                                                    all that may be displayed of 48 prototypes
  python -m rc_hpc.benchmark scenes packed.h5 --shard 0/16 -o displays.h5
                                                    a share of a job array; then: merge displays.h5
  python -m rc_hpc.benchmark build displays.h5 -o benchmark
                                                    questions and pictures of them
"""

KIND = Kind(
    name="scenes",
    package=__name__,
    command="benchmark scenes",
    line="what may be displayed of structures: cells, supercells, environments, changed cells",
    output="displays.h5",
    examples=EXAMPLES,
    options="options:ScenesOptions",
    schema="schema:SCENES",
    dims="work:dims",
    statics="work:statics",
    oracle="oracle:oracle",
    costs="work:costs",
    facts="work:facts",
    warm="work:warm",
    lattice="its questions are about cells",
    code=(
        "geometry/cameras",
        *LABELS,
        "benchmark/bases",
        "benchmark/bonds",
        "benchmark/cameras",
        "benchmark/display",
        "benchmark/drawing",
        "benchmark/palette",
        "benchmark/questions/texts",
        "benchmark/questions/variants",
        "benchmark/records",
        "benchmark/scene_file",
        "benchmark/settings",
        "core/cells",
        "images/build",
        "images/fast",
        "images/glyphs",
        "images/scene",
        "images/view",
        "kernels/painting",
        "kinds/scenes/oracle",
        "oracle/cell",
        "structures/catalogue",
        "structures/record",
        "symmetry/conventional",
        "symmetry/orbits",
    ),
)
