"""The processes of one training: torch's process group, started by torchrun or by srun."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from rc_hpc.core.errors import RcError, UsageError

#: Launchers that say how many tasks there are, but start no torch process group.
_MPI_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
#: Longest wait of a rank for the others.
PATIENCE = timedelta(minutes=30)


@dataclass(frozen=True)
class Place:
    """Which process this is.

    Attributes
    ----------
    rank, world
        Number of this process, and of all.
    local
        Number among those of its node.
    address, port
        Where rank 0 listens; empty and 0 for a single process.
    launcher
        torchrun, srun, or empty.
    """

    rank: int = 0
    world: int = 1
    local: int = 0
    address: str = ""
    port: int = 0
    launcher: str = ""


def place(environ: Mapping[str, str] = os.environ) -> Place:
    """Which process this is, from torchrun's variables, else from those of an srun step.

    MASTER_ADDR and MASTER_PORT, where set, tell where rank 0 listens; by default it is the
    first node of the step, and a port that follows from the job's number.

    Raises
    ------
    UsageError
        An MPI launcher started several processes: each would train alone.
    """
    if "RANK" in environ and "WORLD_SIZE" in environ:
        return Place(
            int(environ["RANK"]),
            int(environ["WORLD_SIZE"]),
            int(environ.get("LOCAL_RANK", 0)),
            environ.get("MASTER_ADDR", "127.0.0.1"),
            int(environ.get("MASTER_PORT", 29500)),
            "torchrun",
        )
    tasks = int(environ.get("SLURM_STEP_NUM_TASKS", 1))
    if tasks > 1:
        return Place(
            int(environ["SLURM_PROCID"]),
            tasks,
            int(environ.get("SLURM_LOCALID", 0)),
            environ.get("MASTER_ADDR") or _first_node(environ),
            int(environ.get("MASTER_PORT") or _port(environ)),
            "srun",
        )
    if any(int(environ.get(name) or 1) > 1 for name in _MPI_SIZES):
        raise UsageError(
            "an MPI launcher started several processes, each of which would train alone: "
            "start them with srun, or with torchrun --nproc-per-node N"
        )
    return Place()


def _first_node(environ: Mapping[str, str]) -> str:
    nodes = environ.get("SLURM_STEP_NODELIST", "")
    if environ.get("SLURM_STEP_NUM_NODES", "1") == "1" or not nodes:
        return "127.0.0.1"
    first = re.match(r"([^,\[]*)(?:\[([^\],-]*)[^\]]*\]([^,\[]*))?", nodes)
    return "".join(part or "" for part in first.groups()) if first else nodes


def _port(environ: Mapping[str, str]) -> int:
    return (
        20000
        + (int(environ.get("SLURM_JOB_ID", 0)) + 101 * int(environ.get("SLURM_STEP_ID", 0) or 0))
        % 12000
    )


def choose_device(asked: str, where: Place):
    """The torch device of this process.

    Raises
    ------
    UsageError
        CUDA is asked for and not there: nothing trains on a CPU unless told to.
    """
    import torch

    if asked == "cpu":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        built = (
            f"built for CUDA {torch.version.cuda}" if torch.version.cuda else "built without CUDA"
        )
        raise UsageError(
            f"--device cuda: torch {torch.__version__} ({built}) sees no GPU. On a cluster ask for "
            "one (--gpus-per-task=1) and look at nvidia-smi; to train on the CPU say --device cpu"
        )
    devices = torch.cuda.device_count()
    if where.local >= devices > 1:
        raise UsageError(
            f"rank {where.rank} is number {where.local} on its node, which shows {devices} GPUs: "
            "start at most one process for each"
        )
    device = torch.device("cuda", where.local % devices)
    torch.cuda.set_device(device)
    return device


class Ranks:
    """All processes of a training; methods are called on all of them.

    Use as a context manager; a single process needs no process group.
    """

    def __init__(self, where: Place, device):
        self.rank, self.world, self._where, self._device = where.rank, where.world, where, device
        self._control = None

    def __enter__(self):
        if self.world > 1:
            import torch.distributed as dist

            where = self._where
            method = f"tcp://{where.address}:{where.port}"
            backend = "nccl" if self._device.type == "cuda" else "gloo"
            more = {"device_id": self._device} if backend == "nccl" else {}
            if where.launcher == "torchrun":  # its agent keeps the store
                os.environ.setdefault("MASTER_ADDR", where.address)
                os.environ.setdefault("MASTER_PORT", str(where.port))
                method = "env://"
            try:
                dist.init_process_group(
                    backend,
                    method,
                    rank=where.rank,
                    world_size=where.world,
                    timeout=PATIENCE,
                    **more,
                )
                # Flags and numbers go over the CPU, so that no step waits for the GPU.
                self._control = (
                    dist.new_group(backend="gloo", timeout=PATIENCE)
                    if backend == "nccl"
                    else dist.group.WORLD
                )
            except (RuntimeError, ValueError) as error:
                why = str(error).splitlines()[0]
                raise RcError(
                    f"rank {where.rank} of {where.world} cannot join the others at "
                    f"{where.address}:{where.port} ({why}): set MASTER_ADDR to a name or address "
                    "of the first node that all nodes reach, MASTER_PORT to a free port, and "
                    "GLOO_SOCKET_IFNAME or NCCL_SOCKET_IFNAME to the network"
                ) from error
        return self

    def __exit__(self, kind, *_):
        if self.world > 1 and kind is None:
            import torch.distributed as dist

            dist.destroy_process_group()

    def any(self, flag: bool) -> bool:
        """Whether it holds on any rank."""
        if self.world == 1:
            return bool(flag)
        import torch
        import torch.distributed as dist

        count = torch.tensor([int(flag)])
        dist.all_reduce(count, group=self._control)
        return bool(count.item())

    def gather(self, value) -> list:
        """The values of all ranks, by rank, on all of them."""
        if self.world == 1:
            return [value]
        import torch.distributed as dist

        found = [None] * self.world
        dist.all_gather_object(found, value, group=self._control)
        return found

    def barrier(self) -> None:
        """Wait for all."""
        self.gather(None)

    def prepare(self, network):
        """The network on this rank's device.

        On several GPUs batch statistics are those of all ranks.
        """
        import torch

        if self.world > 1 and self._device.type == "cuda":  # torch has it for GPUs only
            network = torch.nn.SyncBatchNorm.convert_sync_batchnorm(network)
        return network.to(self._device)

    def wrap(self, network):
        """The network as it is trained: gradients are averaged over the ranks."""
        if self.world == 1:
            return network
        import torch

        return torch.nn.parallel.DistributedDataParallel(
            network, device_ids=[self._device] if self._device.type == "cuda" else None
        )

    def share_buffers(self, network) -> None:
        """Give all ranks the running statistics of rank 0, before the network is measured."""
        if self.world == 1:
            return
        import torch.distributed as dist

        for buffer in network.buffers():
            dist.broadcast(buffer, 0)
