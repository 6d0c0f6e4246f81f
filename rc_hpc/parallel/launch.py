"""How this process was started: alone or as one rank of many, and how it may fail.

mpi4py is imported only where a launcher started more than one task: the import costs
0.2 to 1.3 s, and fails where no MPI library exists.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Mapping

from rc_hpc.core.apart import Cut
from rc_hpc.core.errors import DOUBTFUL, Exit, RcError, fault_of_files

# SLURM_NTASKS is not among them: a batch script has it too, and a plain python there is one task.
SIZE_VARIABLES = ("SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID")
#: Prefixes of the variables that make a child process take itself for its parent's rank.
RANK_PREFIXES = ("PMI", "OMPI_", "PRTE", "MPI_LOCAL", "HYDI", "HYDRA", "SLURM_STEP", "SLURM_MPI")
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)
#: Seconds rank 0 speaks before the others when something fails, so that a fault of all ranks
#: is told once.
HEAD_START_S = 1.0
#: Seconds a launcher gets to pass a message on before it is told to end the job.
FORWARD_S = 0.5

START_CURE = (
    "Start it with `srun --mpi=pmi2` (MPICH, Intel MPI), `srun --mpi=pmix` (Open MPI) or the "
    "mpiexec that belongs to this MPI library; `srun --mpi=list` shows what the cluster has"
)


class SerialComm:
    """The only rank: the communicator's methods without MPI."""

    rank = 0
    size = 1
    mpi = None

    def barrier(self) -> None:
        """Return at once."""

    def ibarrier(self) -> Callable[[], bool]:
        """Return a test that always holds."""
        return lambda: True

    def bcast(self, value, root: int = 0):
        """Return `value`."""
        return value

    def gather(self, value, root: int = 0) -> list:
        """Return ``[value]``."""
        return [value]

    def allgather(self, value) -> list:
        """Return ``[value]``."""
        return [value]

    def node_rank(self) -> int:
        """Return 0."""
        return 0

    def abort(self, code: int = 1) -> None:
        """Leave the program."""
        raise SystemExit(code)


class MpiComm:
    """The ranks of an MPI job; `mpi` is the mpi4py communicator beneath."""

    def __init__(self, mpi):
        self.mpi = mpi
        self.rank = mpi.Get_rank()
        self.size = mpi.Get_size()

    def barrier(self) -> None:
        """Wait for all ranks asleep: MPI's own barrier would burn the core."""
        done = self.ibarrier()
        pause = 0.001
        while not done():
            time.sleep(pause)
            pause = min(2 * pause, 0.05)

    def ibarrier(self) -> Callable[[], bool]:
        """Enter a barrier without waiting; the returned test says whether all are in it."""
        return self.mpi.Ibarrier().Test

    def bcast(self, value, root: int = 0):
        """`value` of rank `root`, on every rank."""
        return self.mpi.bcast(value, root)

    def gather(self, value, root: int = 0) -> list | None:
        """List of all ranks' values on `root`, None elsewhere."""
        return self.mpi.gather(value, root)

    def allgather(self, value) -> list:
        """List of all ranks' values, on every rank."""
        return self.mpi.allgather(value)

    def node_rank(self) -> int:
        """Number of this rank among those that share its memory (collective)."""
        from mpi4py import MPI

        node = self.mpi.Split_type(MPI.COMM_TYPE_SHARED, key=self.rank)
        rank = node.Get_rank()
        node.Free()
        return rank

    def abort(self, code: int = 1) -> None:
        """End all ranks of the job at once."""
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        self.mpi.Abort(code)


Comm = SerialComm | MpiComm
_comm: Comm | None = None


def on_root(comm: Comm, function: Callable):
    """Result of `function` on rank 0, on all ranks; its RcError or stop is raised on all."""
    result = None
    if comm.rank == 0:
        try:
            result = function()
        except (RcError, Cut) as error:
            result = error
    result = comm.bcast(result)
    if isinstance(result, (RcError, Cut)):
        raise result
    return result


def each(comm: Comm, function: Callable):
    """Result of `function` on each rank; an RcError or a stop of any of them is raised on all."""
    result, fault = None, None
    try:
        result = function()
    except (RcError, Cut) as error:
        fault = error
    for one in comm.allgather(fault):
        if one is not None:
            raise one
    return result


def launched_sizes(environ: Mapping[str, str] = os.environ) -> list[int]:
    """Numbers of tasks the launchers speak of.

    They may differ, as mpiexec inside an allocation starts its own helpers by srun.
    """
    values = (environ.get(name, "") for name in SIZE_VARIABLES)
    return [int(value) for value in values if value.isdecimal()]


def launched_tasks(environ: Mapping[str, str] = os.environ) -> int:
    """Number of tasks this process was started as one of; 1 without a launcher."""
    return max([1, *launched_sizes(environ)])


def launcher_rank(environ: Mapping[str, str] = os.environ) -> int:
    """Rank as the launcher counts it, known before MPI starts; 0 without a launcher."""
    if not _needs_mpi(environ):
        return 0
    values = (environ.get(name, "") for name in RANK_VARIABLES)
    return next((int(value) for value in values if value.isdecimal()), 0)


def _needs_mpi(environ: Mapping[str, str] = os.environ) -> bool:
    # A PMIx launcher other than those above tells the rank, but not how many there are.
    if not launched_sizes(environ) and "PMIX_RANK" in environ:
        return True
    return launched_tasks(environ) > 1


