"""The kernels and the same algorithm in C++ give the same."""

import numpy as np
import pytest

from bench.common import Cell, all_subsets, load_cells
from bench.twin import HORIZONS, Twin, compiler, unequal
from rc_hpc.core.errors import StructureError
from rc_hpc.geometry.protocol import load_protocol
from rc_hpc.oracle.geometry import GeometricOracle
from rc_hpc.structures.sources import iter_items
from rc_hpc.symmetry.conventional import conventional_cell

pytestmark = pytest.mark.skipif(compiler() is None, reason="no C++ compiler here")


@pytest.fixture(scope="module")
def oracle():
    protocol = load_protocol("frozen")
    return GeometricOracle(protocol, all_subsets(len(protocol.views)))


@pytest.fixture(scope="module")
def twin(oracle):
    return Twin.of(oracle)


def differing(oracle, twin, cells, delta=0.01, horizons=HORIZONS):
    """Ids of the cells of which anything differs, with what."""
    found = {}
    for cell in cells:
        for horizon in horizons:
            prepared, outputs = twin.prepare(cell, delta, horizon)
            total = twin(prepared)
            reading = oracle.run(cell.positions, cell.numbers, delta, horizon)
            if different := unequal(reading, outputs, total):
                found[cell.id] = different
    return found


@pytest.mark.long
def test_prototypes(oracle, twin):
    _, cells = load_cells(every=12, prototypes=True)
    assert len(cells) > 20
    assert differing(oracle, twin, cells) == {}
    assert differing(oracle, twin, cells[:8], 0.15, (0.15,)) == {}


def test_a_difference_is_seen(oracle, twin):
    cell = Cell("two", np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 3.1]]), np.array([6, 6]))
    prepared, outputs = twin.prepare(cell, 0.01, 0.5)
    total = twin(prepared)
    reading = oracle.run(cell.positions, cell.numbers, 0.01, 0.5)
    assert unequal(reading, outputs, total) == []
    outputs["phantom_delta"][3] = 0.123
    outputs["n_recovered"][0] += 1
    assert unequal(reading, outputs, total + 1) == ["candidates", "n_recovered", "phantom_delta"]


@pytest.mark.slow  # a minute and a half on a quiet core
@pytest.mark.data
def test_all_released_structures(oracle, twin, shared):
    cells = []
    for item in iter_items([str(shared / "data" / "e3" / "structures.json")]):
        try:
            read = item.read(item, item.blob())
            cell = conventional_cell(read.lattice, read.frac, read.numbers)
        except StructureError:
            continue
        cells.append(Cell(item.id, cell.positions, cell.numbers))
    assert len(cells) == 1820
    assert differing(oracle, twin, cells) == {}
