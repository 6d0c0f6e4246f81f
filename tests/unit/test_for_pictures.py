"""A census of the pictures that were drawn: their cameras and tiling."""

import pytest
from old_cases import unpack

from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.engine.entry import parser
from rc_hpc.kinds.census.options import CensusOptions
from rc_hpc.kinds.registry import KINDS


def test_cameras_and_tiling_come_from_the_pictures(tmp_path):
    path = unpack(tmp_path) / "renders.h5"
    asked = parser(KINDS["census"]).read(["packed.h5", "--for-pictures", str(path)])
    options = asked.make(CensusOptions)
    assert options.protocol["views"] == ["a", "b", "c"]
    assert list(options.protocol["tiling"]) == [2, 2, 2]
    assert "tiling 2x2x2" in options.caption()
    assert "for_pictures" not in options.to_dict()
    for flag, more in (("--protocol", {"protocol": "off-axis"}), ("--tiling", {"tiling": "2"})):
        with pytest.raises(UsageError, match=f"drop {flag}"):
            CensusOptions.of(for_pictures=path, **more)
    with pytest.raises(UsageError, match="no file"):
        CensusOptions.of(for_pictures=tmp_path / "none.h5")
    with pytest.raises(RcError, match="packed"):
        CensusOptions.of(for_pictures=tmp_path / "packed.h5")