def communicator() -> Comm:
    """The communicator of this process, made at the first call.

    Returns
    -------
    SerialComm
        Where no launcher started several tasks; mpi4py is not imported.
    MpiComm
        All ranks of the job.

    Raises
    ------
    RcError
        The launcher started several tasks, but MPI is missing or did not join them:
        each of them would do all the work.
    """
    global _comm
    if _comm is None:
        _comm = _join(launched_tasks(), launched_sizes()) if _needs_mpi() else SerialComm()
    return _comm


def _join(tasks: int, sizes: list[int]) -> MpiComm:
    started = f"the launcher started {tasks} tasks" if tasks > 1 else "a launcher started this task"
    try:
        with warnings.catch_warnings():
            # mpi4py's own doubt about the launcher: the check below says it with the cure.
            warnings.filterwarnings("ignore", "\\s*suspicious MPI", RuntimeWarning)
            from mpi4py import MPI
    except ModuleNotFoundError as error:
        raise RcError(
            f"{started}, but mpi4py is not installed in {sys.prefix} ({error}): "
            'pip install "rc_hpc[mpi]", or mpi4py alone where the cluster has its own MPI'
        ) from None
    except (ImportError, RuntimeError) as error:  # no MPI library; a wrong one
        raise RcError(
            f"{started}, but mpi4py cannot load an MPI library:\n  "
            + str(error).strip().replace("\n", "\n  ")
            + "\nLoad the cluster's MPI module, name its libmpi.so in MPI4PY_LIBMPI, or "
            f'pip install "rc_hpc[mpi]". {START_CURE}'
        ) from None
    comm = MpiComm(MPI.COMM_WORLD)
    if tasks > 1 and comm.size not in [size for size in sizes if size > 1]:
        library = MPI.Get_library_version().strip("\x00 \n").splitlines()[0]
        raise RcError(
            f"{started}, but {library.strip()} joined {comm.size} of them, so that each would "
            f"do all the work. {START_CURE}"
        )
    # MPI may have failed on another rank: who is past this knows that all have started.
    comm.barrier()
    return comm


def limit_threads(environ=os.environ) -> None:
    """One thread per process unless the environment asks for more.

    Ranks fill the cores already. Call it before numpy and numba are imported, which read
    these variables once. OMP_NUM_THREADS alone, if set, rules the others.
    """
    asked = environ.get("OMP_NUM_THREADS", "").split(",")[0] or "1"
    for name in THREAD_VARIABLES:
        if name == "NUMBA_NUM_THREADS" and "numba" in sys.modules:
            continue  # numba refuses a change once its threads run
        environ.setdefault(name, asked)


def child_environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """`environ` without what would make a child process take itself for an MPI rank."""
    return {name: value for name, value in environ.items() if not name.startswith(RANK_PREFIXES)}


def run_guarded(main: Callable[..., int | None], *args) -> int:
    """Run a command's `main` so that a failure on one rank ends the job, never hangs it.

    Parameters
    ----------
    main
        Called as ``main(*args)``; returns an exit code (None: 0). It may return different
        codes on different ranks, but must return on all of them.

    Returns
    -------
    int
        Exit code: the largest of all ranks on rank 0, 0 on the others, since a launcher
        told to end the job at the first bad exit would else cut the others short.
        `RcError` gives its own code and a message, other exceptions a message with the
        traceback and `Exit.FATAL`.
    """
    DOUBTFUL.clear()
    try:
        code = int(main(*args) or 0)
        comm = _comm or SerialComm()
        worst = max(comm.allgather(code))
        return worst if comm.rank == 0 else 0
    except SystemExit as leaving:
        if _comm is None or _comm.size == 1 or not leaving.code:  # argparse, alike on all ranks
            raise
        code = leaving.code if isinstance(leaving.code, int) else int(Exit.FATAL)
        return _fail(f"error: left with {leaving.code}", code)
    except RcError as error:
        return _fail(f"error: {error}", int(error.code))
    except KeyboardInterrupt:
        return _fail("interrupted", int(Exit.INTERRUPTED))
    except BaseException as error:  # noqa: BLE001 - whatever it is, the others must not wait
        if told := fault_of_files(error):
            return _fail(f"error: {told}", int(Exit.FATAL))
        text = "".join(traceback.format_exception_only(error)).strip()
        return _fail(f"failed: {text}\n{traceback.format_exc()}", int(Exit.FATAL))


def _fail(message: str, code: int) -> int:
    rank, size = launcher_rank(), launched_tasks()
    comm = _comm
    if comm is None and _needs_mpi():
        # The other ranks may be past this point and wait for us in MPI's start.
        try:
            comm = communicator()
        except RcError as error:
            if str(error) not in message:
                message += f"\n{error}"
    if comm is not None:
        rank, size = comm.rank, comm.size
    if rank:
        time.sleep(HEAD_START_S)
    where = f"rank {rank} of {size} on {socket.gethostname()}: " if _needs_mpi() else ""
    with contextlib.suppress(OSError, ValueError):  # a full disk must not keep us from aborting
        # One write: lines of several ranks would tear into each other.
        sys.stderr.write(f"rc_hpc: {where}{message.rstrip()}\n")
        sys.stderr.flush()
    if size > 1 and comm is not None:
        # A launcher told to abort drops what it has not read yet (MPICH's Hydra does).
        time.sleep(FORWARD_S)
        comm.abort(code)
    return code
