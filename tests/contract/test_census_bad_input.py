"""Broken structures have their row and their reason.

A wrong request has one line that says what to do.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import h5py
import pytest
from census_cases import call, column, content, small_crystals, write_json

from rc_hpc.core.errors import Exit, Status

GOOD = {"good rutile.cif": 6, "grün.cif": 1, "deeper/halite.cif": 8}
#: File name to its status and what its message says.
BAD = {
    "empty.cif": (Status.empty, "empty"),
    "truncated.cif": (Status.read_error, ""),
    "disordered.cif": (Status.disordered, "site Na"),
    "nan.cif": (Status.non_finite, "'nan'"),
    "twice.cif": (Status.close_atoms, "lie on one another"),
    "close.vasp": (Status.close_atoms, "apart"),
    "flat.vasp": (Status.singular_cell, "volume"),
    "large.vasp": (Status.too_large, "5000 atoms"),
    "binary.cif": (Status.read_error, "binary"),
    "unknown.cif": (Status.unknown_species, "Qq"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the good and the bad files."""
    from pymatgen.core import Lattice, Structure
    from pymatgen.io.cif import CifWriter

    folder = tmp_path_factory.mktemp("bad") / "structures of all kinds"
    (folder / "deeper").mkdir(parents=True)
    rutile = Structure.from_spacegroup(
        "P4_2/mnm", Lattice.tetragonal(4.594, 2.959), ["Ti", "O"], [[0, 0, 0], [0.305, 0.305, 0]]
    )
    halite = Structure.from_spacegroup(
        "Fm-3m", Lattice.cubic(5.64), ["Na", "Cl"], [[0, 0, 0], [0.5, 0.5, 0.5]]
    )
    polonium = Structure(Lattice.cubic(3.35), ["Po"], [[0, 0, 0]])
    text = str(CifWriter(rutile))
    for name, structure in (
        ("good rutile.cif", rutile),
        ("grün.cif", polonium),
        ("deeper/halite.cif", halite),
    ):
        (folder / name).write_text(str(CifWriter(structure)))
    (folder / "empty.cif").write_text("")
    (folder / "truncated.cif").write_text(text[: len(text) * 2 // 3])
    disordered = halite.copy()
    disordered[0] = {"Na": 0.5, "K": 0.5}
    (folder / "disordered.cif").write_text(str(CifWriter(disordered)))
    (folder / "nan.cif").write_text(text.replace("0.30500000", "nan", 1))
    (folder / "twice.cif").write_text(
        str(CifWriter(Structure(Lattice.cubic(4), ["Na", "Cl"], [[0, 0, 0], [0, 0, 0]])))
    )
    (folder / "binary.cif").write_bytes(bytes(range(256)) * 8)
    (folder / "unknown.cif").write_text(text.replace("Ti  Ti0", "Qq  Qq0"))
    for name in ("notes.txt", "README.md", "deeper/table.csv", "deeper/more.txt"):
        (folder / name).write_text("to do\n")
    (folder / "settings.json").write_text('{"a": 1, "b": [2]}')
    poscar = "c\n1.0\n{a} 0 0\n0 {b} 0\n0 0 {c}\nNa\n{n}\nDirect\n{sites}\n"
    (folder / "close.vasp").write_text(poscar.format(a=4, b=4, c=4, n=2, sites="0 0 0\n0 0 0.01"))
    (folder / "flat.vasp").write_text(poscar.format(a=4, b=4, c=1e-9, n=1, sites="0 0 0"))
    sites = "\n".join(
        f"{i / 20} {j / 25} {k / 10}" for i in range(20) for j in range(25) for k in range(10)
    )
    (folder / "large.vasp").write_text(poscar.format(a=60, b=75, c=30, n=5000, sites=sites))
    return folder


@pytest.mark.filterwarnings("ignore")  # pymatgen's, of the files it is given
def test_every_file_has_its_row(folder, tmp_path, capfd):
    output = tmp_path / "x.h5"
    assert call("census", folder, "-o", output, "--max-atoms", "500") == Exit.FAILURES
    shown = capfd.readouterr()
    assert "Traceback" not in shown.err and "spglib" not in shown.err.lower()
    assert "passed over: 5 files that are no structures (2 .txt, " in shown.err
    status, message, atoms = (
        column(output, f"structures/{name}") for name in ("status", "message", "n_atoms")
    )
    assert set(status) == {*GOOD, *BAD}
    for name, size in GOOD.items():
        assert status[name] == Status.ok and message[name] == "" and atoms[name] == size
        assert (column(output, "cells/n_recovered")[name] >= size).any()
    for name, (code, text) in BAD.items():
        assert status[name] == code, f"{name}: {Status(status[name]).name}, {message[name]}"
        assert text in message[name] and message[name].count("\n") == 0
        assert (column(output, "cells/n_recovered")[name] == -1).all()
    for code in {code for code, _ in BAD.values()}:
        assert code.name in shown.out, "the table lists every status"
    assert f"{len(BAD)} failed" in shown.err


@pytest.mark.filterwarnings("ignore")
def test_the_same_id_twice_and_odd_ids(tmp_path):
    """The first by content owns the id, whatever the order.

    A census of it is the same either way.
    """
    from pymatgen.io.cif import CifWriter

    crystals = list(small_crystals(6, 4).values())
    rows = [
        json.dumps({"id": id_, "cif": str(CifWriter(s))})
        for id_, s in zip(
            ["same", "same", "Ωmega ✓ ünï", "a/b#c", "nul\x00 and \ud800", "x" * 300],
            crystals,
            strict=True,
        )
    ]
    hashes = set()
    for number, order in enumerate((rows, rows[::-1], [*rows[2:], *rows[:2]])):
        (tmp_path / f"{number}.jsonl").write_text("\n".join(order))
        output = tmp_path / f"x{number}.h5"
        assert call("census", tmp_path / f"{number}.jsonl", "-o", output, "-q") == Exit.FAILURES
        assert (
            call("census", tmp_path / f"{number}.jsonl", "-o", output, "-q", "--resume")
            == Exit.FAILURES
        )
        hashes.add(content(output))
    assert len(hashes) == 1
    with h5py.File(output, locking=False) as h5:
        ids, duplicate = (
            h5["structures/id"].asstr()[()].tolist(),
            h5["structures/duplicate"][()].tolist(),
        )
        assert sorted(zip(ids, duplicate, strict=True)) == [
            (id_, n) for id_, n in zip(ids, duplicate, strict=True)
        ]
        assert ids.count("same") == 2 and "Ωmega ✓ ünï" in ids and "x" * 300 in ids
        second = duplicate.index(1)
        assert h5["structures/status"][second] == Status.duplicate_id
        assert "rename" in h5["structures/message"].asstr()[second]
        assert (h5["cells/n_recovered"][second] == -1).all()


@pytest.fixture(scope="module")
def ready(tmp_path_factory):
    """Folder with crystals.json, packed.h5, census.h5 and other things to go wrong with."""
    folder = tmp_path_factory.mktemp("ready")
    write_json(folder / "crystals.json", small_crystals(3, 4))
    assert (
        call(
            "census",
            folder / "crystals.json",
            "-o",
            folder / "census.h5",
            "--packed",
            folder / "packed.h5",
            "-q",
        )
        == Exit.CLEAN
    )
    data = (folder / "packed.h5").read_bytes()
    (folder / "truncated.h5").write_bytes(data[: len(data) // 2])
    (folder / "empty.h5").write_bytes(b"")
    (folder / "text.h5").write_text("data_x\n_cell_length_a 3\n")
    with h5py.File(folder / "foreign.h5", "w") as h5:
        h5["x"] = 1
    (folder / "nothing.json").write_text("")
    (folder / "no folder").mkdir()
    (folder / "file").write_text("x")
    camera = '[[camera]]\nname = "{}"\nrotation = "{}"\n'
    (folder / "parallel.toml").write_text(
        camera.format("a", "0x,0y,0z") + camera.format("b", "0x,0y,90z")
    )
    (folder / "one.toml").write_text(camera.format("a", "0x,0y,0z"))
    (folder / "many.toml").write_text(
        "".join(camera.format(f"v{k}", f"{k}x,{7 * k}y,0z") for k in range(16))
    )
    (folder / "broken.toml").write_text("[[camera]\n")
    (folder / "odd.toml").write_text("cameras = 5\n")
    (folder / "key.toml").write_text("detla = 0.1\n")
    (folder / "value.toml").write_text('delta = "wide"\n')
    (folder / "choice.toml").write_text('merge = "luck"\n')
    (folder / "latin.toml").write_bytes(b'protocol = "\xe9"\n')
    (folder / "ids.txt").write_text("crystal-000\nnobody\n")
    (folder / "none.txt").write_text("\n\n")
    return folder


#: Arguments, exit code, and what the one line says.
REFUSED = [
    ("crystals.json --protocol parallel.toml", 2, "all cameras look along one line"),
    ("crystals.json --protocol one.toml", 2, "two or more"),
    ("crystals.json --protocol many.toml", 2, "--subsets"),
    ("crystals.json --protocol absent.toml", 2, "absent.toml"),
    ("crystals.json --protocol broken.toml", 2, "not valid TOML"),
    ("crystals.json --protocol odd.toml", 2, "'cameras'"),
    ("crystals.json --subsets axis_a+nose", 2, "'nose'"),
    ("crystals.json --subsets axis_a", 2, "two or more"),
    ("crystals.json --subsets=", 2, "subset"),
    ("crystals.json --delta -0.1", 2, "--delta"),
    ("crystals.json --delta nan", 2, "--delta"),
    ("crystals.json --delta 1e-12", 2, "--delta"),
    ("crystals.json --delta wide", 2, "--delta"),
    ("crystals.json --delta 0.5 --delta-max 0.1", 2, "--delta-max"),
    ("crystals.json --delta-max inf", 2, "--delta-max"),
    ("crystals.json --tau 0", 2, "tau"),
    ("crystals.json --angle-tolerance nan", 2, "angle"),
    ("crystals.json --tiling 0", 2, "tiling"),
    ("crystals.json --tiling 2,2", 2, "tiling"),
    ("crystals.json --tiling 300", 2, "27000000"),
    ("crystals.json --max-atoms 0", 2, "--max-atoms"),
    ("crystals.json --max-candidates 0", 2, "--max-candidates"),
    ("synthetic:3 --seed -1", 2, "--seed"),
    ("synthetic:3 --seed 9999999999999999999", 2, "--seed"),
    ("crystals.json --merge luck", 2, "--merge"),
    ("crystals.json --quarantine never", 2, "--quarantine"),
    ("crystals.json --wrong", 2, "--wrong"),
    ("crystals.json --shard 3/3", 2, "0/3 to 2/3"),
    ("crystals.json --shard 1", 2, "i/N"),
    ("packed.h5 --shard 0/0", 2, "0/1"),
    ("crystals.json --shard 0/2", 2, "rc_hpc.pack"),
    ("crystals.json --resume --overwrite", 2, "contradict"),
    ("packed.h5 --shard 0/2 --overwrite", 2, "--shard"),
    ("crystals.json --ids ids.txt", 2, "nobody"),
    ("crystals.json --ids none.txt", 2, "no ids"),
    ("crystals.json --ids absent.txt", 2, "absent.txt"),
    ("crystals.json --config key.toml", 2, "'detla'"),
    ("crystals.json --config value.toml", 2, "delta"),
    ("crystals.json --config choice.toml", 2, "dominance"),
    ("crystals.json --config latin.toml", 2, "latin.toml"),
    ("crystals.json --config absent.toml", 2, "absent.toml"),
    ("absent.json", 2, "absent.json"),
    ("absent.h5", 2, "absent.h5"),
    ("*.nothing", 2, "*.nothing"),
    ("synthetic:0", 2, "synthetic"),
    ("./no\u00a0folder", 2, "no\u00a0folder"),
    ("census.h5", 1, "census.h5: not a packed file"),
    ("truncated.h5", 1, "damaged or truncated"),
    ("empty.h5", 1, "it is empty"),
    ("text.h5", 1, "CIF"),
    ("foreign.h5", 1, "another program"),
    ("packed.h5 crystals.json", 2, "only source"),
    ("packed.h5 --ids nowhere.txt", 2, "--ids"),
    ("packed.h5 --cell-symprec 0.02", 2, "cell_symprec"),
    ("packed.h5 --max-atoms 7", 2, "max_atoms"),
    ("crystals.json -o census.h5", 2, "--overwrite"),
    ("packed.h5 -o census.h5", 2, "--overwrite"),
    ("crystals.json -o new.h5 --packed packed.h5", 2, "packed.h5 exists"),
    ("crystals.json -o file/x.h5", 2, "no folder file"),
    ("crystals.json -o absent/x.h5", 2, "no folder absent"),
    ("crystals.json -o new.h5 --packed absent/x.h5", 2, "no folder absent"),
    ("crystals.json -o .", 2, "a folder"),
    ("crystals.json -o /dev/full", 2, "no regular file"),
    ("crystals.json -o /dev/full --overwrite", 2, "no regular file"),
    ("packed.h5 -o packed.h5 --overwrite", 2, "name another file"),
    ("crystals.json -o crystals.json --overwrite", 2, "name another file"),
    ("crystals.json -o new.h5 --packed new.h5", 2, "--packed"),
    ("crystals.json -o new.h5 --packed crystals.json --overwrite", 2, "--packed"),
    ("merge new.h5", 1, "nothing to merge"),
    ("merge census.h5", 1, "it is finished"),
    ("status new.h5", 1, "nothing has been run"),
    ("status crystals.json", 1, "crystals.json"),
]


@pytest.mark.parametrize(
    "arguments, code, text", REFUSED, ids=[arguments for arguments, *_ in REFUSED]
)
def test_a_wrong_request_is_one_line(ready, monkeypatch, capfd, arguments, code, text):
    monkeypatch.chdir(ready)
    before = {path: path.stat().st_mtime_ns for path in ready.rglob("*")}
    arguments = [argument.replace("\u00a0", " ") for argument in arguments.split(" ")]
    if "-o" not in arguments and arguments[0] not in ("merge", "status"):
        arguments += ["-o", "new.h5"]
    assert call("census", *arguments) == code
    out, err = capfd.readouterr()
    assert text.replace("\u00a0", " ") in err
    assert err.startswith("rc_hpc: error: ") and out == ""
    lines = err.rstrip("\n").split("\n")
    assert len(lines) == 1 or "for example" in lines[0], (
        "one line, or one with an example file below it"
    )
    assert {path: path.stat().st_mtime_ns for path in ready.rglob("*")} == before, (
        "nothing is written or left"
    )
    assert not Path("/dev/full.parts").exists()


def test_a_source_without_structures(ready, tmp_path):
    assert call("census", ready / "nothing.json", "-o", tmp_path / "x.h5", "-q") == Exit.FAILURES
    assert column(tmp_path / "x.h5", "structures/status") == {"nothing.json": Status.empty}


def test_resume_names_what_differs(ready, tmp_path, capfd):
    output = tmp_path / "x.h5"
    assert call("census", ready / "packed.h5", "-o", output, "--shard", "0/2", "-q") == Exit.CLEAN
    for more, text in (
        (["--delta", "0.02"], "options.delta: was 0.01, now 0.02"),
        (["--merge", "first"], 'options.merge: was "dominance", now "first"'),
        (["--subsets", "full"], "options.subsets"),
        (["--protocol", "off-axis"], "options.protocol.rotations"),
    ):
        assert call("census", ready / "packed.h5", "-o", output, "--resume", *more) == Exit.FATAL
        err = capfd.readouterr().err
        assert text in err and "--overwrite" in err and "_hash" not in err
    assert call("census", ready / "packed.h5", "-o", output, "-q") == Exit.USAGE
    assert "--resume" in capfd.readouterr().err


def test_resume_of_a_finished_file_names_what_differs(ready, tmp_path, capfd):
    output = tmp_path / "x.h5"
    assert call("census", ready / "packed.h5", "-o", output, "-q") == Exit.CLEAN
    assert (
        call("census", ready / "packed.h5", "-o", output, "--resume", "--delta", "0.02")
        == Exit.FATAL
    )
    assert "options.delta: was 0.01, now 0.02" in capfd.readouterr().err


def test_resume_notices_a_changed_source(tmp_path, capfd):
    """Work goes on by id: it must not mix what the ids stood for before with what they do now."""
    crystals = small_crystals(4, 4)
    source, output = write_json(tmp_path / "s.json", crystals), tmp_path / "p.h5"
    assert call("pack", source, "-o", output, "--shard", "0/2", "-q", rows=2) == Exit.CLEAN
    reordered = dict(reversed(crystals.items()))
    changed = crystals | {"crystal-001": crystals["crystal-000"]}
    for other, told in ((reordered, "listing_hash"), (changed, "changed in the source")):
        write_json(source, other)
        assert call("pack", source, "-o", output, "--resume", "-q", rows=2) == Exit.FATAL
        assert told in capfd.readouterr().err
    write_json(source, crystals)
    assert call("pack", source, "-o", output, "--resume", "-q", rows=2) == Exit.CLEAN
    write_json(source, changed)
    assert call("pack", source, "-o", output, "--resume", "-q", rows=2) == Exit.FATAL
    assert "1 structure differs from the source" in capfd.readouterr().err


def test_an_output_within_the_source_folder(tmp_path, monkeypatch):
    from pymatgen.io.cif import CifWriter

    for id_, crystal in small_crystals(5, 4).items():
        (tmp_path / f"{id_}.cif").write_text(str(CifWriter(crystal)))
    monkeypatch.chdir(tmp_path)
    assert call("census", ".", "-q", rows=1) == Exit.CLEAN
    first = content("census.h5")
    assert len(column("census.h5", "structures/status")) == 5
    assert call("census", ".", "-q", "--resume") == Exit.CLEAN
    assert call("census", tmp_path, "-q", "--overwrite", rows=2) == Exit.CLEAN
    assert content("census.h5") == first


def test_partial_merge_keeps_the_work(ready, tmp_path, capfd):
    output = tmp_path / "p.h5"
    pack = [ready / "crystals.json", "-o", output, "-q"]
    assert call("pack", *pack, "--shard", "0/3", rows=1) == Exit.CLEAN
    assert call("pack", "merge", output, "--partial") == Exit.CLEAN
    with h5py.File(output, locking=False) as h5:
        assert h5.attrs["complete_rows"] == 0 and len(h5["structures/id"]) == 1
    assert call("pack", "status", output) == Exit.CLEAN
    assert "1 of 3 structures done" in capfd.readouterr().out
    assert (
        call("census", output, "-o", tmp_path / "c.h5", "--progress", "none", rows=1) == Exit.CLEAN
    )
    assert "holds 1 of 3 structures" in capfd.readouterr().err
    assert call("pack", *pack, "--resume", rows=1) == Exit.CLEAN
    assert content(output) == content(ready / "packed.h5")


def test_two_runs_at_once(ready, tmp_path, capfd):
    """The second is told; shards may be at work together, but each only once."""
    from rc_hpc.core.files import parts_folder
    from rc_hpc.store.claim import Claim

    output = tmp_path / "x.h5"
    census = [ready / "packed.h5", "-o", output, "-q"]
    first = Claim(parts_folder(output))
    for more in ([], ["--resume"], ["--overwrite"], ["--shard", "0/2"]):
        assert call("census", *census, *more) == Exit.FATAL
        err = capfd.readouterr().err
        assert "another run is at work" in err and f"process {os.getpid()}" in err
    first.release()
    assert not parts_folder(output).exists()
    shard = Claim(parts_folder(output), (0, 2))
    assert call("census", *census, "--shard", "0/2") == Exit.FATAL
    assert call("census", *census, "--resume") == Exit.FATAL
    assert call("census", *census, "--shard", "1/2") == Exit.CLEAN
    assert call("census", "merge", output) == Exit.FATAL
    shard.release()
    assert call("census", *census, "--shard", "0/2") == Exit.CLEAN
    assert call("census", "merge", output) == Exit.CLEAN


def test_stale_and_damaged_parts(ready, tmp_path, capfd):
    """They are named, set aside and done again; a finished run leaves a finished run."""
    output = tmp_path / "x.h5"
    census = [ready / "packed.h5", "-o", output]
    for shard in ("0/2", "1/2"):
        assert call("census", *census, "--shard", shard, "-q", rows=1) == Exit.CLEAN
    folder = tmp_path / "x.h5.parts"
    one, other = sorted(folder.glob("*.part"))
    data = bytearray(one.read_bytes())
    data[len(data) // 2] ^= 1
    one.write_bytes(data)
    other.write_bytes(other.read_bytes()[:-9])
    (folder / "0-cafe.part").write_bytes(b"not ours")
    capfd.readouterr()
    assert call("census", "status", output) == Exit.CLEAN
    told = capfd.readouterr().out
    assert f"unusable part: {one.name}" in told and "unusable part: 0-cafe.part" in told
    assert other.name not in told, "its last record is taken for one that was not finished"
    assert call("census", "merge", output) == Exit.FATAL
    assert "not done yet" in capfd.readouterr().err
    assert call("census", *census, "--resume", rows=1) == Exit.CLEAN
    assert content(output) == content(ready / "census.h5")
    assert call("census", *census, "--resume", "-q") == Exit.CLEAN, (
        "what is left of it is not taken for work"
    )
    assert call("census", *census, "--overwrite", "-q") == Exit.CLEAN


@pytest.mark.skipif(os.name != "posix", reason="limits of a process")
def test_a_full_disk(ready, tmp_path):
    """A file size limit stands for the full disk.

    One line, and the work goes on once there is room.
    """
    program = (
        "import resource, sys; from rc_hpc.census import main; import rc_hpc.engine.rows;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000)); sys.exit(main(sys.argv[1:]))"
    )
    census = [ready / "packed.h5", "-o", tmp_path / "x.h5", "-q"]
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, census)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == Exit.FATAL
    assert (
        "cannot be written" in done.stderr
        and "--resume" in done.stderr
        and "Traceback" not in done.stderr
    )
    assert not (tmp_path / "x.h5").exists()
    assert call("census", *census, "--resume") == Exit.CLEAN
    assert content(tmp_path / "x.h5") == content(ready / "census.h5")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(ready, tmp_path, capfd):
    tmp_path.chmod(0o500)
    try:
        assert call("census", ready / "packed.h5", "-o", tmp_path / "x.h5") == Exit.FATAL
    finally:
        tmp_path.chmod(0o700)
    assert "cannot be written (Permission denied)" in capfd.readouterr().err
