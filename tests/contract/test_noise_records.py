"""The noise experiment on the released structures: the records, then the default reading."""

import json

import h5py
import numpy as np
import pytest
from naive_noise import read_cells

from rc_hpc.core.constants import CRYSTAL_SYSTEMS
from rc_hpc.core.errors import Exit
from rc_hpc.geometry.conditioning import record_budget
from rc_hpc.geometry.protocol import load_protocol
from rc_hpc.kinds.noise.counts import count_noise
from rc_hpc.kinds.noise.tables import tables
from rc_hpc.oracle.cell import PackedCell, tile
from rc_hpc.oracle.noise import RECORD, NoisyOracle
from rc_hpc.stats.crossing import crossing
from rc_hpc.structures.sources import iter_items
from rc_hpc.symmetry.conventional import conventional_cell
from rc_hpc.symmetry.distances import min_distances
from rc_hpc.symmetry.labels import code_table

pytestmark = [pytest.mark.data, pytest.mark.filterwarnings("ignore:Set OLD_ERROR_HANDLING")]

FROZEN, OFF_AXIS, TILED = (
    load_protocol("frozen"),
    load_protocol("off-axis"),
    load_protocol("frozen", (2, 2, 2)),
)
SIGMAS = [0.0, 0.001, 0.003, 0.01, 0.02]


@pytest.fixture(scope="module")
def recorded(shared):
    return json.loads((shared / "expected" / "geometry.json").read_text())["noise"]


@pytest.fixture(scope="module")
def cells(shared, eval_ids):
    items = {
        item.id: item for item in iter_items([str(shared / "data" / "e3" / "structures.json")])
    }
    made = []
    for id in eval_ids:
        structure = items[id].read(items[id], items[id].blob())
        cell = conventional_cell(structure.lattice, structure.frac, structure.numbers)
        number = cell.label.number
        made.append(PackedCell(id, cell.lattice, cell.positions, cell.numbers, number, number, 0.0))
    return made


@pytest.fixture(scope="module")
def systems(shared):
    with open(shared / "data" / "e3" / "eval.jsonl", encoding="utf-8") as lines:
        return np.array(
            [CRYSTAL_SYSTEMS.index(json.loads(line)["crystal_system"]) + 1 for line in lines]
        )


def right(found, systems):
    return code_table()[found["space_group"], 0] == systems


def counts(recorded, protocol, sigma):
    return recorded["recorded"][f"{protocol}_sig{sigma}"]["k_per_seed"]


@pytest.mark.parametrize("protocol, name", [(FROZEN, "frozen"), (OFF_AXIS, "offaxis")])
def test_one_seed_of_the_record(protocol, name, recorded, cells, systems):
    found = right(read_cells(cells, protocol, [0.02], [4], RECORD), systems)
    assert found.sum() == counts(recorded, name, 0.02)[4]


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_all_hundred_counts_crossings_and_paired_tests_by_the_command(
    recorded, shared, eval_ids, tmp_path
):
    from rc_hpc.pack import main as pack
    from rc_hpc.sweep import main as sweep

    packed, output, order = tmp_path / "packed.h5", tmp_path / "noise.h5", tmp_path / "ids"
    order.write_text("\n".join(eval_ids))
    source = shared / "data" / "e3" / "structures.json"
    asked = ["--ids", str(order), "--atom-order", "file"]
    assert pack([str(source), *asked, "-o", str(packed), "-q"]) == Exit.CLEAN
    assert (
        sweep(
            [
                "noise",
                str(packed),
                "--atom-order",
                "file",
                "--rules",
                "record",
                "--sigmas",
                ",".join(map(str, SIGMAS)),
                "--order",
                str(order),
                "-o",
                str(output),
                "-q",
            ]
        )
        == Exit.CLEAN
    )
    with h5py.File(output) as h5:
        correct = h5["noise/correct_crystal_system"][:, :, 0].sum(axis=0)  # protocol, sigma, seed
    for found, name in zip(correct, ("frozen", "offaxis"), strict=True):
        for sigma, of_seeds in zip(SIGMAS, found, strict=True):
            assert of_seeds.tolist() == counts(recorded, name, sigma)
    made = {
        table.name: table.frame
        for table in tables(
            count_noise(output), ("crossings", "paired", "budgets", "kappa", "aligned")
        )
    }
    assert made["crossings"]["crossing_angstrom"].tolist() == pytest.approx(
        [recorded["crossing_recorded"][name] for name in ("frozen", "offaxis")], abs=5e-6
    )
    for row in made["paired"].to_dict("records"):
        wanted = recorded["paired"][str(row["sigma_angstrom"])]
        assert (row["only_first"], row["only_second"]) == (
            wanted["frozen_only"],
            wanted["offaxis_only"],
        )
        assert row["p"] == pytest.approx(wanted["p"], rel=1e-9)
    assert made["budgets"]["record_p5_angstrom"].tolist() == pytest.approx(
        [0.4456, 0.1445], abs=5e-5
    )
    frozen, off_axis = (
        made["kappa"][made["kappa"]["protocol"] == name]["kappa"].round(4).tolist()[:10]
        for name in ("frozen", "off-axis")
    )
    assert frozen == [1, 1, 1.4142, 2.7321, 1, 2, 1.1547, 1.3280, 1.3280, 2.2823]
    assert off_axis == [
        1.0975,
        1.0001,
        1.9308,
        8.4258,
        1.0072,
        1.4398,
        1.0066,
        1.1117,
        1.0291,
        2.4638,
    ]
    assert made["aligned"]["aligned_count"].tolist() == [210, 180, 150] + 7 * [0]


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_tiled_counts(recorded, cells, systems):
    found = right(read_cells(cells, TILED, SIGMAS, range(10), RECORD), systems)
    # Two of the fifty hang on one structure each, which spglib's versions label differently.
    away = [
        np.abs(arm.sum(axis=1) - counts(recorded, "tiled", s))
        for s, arm in zip(SIGMAS, found, strict=True)
    ]
    assert np.count_nonzero(away) <= 2 and np.max(away) <= 1
    assert crossing(SIGMAS, found.mean(axis=(1, 2))) == pytest.approx(0.00477, abs=2e-5)


