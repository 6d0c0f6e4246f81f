"""`--label`: which view subsets are labelled, and what is said of the rest."""

import numpy as np
import pytest

from rc_hpc.census import main
from rc_hpc.core.errors import UsageError
from rc_hpc.core.vocabulary import LabelStatus
from rc_hpc.figures import main as figures
from rc_hpc.kinds.census.options import CensusOptions
from rc_hpc.show import main as show
from rc_hpc.store.reader import read_table
from rc_hpc.tables import main as tables


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("label")
    common = ["synthetic:6", "--packed", str(folder / "p.h5"), "--quiet"]
    made = {}
    for label in ("all", "3+", "full"):
        made[label] = folder / f"{label.replace('+', '')}.h5"
        source = common if label == "all" else [str(folder / "p.h5"), "--quiet"]
        assert main([*source, "--label", label, "-o", str(made[label])]) == 0
    return made


COLUMNS = ("label_status", "space_group", "correct_crystal_system", "n_recovered", "certified")


@pytest.mark.parametrize(("label", "least"), [("3+", 3), ("full", 5)])
def test_the_others_are_not_done_and_all_else_is_equal(files, label, least):
    wanted = [f"cells/{name}" for name in COLUMNS]
    whole, some = (read_table(files[one], [*wanted, "subsets/size"]) for one in ("all", label))
    done = whole["subsets/size"] >= least
    for name in wanted:
        assert np.array_equal(whole[name][:, done], some[name][:, done]), name
    for name in ("cells/n_recovered", "cells/certified"):
        assert np.array_equal(whole[name], some[name])
    assert (some["cells/label_status"][:, ~done] == LabelStatus.not_done).all()
    assert not some["cells/space_group"][:, ~done].any()
    assert not some["cells/correct_crystal_system"][:, ~done].any()


def test_tables_say_so_and_count_none_of_them(files, capsys):
    told = ""
    for name in ("reference", "views", "subsets", "violations", "failures"):
        assert tables([str(files["3+"]), "--table", name]) == 0
        told += capsys.readouterr().out
    assert "labelled on three and more views only" in told
    assert "subsets of 2 views" not in told and "subsets of 3 views" in told
    assert "Every pair" not in told and "Weakest pair" not in told
    nested = next(line for line in told.splitlines() if " nested " in line)
    assert nested.split()[nested.split().index("nested") + 1] == "35"  # of 16 subsets, not 26
    assert tables([str(files["all"]), "--table", "violations"]) == 0
    assert " 105 " in capsys.readouterr().out


def test_figures_and_a_structure_come_of_such_files(files, tmp_path, capsys):
    assert figures([str(files["3+"]), "-o", str(tmp_path / "figures")]) == 0
    assert len(list((tmp_path / "figures").glob("*.png"))) >= 4
    id_ = str(read_table(files["3+"], ["structures/id"])["structures/id"][0])
    capsys.readouterr()
    packed = str(files["3+"].parent / "p.h5")
    assert show([str(files["3+"]), id_, "--packed", packed, "-o", str(tmp_path / "show")]) == 0
    assert "of 16 view subsets that were labelled, of 26" in capsys.readouterr().out


def test_a_choice_without_any_subset_is_refused():
    with pytest.raises(UsageError, match="no view subset is of all cameras"):
        CensusOptions.of(subsets="axis_a+axis_b", label="full")
