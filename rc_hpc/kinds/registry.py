"""All kinds of result files."""

from __future__ import annotations

from rc_hpc.kinds.census.schema import CENSUS
from rc_hpc.kinds.design.schema import DESIGN
from rc_hpc.kinds.frontier.schema import FRONTIER
from rc_hpc.kinds.noise.schema import NOISE
from rc_hpc.kinds.occlusion.schema import OCCLUSION
from rc_hpc.kinds.packed.schema import PACKED
from rc_hpc.kinds.renders.schema import RENDERS

SCHEMAS = {
    schema.kind: schema for schema in (PACKED, CENSUS, FRONTIER, OCCLUSION, NOISE, DESIGN, RENDERS)
}
