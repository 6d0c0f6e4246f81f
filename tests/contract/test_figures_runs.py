"""Figures of a sweep that ran."""

import pandas as pd
import pytest
from census_cases import call, small_crystals, write_json
from pandas.testing import assert_frame_equal

from rc_hpc.errors import Exit
from rc_hpc.figures import main
from rc_hpc.tables import tables_of


@pytest.fixture(scope="module")
def frontiers(tmp_path_factory):
    """Frontiers of four crystals: with one symprec and every subset, and with two, full protocol."""
    folder = tmp_path_factory.mktemp("figures")
    write_json(folder / "source.json", small_crystals(4))
    assert call("pack", folder / "source.json", "-o", folder / "packed.h5", "-q") == Exit.CLEAN
    many = ("--enumerations", "all", "--rules", "dominance,first", "--deltas", "0.01,0.3")
    assert call("sweep", "frontier", folder / "packed.h5", "-o", folder / "sizes.h5", *many, "--subsets", "all", "-q") == Exit.CLEAN
    assert call("sweep", "frontier", folder / "packed.h5", "-o", folder / "grid.h5", *many, "--symprecs", "0.01,0.1", "-q") == Exit.CLEAN
    return folder


@pytest.mark.parametrize("name", ["sizes", "grid"])
def test_figures_of_a_frontier(frontiers, tmp_path, capsys, name):
    path = frontiers / f"{name}.h5"
    assert main([str(path), "-o", str(tmp_path)]) == Exit.CLEAN
    err = capsys.readouterr().err
    wanted = {"frontier": "frontier", "certified": "steps"} | ({"grid": "frontier"} if name == "grid" else {})
    assert ("figure grid left out: it needs more than one symprec" in err) == (name == "sizes")
    assert {file.name for file in tmp_path.iterdir()} == {f"{figure}.{ending}" for figure in wanted for ending in ("pdf", "png", "csv")}
    for figure, table in wanted.items():
        found = pd.read_csv(tmp_path / f"{figure}.csv", comment="#")
        assert_frame_equal(found, tables_of(path, (table,))[1][0].frame, check_dtype=False, check_exact=True)
        assert (tmp_path / f"{figure}.pdf").read_bytes().startswith(b"%PDF-") and (tmp_path / f"{figure}.png").read_bytes().startswith(b"\x89PNG")
