"""Distances: how near two atoms of one species come in each structure.

The smallest kind there can be, for those who add one: this folder in ``rc_hpc/kinds`` and one
line in ``rc_hpc/kinds/registry.py`` (``tests/unit/test_kinds.py`` does that).
"""

from __future__ import annotations

from rc_hpc.core.kind import Kind

KIND = Kind(
    name="distances",
    package=__name__,
    command="sweep distances",
    line="the smallest distance between two atoms of one species",
    output="distances.h5",
    examples="  python -m rc_hpc.sweep distances packed.h5\n",
    options="options:DistanceOptions",
    schema="schema:DISTANCES",
    dims="oracle:dims",
    statics="oracle:statics",
    oracle="oracle:oracle",
    costs="oracle:costs",
    facts="oracle:facts",
    warm="oracle:warm",
    counts="results:count",
    tables="results:tables",
    table_lines={
        "distances": "structures by whether one species comes closer than a length",
        "status": "rows by status, with an example of each",
    },
    summary=("distances",),
    figures="results:PLOTS",
    figure_lines={"distances": "share of structures by their smallest same-species distance"},
    code=("kinds/distances/oracle", "symmetry/distances"),
)
