"""import rc_hpc: what its functions take and give, and that they give what the commands write."""

import json
import os
import pickle
import re
import subprocess
import sys
import warnings
from pathlib import Path

import house
import numpy as np
import pandas as pd
import pytest
from ase import Atoms
from ase.build import bulk, molecule
from pymatgen.core import Lattice, Structure
from pymatgen.io.ase import AseAtomsAdaptor

import rc_hpc
from rc_hpc import census, pack, render
from rc_hpc.core.errors import Status
from rc_hpc.core.options import declared
from rc_hpc.engine.results import tables_of
from rc_hpc.geometry.protocol import load_protocol
from rc_hpc.kinds.census.options import CensusOptions
from rc_hpc.structures.sources import iter_items

PROTOTYPES = ("A_cF4_225_a", "A_cP1_221_a", "A_mC4_12_i", "AB_tP2_123_a_d", "AB_cF8_216_c_a")
SALT = Structure.from_spacegroup(
    "Fm-3m", Lattice.cubic(5.64), ["Na", "Cl"], [[0, 0, 0], [0.5, 0.5, 0.5]]
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A file of prototypes and of one that cannot be used, and its census."""
    folder = tmp_path_factory.mktemp("api")
    entries = {
        item.id: json.loads(item.blob())["snl"]
        for item in iter_items(["prototypes"])
        if item.id in PROTOTYPES
    }
    lines = [json.dumps({"material_id": id_, "structure": one}) for id_, one in entries.items()]
    lines += [json.dumps({"material_id": "broken", "cif": "data_broken"})]
    (folder / "some.jsonl").write_text("\n".join(lines))
    code = census.main(f"{folder}/some.jsonl -o {folder}/census.h5 --delta 0.15 -q".split())
    assert code == 3
    return folder


@pytest.fixture(scope="module")
def many(files):
    return rc_hpc.ceilings(files / "some.jsonl", delta=0.15)


def test_three_lines():
    c = rc_hpc.ceiling(SALT, cameras="frozen")
    assert c.certified and c.unique and c.correct and c.label == c.truth
    assert (c.truth.number, c.truth.symbol, c.truth.crystal_system) == (225, "Fm-3m", "cubic")
    assert str(c).startswith("NaCl, Fm-3m (225), cubic: at delta 0.01 Å certified by all 5 cameras")
    assert len(c.subsets) == 26 and c.subsets.loc["axis_a+axis_b", "n_phantoms"] == 8
    assert not c.subsets.loc["axis_a+axis_b", "certified"]
    assert c.options.delta == 0.01 and c.options.to_dict()["merge"] == "dominance"
    assert set(c.phantoms["element"]) == {"Na", "Cl"}
    assert len(c.cell.numbers) == 8 and c.cell.lattice.shape == (3, 3)


def test_the_readme_runs(capsys):
    readme = (house.PACKAGE.parent / "README.md").read_text(encoding="utf-8")
    section = readme.partition("## In a notebook")[2].partition("\n## ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    exec(code, {"atoms": bulk("Al")})
    assert capsys.readouterr().out.startswith("Al, Fm-3m (225), cubic: ")


@pytest.mark.long
def test_every_kind_of_structure_gives_the_same(tmp_path):
    atoms = AseAtomsAdaptor.get_atoms(SALT)
    SALT.to(filename=tmp_path / "salt.cif")
    arrays = atoms.cell.array, atoms.positions, atoms.numbers
    lists = tuple(values.tolist() for values in arrays)
    expected = rc_hpc.ceiling(SALT).subsets
    places = ["point_error", "atom_error", "phantom_delta", "phantom_delta_exact"]
    for one in (atoms, arrays, lists, tmp_path / "salt.cif", str(tmp_path / "salt.cif")):
        subsets = rc_hpc.ceiling(one).subsets
        pd.testing.assert_frame_equal(subsets.drop(columns=places), expected.drop(columns=places))
        np.testing.assert_allclose(subsets[places], expected[places], atol=1e-9)
    assert rc_hpc.ceiling(tmp_path / "salt.cif").id == "salt.cif"
    charged = SALT.copy()
    charged.add_oxidation_state_by_guess()
    pd.testing.assert_frame_equal(rc_hpc.ceiling(charged).subsets, expected)


def test_values_are_those_of_the_command(files, many):
    tree = rc_hpc.open(files / "census.h5")
    cells, stored = tree["cells"].to_dataset(), tree["structures"].to_dataset()
    for name in cells.data_vars:
        one = cells[name].sel(structure=list(PROTOTYPES)).values.ravel()
        order = pd.MultiIndex.from_product([PROTOTYPES, cells.subset.values])
        assert pd.Series(one).equals(pd.Series(many.subsets.loc[order, name].values)), name
    names = [name for name in stored.data_vars if stored[name].dims == ("structure",)]
    for name in names:
        own = many.structures.reset_index(names="id")[name]
        own.index = many.structures.index
        own = own.loc[stored.structure.values]
        assert pd.Series(stored[name].values).equals(pd.Series(own.values)), name
    phantoms = tree["phantoms"].ds
    assert len(many.phantoms) == phantoms.sizes["row"]
    for id_ in PROTOTYPES:
        own = many.phantoms[many.phantoms["structure"] == id_]
        if len(own):
            its = phantoms.isel(row=phantoms["structure"].values == id_)
            for name in ("gap", "distance", "view_a", "view_b"):
                assert its[name].values.tolist() == own[name].tolist()
            np.testing.assert_array_equal(its["position"].values, own[["x", "y", "z"]])
            residuals = own[[f"residual_{view}" for view in its.view.values]]
            np.testing.assert_array_equal(its["residual"].values, residuals)


def test_tables_are_those_of_the_command(files, many):
    for table in tables_of(files / "census.h5")[1]:
        own = many.table(table.name)
        if table.name == "status":  # the example is the first, and a file is in the order of ids
            own, table.frame["example_id"] = own.assign(example_id=""), ""
        pd.testing.assert_frame_equal(own, table.frame)
    assert many.views["R1"].tolist() == many.table("views")["R1"].tolist()
    with pytest.raises(rc_hpc.UsageError, match="a census has reference"):
        many.table("frontier")


def test_packed_files_are_taken(files, many):
    packed = rc_hpc.ceilings(files / "census.packed.h5", delta=0.15)
    once = many.subsets.sort_index()
    pd.testing.assert_frame_equal(packed.subsets.sort_index(), once)
    with pytest.raises(rc_hpc.UsageError, match="packed with tau"):
        rc_hpc.ceilings(files / "census.packed.h5", tau=0.1)
    with pytest.raises(rc_hpc.UsageError, match="no file"):
        rc_hpc.ceilings(files / "absent.h5")
    with pytest.raises(rc_hpc.UsageError, match=r"rc_hpc\.ceilings takes it"):
        rc_hpc.ceiling(files / "census.packed.h5")


def test_no_structure_is_lost(many):
    assert len(many) == len(PROTOTYPES) + 1
    assert many.structures["status"].tolist().count("ok") == len(PROTOTYPES)
    assert many.structures.loc["broken", "status"] == "empty"
    assert "no atom sites" in many.structures.loc["broken", "message"]
    assert pd.isna(many.structures.loc["broken", "certified"])
    assert "broken" not in many.subsets.index
    with pytest.raises(rc_hpc.StructureError, match=r"^empty: .*no atom sites") as caught:
        many["broken"]
    assert caught.value.status == Status.empty
    with pytest.raises(KeyError):
        many["nowhere"]
    assert list(many)[-1] == "broken" and "broken" in many and "x" not in many
    told = str(many)
    assert told.startswith("6 structures (1 refused) at delta 0.15 Å: with all 5 cameras of frozen")
    assert "R1 is 5/5 and 5 are certified" in told


def test_rows_that_share_an_id(files):
    line, other = (files / "some.jsonl").read_text().splitlines()[:2]
    entry = json.loads(other) | {"material_id": json.loads(line)["material_id"]}
    (files / "twins.jsonl").write_text("\n".join([line, json.dumps(entry), line]))
    assert pack.main(f"{files}/twins.jsonl -o {files}/twins.h5 -q".split()) == 3
    stored = rc_hpc.open(files / "twins.h5")["structures"].to_dataset()
    own = rc_hpc.ceilings(files / "twins.jsonl", subsets="full").structures
    own = own.sort_values("duplicate")
    for name in ("status", "duplicate", "sha256", "message"):
        assert own[name].tolist() == stored[name].values.tolist()
    assert own["status"].tolist() == ["ok", "duplicate_id", "duplicate_id"]
    for first in (line, json.dumps(entry)):
        (files / "twins.jsonl").write_text("\n".join([first, line, json.dumps(entry)]))
        twins = rc_hpc.ceilings(files / "twins.jsonl", subsets="full")
        assert twins[entry["material_id"]].formula == own["formula"].iloc[0]


@pytest.mark.long
def test_ids_come_from_mappings_files_and_places(tmp_path):
    bulk("Al").write(tmp_path / "al.cif")
    bulk("Si").write(tmp_path / "si.cif")
    few = {"subsets": "full"}
    assert list(rc_hpc.ceilings({"a": bulk("Al"), 7: tmp_path / "si.cif"}, **few)) == ["a", "7"]
    assert list(rc_hpc.ceilings([bulk("Al"), bulk("Si")], **few)) == ["0", "1"]
    assert list(rc_hpc.ceilings(iter([bulk("Al")]), **few)) == ["0"]
    assert list(rc_hpc.ceilings(bulk("Al"), **few)) == ["0"]
    assert list(rc_hpc.ceilings(SALT, **few)) == ["0"]
    al = bulk("Al")
    assert list(rc_hpc.ceilings((al.cell.array, al.positions, al.numbers), **few)) == ["0"]
    assert list(rc_hpc.ceilings((al, al, al), **few)) == ["0", "1", "2"]
    assert sorted(rc_hpc.ceilings(tmp_path, **few)) == ["al.cif", "si.cif"]
    paths = [tmp_path / "al.cif", str(tmp_path / "si.cif")]
    assert list(rc_hpc.ceilings(paths, **few)) == ["al.cif", "si.cif"]
    assert list(rc_hpc.ceilings([al, paths[1]], **few)) == ["0", "si.cif"]
    assert len(rc_hpc.ceilings("synthetic:2", **few)) == 2
    assert len(rc_hpc.ceilings([], **few)) == 0 and "0 structures" in str(rc_hpc.ceilings([]))
    with pytest.raises(rc_hpc.UsageError, match=r"several structures: rc_hpc\.ceilings"):
        rc_hpc.ceiling("synthetic:2")
    with pytest.raises(rc_hpc.UsageError, match="there is no source"):
        rc_hpc.ceiling(tmp_path / "absent.cif")


HALF = Structure(Lattice.cubic(4), [{"Na": 0.5, "K": 0.5}], [[0, 0, 0]])
NAN = bulk("Al")
NAN.positions[0, 0] = np.nan
SHARED = bulk("Al")
SHARED.info["occupancy"] = {"0": {"Al": 0.5, "Mg": 0.5}}
SLAB = Structure(Lattice.cubic(4, pbc=(True, True, False)), ["Na"], [[0, 0, 0]])
REFUSED = {
    "molecule": (molecule("H2O"), "read_error", "pbc=True"),
    "slab": (SLAB, "read_error", "not periodic"),
    "empty": (Atoms(cell=[4, 4, 4], pbc=True), "empty", "no atoms"),
    "disordered": (HALF, "disordered", "ordered approximant"),
    "shared": (SHARED, "disordered", "ordered approximant"),
    "nan": (NAN, "non_finite", "NaN"),
    "flat": (Atoms("Al", cell=[4, 4, 0], pbc=True), "singular_cell", "volume|vectors"),
    "close": (Atoms("Al2", [[0, 0, 0], [0, 0, 0.05]], cell=[4, 4, 4], pbc=True), "close_atoms", ""),
    "dummy": (Atoms("X", cell=[4, 4, 4], pbc=True), "unknown_species", "dummy"),
    "cell": ((np.full((3, 3), np.inf), [[0, 0, 0]], [13]), "non_finite", "cell"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_structures_say_why(name):
    structure, status, message = REFUSED[name]
    with pytest.raises(rc_hpc.StructureError, match=f"^{status}: .*({message})") as caught:
        rc_hpc.ceiling(structure)
    assert caught.value.status == Status[status]
    with pytest.raises(rc_hpc.StructureError, match=f"^{status}: "):
        rc_hpc.draw(structure)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.status, str(again)) == (caught.value.status, str(caught.value))
    row = rc_hpc.ceilings({name: structure, "al": bulk("Al")}, subsets="full").structures
    assert row["status"].tolist() == [status, "ok"] and row["message"].iloc[0]


@pytest.mark.parametrize("strange", [3, None, [1.0, 2.0], object(), ([1], [2], [3]), np.eye(3)])
def test_what_is_no_structure_is_told(strange):
    with pytest.raises(TypeError, match=r"give|must be"):
        rc_hpc.ceiling(strange)


def test_positions_that_look_fractional_are_told():
    with pytest.warns(UserWarning, match="positions @ lattice"):
        rc_hpc.ceilings([(5.64 * np.eye(3), [[0, 0, 0], [0.5, 0.5, 0.5]], [11, 17])])
    with pytest.raises(TypeError, match="atomic numbers"):
        rc_hpc.ceiling((5.64 * np.eye(3), [[0, 0, 0]], [11.5]))
    with pytest.raises(TypeError, match=r"\(2,\)"):
        rc_hpc.ceiling((5.64 * np.eye(3), [[0, 0, 0]], [11, 17]))


@pytest.mark.long
def test_options_are_those_of_the_command(tmp_path):
    pair = rc_hpc.ceiling(SALT, subsets="axis_a+axis_b", delta=0.15, merge="first", tau="0.02")
    assert (
        pair.certified is None
        and pair.unique is None
        and pair.label is None
        and pair.correct is None
    )
    assert "certified" not in str(pair)
    assert (pair.options.delta, pair.options.merge, pair.options.pack.tau) == (0.15, "first", 0.02)
    for asked in (
        [("axis_a", "axis_b")],
        [(0, 1)],
        [np.array([1, 0])],
        ["axis_a+axis_b"],
        (("axis_b", "axis_a"),),
    ):
        assert rc_hpc.ceiling(SALT, subsets=asked).options.subsets == ((0, 1),)
    for tiling in (2, (2, 2, 2), "2", [2, 2, 2]):
        options = rc_hpc.ceiling(bulk("Al"), subsets="full", tiling=tiling).options
        assert options.protocol["tiling"] == [2, 2, 2]
    protocol = load_protocol("off-axis")
    (tmp_path / "two.toml").write_text(
        '[[camera]]\nname = "x"\ndirection = [1, 0, 0]\n'
        '[[camera]]\nname = "p"\ndirection = [0, 1, 0.5]\ndistance = 50\n'
    )
    for cameras, views in (
        ("off-axis", 5),
        (protocol, 5),
        (pair.options.protocol, 5),
        (tmp_path / "two.toml", 2),
        (str(tmp_path / "two.toml"), 2),
    ):
        c = rc_hpc.ceiling(bulk("Al"), cameras=cameras, subsets="full")
        assert len(c.options.protocol["views"]) == views
        assert c.plot().axes


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"delta": 0}, "--delta 0: lengths are computed"),
        ({"delta": "wide"}, "delta='wide' is not valid"),
        ({"delta": [1]}, "not valid"),
        ({"delta": 0.1, "delta_max": 0.05}, "--delta-max"),
        ({"max_atoms": 2.5}, "max_atoms=2.5 is not valid"),
        ({"merge": "best"}, "one of dominance"),
        ({"label_every": "yes"}, "True or False"),
        ({"subsets": [("axis_a", "axis_z")]}, "axis_z"),
        ({"subsets": [(0, 9)]}, "9 is no camera"),
        ({"subsets": 3}, "give 'all'"),
        ({"subsets": [("axis_a",)]}, "two or more"),
        ({"tiling": (2, 2)}, "tiling"),
        ({"cameras": "mine"}, "no protocol 'mine'"),
    ],
)
def test_wrong_values_are_told(asked, message):
    with pytest.raises(rc_hpc.UsageError, match=message):
        rc_hpc.ceiling(SALT, **asked)


def test_unknown_options_are_told():
    with pytest.raises(TypeError, match="'detla': did you mean 'delta'"):
        rc_hpc.ceiling(SALT, detla=0.1)
    with pytest.raises(TypeError, match="known are cameras, subsets"):
        rc_hpc.ceiling(SALT, frobnicate=0.1)
    with pytest.raises(TypeError, match="compare"):
        rc_hpc.draw(SALT, compare=True)


def test_phantoms_of_a_subset(many):
    seen = 0
    for id_ in PROTOTYPES[1:4]:
        one = many[id_]
        for name, row in one.subsets.iterrows():
            points = one.phantoms_on(name)[["element", "x", "y", "z"]].round(6)
            assert len(points.drop_duplicates()) == row["n_phantoms"], (id_, name)
            seen += len(points)
    assert seen
    flipped = many[PROTOTYPES[2]]
    pd.testing.assert_frame_equal(
        flipped.phantoms_on("axis_b+axis_a"), flipped.phantoms_on("axis_a+axis_b")
    )
    with pytest.raises(rc_hpc.UsageError, match="no view subset"):
        flipped.phantoms_on("axis_a+axis_z")


def test_how_they_look(many):
    one = many["A_cF4_225_a"]
    assert repr(one) == f"<Ceiling: {one}>" and "\n" not in str(one)
    html = one._repr_html_()
    assert html.startswith("<p>A_cF4_225_a (") and "axis_a+axis_b" in html
    assert "broken" in many._repr_html_() and "no atom sites" in many._repr_html_()
    figure = one.plot()
    assert [ax.get_title() for ax in figure.axes[:5]] == list(one.options.protocol["views"])
    assert figure.get_suptitle() == "4 phantoms (×) on axis_a+axis_b"
    crosses = [line for line in figure.axes[0].lines if line.get_marker() == "x"]
    assert len(crosses[0].get_xdata()) == 4
    assert one.plot("axis_a+oblique2").get_suptitle() == "0 phantoms (×) on axis_a+oblique2"
    subsets = one.subsets.copy()  # a wrong pair tells more than a right one with more phantoms
    subsets["correct_crystal_system"], subsets["n_phantoms"] = True, range(len(subsets))
    assert one._computed.telling(subsets) == subsets.index[-1]
    subsets.loc["axis_a+axis_c", "correct_crystal_system"] = False
    assert one._computed.telling(subsets) == "axis_a+axis_c"
    subsets.loc["axis_a+axis_c", "label_status"] = "not_done"
    assert one._computed.telling(subsets) == subsets.index[-1]
    assert figure._repr_png_().startswith(b"\x89PNG")
    again = pickle.loads(pickle.dumps(one))
    pd.testing.assert_frame_equal(again.subsets, one.subsets)


@pytest.mark.long
def test_pictures_are_those_of_the_command(files, tmp_path):
    output = tmp_path / "renders.h5"
    options = "--convention C5 --size 64 -q"
    code = render.main(f"{files}/some.jsonl -o {output} {options}".split())
    assert code == 3
    (files / "one.jsonl").write_text((files / "some.jsonl").read_text().splitlines()[1])
    drawn = rc_hpc.draw(files / "one.jsonl", convention="C5", size=64)
    entry = json.loads((files / "one.jsonl").read_text())["material_id"]
    pictures = rc_hpc.open(output)["pictures"].ds.sel(structure=entry)
    assert list(drawn) == pictures["view"].values.tolist()
    from PIL import Image

    for name, picture in zip(pictures["file"].values, drawn.values(), strict=True):
        with Image.open(tmp_path / "renders" / name) as file:
            np.testing.assert_array_equal(np.asarray(file), np.asarray(picture))
        assert picture.size == (64, 64) and picture.mode == "RGB"
    alone = rc_hpc.draw(SALT, cameras="off-axis", radii=0.3, tiling=1, size=48)
    assert len(alone) == 5


def test_structures_are_selected_from_a_file(files):
    """Certified ones, and those that have phantoms on a pair."""
    cells = rc_hpc.open(files / "census.h5")["cells"].to_dataset()
    full = cells.subset.values[-1]
    certified = cells.structure[cells["certified"].sel(subset=full).values]
    assert set(certified.values) == set(PROTOTYPES)
    pair = cells["n_phantoms"].sel(subset="axis_a+axis_b")
    with_phantoms = cells.structure[(pair > 0).values].values.tolist()
    assert "A_cF4_225_a" in with_phantoms and "A_cP1_221_a" not in with_phantoms


def test_names_do_not_collide_with_modules():
    modules = {name.split(".")[1] for name in house.modules() if "." in name}
    assert not modules & set(rc_hpc.__all__)
    program = (
        "import importlib, pkgutil, rc_hpc\n"
        "import rc_hpc.census, rc_hpc.api, rc_hpc.ladder\n"
        "from rc_hpc import ceiling, ceilings, draw, open as open_result\n"
        "assert callable(rc_hpc.ceiling) and callable(rc_hpc.open) and rc_hpc.census.main\n"
        "assert rc_hpc.api.ceiling is rc_hpc.ceiling is ceiling\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_names_are_shown():
    assert set(rc_hpc.__all__) <= set(dir(rc_hpc))
    assert all(getattr(rc_hpc, name) is not None for name in rc_hpc.__all__)
    assert not hasattr(rc_hpc, "ceilling")
    told = subprocess.run(
        [sys.executable, "-c", "import rc_hpc; help(rc_hpc)"],
        capture_output=True,
        text=True,
        env={**os.environ, "PAGER": "cat"},
    ).stdout
    for text in ("ceiling(", "ceilings(", "draw(", "open(", "acceptance and merge tolerance"):
        assert text in told, text
    # In memory all structures are crystals.
    hidden = ("protocol", "molecules", "group_tolerance", "orientation")
    for function in (rc_hpc.ceiling, rc_hpc.ceilings):
        for one in declared(CensusOptions):
            told = (
                f"\n    {one.name}\n" in function.__doc__
                or f"\n    {one.name}," in function.__doc__
            )
            assert told != (one.name in hidden), one.name


def test_the_package_is_typed():
    assert Path(rc_hpc.__file__).with_name("py.typed").is_file()


def test_importing_starts_and_writes_nothing(tmp_path):
    program = """
import os, sys
doings = []
def hear(event, args):
    if event in ("subprocess.Popen", "os.fork", "os.posix_spawn", "os.exec", "os.mkdir"):
        doings.append((event, args))
    if event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR):
        doings.append((event, args))
