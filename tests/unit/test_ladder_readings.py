"""R2, what is read from the pictures, in the ladder."""

import numpy as np
import pytest
from model_cases import IDS, SAMPLES, TRUTHS, made_file, write
from test_ladder_command import FROZEN_TWICE, NUMBERS, OPTIONS, RIGHT, census, csv, pictures, run

from rc_hpc.core.errors import Exit, Status
from rc_hpc.core.files import parts_folder
from rc_hpc.kinds.scores.options import ScoreOptions
from rc_hpc.kinds.scores.schema import SCORES
from rc_hpc.kinds.scores.work import dims as score_dims
from rc_hpc.kinds.scores.work import statics as score_statics
from rc_hpc.reader.convention import named
from rc_hpc.store.batch import empty_batch, empty_children
from rc_hpc.store.merge import merge
from rc_hpc.store.parts import PartStore

pytestmark = pytest.mark.long

WRONG = (("cubic",) * 3,) * 2


@pytest.fixture
def folder(tmp_path):
    """Three of six right from pictures, all from text."""
    found = tmp_path / "predictions"
    found.mkdir()
    write(found / "pixels.json", made_file(samples=(*SAMPLES[:5], ("cubic", None, None))))
    write(found / "text.json", made_file("R3 coordinates-as-text", samples=RIGHT))
    return found


def scores(path, protocol=OPTIONS.protocol, convention=None, level="K0", **changes):
    """Scored readings of the made-up structures, in another order; all right and certified."""
    drawn = convention or named("C1", tuple(protocol["tiling"])).identity()
    readings = {"knowledge": level, "protocol": protocol, "convention": drawn, "size": 768}
    options = ScoreOptions(readings=readings)
    dims, count = score_dims(options), len(IDS)
    batch = empty_batch(SCORES, count, dims)
    batch["structures/id"][:] = IDS[::-1]
    batch["structures/message"][:], batch["structures/source"][:] = "", ""
    batch["structures/sha256"][:] = ""
    batch["structures/status"][:] = Status.ok
    batch["score/space_group"][:] = [NUMBERS[truth] for truth in TRUTHS[::-1]]
    batch["score/system_right"][:], batch["score/certified"][:] = True, True
    batch["score/cause"][:] = ""
    for name, by_id in changes.items():
        for id_, value in by_id.items():
            batch[name.replace("__", "/")][IDS[::-1].index(id_)] = value
    identity = {"options": options.to_json(), "options_hash": "0" * 64, "input_hash": "ab" * 32}
    store = PartStore(parts_folder(path), SCORES, dims, identity | {"total": count})
    store.write(batch, empty_children(SCORES, dims), range(count))
    merge(store, path, score_statics(options), {})
    return path


def test_what_is_read_from_the_pictures_is_a_ceiling_beside_the_exact_one(folder, tmp_path, capsys):
    made = scores(
        tmp_path / "scores.h5",
        score__system_right={"id-1": False, "id-5": False},
        score__certified={"id-1": False, "id-4": False},
        structures__status={"id-0": Status.empty},
    )
    args = (folder, "--census", census(tmp_path / "census.h5"), "--scores", made)
    row = csv(capsys, *args, table="ladder").iloc[0]
    # id-0 was not read, id-1 and id-5 wrongly: of six the model gets three, all six from text.
    assert (row["R1_count"], row["R2_count"], row["R2_certified_count"]) == (6, 3, 2)
    assert (row["S_R1"], row["share_R1"]) == (0, 1)
    assert row["S_R2"] == -3 and np.isnan(row["share_R2"])
    models = csv(capsys, *args, table="models")
    assert models[models["quantity"] == "R2"]["count"].tolist() == [3]
    rungs = csv(capsys, *args, table="rungs").set_index("rung")
    assert rungs["right"].to_dict() == {"R1": 6, "R2": 3, "R3": 6, "R4": 3}
    assert rungs.loc["R2", "right_and_certified"] == 2 and rungs.loc["R2", "certified"] == 3
    assert (rungs["n"] == 6).all() and rungs.loc["R4", "by"] == "maker/model, pictures"
    code, out, _ = run(capsys, *args, "--table", "rungs", "--figures", tmp_path / "figures")
    assert code == Exit.CLEAN
    assert "1 certified and wrong" in out and "1 without pictures, which count as wrong" in out
    assert "1 triclinic and right without a certificate" in out
    assert (tmp_path / "figures" / "rungs.png").is_file()


