"""Figures of sweeps that ran."""

import pandas as pd
import pytest
from census_cases import call, small_crystals, write_json
from pandas.testing import assert_frame_equal

from rc_hpc.core.errors import Exit
from rc_hpc.engine.results import tables_of
from rc_hpc.figures import main
from rc_hpc.kinds.registry import KINDS

_DELTAS = (
    "frontier",
    "--enumerations",
    "all",
    "--rules",
    "dominance,first",
    "--deltas",
    "0.01,0.3",
)
SWEEPS = {
    "sizes": (*_DELTAS, "--subsets", "all"),
    "grid": (*_DELTAS, "--symprecs", "0.01,0.1"),
    "noise": (
        "noise",
        "--protocols",
        "frozen,off-axis",
        "--rules",
        "common,paper",
        "--sigmas",
        "0,0.3",
        "--seeds",
        "2",
    ),
    "occlusion": ("occlusion", "--verify", "covered,strict", "--subsets", "all"),
}


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """Four crystals."""
    folder = tmp_path_factory.mktemp("figures")
    write_json(folder / "source.json", small_crystals(4))
    assert call("pack", folder / "source.json", "-o", folder / "packed.h5", "-q") == Exit.CLEAN
    return folder / "packed.h5"


@pytest.mark.parametrize("name", SWEEPS)
def test_figures_of_a_sweep(packed, tmp_path, capsys, name):
    kind, *options = SWEEPS[name]
    path = tmp_path / f"{name}.h5"
    assert call("sweep", kind, packed, "-o", path, *options, "-q") in (Exit.CLEAN, Exit.FAILURES)
    folder = tmp_path / "figures"
    capsys.readouterr()
    assert main([str(path), "-o", str(folder)]) == Exit.CLEAN
    err = capsys.readouterr().err
    plots = [plot for plot in KINDS[kind].load("figures") if (plot.name, name) != ("grid", "sizes")]
    assert err.splitlines() == (
        ["rc_hpc: figure grid left out: it needs more than one symprec: --symprecs of the sweep"]
        if name == "sizes"
        else []
    )
    endings = {
        plot.name: ("pdf", "png", "csv", *(f"{table}.csv" for table in plot.also)) for plot in plots
    }
    assert {file.name for file in folder.iterdir()} == {
        f"{figure}.{ending}" for figure, known in endings.items() for ending in known
    }
    tables = {
        table.name: table
        for table in tables_of(
            path, tuple(dict.fromkeys(name for plot in plots for name in plot.tables))
        )[1]
    }
    for plot in plots:
        assert (folder / f"{plot.name}.pdf").read_bytes().startswith(b"%PDF-") and (
            folder / f"{plot.name}.png"
        ).read_bytes().startswith(b"\x89PNG")
        for file, table in {
            f"{plot.name}.csv": plot.table,
            **{f"{plot.name}.{table}.csv": table for table in plot.also},
        }.items():
            assert f"# caption: {tables[table].caption}\n" in (folder / file).read_text()
            assert_frame_equal(
                pd.read_csv(folder / file, comment="#"),
                tables[table].frame,
                check_dtype=False,
                check_exact=True,
            )
