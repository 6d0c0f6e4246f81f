"""Damaged and hostile HDF5: one line that names the file, from every reader; no process is lost."""

import importlib
import os
import shutil
import signal

import h5py
import numpy as np
import pytest
from old_cases import unpack

import rc_hpc
from rc_hpc.core.errors import DOUBTFUL, RcError
from rc_hpc.engine import validate as validating
from rc_hpc.engine.validate import validate
from rc_hpc.store import opening
from rc_hpc.store.files import write_seal

pytestmark = pytest.mark.long

#: Commands that read a census file.
COMMANDS = (
    ("tables", ()),
    ("figures", ("-o", "out")),
    ("census", ("status",)),
    ("census", ("validate",)),
    ("sweep", ("frontier",)),
    ("diff", ()),
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return unpack(tmp_path_factory.mktemp("old"))


@pytest.fixture
def census(files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return shutil.copy(files / "census.h5", tmp_path / "bad.h5")


def sealed(path):
    with open(path, "r+b") as file:
        write_seal(file)


def told(command, words, path, capsys):
    """Exit code and what is told of a command."""
    words = [*words, str(path)] + ([str(path)] if command == "diff" else [])
    words += ["-o", "x.h5"] if command == "sweep" else []
    code = importlib.import_module(f"rc_hpc.{command}").main(words)
    shown = capsys.readouterr()
    return code, shown.err + shown.out


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 8
    path.write_bytes(data)


DAMAGE = {
    "a flipped bit": flip,
    "half of it": lambda path: os.truncate(path, path.stat().st_size // 2),
    "nothing": lambda path: os.truncate(path, 0),
    "the head alone": lambda path: os.truncate(path, 100),
}


@pytest.mark.parametrize(("command", "words"), COMMANDS, ids=lambda one: str(one))
@pytest.mark.parametrize("damage", DAMAGE)
def test_every_command_tells_it_in_a_line(census, capsys, command, words, damage):
    sealed(census)
    DAMAGE[damage](census)
    code, shown = told(command, words, census, capsys)
    assert code in (1, 2)
    assert shown.count("\n") == 1 and "bad.h5" in shown and "Traceback" not in shown


def test_a_seal_covers_every_byte_and_goes_with_a_change(census):
    sealed(census)
    whole = census.read_bytes()
    assert not validate(census) and not opening.problem_of(census)
    for at in range(0, len(whole), 4801):
        census.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert "checksum" in opening.problem_of(census, looked=False) or at > len(whole) - 160
    census.write_bytes(whole)
    with h5py.File(census, "r+") as h5:
        h5["structures/message"][0] = "another letter"
    assert not census.read_bytes().endswith(whole[-64:])


def _linked(h5):
    del h5["structures/id"]
    h5["structures/id"] = h5py.SoftLink("/structures/id")


def _linked_out(h5):
    del h5["structures/id"]
    h5["structures/id"] = h5py.ExternalLink("/etc/other.h5", "/x")


def _stored_out(h5):
    values = h5["cells/certified"]
    shape, dtype = values.shape, values.dtype
    del h5["cells/certified"]
    h5.create_dataset("cells/certified", shape, dtype, external=[("/etc/hostname", 0, 1 << 20)])


def _virtual(h5):
    layout = h5py.VirtualLayout((4,), "i8")
    layout[:] = h5py.VirtualSource("/etc/other.h5", "x", shape=(4,))
    h5.create_virtual_dataset("cells/more", layout)


def _huge(h5):
    del h5["cells/certified"]
    h5.create_dataset("cells/certified", (1 << 40, 26), "i8", chunks=(1, 26))


def _loop(h5):
    h5["structures/again"] = h5["structures"]


def _pointer(h5):
    h5["cells/pointer"] = np.array([h5["cells"].ref], dtype=h5py.ref_dtype)


HOSTILE = {
    "/structures/id is a link to /structures/id": _linked,
    "/structures/id is a link to another file": _linked_out,
    "/cells/certified: its values lie in other files": _stored_out,
    "/cells/more: its values lie in other files": _virtual,
    "/cells/certified: declares": _huge,
    "/structures/again holds itself": _loop,
    "/cells/pointer: is of a type that rc_hpc does not write": _pointer,
}


@pytest.mark.parametrize("problem", HOSTILE)
def test_what_leads_elsewhere_is_refused_by_name(census, problem):
    with h5py.File(census, "r+") as h5:
        HOSTILE[problem](h5)
    assert problem in validate(census)[0]
    for read in (rc_hpc.open, opening.open_h5):
        with pytest.raises(RcError, match=r"bad\.h5") as caught:
            read(census)
        assert problem in str(caught.value)


def test_wrong_types_are_the_file_s_fault(census, capsys, monkeypatch):
    monkeypatch.setattr("logging.raiseExceptions", False)  # of a command before this one
    with h5py.File(census, "r+") as h5:
        del h5["structures/status"]
        h5["structures/status"] = np.array(["ok"] * 5, object)
    DOUBTFUL.clear()
    code, shown = told("tables", (), census, capsys)
    assert code == 1 and "Traceback" not in shown
    assert "bad.h5: changed since it was written" in shown.splitlines()[-1]
    DOUBTFUL.clear()


def test_queues_and_devices_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "x.h5")
    for path in (tmp_path / "x.h5", "/dev/zero"):
        with pytest.raises(RcError, match="no regular file"):
            opening.open_h5(path)


@pytest.mark.parametrize("end", [signal.SIGSEGV, signal.SIGABRT, None])
def test_a_crash_or_hang_of_the_library_is_told(census, monkeypatch, end):
    def lost(path):
        while True:
            if end:
                os.kill(os.getpid(), end)

    monkeypatch.setattr(opening, "look", lost)
    monkeypatch.setattr(opening, "_LOOK_S", 0.2)
    flip(census)
    told = "crashed on it" if end else "not done with it"
    with pytest.raises(RcError, match=told):
        opening.open_h5(census)
    monkeypatch.setattr(validating, "problem_of", lambda path, looked: lost(path))
    (problem,) = validate(census)
    assert problem.startswith(f"{census}: damaged: ") and told in problem
