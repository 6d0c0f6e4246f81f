"""The noise sweep: R1 over errors of the disc centres."""

from __future__ import annotations

from rc_hpc.core.kind import Kind
from rc_hpc.kinds.common.deciding import NOISE

DESCRIPTION = """\
R1 over Gaussian noise of the disc centres, for camera protocols (with tilings), tolerance rules
and estimators side by side, from the same errors. The tables say where R1 falls to 0.95; which
readings are right, wrong, or undecided (lower groups that the errors do not exclude); what the
figure rests on: the exact lattice, which is given, near-symmetric crystals, those never right;
paired tests; kappa of every camera pair; noise budgets; cameras along lattice vectors."""
EXAMPLES = """\
  python -m rc_hpc.sweep noise                      the 288 prototypes, frozen and off-axis cameras
  python -m rc_hpc.sweep noise packed.h5 --protocols frozen,off-axis,frozen@2 --seeds 3
                                                    the cell repeated twice along each axis, too
  python -m rc_hpc.sweep noise packed.h5 --rules all --estimators all -o every.h5
                                                    every reading side by side, from the same errors
  python -m rc_hpc.sweep noise packed.h5 --rules record --sigmas 0,0.001,0.003,0.01,0.02 \\
      --order ids.txt
                                                    the released experiment
  python -m rc_hpc.sweep noise packed.h5 --sigmas 0.05,0.1 --displace 0.2
                                                    and how often lost symmetry is read all the same
  mpiexec -n 8 python -m rc_hpc.sweep noise packed.h5
                                                    the same content from any number of ranks
  python -m rc_hpc.tables noise.h5 --table crossings
"""

KIND = Kind(
    name="noise",
    package=__name__,
    command="sweep noise",
    line="R1 over Gaussian noise of the disc centres, for camera protocols, tolerance rules and "
    "estimators side by side",
    description=DESCRIPTION,
    output="noise.h5",
    examples=EXAMPLES,
    options="options:NoiseOptions",
    schema="schema:NOISE",
    dims="work:dims",
    statics="work:statics",
    plan="plan:plan",
    oracle="oracle:oracle",
    costs="work:costs",
    facts="work:facts",
    warm="work:warm",
    counts="counts:count_noise",
    tables="tables:tables",
    table_lines={
        "noise": "R1 by protocol, tolerance rule, estimator and sigma, with position errors",
        "crossings": "the sigma at which R1 falls below 0.95",
        "systems": "what the exact lattice alone tells, and R1, by crystal system",
        "near-symmetric": "R1 of crystals whose label changes with the tolerance, and of others",
        "never-right": "structures that are wrong in every seed",
        "displaced": "how often displaced cells are read as before (--displace)",
        "paired": "structures right under one protocol or reading only, with exact tests",
        "kappa": "angle, kappa and measured amplification of every camera pair",
        "conditioning": "its distribution over the pairs",
        "budgets": "the noise that the structures' separations allow for, certain and probable",
        "aligned": "cameras along lattice vectors, and atoms that they show at one place",
        "status": "rows by status, with an example of each",
    },
    summary=("noise", "crossings", "systems", "status"),
    show="show:show",
    figures="figures:PLOTS",
    figure_lines={
        "noise": "R1 over sigma by protocol, rule and estimator, with the crossing of 0.95 "
        "(NAME.crossings.csv)",
        "kappa": "conditioning of every camera pair over the angle between its view lines",
    },
    lattice="a label that stands errors is a statistical test of space groups, and there is none "
    "of point groups",
    code=(
        *NOISE,
        "kinds/noise/oracle",
        "kinds/noise/plan",
        "kinds/noise/readings",
    ),
)
