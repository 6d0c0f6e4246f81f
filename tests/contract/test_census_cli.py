"""The census and pack commands as an operator meets them.

Help, config file, what they print and write.
"""

import json
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from census_cases import call, column, content, run, small_crystals, write_json
from ranks import needs_mpi

from rc_hpc.core.errors import Exit, Status
from rc_hpc.parallel.launch import child_environment

#: Modules that take long to import; none is needed to print a help text.
HEAVY = (
    "numba",
    "numpy",
    "scipy",
    "pymatgen",
    "ase",
    "spglib",
    "matplotlib",
    "mpi4py",
    "pandas",
    "torch",
    "h5py",
)


@pytest.fixture(scope="module")
def ready(tmp_path_factory):
    """Folder with source.json, packed.h5 and census.h5."""
    folder = tmp_path_factory.mktemp("ready")
    write_json(folder / "source.json", small_crystals(10, 5, seed=5))
    assert (
        call(
            "census",
            folder / "source.json",
            "-o",
            folder / "census.h5",
            "--packed",
            folder / "packed.h5",
            "-q",
        )
        == Exit.CLEAN
    )
    return folder


@pytest.mark.parametrize("command", ["census", "pack", "tables"])
@pytest.mark.parametrize("words", [["--help"], ["--version"], ["--wrong"]])
def test_help_imports_nothing_heavy(tmp_path, command, words):
    program = (
        f"import sys; from rc_hpc.{command} import main\n"
        "try: code = main(sys.argv[1:])\n"
        "except SystemExit as error: code = error.code or 0\n"
        f"print('HEAVY', [name for name in {HEAVY} if name in sys.modules]); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
        check=False,
    )
    assert done.stdout.rstrip().endswith("HEAVY []"), done.stdout + done.stderr
    assert done.returncode == (Exit.USAGE if words == ["--wrong"] else Exit.CLEAN)
    if words == ["--help"]:
        assert "examples:" in done.stdout and "Exit codes" in done.stdout
        examples = [
            line.split("python -m ")[1].split()[0]
            for line in done.stdout.splitlines()
            if "python -m " in line and line.startswith("  ")
        ]
        assert f"rc_hpc.{command}" in examples


def test_every_option_of_the_product_is_there(capsys):
    with pytest.raises(SystemExit):
        call("census", "--help")
    text = capsys.readouterr().out
    for option in (
        "--output",
        "--ids",
        "--protocol",
        "--subsets",
        "--delta",
        "--tau",
        "--angle-tolerance",
        "--enumeration",
        "--merge",
        "--tiling",
        "--max-atoms",
        "--quarantine",
        "--resume",
        "--overwrite",
        "--shard",
        "--dry-run",
        "--config",
        "--progress",
        "--verbose",
        "--quiet",
    ):
        assert option in text


def test_a_config_file_equals_flags_and_flags_win(ready, tmp_path):
    flags = [
        "--delta",
        "0.05",
        "--subsets",
        "axis_a+axis_b,axis_a+axis_c",
        "--merge",
        "first",
        "--enumeration",
        "anchor",
        "--quarantine",
        "keep",
        "--tiling",
        "1,1,2",
    ]
    (tmp_path / "c.toml").write_text(
        f'source = "{ready / "packed.h5"}"\ndelta = 0.05\nsubsets = ["axis_a+axis_b", '
        '"axis_a+axis_c"]\nmerge = "first"\n'
        'enumeration = "anchor"\nquarantine = "keep"\ntiling = [1, 1, 2]\nquiet = true\n'
    )
    assert (
        call("census", ready / "packed.h5", *flags, "-o", tmp_path / "flags.h5", "-q") == Exit.CLEAN
    )
    assert (
        call("census", "--config", tmp_path / "c.toml", "-o", tmp_path / "config.h5") == Exit.CLEAN
    )
    assert (
        call(
            "census", "--config", tmp_path / "c.toml", "-o", tmp_path / "both.h5", "--delta", "0.02"
        )
        == Exit.CLEAN
    )
    found = {}
    for name in ("flags", "config", "both"):
        with h5py.File(tmp_path / f"{name}.h5", locking=False) as h5:
            found[name] = json.loads(h5.attrs["options"])
    assert found["flags"] == found["config"]
    assert found["both"] == found["flags"] | {"delta": 0.02}
    assert content(tmp_path / "flags.h5") == content(tmp_path / "config.h5")


