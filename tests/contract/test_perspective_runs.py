"""A census through pinhole cameras from a file.

The model is told, ranks do not matter, a cell that reaches a camera is a status.
"""

import h5py
import numpy as np
import pytest
from census_cases import call, column, content, run, small_crystals, write_json
from ranks import needs_mpi

from rc_hpc.core.errors import Exit, Status
from rc_hpc.engine.results import summary

PROTOCOL = """
name = "close"
[[camera]]
name = "a"
position = [40.0, 2.0, 1.0]
[[camera]]
name = "b"
direction = [0.0, 1.0, 0.2]
distance = 35.0
[[camera]]
name = "c"
direction = [1.0, 1.0, 1.0]
"""


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """Folder with source.json, close.toml and base.h5, the census that one process made of it."""
    folder = tmp_path_factory.mktemp("perspective")
    write_json(folder / "source.json", small_crystals(10))
    (folder / "close.toml").write_text(PROTOCOL)
    assert (
        call(
            "census",
            folder / "source.json",
            "--protocol",
            folder / "close.toml",
            "-o",
            folder / "base.h5",
            "-q",
        )
        == Exit.CLEAN
    )
    return folder


def test_file_tells_the_model(base):
    assert call("census", "validate", base / "base.h5") == Exit.CLEAN
    with h5py.File(base / "base.h5") as h5:
        assert h5["protocol/projection"].asstr()[()].tolist() == [
            "pinhole",
            "pinhole",
            "orthographic",
        ]
        np.testing.assert_allclose(h5["protocol/centre"][()][0], [40, 2, 1])
        assert np.isnan(h5["protocol/centre"][()][2]).all()
        certified, right = h5["cells/certified"][()], h5["cells/reconstruction"][()] == 0
        assert certified.any() and right[certified].all()
    assert "protocol close, 3 views (2 of pinhole cameras)" in summary(base / "base.h5")


@pytest.mark.parametrize("ranks", [pytest.param(2, marks=needs_mpi)])
def test_ranks_give_the_same_file(base, tmp_path, ranks):
    code, _, err = run(
        tmp_path, [base / "source.json", "--protocol", base / "close.toml", "-o", "x.h5"], ranks
    )
    assert code == 0, err
    assert content(tmp_path / "x.h5") == content(base / "base.h5")


def test_a_cell_that_reaches_a_camera_is_told(base, tmp_path):
    (tmp_path / "inside.toml").write_text(PROTOCOL.replace("distance = 35.0", "distance = 2.0"))
    assert (
        call(
            "census",
            base / "base.packed.h5",
            "--protocol",
            tmp_path / "inside.toml",
            "-o",
            tmp_path / "x.h5",
            "-q",
        )
        == Exit.FAILURES
    )
    status, message = (
        column(tmp_path / "x.h5", "structures/status"),
        column(tmp_path / "x.h5", "structures/message"),
    )
    refused = [id_ for id_, code in status.items() if code == Status.behind_camera]
    assert refused and all("is behind or at camera 'b'" in message[id_] for id_ in refused)


def test_sweeps_and_pictures_refuse_pinholes(base, capfd):
    from rc_hpc.render import main as render

    for refuses in (
        lambda *args: call("sweep", "occlusion", *args),
        lambda *args: render([str(arg) for arg in args]),
    ):
        assert (
            refuses(
                base / "base.packed.h5", "--protocol", base / "close.toml", "-o", base / "never.h5"
            )
            == Exit.USAGE
        )
        assert "camera 'a' is a pinhole camera" in capfd.readouterr().err
