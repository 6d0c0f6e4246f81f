"""Molecules: without a lattice through packing, census, frontier, uniqueness, lists and pages."""

import json

import h5py
import numpy as np
import pytest
from ase.build import bulk, molecule
from ase.collections import g2
from ase.io import read, write

from rc_hpc.census import main as census
from rc_hpc.core.errors import Exit, Status, StructureError, UsageError
from rc_hpc.core.vocabulary import Uniqueness
from rc_hpc.engine.listing import Listing
from rc_hpc.engine.validate import validate
from rc_hpc.export import main as export
from rc_hpc.kinds.census.counts import count_census
from rc_hpc.kinds.census.options import CensusOptions
from rc_hpc.kinds.packed.molecules import pack_molecule, separations, turned
from rc_hpc.kinds.packed.options import PackOptions
from rc_hpc.kinds.unique.options import UniqueOptions
from rc_hpc.oracle.molecular import order_of
from rc_hpc.pack import main as pack
from rc_hpc.report.__main__ import main as report
from rc_hpc.show import main as show
from rc_hpc.structures.molecules import g2_items, read_molecule
from rc_hpc.structures.record import Item, Molecule
from rc_hpc.structures.sources import iter_items
from rc_hpc.sweep import main as sweep
from rc_hpc.symmetry.point_groups import SCHOENFLIES
from rc_hpc.tables import main as tables

#: Four that fail on the pairs of axes, a linear one, one of no symmetry.
FEW = ("CH4", "C2H6", "NH3", "BF3", "N2", "CH3CH2NH2")
_OF_CELLS = ("lattice", "space_group", "bravais", "crystal_system", "quarantine", "sweep")


def read_g2(name):
    (item,) = (one for one in g2_items() if one.id == name)
    return item.read(item, item.blob())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("molecules")


@pytest.fixture(scope="module")
def packed(folder):
    path = folder / "few.packed.h5"
    asked = ["g2", "--ids", ",".join(FEW), "-o", str(path), "-q"]
    assert pack(asked) == Exit.CLEAN
    return path


@pytest.fixture(scope="module")
def few(packed):
    path = packed.with_name("few.h5")
    assert census([str(packed), "-o", str(path), "-q"]) == Exit.CLEAN
    return path


def names_in(path):
    found = []
    with h5py.File(path, locking=False) as h5:
        h5.visititems(lambda name, one: found.append(name) if hasattr(one, "shape") else None)
    return found


def test_g2_is_ases_without_its_atoms():
    items = list(iter_items(["g2"]))
    wanted = [name for name in g2.names if len(molecule(name)) > 1]
    assert [one.id for one in items] == wanted and len(wanted) == 148
    for item in items[::20]:
        made, own = item.read(item, item.blob()), molecule(item.id)
        np.testing.assert_array_equal(made.numbers, own.numbers)
        np.testing.assert_allclose(made.positions, own.positions, atol=1e-12)
        assert made.reader.startswith("ase ") and len(made.sha256) == 64


def test_xyz_is_a_molecule_where_that_is_asked_for(tmp_path, capsys):
    path = tmp_path / "mine.xyz"
    write(path, [molecule("H2O"), molecule("CH4")])
    out = tmp_path / "mine.h5"
    assert pack([str(path), "-o", str(out), "-q"]) == Exit.FAILURES
    assert pack([str(path), "-o", str(out), "-q", "--overwrite", "--molecules"]) == Exit.CLEAN
    with h5py.File(out, locking=False) as h5:
        groups = [SCHOENFLIES[code - 1] for code in h5["structures/point_group"]]
        assert list(h5["structures/formula"].asstr()) == ["H2O", "CH4"]
        assert h5["structures/id"].asstr()[0] == "mine.xyz#1"
    assert groups == ["C2v", "Td"] and validate(out) == []
    assert pack([str(out), "--first", "1", "-o", str(tmp_path / "one.h5"), "-q"]) == Exit.CLEAN
    capsys.readouterr()
    assert census([str(path), "-o", str(tmp_path / "c.h5"), "-q"]) == Exit.FAILURES


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (b'1\nLattice="5 0 0 0 5 0 0 0 5"\nH 0 0 0\n', Status.read_error),
        (b"2\n\nH 0 0 0\nX 0 0 1\n", Status.unknown_species),
        (b"1\n\nH nan 0 0\n", Status.non_finite),
        (b"1\n\nH 1e9 0 0\n", Status.read_error),
        (b"", Status.empty),
        (b"two\n\nH 0 0 0\n", Status.read_error),
    ],
)
def test_what_is_no_molecule_is_refused_by_name(text, status):
    item = Item("m.xyz", "m.xyz", lambda: text, read_molecule)
    with pytest.raises(StructureError, match=r"m\.xyz") as refused:
        read_molecule(item, text)
    assert refused.value.status == status


