"""What changed between two results: values by name, rows by id, conditions, exit codes."""

import json
import shutil

import h5py
import numpy as np
import pytest
from old_cases import IDS, KINDS, copied, unpack

from rc_hpc.core.errors import UsageError
from rc_hpc.diff import main
from rc_hpc.engine import diff_values
from rc_hpc.engine.diff import compare, text
from rc_hpc.engine.diff_options import DiffOptions
from rc_hpc.store.content import datasets

pytestmark = pytest.mark.long

LABEL = h5py.enum_dtype({"labelled": 0, "no_atoms": 1, "failed": 2, "not_done": 3}, basetype="u1")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return unpack(tmp_path_factory.mktemp("old"))


@pytest.fixture
def changed(files, tmp_path):
    """``changed(kind, edit, **options)``: a file of that kind against its copy after the edit."""

    def change(kind, edit, **options):
        copy = tmp_path / f"{kind}-changed.h5"
        shutil.copy(files / f"{kind}.h5", copy)
        with h5py.File(copy, "r+") as h5:
            edit(h5)
        return compare(DiffOptions(files / f"{kind}.h5", copy, **options))

    return change


def put(path, place, value):
    """An edit that sets one value."""

    def edit(h5):
        h5[path][place] = value

    return edit


def replace(path, make):
    """An edit that puts another dataset in the place of one, with its attributes and dimensions."""

    def edit(h5):
        old = h5[path]
        scales = [dimension[0] for dimension in old.dims]
        labels = [dimension.label for dimension in old.dims]
        values, attrs = old[()], {k: old.attrs[k] for k in ("units", "description")}
        del h5[path]
        new = h5.create_dataset(path, **make(values))
        new.attrs.update(attrs)
        for axis, (scale, label) in enumerate(zip(scales, labels, strict=True)):
            new.dims[axis].attach_scale(scale)
            new.dims[axis].label = label

    return edit


