"""Names that are stored: codes never move, and names that stand in two places agree."""

from enum import IntEnum

import pytest

from rc_hpc.core import vocabulary
from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.core.errors import Status
from rc_hpc.core.vocabulary import System

ENUMS = [
    value
    for value in vars(vocabulary).values()
    if isinstance(value, type) and issubclass(value, IntEnum) and value is not IntEnum
]


def test_crystal_systems_are_stored_under_their_place():
    assert tuple(system.name for system in System)[1:] == CRYSTAL_SYSTEMS
    assert [int(system) for system in System] == list(range(8))


@pytest.mark.parametrize("enum", [*ENUMS, Status], ids=lambda enum: enum.__name__)
def test_codes_are_those_of_the_first_version(enum):
    assert [int(member) for member in enum] == list(range(len(enum)))


def test_statuses_keep_their_codes():
    first = "ok read_error empty disordered non_finite singular_cell close_atoms too_large"
    more = "unknown_species label_failed cell_failed duplicate_id crashed quarantined internal"
    names = [*first.split(), *more.split(), "behind_camera"]
    assert [Status(code).name for code in range(len(names))] == names