def test_the_share_under_readings_is_counted_with_them_as_the_ceiling(folder, tmp_path, capsys):
    write(
        folder / "text.json",
        made_file("R3 coordinates-as-text", samples=(*RIGHT[:4], *WRONG)),
    )
    made = scores(tmp_path / "scores.h5", score__system_right={"id-5": False})
    args = (folder, "--census", census(tmp_path / "census.h5"), "--scores", made)
    row = csv(capsys, *args, table="ladder").iloc[0]
    assert (row["P"], row["S_R1"], row["S_R2"]) == (1, 2, 1)
    assert (row["share_R1"], row["share_R2"]) == (pytest.approx(1 / 3, abs=1e-4), 0.5)
    assert row["share_R1_lowboot95"] <= row["share_R1"] <= row["share_R1_highboot95"]
    # Over 2.5 % of the resamples of six structures leave no shortfall under R2.
    assert row["share_R2_lowboot95":"share_R2_highboot95"].isna().all()
    known = scores(tmp_path / "k1.h5", level="K1")
    frame = csv(capsys, *args, "--scores", known, table="rungs")
    assert frame["rung"].tolist() == ["R1", "R2", "R2^K1", "R3", "R4"]


def test_readings_of_other_pictures_are_refused_with_the_command(folder, tmp_path, capsys):
    def refused(*more, table="rungs"):
        code, out, err = run(capsys, folder, "--table", table, *more)
        assert (code, out) == (Exit.USAGE, "") and err.count("\n") == 1
        return err

    made = census(tmp_path / "census.h5")
    twice = scores(tmp_path / "twice.h5", FROZEN_TWICE)
    err = refused("--scores", twice, "--census", made)
    assert "tiling 2x2x2, the census of R1 is of protocol frozen, 5 views, tiling 1x1x1" in err
    assert "python -m rc_hpc.census PACKED.h5 --for-pictures RENDERS.h5 -o CENSUS.h5" in err
    small = named("C3", (1, 1, 1)).identity()
    other = scores(tmp_path / "other.h5", convention=small)
    err = refused("--scores", other)
    assert "convention C3, the models saw those of C1" in err and "--convention C1" in err
    err = refused("--scores", twice, "--scores", twice)
    assert "second scores of R2" in err
    own = made_file("pixels", model="b", samples=RIGHT, details=pictures(OPTIONS.protocol))
    write(folder / "own.json", own)
    err = refused("--scores", twice)
    assert "python -m rc_hpc.read renders.h5 -o readings.h5" in err
    assert "python -m rc_hpc.score readings.h5 renders.h5 -o scores.h5" in err
    assert "drawn otherwise" in refused("--scores", scores(tmp_path / "c3.h5", convention=small))
    code, _, err = run(capsys, folder, "--scores", made)
    assert code == Exit.FATAL and "it is a census file" in err
    wrong = scores(tmp_path / "wrong.h5", score__space_group={"id-0": 1})
    code, _, err = run(capsys, folder, "--scores", wrong)
    assert code == Exit.FATAL and "id-0 is triclinic there and cubic" in err
    lacking = scores(tmp_path / "lacking.h5", structures__id={"id-3": "strange"})
    code, _, err = run(capsys, folder, "--scores", lacking)
    assert code == Exit.FATAL and "1 of 6 structures are not in it: id-3" in err
    assert "python -m rc_hpc.render" in err
