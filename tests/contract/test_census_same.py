"""Equal work gives equal content.

Any number of ranks, shards, order of the input, way to the file.
"""

import json
import random

import h5py
import numpy as np
import pytest
from census_cases import call, column, content, run, small_crystals, write_json
from ranks import needs_mpi

from rc_hpc.core.errors import Exit, Status


@pytest.fixture(scope="module")
def crystals():
    return small_crystals(16, 5)


@pytest.fixture(scope="module")
def base(tmp_path_factory, crystals):
    """Folder with source.json, and base.h5 and base.packed.h5 made from it by one process."""
    folder = tmp_path_factory.mktemp("base")
    write_json(folder / "source.json", crystals)
    assert call("census", folder / "source.json", "-o", folder / "base.h5", "-q") == Exit.CLEAN
    quarantined = np.array(list(column(folder / "base.h5", "structures/quarantine").values())) > 0
    assert 0 < quarantined.sum() < len(quarantined), "the quarantine tests need both kinds"
    return folder


def assert_same(base, output, packed=None):
    assert content(output) == content(base / "base.h5")
    if packed is not None:
        assert content(packed) == content(base / "base.packed.h5")


@pytest.mark.parametrize(
    "ranks", [pytest.param(2, marks=needs_mpi), pytest.param(3, marks=needs_mpi)]
)
def test_ranks(base, tmp_path, ranks):
    code, _, err = run(tmp_path, [base / "source.json", "-o", "x.h5"], ranks)
    assert code == 0, err
    assert_same(base, tmp_path / "x.h5", tmp_path / "x.packed.h5")
    assert "packed (100 %)" in err and "0 failed" in err


def test_census_shards_in_any_order(base, tmp_path):
    output = tmp_path / "x.h5"
    for shard in ("2/3", "0/3"):
        assert (
            call("census", base / "base.packed.h5", "-o", output, "--shard", shard, "-q")
            == Exit.CLEAN
        )
    assert call("census", "merge", output) == Exit.FATAL  # one is missing
    assert (
        call("census", base / "base.packed.h5", "-o", output, "--shard", "1/3", "-q") == Exit.CLEAN
    )
    assert call("census", "merge", output) == Exit.CLEAN
    assert_same(base, output)
    assert not (tmp_path / "x.h5.parts").exists()


def test_a_shard_done_twice_and_one_done_before_the_others_were(base, tmp_path, capfd):
    output = tmp_path / "x.h5"
    for shard in ("1/2", "1/2", "0/2"):
        assert call("census", base / "base.packed.h5", "-o", output, "--shard", shard) == Exit.CLEAN
    assert "0/0 structures" in capfd.readouterr().err, "the second time nothing is left to do"
    assert call("census", "merge", output) == Exit.CLEAN
    assert_same(base, output)
    assert call("census", base / "base.packed.h5", "-o", output, "--shard", "1/2") == Exit.CLEAN
    assert "finished already" in capfd.readouterr().out


def test_pack_shards_in_any_order(base, tmp_path):
    output = tmp_path / "p.h5"
    for shard in ("1/3", "2/3", "0/3"):
        assert (
            call("pack", base / "source.json", "-o", output, "--shard", shard, "-q") == Exit.CLEAN
        )
    assert call("pack", "merge", output) == Exit.CLEAN
    assert content(output) == content(base / "base.packed.h5")


def test_shards_of_another_number_go_on_with_the_work(base, tmp_path):
    output = tmp_path / "x.h5"
    assert (
        call("census", base / "base.packed.h5", "-o", output, "--shard", "0/3", "-q") == Exit.CLEAN
    )
    assert (
        call("census", base / "base.packed.h5", "-o", output, "--shard", "1/2", "-q") == Exit.CLEAN
    )
    assert call("census", base / "base.packed.h5", "-o", output, "--resume", "-q") == Exit.CLEAN
    assert_same(base, output)


def test_a_shuffled_input(base, crystals, tmp_path):
    ids = list(crystals)
    random.Random(1).shuffle(ids)
    write_json(tmp_path / "shuffled.json", {id_: crystals[id_] for id_ in ids})
    assert call("census", tmp_path / "shuffled.json", "-o", tmp_path / "x.h5", "-q") == Exit.CLEAN
    assert_same(base, tmp_path / "x.h5", tmp_path / "x.packed.h5")


def test_packed_input(base, tmp_path):
    assert call("census", base / "base.packed.h5", "-o", tmp_path / "x.h5", "-q") == Exit.CLEAN
    assert_same(base, tmp_path / "x.h5")
    assert not list(tmp_path.glob("*packed*"))


