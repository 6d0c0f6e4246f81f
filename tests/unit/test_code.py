"""Work of two versions of the code is joined only where somebody says that it may be."""

import pytest
from store_cases import DIMS, batch_of, identity, keys_of

from rc_hpc.core.errors import RcError
from rc_hpc.kinds.packed.schema import PACKED
from rc_hpc.store.conditions import code_fingerprint
from rc_hpc.store.parts import PartStore, discard

OLD = {"oracle/geometry.py": "0123", "kernels/merge.py": "aaaa"}
NEW = {"oracle/geometry.py": "4567", "kernels/merge.py": "aaaa"}


def opened(folder, code, accept=None, **more):
    return PartStore(folder, PACKED, DIMS["packed"], identity(code=code, **more), accept)


def written(store, ids):
    return store.write(*batch_of(keys_of(ids)), [ord(id_) for id_ in ids])


def test_other_code_is_refused_and_named(tmp_path):
    written(opened(tmp_path, OLD), "ab")
    with pytest.raises(RcError, match="oracle/geometry.py of rc_hpc differ") as refusal:
        opened(tmp_path, NEW)
    assert f"--accept-code {code_fingerprint({'code': OLD})} joins" in str(refusal.value)
    assert "kernels/merge.py" not in str(refusal.value)


def test_accepting_is_not_offered_where_more_differs(tmp_path):
    written(opened(tmp_path, OLD), "ab")
    with pytest.raises(RcError, match="options.delta: was 0.01, now 0.2") as refusal:
        opened(tmp_path, NEW, options='{"delta": 0.2, "merge": "dominance"}')
    assert "--accept-code" not in str(refusal.value)


def test_only_the_named_code_is_accepted(tmp_path):
    written(opened(tmp_path, OLD), "ab")
    with pytest.raises(RcError, match="differ"):
        opened(tmp_path, NEW, accept="0" * 16)


def test_accepted_parts_are_joined_and_both_codes_are_on_record(tmp_path):
    old = opened(tmp_path, OLD)
    parts = [written(old, "ab")]
    new = opened(tmp_path, NEW, accept=code_fingerprint({"code": OLD}))
    parts.append(written(new, "cd"))
    assert places(new.scan()) == places(parts) and not new.set_aside
    assert new.identity["code"] == OLD
    assert new.accepted_code() == [code_fingerprint({"code": NEW})]
    assert places(PartStore.open(tmp_path, PACKED).scan()) == places(parts)


def places(parts):
    return {part.name for part in parts}


def test_a_part_of_code_that_nobody_accepted_is_set_aside(tmp_path):
    store = opened(tmp_path / "a", OLD)
    good = written(store, "ab")
    stranger = opened(tmp_path / "b", OLD)
    stranger.code = "f" * 16
    foreign = written(stranger, "cd")
    (tmp_path / "b" / foreign.file).rename(tmp_path / "a" / foreign.file)
    assert "other code (fingerprint ffff" in store.look(foreign.file).problem
    assert places(store.scan()) == places([good]) and store.set_aside == [foreign.file]


def test_marks_of_acceptance_go_with_the_parts(tmp_path):
    folder = tmp_path / "parts"
    written(opened(folder, OLD), "ab")
    opened(folder, NEW, accept=code_fingerprint({"code": OLD}))
    discard(folder)
    assert not folder.exists()