def test_dry_run_writes_nothing(ready, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for arguments, size in (
        ([ready / "source.json"], 10),
        ([ready / "packed.h5"], 10),
        (["synthetic:7", "--subsets", "full"], 7),
    ):
        assert call("census", *arguments, "--dry-run") == Exit.CLEAN
        told = capsys.readouterr().out
        assert (
            f"structures: {size}" in told
            and "view subsets:" in told
            and "would write census.h5" in told
        )
    assert call("pack", ready / "source.json", "--dry-run") == Exit.CLEAN
    assert "structures: 10" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_status_merge_validate(ready, tmp_path, capfd):
    output = tmp_path / "x.h5"
    assert call("census", ready / "packed.h5", "-o", output, "--shard", "0/2", "-q") == Exit.CLEAN
    assert call("census", "status", output) == Exit.CLEAN
    assert "of 10 structures done" in capfd.readouterr().out
    assert call("census", "validate", f"{output}.parts") == Exit.CLEAN
    assert call("census", ready / "packed.h5", "-o", output, "--shard", "1/2", "-q") == Exit.CLEAN
    assert call("census", "merge", output) == Exit.CLEAN
    assert content(output) in capfd.readouterr().out
    assert call("census", "status", output) == Exit.CLEAN
    assert "10 of 10 structures in the finished file" in capfd.readouterr().out
    assert call("census", "validate", output) == Exit.CLEAN
    assert "valid" in capfd.readouterr().out
    with h5py.File(output, "r+") as h5:
        h5["cells/n_recovered"][0, 0] += 1
    assert call("census", "validate", output) == Exit.FATAL
    assert capfd.readouterr().out.splitlines() == [
        f"{output}: content_hash does not match the content",
        f"{output}: cells/n_recovered: rows 0 to 9 are damaged",
    ]


def test_progress_is_plain_lines_off_a_terminal(ready, tmp_path, capfd):
    assert call("census", ready / "source.json", "-o", tmp_path / "x.h5") == Exit.CLEAN
    out, err = capfd.readouterr()
    assert "\r" not in err and "\x1b" not in out + err
    lines = err.splitlines()
    assert all(", " in line and line.endswith("0 failed") for line in lines), err
    assert any(line.startswith("10/10 structures packed (100 %)") for line in lines)
    assert any(line.startswith("10/10 structures (100 %)") for line in lines)
    assert "R1, full protocol" in out
    assert call("census", ready / "packed.h5", "-o", tmp_path / "y.h5", "-q") == Exit.CLEAN
    assert capfd.readouterr() == ("", "")
    assert (
        call("census", ready / "packed.h5", "-o", tmp_path / "z.h5", "--progress", "none", "-vv")
        == Exit.CLEAN
    )
    assert "crystal-000: done" in capfd.readouterr().err


@pytest.mark.parametrize("ranks", [pytest.param(2, marks=needs_mpi)])
def test_only_one_rank_speaks(ready, tmp_path, ranks):
    code, out, err = run(tmp_path, [ready / "packed.h5", "--wrong"], ranks)
    assert code == Exit.USAGE and out == "" and err.count("--wrong") == 1
    code, out, err = run(tmp_path, ["status", ready / "census.h5"], ranks)
    assert code == 0 and err == "" and out.count("in the finished file") == 1


@pytest.mark.parametrize("name", ["packed.h5", "census.h5"])
def test_every_dataset_has_units_and_a_description(ready, name):
    missing, seen = [], []

    def look(path, item):
        if isinstance(item, h5py.Dataset):
            seen.append(path)
            if not item.attrs.get("units") or len(item.attrs.get("description", "")) < 10:
                missing.append(path)
            assert item.compression in (None, "gzip")

    with h5py.File(ready / name) as h5:
        h5.visititems(look)
        for attribute in (
            "title",
            "kind",
            "creator",
            "creator_version",
            "file_time",
            "options",
            "options_hash",
            "input_hash",
            "package_versions",
            "host_count",
            "content_hash",
        ):
            assert h5.attrs[attribute] != ""
        assert h5py.check_enum_dtype(h5["structures/status"].dtype)["ok"] == Status.ok
    assert not missing
    assert len(seen) > 30


@pytest.mark.parametrize("name", ["packed.h5", "census.h5"])
def test_xarray_reads_every_group(ready, name):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    with h5py.File(ready / name) as h5:
        groups = [group for group in h5 if isinstance(h5[group], h5py.Group)]
        shapes = {
            f"{group}/{key}": item.shape
            for group in groups
            for key, item in h5[group].items()
            if "CLASS" not in item.attrs
        }
    assert {"structures", "vocabulary"} <= set(groups)
    for group in groups:
        with xarray.open_dataset(ready / name, group=group, engine="h5netcdf") as found:
            for path, shape in shapes.items():
                if path.startswith(f"{group}/"):
                    assert found[path.split("/")[1]].values.shape == shape
    with xarray.open_dataset(ready / name, group="structures", engine="h5netcdf") as structures:
        assert structures.id.values.tolist() == sorted(small_crystals(10, 5, seed=5))
        assert structures.lattice.attrs["units"] == "angstrom"


def camera(name, rotation):
    return f'[[camera]]\nname = "{name}"\nrotation = "{rotation}"\n'


def test_a_subset_of_parallel_cameras_determines_nothing(ready, tmp_path):
    protocol = tmp_path / "p.toml"
    protocol.write_text(
        camera("front", "0x,0y,0z") + camera("turned", "0x,0y,90z") + camera("side", "0x,90y,0z")
    )
    assert (
        call("census", ready / "packed.h5", "-o", tmp_path / "x.h5", "--protocol", protocol, "-q")
        == Exit.CLEAN
    )
    with h5py.File(tmp_path / "x.h5", locking=False) as h5:
        subset = h5["subsets/name"].asstr()[()].tolist().index("front+turned")
        assert np.isinf(h5["subsets/kappa"][subset])
        assert (h5["cells/n_recovered"][:, subset] == 0).all()
        assert not h5["cells/correct_crystal_system"][:, subset].any()
        assert not h5["cells/certified"][:, subset].any()


def test_sixteen_cameras(ready, tmp_path):
    protocol = tmp_path / "p.toml"
    protocol.write_text(
        "".join(camera(f"v{k:02}", f"{11 * k}x,{7 * k * k % 180}y,{5 * k}z") for k in range(16))
    )
    assert (
        call(
            "census",
            ready / "packed.h5",
            "-o",
            tmp_path / "x.h5",
            "--protocol",
            protocol,
            "--subsets",
            "full",
            "-q",
        )
        == Exit.CLEAN
    )
    with h5py.File(tmp_path / "x.h5", locking=False) as h5:
        assert h5["subsets/mask"][()].tolist() == [2**16 - 1]
        assert h5["cells/correct_space_group"][()].all() and h5["cells/certified"][()].all()
        assert (h5["cells/n_recovered"][:, 0] == h5["structures/n_atoms"][()]).all()


def test_tiling(ready, tmp_path):
    """A supercell has eight times the atoms and its own label."""
    assert (
        call(
            "census",
            ready / "packed.h5",
            "-o",
            tmp_path / "x.h5",
            "--tiling",
            "2",
            "--subsets",
            "full",
            "-q",
        )
        == Exit.CLEAN
    )
    with h5py.File(tmp_path / "x.h5", locking=False) as h5:
        assert h5["protocol/tiling"][()].tolist() == [2, 2, 2]
        assert (h5["cells/n_recovered"][:, 0] == 8 * h5["structures/n_atoms"][()]).all()
        assert h5["cells/correct_crystal_system"][()].all()


def test_one_atom_in_the_cell(tmp_path):
    from pymatgen.core import Lattice, Structure

    polonium = Structure(Lattice.cubic(3.35), ["Po"], [[0, 0, 0]])
    write_json(
        tmp_path / "s.json",
        {"polonium": polonium, "moved": Structure(Lattice.cubic(3.35), ["Po"], [[0.3, 0.2, 0.1]])},
    )
    assert call("census", tmp_path / "s.json", "-o", tmp_path / "x.h5", "-q") == Exit.CLEAN
    assert (column(tmp_path / "x.h5", "cells/correct_space_group")["polonium"]).all()
    with h5py.File(tmp_path / "x.h5", locking=False) as h5:
        assert (h5["cells/n_recovered"][()] == 1).all() and h5["cells/certified"][()].all()
        assert (h5["structures/space_group"][()] == 221).all()
        assert np.isinf(h5["structures/min_same_species"][()]).all()


def test_the_default_source_is_the_prototypes(tmp_path):
    (tmp_path / "ids.txt").write_text("A_cF4_225_a\n")
    assert (
        call("census", "-o", tmp_path / "x.h5", "--ids", tmp_path / "ids.txt", "-q") == Exit.CLEAN
    )
    assert column(tmp_path / "x.h5", "structures/space_group") == {"A_cF4_225_a": 225}


def test_a_reader_that_leaves_is_no_error(ready):
    program = (
        "import sys; from rc_hpc.census import main; sys.exit(main(['status', "
        f"{str(ready / 'census.h5')!r}]))"
    )
    done = subprocess.run(
        ["bash", "-c", f'{sys.executable} -c "$0" | true; echo ${{PIPESTATUS[0]}}', program],
        capture_output=True,
        text=True,
        cwd=Path(ready),
        timeout=120,
        check=False,
    )
    assert done.stdout.strip() == "0" and "Traceback" not in done.stderr


LOOK = """
import os, sys
class Look:
    def find_spec(self, name, path=None, target=None):
        if name == "numba" or name.startswith("rc_hpc.kernels."):
            print("LOOK", name, os.environ.get("NUMBA_CACHE_DIR"))
sys.meta_path.insert(0, Look())
from rc_hpc.census import main
main(["synthetic:1", "--dry-run"])
"""


def test_kernels_know_their_cache_before_they_are_imported(tmp_path):
    environment = child_environment() | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    end = subprocess.run(
        [sys.executable, "-c", LOOK],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    looks = [line.split() for line in end.stdout.splitlines() if line.startswith("LOOK")]
    assert {name for _, name, _ in looks} > {"numba", "rc_hpc.kernels.search"}
    (keyed,) = (tmp_path / "cache").glob("numba-*")
    compiled = {folder for _, name, folder in looks if name != "rc_hpc.kernels.records"}
    assert compiled == {str(keyed)} and keyed.name.startswith("numba-")