def test_crystals_and_molecules_do_not_mix(tmp_path, packed, capsys):
    crystal = tmp_path / "copper.cif"
    bulk("Cu", "fcc", a=3.6).write(crystal)
    out = ["-o", str(tmp_path / "x.h5"), "-q"]
    assert census(["g2", "prototypes", *out]) == Exit.USAGE
    assert "runs of their own" in capsys.readouterr().err
    assert pack([str(crystal), "--molecules", *out]) == Exit.FAILURES
    with h5py.File(tmp_path / "x.h5", locking=False) as h5:
        assert "leave out --molecules" in h5["structures/message"].asstr()[0]
    with pytest.raises(UsageError, match="no lattice"):
        Listing(["g2"])


@pytest.mark.parametrize("kind", ["noise", "occlusion", "design"])
def test_what_needs_a_lattice_refuses_molecules_with_the_reason(kind, packed, tmp_path, capsys):
    asked = [kind, str(packed), "-o", str(tmp_path / "x.h5"), "-q"]
    assert sweep(asked) == Exit.USAGE
    assert f"sweep {kind} takes no molecules: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"tau": 0.1}, "--tau is of crystals"),
        ({"atom_order": "file"}, "--atom-order is of crystals"),
        ({"truth": "conventional"}, "--truth is of crystals"),
        ({"quarantine": "drop"}, "--quarantine is of crystals"),
        ({"tiling": "2"}, "repeats a cell"),
        ({"merge": "symmetric"}, "space groups of crystals"),
    ],
)
def test_options_of_cells_are_refused(asked, told):
    with pytest.raises(UsageError, match=told):
        CensusOptions.of({"molecules": True, **asked})
    with pytest.raises(UsageError, match="give --molecules too"):
        CensusOptions.of({"orientation": "random:1"})
    caption = CensusOptions.of({"molecules": True, "orientation": "turned:1"}).caption()
    assert "point groups within 0.05 Å; orientation turned:1" in caption
    assert not any(word in caption for word in ("tiling", "tau", "quarantine", "cell"))


def test_options_of_packed_molecules_are_those_of_the_file(tmp_path):
    turned_ = tmp_path / "t.packed.h5"
    few = ["--ids", "CH4,H2O", "-q"]
    asked = ["g2", "--orientation", "random:3", *few, "-o", str(turned_)]
    assert pack(asked) == Exit.CLEAN
    out = tmp_path / "t.h5"
    assert census([str(turned_), "-o", str(out), "-q"]) == Exit.CLEAN
    with h5py.File(out, locking=False) as h5:
        assert json.loads(h5.attrs["options"])["pack"]["orientation"] == "random:3"
    other = [str(turned_), "-o", str(out), "-q", "--group-tolerance", "0.2", "--overwrite"]
    assert census(other) == Exit.USAGE


@pytest.mark.parametrize("orientation", ["given", "random:5", "turned:30"])
def test_molecules_are_turned_as_a_whole(orientation):
    one = read_g2("CH3CH2NH2")
    placed = turned(one.positions, orientation, one.id)
    again = turned(one.positions, orientation, one.id)
    np.testing.assert_array_equal(placed, again)
    apart = [np.linalg.norm(p[:, None] - p[None], axis=2) for p in (one.positions, placed)]
    np.testing.assert_allclose(*apart, atol=1e-12)
    moved = np.abs(placed - one.positions).max()
    assert moved == 0 if orientation == "given" else moved > 0.1
    if orientation == "random:5":
        assert not np.allclose(placed, turned(one.positions, "random:6", one.id))
    if orientation == "turned:30":
        far = np.linalg.norm(one.positions - one.positions.mean(axis=0), axis=1)
        chord = 2 * np.sin(np.radians(15)) * far
        assert (np.linalg.norm(placed - one.positions, axis=1) <= chord + 1e-12).all()


def test_distances_without_images():
    positions = np.array([[0.0, 0, 0], [0, 0, 1.0], [0, 3.0, 0]])
    closest, same, share = separations(positions, np.array([1, 8, 1]))
    assert (closest, same) == (1.0, 3.0) and share == np.inf
    closest, same, share = separations(positions[:2] / 2, np.array([1, 8]))
    assert closest == 0.5 and same == np.inf and 0 < share < 1
    assert separations(positions[:1], np.array([1])) == (np.inf, np.inf, np.inf)


