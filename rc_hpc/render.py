"""Command: pictures of crystal structures, one for each camera, with a manifest of what they show."""

from __future__ import annotations

import sys
from pathlib import Path

from rc_hpc.census import add_run_options, add_source_options
from rc_hpc.core.old_door import Parser
from rc_hpc.engine.entry import run_command
from rc_hpc.images.conventions import CONVENTIONS
from rc_hpc.kinds.renders.options import RENDERERS

EXAMPLES = """\
  python -m rc_hpc.render structures/ -o renders.h5
                                                    PNGs in the folder renders, their manifest in renders.h5
  python -m rc_hpc.render packed.h5 --convention C4 -o off-axis.h5
                                                    another convention, without reading and labelling again
  mpiexec -n 8 python -m rc_hpc.render big.jsonl    under MPI; on SLURM: srun python -m rc_hpc.render
  python -m rc_hpc.render --compare                 how far the pictures are from ASE's own, in pixels
  python -m rc_hpc.render packed.h5 --shard 0/16    one share of a job array; then: render merge renders.h5
  python -m rc_hpc.render validate renders.h5       manifest and every picture's checksum (also: status, merge)

  File names are hashes: only the manifest tells which structure and camera a picture shows.
  Under a launcher matplotlib's font cache goes to the node's own disk; MPLCONFIGDIR names another folder.
"""


def parser() -> Parser:
    """Argument parser of the rendering command."""
    p = Parser("python -m rc_hpc.render", __doc__, EXAMPLES)
    p.add_argument(
        "source",
        nargs="*",
        default=["prototypes"],
        metavar="SOURCE",
        help=(
            "CIF, POSCAR, extxyz or JSON file (gz too), folder, glob, ASE database, packed HDF5, 'mp:IDS' or 'mp:QUERY' (Materials Project), "
            "'prototypes' (default) or 'synthetic:N'"
        ),
    )
    p.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("renders.h5"),
        metavar="FILE",
        help=(
            "manifest; the pictures go into a folder beside it, named like it without the ending; default: %(default)s"
        ),
    )
    add_source_options(p)
    p.add_argument(
        "--convention",
        choices=tuple(CONVENTIONS),
        default="C1",
        help=(
            "C1: 2x2x2 cells, radii 0.5, frozen cameras (default); C2: one cell; C3: radii 0.22; C4: off-axis cameras; C5: one cell, radii 0.22"
        ),
    )
    p.add_argument(
        "--protocol",
        default=None,
        metavar="NAME|FILE",
        help="cameras: frozen, off-axis, or a TOML file; default: the convention's",
    )
    p.add_argument(
        "--tiling",
        default=None,
        metavar="N|N,N,N",
        help="repeat the conventional cell; default: the protocol file's if it repeats the cell, else the convention's",
    )
    p.add_argument(
        "--radii",
        type=float,
        default=None,
        metavar="F",
        help="disc radius in covalent radii; default: the convention's",
    )
    p.add_argument(
        "--size",
        type=int,
        default=768,
        metavar="PX",
        help="width and height of a picture; default: %(default)s",
    )
    p.add_argument(
        "--renderer",
        choices=RENDERERS,
        default=RENDERERS[0],
        help="fast (default), or ase for ASE's own plotting, some twenty times slower",
    )
    p.add_argument(
        "--compare",
        action="store_true",
        help="draw every picture with both and count the pixels that differ",
    )
    p.add_argument(
        "--name-seed", default="", metavar="TEXT", help="makes other file names; default: none"
    )
    p.add_argument(
        "--packed",
        type=Path,
        default=None,
        metavar="FILE",
        help="where the packed structures go when SOURCE is not packed; default: beside the output",
    )
    add_run_options(p)
    return p


def main(argv=None) -> int:
    """Entry point; returns the exit code."""
    return run_command("render", _run, argv)


def _run(argv: list[str]) -> int:
    args = parser().parse(argv)
    from rc_hpc.engine.commands import render

    return render(args)


if __name__ == "__main__":
    sys.exit(main())
