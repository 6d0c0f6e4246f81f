"""The exit codes of the README hold in every command for the same event."""

import importlib
import signal

import pytest

import rc_hpc
from rc_hpc.__main__ import COMMANDS, main, parsers
from rc_hpc.core.door import Parser
from rc_hpc.core.errors import Exit

#: Every command and action, as typed.
TYPED = [f"{name} {word}".strip() for name in COMMANDS for word in parsers(name)]
#: Arguments beside the input, of commands that need some.
NEEDED = {
    "split build": "--reserve 1 --train-per-system 1 --eval-per-system 1 -o out",
    "training": "--split {input} --device cpu -o out.h5",
    "query_vlm": "--model m --base-url http://127.0.0.1:1/v1 -o out.h5",
    "query_vlm parse": "-o out",
    "diff": "{input}",
    "benchmark score": "--benchmark {input}",
    "benchmark export": "--to inspect -o out",
    "benchmark samples": "-o out",
    "benchmark baselines": "-o out",
}
#: Those whose input is the folder of a benchmark's package.
ON_PACKAGES = tuple(
    f"benchmark {word}"
    for word in ("determine", "score", "check", "export", "samples", "baselines")
)
#: Those that write a file.
WRITING = ("pack", "census", "render", "pixels")
#: Actions on an output: that nothing has been done for it is no fault of the request.
ON_OUTPUTS = ("status", "merge", "validate")
READING = [typed for typed in TYPED if typed.split()[-1] not in ON_OUTPUTS]


def run(typed, more=""):
    """Exit code of a command, as its own module gives it; of the list of all where it is empty."""
    name, *words = typed.split() or [""]
    command = importlib.import_module(COMMANDS[name]).main if name else main
    try:
        return command([*words, *more.split()])
    except SystemExit as end:
        return end.code or 0


def run_on(typed, path):
    """The same on an input, with what else it needs."""
    output = "-o out.h5" if typed in WRITING or typed.startswith("sweep") else ""
    return run(typed, f"{path} {NEEDED.get(typed, output)}".format(input=path))


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_all_commands_are_there():
    assert {"pack", "census status", "sweep noise", "split audit", "query_vlm parse"} <= set(TYPED)


@pytest.mark.parametrize("typed", ["", *TYPED, "sweep", "split"])
def test_help_and_version_are_clean(typed, capsys):
    for option in ("--help", "--version"):
        assert run(typed, option) == Exit.CLEAN
    told = capsys.readouterr().out
    assert "usage: python -m rc_hpc" in told and f"rc_hpc {rc_hpc.__version__}" in told
    assert "2 usage" in told


@pytest.mark.parametrize("typed", ["", *TYPED, "sweep", "split"])
def test_unknown_options_are_usage(typed, capsys):
    assert run(typed, "--frobnicate") == Exit.USAGE
    captured = capsys.readouterr()
    assert captured.err.startswith("rc_hpc: error: ") and not captured.out
    assert len(captured.err.splitlines()) == 1


@pytest.mark.parametrize("argv", [["sweep"], ["sweep", "noises"], ["split"], ["split", "x"], ["x"]])
def test_unknown_words_are_usage(argv, capsys):
    assert main(argv) == Exit.USAGE
    assert "rc_hpc: error: " in capsys.readouterr().err


@pytest.mark.parametrize("typed", READING)
def test_an_input_that_is_not_there_is_usage(typed, capsys, tmp_path):
    path = "absent.json" if typed == "pack" else "absent.h5"
    assert run_on(typed, path) == Exit.USAGE
    assert "absent" in capsys.readouterr().err
    assert not list(tmp_path.glob("out*"))


