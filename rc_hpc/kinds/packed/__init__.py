"""Packed structures: conventional cells, labels, tolerance sweep; every other kind begins here."""

from __future__ import annotations

from rc_hpc.core.kind import Kind
from rc_hpc.kinds.common.deciding import LABELS

EXAMPLES = """\
  python -m rc_hpc.pack mine.xyz --molecules -o packed.h5
                                                    molecules, without a cell
  python -m rc_hpc.pack structures/ -o packed.h5    then: python -m rc_hpc.census packed.h5
  mpiexec -n 8 python -m rc_hpc.pack big.jsonl -o packed.h5
  python -m rc_hpc.pack big.jsonl -o packed.h5 --shard 0/16
                                                    one share of a job array; then: pack merge
"""

KIND = Kind(
    name="packed",
    package=__name__,
    command="pack",
    line="structures to a packed HDF5 file: conventional cells, labels, tolerance sweep, status",
    output="packed.h5",
    examples=EXAMPLES,
    options="options:PackOptions",
    schema="schema:PACKED",
    dims="work:dims",
    statics="work:statics",
    oracle="oracle:pack_structure",
    facts="work:facts",
    warm="work:warm",
    show="show:show",
    export="export:export",
    beside="beside:Origins",
    code=(
        *LABELS,
        "core/cells",
        "core/vocabulary",
        "kinds/packed/oracle",
        "structures",
        "kernels/near",
        "symmetry/conventional",
        "symmetry/sharp",
        "symmetry/stability",
    ),
)
