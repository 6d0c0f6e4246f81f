"""The released occlusion experiment on the 210, through the command; other readings beside."""

import json

import h5py
import numpy as np
import pytest

from rc_hpc.core.errors import Exit
from rc_hpc.geometry.protocol import load_protocol
from rc_hpc.kinds.occlusion.oracle import picture
from rc_hpc.kinds.packed.reader import PackedReader
from rc_hpc.symmetry.orbits import orbits

pytestmark = [pytest.mark.data, pytest.mark.slow]

CONDITIONS = ("O0", "O1", "O2", "O3")
FOUR, FIVE = "axis_a+axis_b+axis_c+body_diagonal", "axis_a+axis_b+axis_c+body_diagonal+oblique2"


@pytest.fixture(scope="module")
def recorded(shared):
    return json.loads((shared / "expected" / "geometry.json").read_text())["occlusion"]


@pytest.fixture(scope="module")
def packed(shared, eval_ids, tmp_path_factory):
    """The 210 evaluation structures, packed in the order of the files, as the record has them."""
    from rc_hpc.pack import main

    folder = tmp_path_factory.mktemp("e3")
    (folder / "ids").write_text("\n".join(eval_ids))
    source = shared / "data" / "e3" / "structures.json"
    asked = ["--ids", str(folder / "ids"), "--atom-order", "file"]
    assert main([str(source), *asked, "-o", str(folder / "packed.h5"), "-q"]) == Exit.CLEAN
    return folder / "packed.h5"


@pytest.fixture(scope="module")
def occlusion(packed, tmp_path_factory):
    """Function from options of a sweep to its columns by path, and its readings."""

    def run(*options):
        from rc_hpc.sweep import main

        output = tmp_path_factory.mktemp("o") / "o.h5"
        assert (
            main(
                [
                    "occlusion",
                    str(packed),
                    "--atom-order",
                    "file",
                    *options,
                    "-o",
                    str(output),
                    "-q",
                ]
            )
            == Exit.CLEAN
        )
        with h5py.File(output) as h5:
            columns = {
                f"{group}/{name}": h5[group][name][()]
                for group in ("visibility", "sites", "occlusion")
                for name in h5[group]
            }
            columns |= {name: h5[f"structures/{name}"][()] for name in ("n_atoms", "n_drawn")}
            return columns, list(
                zip(
                    *(
                        h5[f"axes/{name}"].asstr()[()]
                        for name in ("verification", "enumeration", "merge")
                    ),
                    strict=True,
                )
            )

    return run


def cells_of(found, reading, condition, subset=0):
    """Structures with the true system, with as many atoms as there are, and with more."""
    where = reading, CONDITIONS.index(condition), subset
    surplus = found["occlusion/n_recovered"][:, *where] - found["n_atoms"]
    return (
        int(found["occlusion/correct_crystal_system"][:, *where].sum()),
        int((surplus == 0).sum()),
        int((surplus > 0).sum()),
    )


def test_recorded_cells(occlusion, recorded):
    found, readings = occlusion(
        "--verify",
        "excused,strict",
        "--enumerations",
        "anchor",
        "--rules",
        "first",
        "--delta",
        "0.15",
        "--subsets",
        f"{FOUR},{FIVE}",
    )
    for k, views in enumerate(("4v", "5v")):
        for condition in CONDITIONS:
            cell = recorded["recorded"][f"original_{views}_{condition}"]
            assert cells_of(
                found, readings.index(("excused", "anchor", "first")), condition, k
            ) == (cell["k"], cell["count_match"], cell["over_triangulated"])
            cell = recorded["measured_variants"][
                f"original_{views}_{condition}|tol0.15|excuseFalse|released"
            ]
            assert cells_of(found, readings.index(("strict", "anchor", "first")), condition, k) == (
                cell["k"],
                cell["count"],
                cell["over"],
            )
    slots = recorded["hidden_slots_original_5v"]
    assert found["visibility/n_hidden"].sum(axis=(0, 2)).tolist() == [
        0,
        slots["O1"],
        slots["O2"],
        slots["O3"],
    ]
    assert 5 * found["n_atoms"].sum() == slots["total"]