sys.addaudithook(hear)
import rc_hpc
light = {name.split(".")[0] for name in sys.modules}
from rc_hpc import *
from rc_hpc import Ceiling, ceiling, ceilings, draw
every = {name.split(".")[0] for name in sys.modules}
assert not doings, doings
print(*sorted(light), "EVERY", *sorted(every))
"""
    told = subprocess.run(
        [sys.executable, "-B", "-c", program], capture_output=True, text=True, cwd=tmp_path
    )
    assert not told.returncode, told.stderr
    light, every = (set(part.split()) for part in told.stdout.split("EVERY"))
    heavy = {"numpy", "numba", "pandas", "h5py", "matplotlib", "xarray", "pymatgen", "ase"}
    assert not light & (heavy | {"mpi4py", "argparse", "inspect"})
    assert not every & {"numba", "pandas", "matplotlib", "xarray", "mpi4py", "torch"}
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_the_setting_of_numba_stays(tmp_path):
    program = """
import os, numba, rc_hpc
from ase.build import bulk
before = numba.config.CACHE_DIR, os.environ.get("NUMBA_CACHE_DIR")
assert rc_hpc.ceiling(bulk("Al"), subsets="full").certified
assert (numba.config.CACHE_DIR, os.environ.get("NUMBA_CACHE_DIR")) == before
"""
    with warnings.catch_warnings():
        subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_notebook_shows_what_is_wrong_without_a_traceback():
    with pytest.raises(rc_hpc.UsageError) as refusal:
        rc_hpc.ceilings("nowhere.cif")
    assert refusal.value.code == 2
    (line,) = refusal.value._render_traceback_()
    assert line.startswith("UsageError: there is no source 'nowhere.cif'; give ")
