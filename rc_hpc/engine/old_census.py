"""The census run: a packed file to a census file."""

from __future__ import annotations

from pathlib import Path

from rc_hpc.engine.rows import Job, merge_rows, run_rows
from rc_hpc.engine.run import RunOptions
from rc_hpc.geometry.protocol import Protocol
from rc_hpc.kinds.census.options import CensusOptions
from rc_hpc.kinds.census.oracle import CensusOracle
from rc_hpc.kinds.census.schema import CENSUS
from rc_hpc.kinds.common.statics import subset_dims, subset_statics
from rc_hpc.parallel.launch import Comm
from rc_hpc.parallel.run import Totals
from rc_hpc.parallel.signals import StopSignal

#: Time of a structure whose every reconstruction is labelled, beside one with its few distinct ones.
LABEL_EVERY = 10.0


def run_census(
    comm: Comm,
    packed: Path,
    protocol: Protocol,
    options: CensusOptions,
    run: RunOptions,
    stop: StopSignal,
) -> Totals | None:
    """Census of a packed file; all ranks together.

    Returns
    -------
    Totals
        None where the output was finished already.
    """

    def prepare(recorder):
        oracle = CensusOracle(protocol, options, recorder)

        def compute(cell):
            fields, phantoms = oracle.run(cell)
            return fields, {"phantoms": phantoms}

        return compute

    weight = LABEL_EVERY if options.label_every else 1.0
    return run_rows(
        comm, packed, Job(CENSUS, options, dims_of(options), statics, prepare, weight), run, stop
    )


def merge_census(output: Path, partial: bool = False) -> str:
    """Merge the parts of a census, and remove them where none is missing; returns the content hash.

    Raises
    ------
    RcError
        Rows are missing, unless `partial`; all are.
    """
    return merge_rows(output, CENSUS, statics, partial)


def dims_of(options: CensusOptions) -> dict[str, int]:
    """Lengths of the dimensions that the schema leaves open."""
    return subset_dims(options) | {"view": len(options.protocol["views"])}


def statics(options: dict) -> dict:
    """Datasets of a census file that belong to no structure, from the options it was made with."""
    return subset_statics(options)
