"""Tables of scores, of readings made up."""

import numpy as np
import pytest

from rc_hpc.core.vocabulary import ReadStatus
from rc_hpc.kinds.scores.counts import ScoreCounts
from rc_hpc.kinds.scores.frames import by_symprec, losses, scores


def made_up():
    """Six crystals: what is true, and what is right of it, at two tolerances."""
    read = [
        # group, exact, certified, right at 0.01, at 0.1, by pictures, ok
        (1, True, True, True, True, True, True),
        (2, False, False, True, False, True, True),
        (2, False, False, False, False, False, True),
        (225, True, True, True, True, True, True),
        (225, False, True, True, True, True, True),
        (62, True, False, False, True, False, True),
        (2, False, False, True, True, True, False),
    ]
    group, exact, certified, tight, loose, pictures, ok = map(np.array, zip(*read, strict=True))
    right = np.column_stack((tight, loose))
    rows = {
        "space_group": group,
        "n_atoms": np.full(len(read), 9),
        "sites_exact": exact,
        "certified": certified,
        "system_right": right,
        "space_group_right": right & exact[:, None],
        "system_right_by_pictures": pictures,
        "space_group_right_by_pictures": pictures & exact,
        "cause": np.array(["" if one else "1 extra" for one in exact], object),
        "reading": np.full(len(read), ReadStatus.uncertified),
    }
    ids = np.array([f"c{k}" for k in range(len(read))], object)
    return ScoreCounts({}, {}, None, ids, ok, rows, np.array((0.01, 0.1)))


def test_triclinic_crystals_are_counted_apart_and_luck_is_told():
    frame = scores(made_up()).set_index("crystals")
    assert frame.loc["all", ["n", "right", "right_by_luck"]].tolist() == [6, 4, 1]
    apart = frame.loc["all but triclinic"]
    assert apart[["n", "right", "right_by_luck"]].tolist() == [3, 2, 0]
    assert frame.loc["triclinic", ["n", "right", "right_by_luck"]].tolist() == [3, 2, 1]


def test_a_certified_reading_with_a_site_too_many_is_wrong():
    frame = scores(made_up()).set_index("crystals")
    assert frame.loc["cubic", ["certified", "right_and_certified"]].tolist() == [2, 2]
    assert frame["certified_wrong"][["all", "cubic", "triclinic"]].tolist() == [1, 1, 0]


def test_labels_by_tolerance_are_told_without_triclinic_crystals_too():
    frame = by_symprec(made_up())
    told = {(row.crystals, row.label): (row.n, row.system_right) for row in frame.itertuples()}
    assert told == {
        ("all", "0.01 Å"): (6, 4),
        ("all", "0.1 Å"): (6, 4),
        ("all", "by pictures"): (6, 4),
        ("all but triclinic", "0.01 Å"): (3, 2),
        ("all but triclinic", "0.1 Å"): (3, 3),
        ("all but triclinic", "by pictures"): (3, 2),
    }
    assert frame["R2"].iloc[3] == pytest.approx(2 / 3)


def test_what_was_not_scored_is_not_lost():
    assert "c6" not in set(losses(made_up())["id"])