def only(found):
    """The one dataset that differs."""
    assert len(found.changed) == 1, found.changed
    return found.changed[0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_equals_itself(files, kind):
    path = files / f"{kind}.h5"
    found = compare(DiffOptions(path, path))
    assert found.equal and not found.changed and not found.axes and found.kind == kind
    assert not (found.options or found.code or found.versions or found.attributes)
    with h5py.File(path) as h5:
        compared = [
            name for name in datasets(h5) if h5[name].attrs.get("NAME", b"")[:8] != b"This is "
        ]
    assert found.n_compared == len(compared) > 2
    assert text(found).endswith(f"equal: {len(compared)} datasets, value by value")


@pytest.mark.parametrize(
    ("path", "place", "value", "where", "old", "new"),
    [
        ("cells/n_phantoms", (1, 2), 7, "subset b+c", "4", "7"),
        ("cells/certified", (0, 0), False, "subset a+b", "True", "False"),
        ("cells/crystal_system", (0, 1), 3, "subset a+c", "tetragonal", "orthorhombic"),
        ("cells/label_status", (4, 3), 2, "subset a+b+c", "not_done", "failed"),
        ("structures/status", 4, 1, "", "empty", "read_error"),
        ("structures/bravais", 1, 14, "", "cF", "cI"),
        ("structures/point_group_conventional", 4, 1, "", "none", "1"),
        ("structures/formula", 0, "Xx", "", "'CuAu'", "'Xx'"),
        ("structures/lattice", (2, 1, 1), 4.0, "vector b, xyz y", "3.3399999999999994", "4.0"),
        ("structures/sweep", (0, 3), 1, "setting 0.1 Å, 5°", "123", "1"),
    ],
)
def test_values_are_told_by_name(changed, path, place, value, where, old, new):
    found = changed("census", put(path, place, value))
    one = only(found)
    row = place if isinstance(place, int) else place[0]
    assert (one.path, one.n_structures, one.n_values) == (path, 1, 1)
    example = one.examples[0]
    assert (example.id, example.where, example.n_values) == (IDS[row], where, 1)
    assert (example.old, example.new) == (old, new)
    assert not found.equal
    assert f"{IDS[row]}: {old} -> {new}" in text(found)


@pytest.mark.parametrize("block", [1, 100, 1 << 21])
def test_structures_are_counted_and_the_first_are_named(changed, monkeypatch, block):
    monkeypatch.setattr(diff_values, "_BLOCK", block)
    found = changed(
        "census", lambda h5: h5["cells/n_recovered"].write_direct(np.full((5, 4), 99, "i4")), most=2
    )
    one = only(found)
    assert (one.n_structures, one.n_values, len(one.examples)) == (5, 20, 2)
    assert [example.id for example in one.examples] == IDS[:2]
    assert [example.n_values for example in one.examples] == [4, 4]
    assert "\n  ...\n" in text(found)


def test_floats_are_equal_within_tolerances_only(changed):
    shift = put("structures/lattice", (2, 1, 1), 3.3399999999999994 * (1 + 1e-9))
    assert not changed("packed", shift).equal
    assert changed("packed", shift, rtol=2e-9).equal
    assert not changed("packed", shift, rtol=1e-10).equal
    assert changed("packed", shift, atol=1e-8).equal
    assert not changed("packed", shift, atol=1e-10).equal
    assert not changed("packed", put("structures/n_atoms", 0, 3), rtol=0.9, atol=9).equal


@pytest.mark.parametrize("value", [np.nan, -np.inf, 1e300])
def test_what_is_not_finite_equals_only_itself(changed, value):
    def both(h5):
        assert np.isnan(h5["structures/lattice"][4]).all()
        assert np.isinf(h5["structures/min_same_species"][2])

    assert changed("packed", both, rtol=1, atol=1e9).equal
    found = changed("packed", put("structures/min_same_species", 2, value), rtol=0.5, atol=1e9)
    assert only(found).examples[0].old == "inf"
    found = changed("packed", put("structures/lattice", (4, 0, 0), 1.0), rtol=0.5, atol=1e9)
    assert only(found).examples[0].old == "nan"


def test_rows_are_matched_by_id(files, tmp_path):
    copy = copied(files / "census.h5", tmp_path / "copy.h5", structure=[3, 0, 1])
    found = compare(DiffOptions(files / "census.h5", copy))
    assert not found.changed and not found.equal and found.n_rows == 3
    assert [(axis.name, axis.gone, axis.added) for axis in found.axes] == [
        ("rows", (IDS[2], IDS[4]), ())
    ]
    with h5py.File(copy, "r+") as h5:
        h5["phantoms/gap"][1] = 0.5
        h5["cells/n_phantoms"][2, 0] = 5
    found = compare(DiffOptions(copy, files / "census.h5"))
    assert found.axes[0].added == (IDS[2], IDS[4])
    told = {one.path: one.examples[0] for one in found.changed}
    assert (told["cells/n_phantoms"].id, told["phantoms/gap"].id) == (IDS[1], IDS[3])
    assert told["phantoms/gap"].where == "row 1"
    assert "rows new: 2 (A_cP1_221_a, broken)" in text(found)
    assert text(found).endswith("different: rows, 2 of 66 datasets")


def test_rows_that_share_an_id_are_matched_by_duplicate(files, tmp_path):
    one, other = (
        copied(files / "packed.h5", tmp_path / f"{n}.h5", structure=rows)
        for n, rows in enumerate(([0, 1, 2], [0, 2, 1]))
    )
    for path, numbers in ((one, [0, 0, 1]), (other, [0, 1, 0])):
        with h5py.File(path, "r+") as h5:
            h5["structures/id"][:] = ["a", "b", "b"]
            h5["structures/duplicate"][:] = numbers
    assert compare(DiffOptions(one, other)).equal
    with h5py.File(other, "r+") as h5:
        h5["structures/formula"][1] = "Xx"
    assert only(compare(DiffOptions(one, other))).examples[0].id == "b (duplicate 1)"


def test_other_axes_are_matched_by_what_stands_along_them(files, tmp_path):
    copy = copied(files / "census.h5", tmp_path / "copy.h5", subset=[3, 1])
    found = compare(DiffOptions(files / "census.h5", copy))
    assert not found.changed and not found.equal
    assert [(axis.name, axis.gone, axis.added) for axis in found.axes] == [
        ("subset", ("a+b", "b+c"), ())
    ]
    with h5py.File(copy, "r+") as h5:
        h5["cells/n_phantoms"][1, 0] = 9
    example = only(compare(DiffOptions(copy, files / "census.h5"))).examples[0]
    assert (example.where, example.old, example.new) == ("subset a+b+c", "9", "4")

    copy = copied(files / "frontier.h5", tmp_path / "f.h5", delta=[1])
    found = compare(DiffOptions(files / "frontier.h5", copy))
    assert [(axis.name, axis.gone) for axis in found.axes] == [("delta", ("0.01",))]


def test_long_tables_are_compared_by_structure(changed):
    one = only(changed("census", put("phantoms/view_a", 3, 2)))
    assert (one.examples[0].where, one.examples[0].new) == ("row 3", "c")
    place = changed("census", put("phantoms/residual", (14, 1), 3.0))
    assert only(place).examples[0].id == IDS[3] and only(place).examples[0].where == "row 2, view b"

    def lose(h5):
        """The last phantom of the second structure."""
        kept = np.delete(np.arange(20), 11)
        for name in list(h5["phantoms"]):
            if name != "row":
                dataset = h5[f"phantoms/{name}"]
                rest = dataset[()][kept]
                attrs = {k: dataset.attrs[k] for k in ("units", "description")}
                labels = [dimension.label for dimension in dataset.dims]
                del h5[f"phantoms/{name}"]
                h5[f"phantoms/{name}"] = rest
                h5[f"phantoms/{name}"].attrs.update(attrs)
                for dimension, label in zip(h5[f"phantoms/{name}"].dims, labels, strict=True):
                    dimension.label = label

    found = changed("census", lose)
    one = only(found)
    assert (one.path, one.n_structures, one.n_values) == ("phantoms/structure", 1, 1)
    assert f"{IDS[1]}: 12 -> 11 rows" in text(found)


def test_codes_are_compared_by_name(changed):
    """Codes given anew with the same names are equal; the type is told."""
    anew = h5py.enum_dtype(
        {"failed": 0, "labelled": 1, "no_atoms": 7, "not_done": 9}, basetype="u1"
    )
    codes = np.array([1, 7, 0, 9], np.uint8)
    edit = replace(
        "cells/label_status", lambda old: {"data": codes[old.astype(int)], "dtype": anew}
    )
    found = changed("census", edit)
    assert found.equal and only(found).n_values == 0 and not only(found).counts
    assert "enum of" in only(found).notes[0] and "(told only)" in text(found)
    assert not changed("census", edit, strict=True).equal

    def also_one(h5):
        edit(h5)
        h5["cells/label_status"][0, 0] = 7

    example = only(changed("census", also_one)).examples[0]
    assert (example.old, example.new) == ("labelled", "no_atoms")


def test_names_of_views_are_compared_not_their_numbers(changed):
    def renamed(h5):
        h5["protocol/view"][:] = ["b", "a", "c"]

    found = changed("census", renamed, only=("phantoms/view_a",))
    assert not found.equal and only(found).examples[0].old == "a"


def test_other_types_units_and_axes_are_told(changed):
    found = changed("census", replace("cells/n_phantoms", lambda old: {"data": old.astype("i8")}))
    assert found.equal and only(found).notes == ("type int32, now int64",)

    def other_unit(h5):
        h5["structures/lattice"].attrs["units"] = "nm"

    found = changed("census", other_unit)
    assert not found.equal and only(found).notes == ("unit angstrom, now nm",)
    found = changed(
        "census",
        replace(
            "cells/n_phantoms",
            lambda old: {"data": old.astype(str).astype(object), "dtype": h5py.string_dtype()},
        ),
    )
    assert not found.equal and "not compared" in only(found).notes[0]

    def other_axes(h5):
        h5["cells/n_phantoms"].dims[1].label = "view"

    found = changed("census", other_axes)
    assert only(found).notes == ("axes structure, subset, now structure, view",)

    def rename(h5):
        h5.move("cells/n_phantoms", "cells/n_ghosts")

    found = changed("census", rename)
    assert [one.path for one in found.changed] == ["cells/n_ghosts", "cells/n_phantoms"]
    assert [one.notes[0].split(":")[0] for one in found.changed] == ["new", "gone"]
    assert not found.equal


def test_sources_and_messages_are_told_and_count_only_where_asked(changed):
    edit = put("structures/source", 0, "elsewhere")
    found = changed("census", edit)
    assert found.equal and only(found).n_values == 1
    assert "structures/source: 1 structure, 1 value (told only)" in text(found)
    assert not changed("census", edit, strict=True).equal


def test_conditions_are_told(changed):
    def edit(h5):
        options = json.loads(h5.attrs["options"]) | {"delta": 0.2}
        options["protocol"]["rotations"][0][0][0] = 0.5
        versions = json.loads(h5.attrs["package_versions"]) | {"numpy": "9"}
        h5.attrs["options"], h5.attrs["package_versions"] = map(json.dumps, (options, versions))
        h5.attrs["creator_version"], h5.attrs["input_hash"] = "0.2.0", "ab"
        h5.attrs["code"] = json.dumps({"kernels/merge.py": "12"})
        h5.attrs["complete_rows"] = 0
        h5.attrs["file_time"] = "now"

    found = changed("census", edit)
    assert found.equal and not changed("census", edit, strict=True).equal
    assert "delta: was 0.15, now 0.2" in found.options
    assert any(line.startswith("rc_hpc: was") for line in found.versions)
    assert any(
        line.startswith("numpy: was") and line.endswith('now "9"') for line in found.versions
    )
    assert found.code == ("only the second file has a fingerprint of its code",)
    assert found.attributes == ("input: other content", "complete_rows: was 1, now 0")
    assert "options: protocol.rotations: changed\n" in text(found)


def test_code_is_told_by_module(files, tmp_path):
    paths = []
    for name, code in (
        ("a", {"x": "1", "y": "2", "z": "3"}),
        ("b", {"x": "1", "y": "5", "w": "3"}),
    ):
        paths.append(shutil.copy(files / "noise.h5", tmp_path / f"{name}.h5"))
        with h5py.File(paths[-1], "r+") as h5:
            h5.attrs["code"] = json.dumps(code)
    assert compare(DiffOptions(*paths)).code == ("w: new", "y: changed", "z: gone")


def test_only_what_is_asked_for_is_compared(changed):
    def edit(h5):
        h5["cells/n_phantoms"][1, 0] = 7
        h5["structures/n_atoms"][0] = 7

    assert [one.path for one in changed("census", edit, only=("cells",)).changed] == [
        "cells/n_phantoms"
    ]
    assert [one.path for one in changed("census", edit, ignore=("cells/",)).changed] == [
        "structures/n_atoms"
    ]
    assert changed("census", edit, ignore=("cells/n_phantoms", "structures")).equal
    for name in ("only", "ignore"):
        with pytest.raises(UsageError, match=f"--{name} cell: neither file"):
            changed("census", edit, **{name: ("cell",)})


def test_static_values_are_told_by_their_place(changed):
    example = only(changed("census", put("protocol/rotation", (1, 2, 0), 0.5))).examples[0]
    assert (example.id, example.where) == ("", "view b, xyz z, screen x")
    assert only(changed("census", put("protocol/rotation", (1, 2, 0), 0.5))).n_structures == 0


def test_pictures_and_networks_are_told_by_structure(files, tmp_path, changed):
    example = only(changed("pixels", put("pixels", (2, 1, 5, 6, 2), 3))).examples[0]
    assert (example.id, example.where) == (IDS[2], "view b, row 5, column 6, colour blue")
    found = changed("training", put("evaluation/logits", (1, 3, 0, 2), 9.0))
    one = only(found)
    assert (one.n_structures, one.examples[0].id) == (1, "s31")
    assert one.examples[0].where == "training 24, view one, class_index orthorhombic"
    found = changed("answers", put("samples/outcome", 3, 1))
    assert (only(found).examples[0].old, only(found).examples[0].new) == ("answered", "refused")
    copy = copied(files / "pixels.h5", tmp_path / "copy.h5", structure=[2, 0, 3, 1])
    assert compare(DiffOptions(files / "pixels.h5", copy)).equal


def test_the_command_and_its_exit_codes(files, tmp_path, capsys):
    census, copy = str(files / "census.h5"), str(tmp_path / "copy.h5")
    shutil.copy(census, copy)
    assert main([census, copy]) == 0
    assert "equal: 66 datasets" in capsys.readouterr().out
    with h5py.File(copy, "r+") as h5:
        h5["cells/phantom_delta"][1, 0] += 1e-12
    assert main([census, copy, "-q"]) == 1
    assert capsys.readouterr().out == ""
    assert main([census, copy, "--atol", "1e-9"]) == 0
    assert "value by value within rtol 0, atol 1e-09" in capsys.readouterr().out
    assert main([census, copy, "--ignore", "cells/phantom_delta", "--ignore", "phantoms"]) == 0
    capsys.readouterr()

    part = str(next((files / "stopped.h5.parts").glob("*.h5")))
    text_file = tmp_path / "text.h5"
    text_file.write_text("hello")
    damaged = tmp_path / "damaged.h5"
    damaged.write_bytes((files / "census.h5").read_bytes()[:9000])
    for other, message in (
        (str(files / "packed.h5"), "a packed file"),
        (part, "one part of an unfinished run"),
        (str(text_file), "seems to be text"),
        (str(damaged), "damaged"),
        (str(tmp_path / "missing.h5"), "No such file"),
        (str(tmp_path), "it is a folder"),
    ):
        assert main([census, other]) == 2
        assert message in capsys.readouterr().err
    assert main([census]) == 2 and main([census, copy, "--rtol", "-1"]) == 2
