"""Sources by number: any slice is what walking the source gives, however many ranks list it."""

import gzip
import json
import os
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rc_hpc.core.errors import UsageError
from rc_hpc.structures import shelves
from rc_hpc.structures.sources import iter_items, shelves_of

CIF = "data_x\n_cell_length_a 3\n"


def joined(source, ranks=1, **more):
    (shelf,) = shelves_of([str(source)], **more)
    begun = shelf.begin()
    shelf.join(begun, [shelf.part(begun, rank, ranks) for rank in range(ranks)])
    return shelf


def told(items):
    """Ids and bytes; why, where there are none."""
    found = []
    for item in items:
        try:
            found.append((item.id, item.source, item.blob()))
        except OSError as error:
            found.append((item.id, item.source, str(error)))
    return found


def write_lines(path, lines):
    path.write_bytes(b"".join(lines))
    return path


LINE = st.sampled_from(
    [b"\n", b"  \n", b"\r\n", b'{"id": "a"}\n', b'{"x": 1}\r\n', b"[]\n", b'{"name": "\xc3\xa5"}\n']
)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(LINE, max_size=14), st.sampled_from([b"", b'{"id": "end"}', b" "]), st.data())
def test_lines(tmp_path, lines, last, data):
    path = write_lines(tmp_path / "s.jsonl", [*lines, last])
    block, ranks = data.draw(st.sampled_from([1, 7, 1 << 24])), data.draw(st.integers(1, 9))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shelves, "BLOCK", block)
        shelf = joined(path, ranks)
    walked = told(iter_items([str(path)]))
    assert shelf.count == len(walked)
    start = data.draw(st.integers(0, shelf.count))
    stop = data.draw(st.integers(start, shelf.count))
    assert told(shelf.items(0, shelf.count)) == walked
    if stop > start:
        assert told(shelf.items(start, stop)) == walked[start:stop]


def folder_of(tmp_path):
    folder = tmp_path / "tree"
    (folder / "b").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    (folder / "a.cif").write_text(CIF)
    (folder / "b" / "two.cif").write_text(f"{CIF}data_y\n_cell_length_a 4\n")
    (folder / "b" / "POSCAR").write_text("x\n")
    (folder / "b" / "lines.jsonl").write_text('{"id": "p"}\n{"id": "q"}\n{"z": 1}\n')
    (folder / "c.json").write_text(json.dumps({"no": "structure"}))
    (folder / "README").write_text("nothing")
    (folder / ".hidden" / "x.cif").write_text(CIF)
    (folder / "z.xyz").write_text("none")
    return folder


@pytest.mark.parametrize("ranks", [1, 3, 20])
def test_files(tmp_path, ranks):
    folder = folder_of(tmp_path)
    shelf = joined(folder, ranks)
    walked = told(iter_items([str(folder)]))
    assert len(walked) == 8 and shelf.count == 8
    assert shelf.strays == {".json": 1, "without ending": 1}
    luck = random.Random(ranks)
    for _ in range(20):
        start = luck.randrange(8)
        stop = luck.randint(start + 1, 8)
        assert told(shelf.items(start, stop)) == walked[start:stop]
    assert joined(folder, 2).digest == shelf.digest
    (folder / "new.cif").write_text(CIF)
    assert joined(folder).digest != shelf.digest


def test_globs_and_files_left_out(tmp_path):
    folder = folder_of(tmp_path)
    pattern = str(folder / "**" / "*.cif")
    shelf = joined(pattern, 2)
    assert told(shelf.items(0, shelf.count)) == told(iter_items([pattern]))
    own = str(folder / "a.cif")
    assert joined(folder, skip=lambda path: path == own).count == 7


def test_files_that_change_once_they_are_listed(tmp_path):
    """Every place has its item still, and nothing moves."""
    folder = folder_of(tmp_path)
    shelf = joined(folder)
    before = told(shelf.items(0, 8))
    (folder / "b" / "lines.jsonl").write_text('{"id": "p"}\n')
    os.unlink(folder / "a.cif")
    after = told(shelf.items(0, 8))
    assert len(after) == 8
    assert [new for old, new in zip(before, after, strict=True) if old == new] == [
        before[k] for k in (1, 2, 5, 6, 7) if before[k] == after[k]
    ]
    assert after[0][0] == "a.cif" and after[3][0].startswith("b/lines.jsonl#")


def test_an_empty_folder_says_so(tmp_path):
    (tmp_path / "README").write_text("nothing")
    with pytest.raises(UsageError, match="no files of structures but 1 files"):
        joined(tmp_path, 2)


def test_databases(tmp_path):
    ase_db = pytest.importorskip("ase.db")
    from ase import Atoms

    path = tmp_path / "s.db"
    with ase_db.connect(path) as database:
        for a in (3, 4, 5, 6):
            database.write(Atoms("H", cell=[a] * 3, pbc=True))
        del database[2]
    shelf = joined(path, 3)
    walked = told(iter_items([str(path)]))
    assert [id_ for id_, *_ in walked] == ["s.db#1", "s.db#3", "s.db#4"]
    assert told(shelf.items(0, 3)) == walked and told(shelf.items(2, 3)) == walked[2:]
    (tmp_path / "broken.db").write_bytes(b"no database")
    broken = joined(tmp_path / "broken.db")
    assert broken.count == 1 and next(iter(broken.items(0, 1))).id == "broken.db"


def test_what_cannot_be_begun_in_its_middle_is_walked(tmp_path):
    path = tmp_path / "s.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"id": "a"}\n\n{"x": 1}\n{"id": "b"}\n'))
    shelf = joined(path, 4)
    walked = told(iter_items([str(path)]))
    assert shelf.count == 3
    for start, stop in ((0, 3), (1, 2), (2, 3), (0, 1), (1, 3)):
        assert told(shelf.items(start, stop)) == walked[start:stop]


def test_synthetic_crystals_follow_from_their_number():
    shelf = joined("synthetic:5:8", 2, seed=3)
    walked = told(iter_items(["synthetic:5:8"], seed=3))
    assert told(shelf.items(3, 5)) == walked[3:] and shelf.count == 5