def test_recorded_variants_at_the_certified_tolerance(occlusion, recorded):
    found, readings = occlusion(
        "--verify",
        "excused,strict",
        "--enumerations",
        "all",
        "--rules",
        "first",
        "--subsets",
        f"{FOUR},{FIVE}",
    )
    for r, (verification, enumeration, _) in enumerate(readings):
        for k, views in enumerate(("4v", "5v")):
            for condition in CONDITIONS:
                pairs = {"anchor": "released", "all-pairs": "all"}[enumeration]
                excuse = verification == "excused"
                variant = f"original_{views}_{condition}|tol0.01|excuse{excuse}|{pairs}"
                cell = recorded["measured_variants"][variant]
                assert cells_of(found, r, condition, k) == (cell["k"], cell["count"], cell["over"])


def test_recorded_visibility(packed, recorded):
    protocol, shares, clear = load_protocol("frozen", (2, 2, 2)), [], []
    with PackedReader(packed) as reader:
        rows, children = reader.rows(0, len(reader), ("atoms",))
    for k, lattice in enumerate(rows["structures/lattice"]):
        own = children["atoms"]["structure"] == k
        positions, numbers = children["atoms"]["position"][own], children["atoms"]["number"][own]
        drawn = picture(
            lattice,
            positions,
            numbers,
            protocol.rotations,
            protocol.tiling,
            0.5,
            orbits(lattice, positions, numbers, 1e-3),
        )
        informative = drawn.occluded & ~drawn.redundant
        shares.append([one.mean(axis=1) for one in (drawn.occluded, drawn.redundant, informative)])
        clear.append(
            [
                [
                    f(informative[:v].sum(axis=0), v).mean()
                    for f in (np.equal, lambda n, _: n == 0, lambda n, v: n > v - 2)
                ]
                for v in (4, 5)
            ]
        )
    for v, view in enumerate(protocol.views):
        names = ("occluded_mean", "redundant_mean", "informative_mean")
        np.testing.assert_allclose(
            np.mean(shares, axis=0)[:, v],
            [recorded["per_view_original"][view][name] for name in names],
            atol=5.1e-5,
        )
    for k, views in enumerate((4, 5)):
        cross = recorded["cross_view"][f"original_{views}views"]
        np.testing.assert_allclose(
            np.mean(clear, axis=0)[k],
            [cross["all"], cross["never"], cross["frac_atoms_fewer_than_2_clear_views"]],
            atol=5.1e-5,
        )


def test_readings_that_know_nothing_of_what_is_hidden(occlusion):
    """Of 210, with counts of exact and of too many atoms: no reading looks at the answer."""
    found, readings = occlusion("--verify", "covered,strict,painted,2-of-V,3-of-V,4-of-V")
    got = {
        reading[0]: [cells_of(found, r, condition) for condition in CONDITIONS]
        for r, reading in enumerate(readings)
    }
    assert got == {
        "covered": [(210, 210, 0), (181, 163, 6), (168, 121, 15), (209, 209, 1)],
        "strict": [(210, 210, 0), (133, 80, 0), (103, 12, 0), (187, 170, 0)],
        "painted": [(210, 210, 0), (205, 205, 5), (197, 179, 20), (209, 209, 1)],
        "2-of-V": [(210, 210, 0), (205, 205, 5), (191, 168, 32), (209, 209, 1)],
        "3-of-V": [(210, 210, 0), (205, 205, 4), (181, 166, 3), (209, 209, 1)],
        "4-of-V": [(210, 210, 0), (201, 182, 3), (155, 88, 0), (208, 207, 0)],
    }
    assert found["sites/n_lost"].sum(axis=(0, 2)).tolist() == [0, 0, 49, 0]
    assert found["occlusion/point_error"][:, :, 0].max() < 1e-13
