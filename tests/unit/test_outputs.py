"""What is there is not written over by what is something else, and messages name what to do."""

import json

import pytest
from ase.build import bulk
from ase.io import read
from hypothesis import given, settings
from hypothesis import strategies as st

from rc_hpc.census import main as census
from rc_hpc.core.errors import Exit
from rc_hpc.core.text import LONGEST_STEM, file_stem
from rc_hpc.engine.exporting import _readable
from rc_hpc.export import main as export
from rc_hpc.figures import main as figures
from rc_hpc.pack import main as pack
from rc_hpc.report.__main__ import main as report
from rc_hpc.show import main as show
from rc_hpc.tables import main as tables

#: Ids that names of files, blocks of a CIF, or comment lines of extxyz do not hold as they are.
ODD = (
    'a"b',
    "a'b",
    "a\nb",
    "007",
    "T",
    "a\\b",
    "{x}",
    "_JSON 1",
    "1,2",
    "a=b",
    "é" * 99,
    "a" * 300,
)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd")
    bulk("NaCl", "rocksalt", a=5.64).write(folder / "salt.cif")
    text = (folder / "salt.cif").read_text()
    ids = (*ODD, "s/t", "s t", "s_t", "../up", "")
    lines = [json.dumps({"id": id_, "cif": text}) for id_ in ids]
    (folder / "odd.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    output = folder / "odd.h5"
    assert census([str(folder / "odd.jsonl"), "-o", str(output), "-q"]) == Exit.CLEAN
    return output


def ids_of(file):
    from rc_hpc.store.reader import read_table

    return list(read_table(file, ["structures/id"])["structures/id"])


def test_extxyz_gives_every_id_back(file, tmp_path):
    output = tmp_path / "cells.extxyz"
    assert export([str(file), "-o", str(output)]) == Exit.CLEAN
    assert [frame.info["id"] for frame in read(output, ":")] == ids_of(file)


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=12))
def test_any_text_comes_back_from_a_comment_line(text):
    from ase.io.extxyz import key_val_dict_to_str, key_val_str_to_dict

    line = key_val_dict_to_str({"a": 1, "id": _readable(text), "z": 2})
    assert key_val_str_to_dict(line) == {"a": 1, "id": text, "z": 2}
    assert "\n" not in line and "\r" not in line


def test_every_structure_has_a_file_and_a_block_of_its_own(file, tmp_path):
    n = len(ids_of(file))
    assert export([str(file), "--format", "poscar", "-o", str(tmp_path / "p")]) == Exit.CLEAN
    assert len(list((tmp_path / "p").iterdir())) == n
    assert export([str(file), "--format", "cif", "-o", str(tmp_path / "c.cif")]) == Exit.CLEAN
    text = (tmp_path / "c.cif").read_text(encoding="utf-8").splitlines()
    assert len({line for line in text if line.startswith("data_")}) == n


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(max_size=200), unique=True, max_size=5))
def test_names_are_short_apart_and_in_their_folder(ids):
    names = [file_stem(id_) for id_ in ids]
    assert len(set(names)) == len(names)
    for name in names:
        assert 0 < len(name.encode()) <= LONGEST_STEM
        assert "/" not in name and not name.startswith(".")


def test_pictures_of_others_are_left(file, tmp_path, capsys):
    asked = [str(file), "s_t", "s/t", "s t", "-o", str(tmp_path), "--packed"]
    asked.append(str(file.with_name("odd.packed.h5")))
    assert show(asked) == show(asked) == Exit.CLEAN  # its own are replaced
    assert len(list(tmp_path.iterdir())) == 6
    mine = tmp_path / "s_t.odd.png"
    mine.write_bytes(b"a holiday")
    assert show(asked) == Exit.USAGE
    assert str(mine) in capsys.readouterr().err and mine.read_bytes() == b"a holiday"


def test_files_of_another_kind_are_left(file, tmp_path, capsys):
    packed = file.with_name("odd.packed.h5")
    before = {path: path.read_bytes() for path in (file, packed)}
    text = tmp_path / "thesis.txt"
    text.write_text("years of work")
    new = str(tmp_path / "new.h5")
    for more in ([], ["--overwrite"], ["--resume"]):
        for command, asked, says in (
            (census, ["synthetic:2", "-o", new, "--packed", str(file)], "is a census file"),
            (census, [str(packed), "-o", str(text)], "seems to be text"),
            (pack, ["synthetic:2", "-o", str(file)], "is a census file"),
        ):
            assert command([*asked, "-q", *more]) == Exit.USAGE
            assert says in capsys.readouterr().err
    for command in (report, export):
        assert command([str(file), "-o", str(file), "--overwrite"]) == Exit.USAGE
    other = tmp_path / "other.h5"
    other.write_bytes(file.read_bytes())
    assert export([str(file), "-o", str(other), "--overwrite"]) == Exit.USAGE
    assert report([str(file), "-o", str(text), "--overwrite"]) == Exit.USAGE
    assert text.read_text() == "years of work" and other.read_bytes() == before[file]
    assert all(path.read_bytes() == data for path, data in before.items())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.h5", "thesis.txt"]


def test_a_folder_is_no_file_and_a_file_no_folder(file, tmp_path, capsys):
    text = tmp_path / "text"
    text.write_text("x")
    for command, asked, says in (
        (census, [str(file.with_name("odd.packed.h5"))], "is a folder: name a file"),
        (report, [str(file)], "is a folder: name a file"),
        (export, [str(file)], "is a folder: name a file"),
    ):
        assert command([*asked, "-o", str(tmp_path)]) == Exit.USAGE
        assert says in capsys.readouterr().err
    for command, asked in (
        (show, [str(file), "s_t"]),
        (export, [str(file), "--format", "poscar"]),
        (tables, [str(file), "--format", "csv"]),
        (figures, [str(file)]),
    ):
        assert command([*asked, "-o", str(text)]) == Exit.USAGE
        assert "is a file: name a folder" in capsys.readouterr().err
    assert text.read_text() == "x"


def test_a_file_that_is_not_packed_is_called_so(file, tmp_path, capsys):
    text = tmp_path / "t.h5"
    text.write_text("x")
    out = ["-o", str(tmp_path / "new.h5")]
    for command, asked, says in (
        (pack, [str(file), *out], "it is a census file"),
        (census, [str(file), *out], "it is a census file"),
        (show, [str(file), "s_t", "--packed", str(file)], "it is a census file"),
        (show, [str(file), "s_t", "--packed", str(text)], "it seems to be text"),
        (show, [str(file), "s_t", "--packed", str(tmp_path / "no.h5")], "No such file"),
        (pack, [str(file.with_name("odd.packed.h5")), *out], "is packed already"),
    ):
        assert command(asked) != Exit.CLEAN
        assert says in capsys.readouterr().err
