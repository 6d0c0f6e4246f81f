"""The reader on the released structures: perfect input, and those that a prototype found hard."""

import json

import numpy as np
import pytest
import read_cases as cases

from rc_hpc.reader.convention import named
from rc_hpc.reader.detector import detect
from rc_hpc.reader.frame import Frame
from rc_hpc.reader.marked import marked
from rc_hpc.reader.read import KNOWN_BLUR, KNOWN_SLACK, read
from rc_hpc.reader.records import Limits
from rc_hpc.reader.sites import finder
from rc_hpc.structures.sources import iter_items
from rc_hpc.symmetry.conventional import conventional_cell
from rc_hpc.symmetry.labels import crystal_system

#: White hydrogen, a phantom behind discs, near tilts and ties, doubtful dashes, free stretch, a
#: site that one picture alone shows, a false symmetry.
HARD = (
    *("mp-643047", "mp-1183199", "mp-1237061", "mp-1391233", "mp-1273441", "mp-1046312"),
    *("mp-1182875", "mp-756317", "mp-4887", "mp-1228180"),
)


def released(shared, wanted):
    """Conventional cells of released structures: id, cell."""
    for item in iter_items([str(shared / "data" / "e3" / "structures.json")]):
        if item.id in wanted:
            data = item.read(item, item.blob())
            yield item.id, conventional_cell(data.lattice, data.frac, data.numbers)


def once(marks):
    """Marks of which no two of a species lie on one place: a picture shows one."""
    places = np.column_stack((marks.species, np.round(marks.centres_px, 6)))
    kept = np.unique(places, axis=0, return_index=True)[1]
    return cases.swapped(
        marks,
        **{
            name: getattr(marks, name)[kept]
            for name in (
                "species",
                "centres_px",
                "covariance_px2",
                "radius_px",
                "arc_px",
                "visible",
            )
        },
    )


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("every", [False, True])
def test_perfect_centres_give_all_sites_of_the_210(shared, every):
    """Some four minutes on a quiet core."""
    with open(shared / "data" / "e3" / "eval.jsonl", encoding="utf-8") as lines:
        wanted = {json.loads(line)["material_id"] for line in lines}
    find, lost = finder(cases.ROTATIONS), []
    for id_, cell in released(shared, wanted):
        drawn = cases.case(cell.lattice, cell.numbers, cell.positions, 768, every=every, least=1)
        pictures = drawn.pictures
        if every:  # none of them is covered: to the reader the pictures are blank
            pictures = [np.full_like(one, 255) for one in pictures]
        joined = marked(pictures, [once(one) for one in drawn.marks], named("C1"), 5)
        known = drawn.knowledge("K1", 768)
        frame = Frame(
            known.rotations, cell.lattice, known.pixels_per_A, known.origins_px, (2, 2, 2)
        )
        sites = find(joined, frame, KNOWN_BLUR, KNOWN_SLACK)
        if not cases.same_crystal(
            cell.lattice, joined.species[sites.species], sites.positions,
            (cell.lattice, cell.numbers, cell.positions),
        ):  # fmt: skip
            lost.append(id_)
    assert not lost


@pytest.mark.slow
@pytest.mark.data
def test_hard_structures_are_read_from_their_pictures(shared):
    """A minute on a quiet core."""
    for id_, cell in released(shared, HARD):
        drawn = cases.case(cell.lattice, cell.numbers, cell.positions, 768)
        knowledge = drawn.knowledge("K0", 768)
        found = read(drawn.pictures, detect(drawn.pictures, knowledge), knowledge, Limits())
        system = crystal_system(cell.label.number)
        assert found.numbers[0] and crystal_system(found.numbers[0]) == system, id_
        assert cases.same_crystal(
            found.lattice_A, found.species, found.fractional @ found.lattice_A,
            (cell.lattice, cell.numbers, cell.positions),
        ), id_  # fmt: skip