@pytest.mark.parametrize(
    "protocol, budget", [(FROZEN, 0.4456), (OFF_AXIS, 0.1445), (TILED, 0.4353)]
)
def test_recorded_prediction(protocol, budget, cells):
    apart = [
        min_distances(*tile(c.lattice, c.positions, c.numbers, protocol.tiling))[0] for c in cells
    ]
    found = np.percentile(record_budget(apart, 0.01, max(protocol.kappas().values())), 5)
    assert found == pytest.approx(budget, abs=5e-5)


def test_perfect_pictures_return_the_ceiling(cells, systems):
    for protocol in (FROZEN, OFF_AXIS):
        assert right(read_cells(cells, protocol, [0.0], [0]), systems).all()


#: Cells in whose tilings the first correspondence gets stuck.
HARD = ("mp-1104453", "mp-1183121", "mp-7909")


def test_tiled_pictures_are_read_perfect_and_noisy(cells, systems):
    hard = [k for k, cell in enumerate(cells) if cell.id in HARD]
    chosen = sorted({*hard, *range(0, 210, 30)})
    found = right(read_cells([cells[k] for k in chosen], TILED, [0.0, 0.05], [0]), systems[chosen])
    assert len(hard) == 3 and found[0].all() and found[1].mean() >= 0.9


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_perfect_tiled_pictures_return_the_ceiling(cells, systems):
    assert right(read_cells(cells, TILED, [0.0], [0]), systems).all()


def test_default_reading_holds_at_five_hundredths(cells, systems):
    assert right(read_cells(cells, FROZEN, [0.05], [0]), systems).mean() >= 0.95


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_what_the_default_reading_loses_is_hidden_by_the_noise(cells, systems):
    sigmas = [0.02, 0.05, 0.1]
    found = right(read_cells(cells, FROZEN, sigmas, range(3)), systems)
    assert (found.mean(axis=(1, 2)) >= [0.98, 0.965, 0.95]).all()
    # No errors at all, but read as if there were some: only distortions below the noise are lost.
    nothing = [[np.zeros((5, len(cell.numbers), 2))] for cell in cells]
    oracle = NoisyOracle(FROZEN)
    groups = np.stack(
        [
            oracle.run(cell, sigmas, [0], draw)["space_group"][:, 0]
            for cell, draw in zip(cells, nothing, strict=True)
        ],
        axis=-1,
    )
    hidden = ~right({"space_group": groups}, systems)
    for lost, below in zip(~found, hidden, strict=True):
        assert lost[:, ~below].mean() < 0.02
