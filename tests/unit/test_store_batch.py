"""Batches against the data dictionary."""

import numpy as np
import pytest
from store_cases import BOTH, DIMS, batch_of, keys_of

from rc_hpc.core.text import storable
from rc_hpc.core.vocabulary import LabelStatus
from rc_hpc.kinds.census.schema import CENSUS
from rc_hpc.kinds.packed.schema import PACKED
from rc_hpc.store.batch import check_batch, empty_batch, empty_children


@pytest.mark.parametrize("schema", BOTH, ids=lambda schema: schema.kind)
def test_empty_batches_pass_their_own_check(schema):
    dims = DIMS[schema.kind]
    batch, children = empty_batch(schema, 3, dims), empty_children(schema, dims)
    assert check_batch(schema, batch, dims, children) == 3
    assert list(batch) == [column.path for column in schema.main]


def test_fill_values():
    batch = empty_batch(CENSUS, 2, DIMS["census"])
    assert batch["cells/n_recovered"].shape == (2, 26)
    assert (batch["cells/n_recovered"] == -1).all()
    assert (batch["cells/label_status"] == LabelStatus.not_done).all()
    assert batch["structures/lattice"].shape == (2, 3, 3)
    assert np.isnan(batch["structures/lattice"]).all()
    assert batch["structures/message"].tolist() == ["", ""]


def _pop(name):
    return lambda batch, children: batch.pop(name)


def _set(name, change):
    return lambda batch, children: batch.update({name: change(batch[name])})


def _set_child(table, name, change):
    return lambda batch, children: children[table].update({name: change(children[table][name])})


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_pop("structures/status"), "structures/status: missing"),
        (_set("structures/id", lambda a: a[:-1]), "shape"),
        (_set("structures/n_atoms", lambda a: a.astype("f8")), "structures/n_atoms: dtype"),
        (_set("structures/n_atoms", lambda a: a[:-1]), "structures/n_atoms: shape"),
        (_set("structures/sweep", lambda a: a[:, :-1]), "structures/sweep: shape"),
        (
            _set("structures/status", lambda a: a + np.uint8(99)),
            "structures/status: .*99.* no codes of Status",
        ),
        (
            _set("structures/source", lambda a: np.array([b"x"] * len(a), dtype=object)),
            "structures/source: b'x' is not text",
        ),
        (
            _set("structures/message", lambda a: np.array(["x\0y"] * len(a), dtype=object)),
            "structures/message: .*storable",
        ),
        (
            _set("structures/message", lambda a: np.array(["\udcff"] * len(a), dtype=object)),
            "structures/message: .*storable",
        ),
        (
            lambda batch, children: batch.update(new=batch["structures/id"]),
            "new: not in the schema",
        ),
        (lambda batch, children: children.pop("atoms"), "atoms: missing"),
        (_set_child("atoms", "structure", lambda a: a[::-1]), "atoms/structure: must ascend"),
        (
            _set_child("atoms", "structure", lambda a: a + 1),
            "atoms/structure: must ascend within 0 to 4",
        ),
        (_set_child("atoms", "position", lambda a: a[:-1]), "atoms/position: shape"),
    ],
)
def test_a_misfit_is_named(spoil, message):
    batch, children = batch_of(keys_of("edcba"))
    assert check_batch(PACKED, batch, DIMS["packed"], children) == 5
    assert children["atoms"]["structure"][-1] == 4
    spoil(batch, children)
    with pytest.raises(ValueError, match=message):
        check_batch(PACKED, batch, DIMS["packed"], children)


def test_storable_text_passes():
    assert storable("plain Å \U0001f600") == "plain Å \U0001f600"
    assert storable("a\0b\udcff") == "a\\u0000b\\udcff"
