"""What a terminal, or what stands in its place, cannot take ends no run and spoils no result."""

import os
import pty
import signal
import subprocess
import sys
import time

import pytest
from census_cases import ROOT, content

from rc_hpc.core.errors import Exit

CENSUS = (sys.executable, "-m", "rc_hpc.census", "synthetic:2", "--progress", "none")
#: A census that Ctrl-C reaches once it is at work.
SLOW = "import sys; sys.path.insert(0, 'tests/contract'); import test_terminals as t; t.slow_run()"


def environment(**more):
    return os.environ | {"PYTHONPATH": str(ROOT)} | more


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    output = tmp_path_factory.mktemp("whole") / "x.h5"
    subprocess.run([*CENSUS, "-q", "-o", output], env=environment(), check=True)
    return output


def test_a_full_output_spoils_no_result(whole, tmp_path):
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [*CENSUS, "-o", tmp_path / "x.h5"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        told = subprocess.run(
            [sys.executable, "-m", "rc_hpc.tables", whole],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
    assert ended.returncode == Exit.CLEAN
    assert ended.stderr.count("\n") == 1 and "standard output cannot be written" in ended.stderr
    assert content(tmp_path / "x.h5") == content(whole)
    assert told.returncode == Exit.FATAL
    assert told.stderr.count("\n") == 1 and "No space left" in told.stderr


def test_a_terminal_without_the_letters(whole):
    plain = environment(
        LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", PYTHONIOENCODING="ascii"
    )
    ended = subprocess.run(
        [sys.executable, "-m", "rc_hpc.tables", whole], capture_output=True, env=plain
    )
    assert ended.returncode == Exit.CLEAN and not ended.stderr
    assert ended.stdout.decode("ascii").count("?") > 0


def slow_run():
    """A census of many structures in small batches, each of which takes a while."""
    import test_census_kills

    from rc_hpc.census import main

    test_census_kills.slow_down(0.2)
    sys.exit(main(["synthetic:64", "-o", sys.argv[1], "--progress", "plain"]))


def test_ctrl_c_at_a_terminal_ends_a_loop(tmp_path):
    """A shell leaves its loop only where the command ended by the signal."""
    loop = (
        f'for i in 1 2 3; do "{sys.executable}" -c "{SLOW}" {tmp_path}/$i.h5 2>{tmp_path}/$i.err; '
        "done; echo after"
    )
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(ROOT)
        os.execve("/bin/bash", ["bash", "-c", loop], environment())
    limit = time.monotonic() + 120
    while not list(tmp_path.glob("1.packed.h5.parts/flight/*")):
        assert time.monotonic() < limit
        time.sleep(0.05)
    os.write(terminal, b"\x03")
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGINT
    assert "--resume goes on" in (tmp_path / "1.err").read_text()
    assert not (tmp_path / "2.err").exists()