@pytest.mark.parametrize(
    ("numbers", "positions", "options", "status"),
    [
        ([1, 1], [[0, 0, 0], [0, 0, 0.05]], {}, Status.close_atoms),
        ([6, 6], [[0, 0, 0], [0, 0, 0.154]], {}, Status.close_atoms),  # nanometres
        ([1] * 4, np.eye(4, 3) * 3, {"max_atoms": 3}, Status.too_large),
    ],
)
def test_a_molecule_that_cannot_be_used(numbers, positions, options, status):
    one = Molecule("m", np.array(positions, float), np.array(numbers), "x", "r", "0")
    fields = {}
    with pytest.raises(StructureError) as refused:
        pack_molecule(one, PackOptions(molecules=True, **options), fields)
    assert refused.value.status == status and fields["n_atoms"] == len(numbers)


def test_no_molecule_is_near_the_bound_of_units():
    read_ones = [item.read(item, item.blob()) for item in iter_items(["g2"])]
    closest = min(separations(one.positions, one.numbers)[2] for one in read_ones)
    assert len(read_ones) == 148 and round(closest, 2) == 0.77


def test_files_have_what_a_molecule_has_and_no_more(packed, few):
    for path in (packed, few):
        assert validate(path) == []
        for name in names_in(path):
            assert not any(one in name for one in _OF_CELLS), name
    with h5py.File(few, locking=False) as h5:
        assert h5["vocabulary/schoenflies"].asstr()[1:].tolist() == list(SCHOENFLIES)
        assert "protocol/tiling" not in h5
        ids = list(h5["structures/id"].asstr())
        k = list(h5["subsets/name"].asstr()).index("axis_a+axis_b")
        groups = dict(zip(ids, h5["cells/point_group"][:, k], strict=True))
    assert SCHOENFLIES[groups["CH4"] - 1] == "Oh"  # all eight corners of the cube


def test_tables_verdict_and_lists_speak_of_molecules(few, capsys):
    assert tables([str(few), "--table", "reference"]) == Exit.CLEAN
    told = capsys.readouterr().out
    assert "6 of 6 molecules rightly" in told and "no other molecule" in told
    for word in ("R0", "quarantine", "crystal", "cell", "lattice", "tiling", "tau"):
        assert word not in told, word
    assert tables([str(few), "--table", "failures", "--format", "csv"]) == Exit.CLEAN
    told = capsys.readouterr().out
    assert told.startswith("id,formula,why,n_atoms,point_group,status,right,") and ",Td," in told
    assert tables([str(few), "--table", "systems", "--format", "csv"]) == Exit.CLEAN
    told = capsys.readouterr().out
    assert ",Td,1," in told and "triclinic" not in told
    assert tables([str(packed_of(few)), "--table", "structures"]) == Exit.CLEAN
    assert "BF3" in capsys.readouterr().out
    counts = count_census(few)
    assert list(counts.sets()) == ["all"] and counts.labels.noun == "point group"


def packed_of(path):
    return path.with_name("few.packed.h5")


def test_show_and_export(few, tmp_path, capsys):
    assert show([str(few), "CH4", "-o", str(tmp_path / "show")]) == Exit.CLEAN
    told = capsys.readouterr().out
    assert "truth: point group Td" in told and "axis_a+axis_b: point group Oh, 9 atoms" in told
    assert (
        "cell" not in told and (tmp_path / "show" / f"CH4.{few.stem}.png").stat().st_size > 10_000
    )
    out = tmp_path / "r.extxyz"
    asked = [str(few), "--what", "reconstructions", "--ids", "CH4", "--subset", "axis_a+axis_b"]
    assert export([*asked, "-o", str(out)]) == Exit.CLEAN
    atoms = read(out)
    assert len(atoms) == 9 and not atoms.pbc.any() and atoms.info["point_group"] == "Td"
    capsys.readouterr()
    assert export([*asked, "--format", "cif", "-o", str(tmp_path / "r.cif")]) == Exit.USAGE
    assert "holds molecules" in capsys.readouterr().err


def test_frontier_and_page(packed, few, tmp_path, capsys):
    path = tmp_path / "frontier.h5"
    asked = ["frontier", str(packed), "--deltas", "0.01,0.15", "-o", str(path), "-q"]
    assert sweep(asked) == Exit.CLEAN and validate(path) == []
    assert tables([str(path), "--table", "frontier", "--format", "csv"]) == Exit.CLEAN
    told = capsys.readouterr().out
    assert "group_tolerance_angstrom" in told and "symprec" not in told
    page = tmp_path / "page.html"
    files = [str(few), str(path), str(packed)]
    assert report([*files, "-o", str(page), "-q"]) == Exit.CLEAN
    text = page.read_text()
    assert "6 of 6 molecules rightly" in text and 'data-file="few.h5"' in text


