"""The uniqueness sweep as a command: shards, resume, tables, figures, and what the file says."""

import importlib

import h5py
import numpy as np
import pytest

from rc_hpc.core.vocabulary import Known, System, Uniqueness
from rc_hpc.geometry.protocol import load_protocol

pytestmark = pytest.mark.long

IDS = (
    "A3B_cP4_221_d_a",
    "AB3_tP4_123_a_ce",
    "AB_cF8_225_a_b",
    "A_mC4_12_i",
    "AB_oP8_62_c_c",
    "A2B3_hR5_166_c_ac",
)
QUIET = ("-q", "--progress", "none")


def run(name, *args):
    """Exit code of a command."""
    return int(importlib.import_module(f"rc_hpc.{name}").main([str(arg) for arg in args]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("unique")
    (made / "ids").write_text("\n".join(IDS) + "\n")
    assert run("pack", "prototypes", "--ids", made / "ids", "-o", made / "packed.h5", *QUIET) == 0
    packed = made / "packed.h5"
    assert run("sweep", "unique", packed, "-o", made / "unique.h5", *QUIET) == 0
    return made


def content(path):
    with h5py.File(path) as h5:
        return h5.attrs["content_hash"]


def test_shards_and_resume_give_the_same(folder):
    output = folder / "half.h5"
    for shard in ("0/2", "1/2"):
        packed = folder / "packed.h5"
        assert run("sweep", "unique", packed, "--shard", shard, "-o", output, *QUIET) == 0
    assert run("sweep", "merge", output) == 0
    assert content(output) == content(folder / "unique.h5")
    assert run("sweep", "unique", folder / "packed.h5", "-o", output, "--resume", *QUIET) == 0
    assert run("sweep", "validate", output) == 0


def test_every_witness_has_the_pictures_and_is_of_another_system(folder):
    import spglib

    with h5py.File(folder / "unique.h5") as h5:
        assert h5["axes/policy"].asstr()[()].tolist() == list(Known.__members__)
        assert "python-sat" in h5.attrs["result_versions"]
        status = h5["policies/status"][()]
        places = {name: values[()] for name, values in h5["places"].items()}
        lattices = h5["structures/lattice"][()]
        true = h5["structures/crystal_system_conventional"][()]
        names = h5["subsets/name"].asstr()[()]
        trivial = h5["cells/trivial"][()]
    assert (status[:, :, :][np.broadcast_to(trivial[:, None], status.shape)] == 1).all()
    undetermined = np.argwhere(status == Uniqueness.undetermined)
    assert len(undetermined) > 5
    protocol = load_protocol("frozen")
    for row, policy, subset in undetermined.tolist():
        own = (places["structure"] == row) & (places["subset"] == subset)
        number, position = places["number"][own], places["position"][own]
        atom, witness = places["atom"][own], (places["witness"][own] >> policy & 1).astype(bool)
        for view in names[subset].split("+"):
            rotation = protocol.rotations[protocol.views.index(view)]
            seen = [
                {
                    (int(z), *np.round(p, 4) + 0.0)
                    for z, p in zip(number[some], position[some] @ rotation[:, :2])
                }
                for some in (atom, witness)
            ]
            assert seen[0] == seen[1]
        frac = np.mod(position[witness] @ np.linalg.inv(lattices[row]), 1.0)
        found = spglib.get_symmetry_dataset((lattices[row], frac, number[witness]), 0.01, 5.0)
        last = np.array([2, 15, 74, 142, 167, 194, 230])
        system = System(int(np.searchsorted(last, found.number)) + 1)
        assert system != true[row]


def test_statuses_nest_over_policies_and_subsets(folder):
    """Who knows more, or sees more, has no more explanations."""
    with h5py.File(folder / "unique.h5") as h5:
        status, masks = h5["policies/status"][()], h5["subsets/mask"][()]
    met = 0
    for few, more in np.argwhere((masks[:, None] & masks) == masks[:, None]).tolist():
        for loose, tight in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2), (0, 3)):
            a, b = status[:, loose, few], status[:, tight, more]
            known = (a > 0) & (b > 0) & (b != Uniqueness.inadmissible)
            assert (b[known & (a == Uniqueness.unique)] == Uniqueness.unique).all()
            settled = (Uniqueness.unique, Uniqueness.determined, Uniqueness.unknown)
            assert np.isin(b[known & (a == Uniqueness.determined)], settled).all()
            met += int((known & (b == Uniqueness.undetermined)).sum())
            assert (a[known & (b == Uniqueness.undetermined)] != Uniqueness.unique).all()
    assert met > 20