def test_a_renamed_input_and_an_ids_file_that_names_all(base, tmp_path):
    ids = list(column(base / "base.h5", "structures/status"))
    (tmp_path / "ids.txt").write_text("\ufeff" + "\r\n".join(reversed(ids)), encoding="utf-8")
    (tmp_path / "other name.json").write_bytes((base / "source.json").read_bytes())
    assert (
        call(
            "census",
            tmp_path / "other name.json",
            "--ids",
            tmp_path / "ids.txt",
            "-o",
            tmp_path / "x.h5",
            "-q",
        )
        == Exit.CLEAN
    )
    assert_same(base, tmp_path / "x.h5", tmp_path / "x.packed.h5")


def test_permuted_atoms_have_the_same_labels_and_counts(base, crystals, tmp_path):
    from pymatgen.core import Structure

    order = random.Random(2)
    permuted = {
        id_: Structure.from_sites(order.sample(list(s), len(s))) for id_, s in crystals.items()
    }
    write_json(tmp_path / "permuted.json", permuted)
    assert call("census", tmp_path / "permuted.json", "-o", tmp_path / "x.h5", "-q") == Exit.CLEAN
    # Between the tolerances of the sweep spglib itself depends on the order, and with it the cell.
    stable = {
        id_
        for id_, numbers in column(base / "base.h5", "structures/sweep").items()
        if len(set(numbers)) == 1
    }
    assert len(stable) >= len(crystals) // 2
    for name in (
        "structures/status",
        "structures/formula",
        "structures/n_atoms",
        "structures/space_group",
        "structures/space_group_conventional",
        "structures/sweep",
        "structures/quarantine",
        "structures/n_candidates",
        "cells/space_group",
        "cells/crystal_system",
        "cells/label_status",
        "cells/correct_space_group",
        "cells/n_recovered",
        "cells/n_phantoms",
        "cells/n_phantoms_exact",
        "cells/certified",
    ):
        before, after = column(base / "base.h5", name), column(tmp_path / "x.h5", name)
        assert before.keys() == after.keys() >= stable
        differ = [id_ for id_ in stable if not np.array_equal(before[id_], after[id_])]
        assert not differ, f"{name} depends on the order of the atoms for {differ}"


def test_label_every_changes_no_dataset(base, tmp_path):
    assert (
        call("census", base / "base.packed.h5", "-o", tmp_path / "x.h5", "--label-every", "-q")
        == Exit.CLEAN
    )
    with (
        h5py.File(base / "base.h5", locking=False) as before,
        h5py.File(tmp_path / "x.h5", locking=False) as after,
    ):
        assert np.array_equal(before["cells/reconstruction"], after["cells/reconstruction"])
        assert (
            json.loads(after.attrs["options"])["label_every"]
            and not json.loads(before.attrs["options"])["label_every"]
        )
    assert_same(base, tmp_path / "x.h5")


@pytest.mark.parametrize("policy", ["keep", "mark", "drop"])
def test_quarantine_policies(base, tmp_path, capfd, policy):
    output = tmp_path / "x.h5"
    assert (
        call("census", base / "base.packed.h5", "-o", output, "--quarantine", policy) == Exit.CLEAN
    )
    told = capfd.readouterr().out
    unstable = {id_ for id_, bits in column(output, "structures/quarantine").items() if bits}
    status, recovered = column(output, "structures/status"), column(output, "cells/n_recovered")
    messages = column(output, "structures/message")
    if policy == "drop":
        assert {id_ for id_, code in status.items() if code == Status.quarantined} == unstable
        assert all(
            (recovered[id_] == -1).all() and "--quarantine" in messages[id_] for id_ in unstable
        )
        stable = set(status) - unstable
        for name in ("cells/space_group", "cells/n_recovered", "cells/atom_error"):
            before, after = column(base / "base.h5", name), column(output, name)
            assert all(np.array_equal(before[id_], after[id_], equal_nan=True) for id_ in stable)
    else:
        assert set(status.values()) == {Status.ok}
        assert all((values >= 0).all() for values in recovered.values())
        assert_same(base, output)  # what is computed is the same: the tables differ
    n, total = len(status) - len(unstable), len(status)
    counted = {"keep": f"{total}/{total}", "mark": f"{n}/{total}", "drop": f"{n}/{total}"}[policy]
    line = next(line for line in told.splitlines() if "structures, of all rows" in line)
    assert counted in line
    assert ("with quarantined" in told) == (policy == "mark")
