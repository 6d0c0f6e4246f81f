"""Which process a launcher's variables make this one."""

import pytest

from rc_hpc.core.errors import UsageError
from rc_hpc.parallel.torch_ranks import Place, place

STEP = {
    "SLURM_STEP_NUM_TASKS": "8",
    "SLURM_PROCID": "5",
    "SLURM_LOCALID": "1",
    "SLURM_JOB_ID": "77",
    "SLURM_STEP_ID": "0",
}


def test_alone():
    assert place({}) == Place()
    assert (
        place({"SLURM_NTASKS": "4", "SLURM_JOB_ID": "7"}) == Place()
    )  # python in a batch script, without srun
    assert place({"SLURM_STEP_NUM_TASKS": "1", "SLURM_PROCID": "0"}) == Place()


def test_torchrun_wins_over_slurm():
    found = place(
        {
            "RANK": "3",
            "WORLD_SIZE": "4",
            "LOCAL_RANK": "1",
            "MASTER_ADDR": "n7",
            "MASTER_PORT": "2345",
            "SLURM_STEP_NUM_TASKS": "2",
            "SLURM_PROCID": "1",
        }
    )
    assert found == Place(3, 4, 1, "n7", 2345, "torchrun")


@pytest.mark.parametrize(
    ("nodes", "number", "first"),
    [
        ("n1", "1", "127.0.0.1"),
        ("n1,n2", "2", "n1"),
        ("gpu[03-05,9]", "4", "gpu03"),
        ("gpu[7]", "1", "127.0.0.1"),
        ("rack[2,4]-ib", "2", "rack2-ib"),
        ("a-1,b[1-3]", "4", "a-1"),
    ],
)
def test_srun_takes_the_first_node_of_the_step(nodes, number, first):
    found = place({**STEP, "SLURM_STEP_NODELIST": nodes, "SLURM_STEP_NUM_NODES": number})
    assert (found.rank, found.world, found.local, found.address, found.launcher) == (
        5,
        8,
        1,
        first,
        "srun",
    )
    assert 20000 <= found.port < 32000


def test_all_tasks_of_a_step_agree_and_steps_differ():
    ports = {place({**STEP, "SLURM_PROCID": str(rank)}).port for rank in range(8)}
    assert len(ports) == 1 and place({**STEP, "SLURM_STEP_ID": "1"}).port not in ports


def test_the_user_may_name_address_and_port():
    found = place(
        {
            **STEP,
            "SLURM_STEP_NODELIST": "n[1-2]",
            "SLURM_STEP_NUM_NODES": "2",
            "MASTER_ADDR": "10.0.0.1",
            "MASTER_PORT": "4000",
        }
    )
    assert (found.address, found.port) == ("10.0.0.1", 4000)


@pytest.mark.parametrize("variable", ["PMI_SIZE", "OMPI_COMM_WORLD_SIZE"])
def test_mpi_launchers_are_refused(variable):
    with pytest.raises(UsageError, match="torchrun"):
        place({variable: "2"})
    assert place({variable: "1"}) == Place()