def test_uniqueness_of_molecules(packed, tmp_path, capsys):
    pytest.importorskip("pysat")
    path = tmp_path / "unique.h5"
    pairs = "axis_a+axis_b,axis_a+axis_b+axis_c"
    asked = ["unique", str(packed), "--subsets", pairs, "-o", str(path), "-q"]
    assert sweep(asked) == Exit.CLEAN and validate(path) == []
    with h5py.File(path, locking=False) as h5:
        ids = list(h5["structures/id"].asstr())
        policies = list(h5["axes/policy"].asstr())
        status, best = h5["policies/status"][()], h5["policies/best_group"][()]
        group = h5["structures/point_group"][()]
        assert "policies/system" not in h5 and "policies/system_mask" not in h5
    methane, p = ids.index("CH4"), policies.index("counts")
    # Of the eight corners of a cube four that every pair of axes sees alike: the two tetrahedra,
    # and others of less symmetry.
    assert status[methane, p, 0] == Uniqueness.undetermined
    assert best[methane, policies.index("any"), 0] == SCHOENFLIES.index("Oh") + 1
    # With counts the three axes leave the two tetrahedra, of one group.
    assert status[methane, p, 1] == Uniqueness.determined
    assert best[methane, p, 1] == group[methane]
    assert status[ids.index("N2")].tolist() == [[Uniqueness.unique] * 2] * len(policies)
    assert tables([str(path)]) == Exit.CLEAN
    told = capsys.readouterr().out
    assert "Point group, R1" in told and "crystal" not in told
    assert show([str(path), "CH4", "-o", str(tmp_path)]) == Exit.CLEAN
    assert "drawn: Td, and " in capsys.readouterr().out
    out = tmp_path / "w.extxyz"
    asked = [str(path), "--what", "reconstructions", "--ids", "CH4", "-o", str(out)]
    asked += ["--packed", str(packed)]
    assert export(asked) == Exit.CLEAN and not read(out).pbc.any()
    assert tables([str(path), "--table", "structures"]) == Exit.CLEAN
    with pytest.raises(UsageError, match="of crystals"):
        UniqueOptions.of({"molecules": True, "truth": "conventional"})


def test_orders_of_point_groups():
    known = {"C1": 1, "Cs": 2, "Ci": 2, "C3": 3, "C2v": 4, "C2h": 4, "S4": 4, "D3": 6, "D2d": 8}
    known |= {"D6h": 24, "Td": 24, "Oh": 48, "Ih": 120}
    assert {name: order_of(name) for name in known} == known
    assert min(map(order_of, SCHOENFLIES)) == 1 and order_of("D*h") > order_of("Ih")


@pytest.mark.slow  # 148 molecules, three times: 45 s of CPU
@pytest.mark.parametrize(
    ("orientation", "right", "least"),
    [
        ("given", {2: 0.9581, 3: 0.9959, 4: 1.0, 5: 1.0}, {2: 0.925, 3: 0.996}),
        ("random:0", {2: 1.0, 3: 1.0, 4: 1.0, 5: 1.0}, {2: 0.96}),
        ("turned:1", {2: 1.0, 3: 1.0, 4: 1.0, 5: 1.0}, {2: 0.78, 3: 0.965}),
    ],
)
def test_all_of_g2_as_measured(orientation, right, least, tmp_path):
    out = tmp_path / "g2.h5"
    asked = ["g2", "--orientation", orientation, "-o", str(out), "-q"]
    assert census(asked) == Exit.CLEAN
    counts = count_census(out)
    tally = counts.sets()["all"]
    for size, own in counts.subsets.by_size().items():
        share = tally.correct[0, own].sum() / (int(tally.n) * len(own))
        assert round(float(share), 4) == right[size]
        clear = 1 - tally.with_phantoms[own].sum() / (int(tally.n) * len(own))
        assert clear >= least.get(size, 0.97) - 5e-4
    if orientation == "given":
        names = dict(zip(counts.subsets.names, tally.correct[0] / int(tally.n), strict=True))
        wanted = {"axis_a+axis_b": 0.743, "axis_a+axis_c": 0.946, "axis_b+axis_c": 0.892}
        for name, value in wanted.items():
            assert round(float(names[name]), 3) == value
        classes = dict(zip(counts.labels.classes, tally.by_system[1:].tolist(), strict=True))
        found = {name: n for name, n in classes.items() if n}
        known = {"Cs": 36, "C2v": 31, "C*v": 22, "C3v": 15, "D*h": 14, "D3h": 7, "Td": 6, "C1": 3}
        known |= {"C2h": 3, "D2d": 3, "D2h": 3, "D3d": 2, "C2": 2, "D6h": 1}
        assert found == known