@pytest.mark.parametrize(
    "typed", [typed for typed in READING if typed not in ("pack", "diff", "warm", "cameras")]
)
def test_an_input_that_is_damaged_is_fatal(typed, capsys, tmp_path):
    (tmp_path / "bad.h5").write_text("not what it seems")
    folder = tmp_path / "bad"
    folder.mkdir()
    (folder / "train.jsonl").write_text("[")
    (folder / "questions.jsonl").write_text("[")
    path = "bad" if typed in ("split audit", "training", *ON_PACKAGES) else "bad.h5"
    # what is wrong with a package is what its check is there to find
    assert run_on(typed, path) == (Exit.FAILURES if typed == "benchmark check" else Exit.FATAL)
    assert "bad" in capsys.readouterr().err or typed == "benchmark check"


#: Those that take structures: an empty file is a row that failed, a folder is a source.
OF_SOURCES = ("pack", "census", "render", "benchmark scenes", "benchmark build", "warm", "cameras")


@pytest.mark.parametrize("what", ["empty.h5", "folder"])
@pytest.mark.parametrize(
    "typed",
    [one for one in READING if one not in OF_SOURCES and not one.startswith("sweep")],
)
def test_an_empty_file_and_a_folder_are_told_in_a_line(typed, what, capsys, tmp_path):
    (tmp_path / "empty.h5").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    code, told = run_on(typed, what), capsys.readouterr()
    if typed == "benchmark check" and what == "folder":
        assert code == Exit.FAILURES  # what is wrong with a package is there to be found
        return
    assert code in (Exit.FATAL, Exit.USAGE)
    (line,) = [line for line in told.err.splitlines() if line.startswith("rc_hpc: error: ")]
    assert what in line and "Traceback" not in told.err


@pytest.mark.parametrize("typed", ON_PACKAGES)
def test_a_file_where_a_package_is_asked_for_is_usage(typed, capsys, tmp_path):
    """As a folder that is not there, in all of them."""
    (tmp_path / "c.h5").write_text("not what it seems")
    assert run_on(typed, "c.h5") == Exit.USAGE
    assert "c.h5" in capsys.readouterr().err


def test_what_cannot_be_compared_is_usage_and_a_difference_1(tmp_path):
    """As of diff(1), where 1 is taken."""
    (tmp_path / "bad.h5").write_text("not what it seems")
    assert run_on("diff", "bad.h5") == Exit.USAGE


@pytest.mark.parametrize("typed", ["pack", "census", "sweep frontier", "render"])
def test_structures_that_cannot_be_used_are_3(typed, tmp_path, capsys):
    (tmp_path / "bad.cif").write_text("data_nothing")
    assert run_on(typed, "bad.cif") == Exit.FAILURES
    assert (tmp_path / "out.h5").is_file()


@pytest.mark.parametrize("typed", [typed for typed in TYPED if typed.split()[-1] in ON_OUTPUTS])
def test_an_output_for_which_nothing_was_done_is_fatal(typed, capsys):
    assert run(typed, "absent.h5") == Exit.FATAL
    assert "absent" in "".join(capsys.readouterr())


@pytest.mark.parametrize("typed", READING)
def test_config_files_that_are_not_there_or_wrong_are_usage(typed, capsys, tmp_path):
    (tmp_path / "wrong.toml").write_text("frobnicate = 1")
    for name in ("absent.toml", "wrong.toml"):
        assert run(typed, f"--config {name}") == Exit.USAGE
        assert name in capsys.readouterr().err


@pytest.mark.parametrize("typed", READING)
def test_an_interrupt_is_130(typed, monkeypatch, capsys):
    def interrupted(self, argv=None):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Parser, "read", interrupted)
    assert run(typed) == Exit.INTERRUPTED
    assert "interrupted" in capsys.readouterr().err


@pytest.mark.parametrize("typed", ["pack", "census", "sweep noise", "render"])
def test_outputs_that_exist_are_usage(typed, tmp_path, capsys):
    (tmp_path / "out.h5").write_text("mine")
    (tmp_path / "al.cif").write_text("")
    assert run_on(typed, "al.cif") == Exit.USAGE
    assert (tmp_path / "out.h5").read_text() == "mine"
    assert "out.h5" in capsys.readouterr().err
