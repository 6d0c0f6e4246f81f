"""Options are declared once: parser, config file, record, hash, caption and the way back agree."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from rc_hpc.core.door import Parser
from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.core.options import (
    Options,
    ascending,
    at_least,
    declared,
    derived,
    lengths,
    names,
    opt,
    positive,
    some_of,
)
from rc_hpc.engine import entry
from rc_hpc.engine.options import PackedSourceOptions, RunOptions, check_names
from rc_hpc.kinds.registry import KINDS

MADE = [kind for kind in KINDS.values() if kind.options]
SOME = {
    "packed": "a.cif b --tau 0.02 --angle-tolerance=-1 --max-atoms 9 --ids my\u00e5.txt",
    "census": "p.h5 --protocol off-axis --subsets axis_a+axis_b,axis_a+axis_c --delta 0.1 "
    "--merge first --label-every --tiling 2,2,1 --tau 0.05",
    "frontier": "p.h5 --deltas 0.3,0.1 --rules first,mean --enumerations all --symprecs 0.1,0.01",
    "noise": "p.h5 --protocols frozen,off-axis@2 --sigmas 0,0.02 --seeds 3 --estimators all",
    "unique": "p.h5 --policy fewest,any --delta 0.01 --limit 9 --tiling 2 --subsets full",
    "occlusion": "p.h5 --conditions O2,O0 --verify strict,4-of-V --radii 0.3 --delta 0.15",
    "design": "p.h5 --views 4 --keep axis_a,axis_b --search-seed 7 --held-out 0.25 --sigmas 0,0.1",
    "scenes": "p.h5 --draw-seed 5 --tilt 4 --radii 0.3 --quarantine keep --stretch 0.1",
    "pictures": "p.h5 --questions 800 --mini 4 --max-displayed 40 --visibility all",
    "determined": "bench --set mini --scenes s.h5 --delta 0.02 --thetas 0.5,0.7 --symprec 0.05",
    "readings": "r.h5 --knowledge K1 --max-tries 2 --tau 0.02 --max-pixels 50",
    "scores": "r.h5 p.h5 --same 0.2",
    "renders": 'p.h5 --convention C4 --size 64 --compare --name-seed x="y"',
}


@dataclass(frozen=True)
class Inner(Options):
    tau: float = opt(0.01, "label", metavar="Å", check=positive, caption="tau {} Å")


@dataclass(frozen=True)
class Outer(Options):
    cameras: dict = opt(asked="frozen", help="cameras", hashed=False)
    deltas: tuple[float, ...] = opt((0.1, 0.2), "deltas", parse=lengths, check=ascending(1e-9))
    rules: tuple[str, ...] = opt(("a",), "rules", parse=some_of("abc"), choices="abc")
    merge: str = opt("a", "rule", choices=("a", "b"), caption="merge {}")
    factor: float = opt(0.5, "factor", name="radii", caption=lambda value: f"radii of {value:g}")
    count: int = opt(3, "count", check=at_least(1))
    every: bool = opt(False, "every")
    files: tuple[Path, ...] = opt(
        (), "files", parse=Path, many=True, positional=True, recorded=False
    )
    tiling: str | None = opt(None, "tiling", recorded=False)
    best: str = derived("")
    inner: Inner = Inner()

    @classmethod
    def settle(cls, values):
        return {**values, "cameras": {"name": values["cameras"], "tiling": values["tiling"]}}


def parser():
    p = Parser("x", "Command: does it.", "  x y")
    p.add_options(Outer, "what")
    p.add_config()
    return p


def read(*argv):
    return parser().read(list(argv)).make(Outer)


def test_flags_fill_the_fields_and_settle_makes_what_is_recorded():
    options = read("a.cif", "--tau", "0.2", "b.cif", "--radii", "2", "--every", "--rules", "all")
    assert options == Outer(
        {"name": "frozen", "tiling": None},
        rules=("a", "b", "c"),
        factor=2.0,
        every=True,
        files=(Path("a.cif"), Path("b.cif")),
        inner=Inner(0.2),
    )


def test_the_record_reads_back():
    options = read("--deltas", "0.3,0.1", "--tiling", "2", "--merge", "b")
    record = json.loads(options.to_json())
    assert "tiling" not in record and "files" not in record and record["inner"] == {"tau": 0.01}
    assert Outer.from_dict(record).to_json() == options.to_json()
    assert Outer.from_dict(record).digest() == options.digest() != read().digest()


def test_older_and_newer_records():
    assert Outer.from_dict({"cameras": {}}) == Outer({})
    with pytest.raises(RcError, match="colour mean nothing to Outer"):
        Outer.from_dict({"cameras": {}, "colour": "red"})


def test_captions_come_from_the_declaration():
    assert read("--radii", "0.25").caption() == "merge a; radii of 0.25; tau 0.01 Å"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("--merge", "c"), "--merge: invalid choice: 'c'"),
        (("--rules", "d"), "'d': choose from all, a, b, c"),
        (("--deltas", "0.1,x"), "--deltas: '0.1,x' is not valid"),
        (("--deltas", "-1"), "--deltas must be a positive length"),
        (("--tau", "0"), "--tau must be a positive length"),
        (("--count", "0"), "--count must be at least 1"),
        (("--count", "1.5"), "invalid int value"),
        (("--tiled", "1"), "unrecognized arguments: --tiled"),
    ],
)
def test_what_cannot_be_is_one_line_with_the_flag(argv, message):
    with pytest.raises(UsageError) as refusal:
        read(*argv)
    assert message in str(refusal.value) and "\n" not in str(refusal.value)


def test_flags_win_over_the_config_file_which_wins_over_defaults(tmp_path):
    config = tmp_path / "c.toml"
    config.write_text('tau = 0.3\ndeltas = [0.2, 0.1]\nmerge = "b"\nevery = true\nfiles = "a b"\n')
    options = read("--config", str(config), "--merge", "a")
    assert (options.inner.tau, options.deltas, options.merge) == (0.3, (0.1, 0.2), "a")
    assert options.every and options.files == (Path("a b"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colour = 1", "unknown key 'colour'; known are"),
        ('merge = "c"', "merge = 'c'; choose from a, b"),
        ('count = "x"', "count = 'x' is not valid"),
        ('every = "x"', "every must be true or false"),
        ("count = 0", "--count must be at least 1"),
        ("count = ", "not valid TOML"),
    ],
)
def test_a_config_file_is_checked_as_flags_are(tmp_path, text, message):
    config = tmp_path / "c.toml"
    config.write_text(text)
    with pytest.raises(UsageError) as refusal:
        read("--config", str(config))
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("argv", "file", "message"),
    [
        (("a.cif", "--write-config", "a.cif"), "a.cif", "is the files of this command"),
        (("a.cif", "--write-config", "b.txt"), "b.txt", "holds something else"),
        (("--tau", "-1", "--write-config", "new.toml"), "new.toml", "--tau must be"),
    ],
)
def test_a_config_file_replaces_only_such_a_file(tmp_path, monkeypatch, argv, file, message):
    monkeypatch.chdir(tmp_path)
    text = "data_x\n"
    for name in ("a.cif", "b.txt"):
        (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match=message):
        read(*argv)
    path = tmp_path / file
    assert path.read_text() == text if path.exists() else file == "new.toml"


def test_a_config_file_is_written_again(tmp_path):
    config = tmp_path / "c.toml"
    for tau in ("0.1", "0.2"):
        read("--tau", tau, "--write-config", str(config))
    assert read("--config", str(config)).inner.tau == 0.2


def test_infinity_and_nothing_are_read_back(tmp_path):
    config = tmp_path / "c.toml"
    config.write_text(parser().read(["--radii", "inf"]).toml() + 'merge = "b"\n')
    lines = config.read_text().splitlines()
    assert "radii = inf" in lines and "files = []" not in lines
    config.write_text("\n".join(line for line in lines if not line.startswith('merge = "a"')))
    assert read("--config", str(config)).factor == float("inf")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("p.cif -o .", "-o . is a folder"),
        ("p.cif -o p.cif", "-o p.cif is p.cif too"),
        ("p.cif -o c.h5 --packed c.h5", "--packed c.h5 is the file of -o too"),
        ("p.cif -o c.h5 --state c.h5", "--state c.h5 is the file of -o too"),
        ("p.cif -o c.h5 --state c.packed.h5", "--state c.packed.h5 is the file of --packed too"),
        ("p.cif -o c.h5 --state c.h5.parts", "--state c.h5.parts is the folder of the parts"),
        ("p.cif -o c.h5 --state p.cif", "--state p.cif is p.cif too"),
    ],
)
def test_no_file_of_a_run_is_another(argv, message):
    asked = entry.parser(KINDS["census"]).read(argv.split())
    with pytest.raises(UsageError) as refusal:
        check_names(asked.make(RunOptions), asked.make(PackedSourceOptions))
    assert message in str(refusal.value)


@pytest.mark.parametrize("cameras", [5, [], object()])
def test_cameras_that_are_none(cameras):
    with pytest.raises(UsageError, match="give a name, a TOML file or a Protocol"):
        KINDS["census"].load("options").of(protocol=cameras)


def test_names_and_lengths():
    assert names("a, b") == ("a", "b") and names("none") == names("") == ()
    assert lengths("0.3,0.1,0.3") == (0.1, 0.3)


@pytest.mark.parametrize("kind", MADE, ids=lambda kind: kind.name)
def test_written_options_are_read_back_to_the_same_run(kind, tmp_path):
    written = tmp_path / "used.toml"
    argv = [*SOME[kind.name].split(" "), "-o", "out put.h5", "--progress", "plain"]
    asked = entry.parser(kind).read([*argv, "--write-config", str(written)])
    again = entry.parser(kind).read(["--config", str(written)])
    assert again.values == asked.values
    options, run = kind.load("options"), asked.make(RunOptions)
    assert again.make(RunOptions) == run and run.output == Path("out put.h5")
    assert again.make(options).to_json() == asked.make(options).to_json()


def test_what_is_said_about_earlier_work_is_not_written(tmp_path):
    argv = ["p.h5", "--resume", "--shard", "0/2", "--dry-run", "-q"]
    text = entry.parser(KINDS["census"]).read(argv).toml()
    keys = {line.split(" = ")[0] for line in text.splitlines()}
    assert not keys & {"resume", "overwrite", "shard", "dry-run", "quiet", "state", "accept-code"}
    assert {"source", "output", "delta", "tau", "protocol"} <= keys


@pytest.mark.parametrize("kind", MADE, ids=lambda kind: kind.name)
def test_every_option_has_a_help_and_records_read_back(kind):
    options = kind.load("options")
    assert all(one.help for one in declared(options))
    defaults = options.of()
    assert options.from_dict(json.loads(defaults.to_json())).to_json() == defaults.to_json()