def test_rules_that_choose_read_the_most_symmetric_crystal(folder):
    packed = folder / "packed.h5"
    with h5py.File(folder / "unique.h5") as h5:
        best, status = h5["policies/best_system"][()], h5["policies/status"][()]
        sizes = h5["subsets/size"][()]
    right = {}
    for merge, policy in (("dominance", None), ("symmetric", "any"), ("parsimonious", "fewest")):
        output = folder / f"{merge}.h5"
        assert run("census", packed, "--merge", merge, "-o", output, *QUIET) == 0
        with h5py.File(output) as h5:
            cells = {name: h5[f"cells/{name}"][()] for name in h5["cells"]}
        right[merge] = cells["correct_crystal_system"][:, sizes == 2].mean()
        if policy is not None:
            number = Known[policy]
            known = (best[:, number] > 0) & (status[:, number] != Uniqueness.inadmissible)
            assert known.mean() > 0.9
            assert (cells["crystal_system"] == best[:, number])[known].all()
        truth = cells["reconstruction"] == 0
        assert (cells["point_error"][truth] < 1e-6).all() and (cells["n_recovered"] > 0).all()
    assert min(right["symmetric"], right["parsimonious"]) > right["dominance"]
    what = ("--what", "reconstructions", "--subset", "axis_a+axis_b", "-o", folder / "made")
    assert run("export", folder / "parsimonious.h5", *what) == 0


def test_tables_and_figures(folder, capsys):
    unique = folder / "unique.h5"
    assert run("tables", unique, "--format", "csv", "-o", folder / "tables", "-q") == 0
    import pandas as pd

    table = pd.read_csv(folder / "tables" / "unique.csv")
    parts = ["forced", "unique", "determined", "undetermined", "unknown", "inadmissible"]
    assert (table[parts].sum(axis=1) == table["n"]).all()
    readers = pd.read_csv(folder / "tables" / "readers.csv")
    assert (readers["R1_guaranteed"] <= readers["R1_possible"]).all()
    assert (readers["R1_guaranteed"] <= readers["R1_maximal"] + 1e-9).all() or (
        readers["better"] > 0
    ).any()
    assert run("figures", unique, "-o", folder / "figures", "-q") == 0
    names = {path.stem for path in (folder / "figures").glob("*.png")}
    assert names == {"unique", "witness"}


def test_a_file_without_a_witness_has_no_picture_of_one(folder, capsys):
    full = folder / "full.h5"
    args = ("--subsets", "full", "--policy", "counts")
    assert run("sweep", "unique", folder / "packed.h5", *args, "-o", full, *QUIET) == 0
    assert run("tables", full, "--table", "witness") == 0
    assert run("figures", full, "-o", folder / "none") == 0
    assert "witness left out" in capsys.readouterr().err
    assert run("sweep", "unique", folder / "packed.h5", "--dry-run") == 0


def test_pinhole_cameras_are_refused(folder, capsys):
    (folder / "pin.toml").write_text(
        '[[camera]]\nname = "a"\ndirection = [1.0, 0.0, 0.0]\ndistance = 40.0\n'
        '[[camera]]\nname = "b"\ndirection = [0.0, 1.0, 0.0]\n'
    )
    assert run("sweep", "unique", folder / "packed.h5", "--protocol", folder / "pin.toml") == 2
    assert "pinhole" in capsys.readouterr().err


def test_lists_show_export_and_report(folder, capsys):
    unique = folder / "unique.h5"
    assert run("tables", unique, "--table", "structures") == 0
    listed = capsys.readouterr().out
    assert "counts undetermined" in listed and IDS[0] in listed
    with h5py.File(unique) as h5:
        rows, places = h5["places/structure"][()], h5["structures/id"].asstr()[()]
    id_ = places[rows[0]]
    assert run("show", unique, id_, "-o", folder / "shown") == 0
    assert "drawn: " in capsys.readouterr().out
    assert len(list((folder / "shown").iterdir())) == 2
    wanted = ("--what", "reconstructions", "-o", folder / "others.extxyz")
    assert run("export", unique, *wanted, "-q") == 0
    from ase.io import read

    others = read(folder / "others.extxyz", ":")
    assert len(others) >= len(set(rows.tolist()))
    for atoms in others:
        assert atoms.info["label"].split()[0] != atoms.info["truth"].split()[0]
    assert run("report.__main__", unique, "-o", folder / "page.html", "-q") == 0
    assert "Policy counts; 2 views: " in (folder / "page.html").read_text()
