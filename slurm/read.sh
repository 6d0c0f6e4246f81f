#!/bin/bash
# Crystals from rendered pictures under MPI:  sbatch slurm/read.sh RENDERS.h5 [-o FILE] [options of rc_hpc.read]
# Stopped before its time limit, or preempted, it goes back into the queue and goes on. Submitted again it goes on too.
#SBATCH --job-name=rc-read
#SBATCH --ntasks=8
#SBATCH --cpus-per-task=1
#SBATCH --mem-per-cpu=2G
#SBATCH --time=04:00:00
#SBATCH --signal=B:USR1@180
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.out

# SLURM runs a copy of this script: where it came from is asked of SLURM.
here=$(dirname "$0")
[ -f "$here/common.sh" ] || here=${RC_HPC_SLURM:-$(cd "$SLURM_SUBMIT_DIR" &&
    cd "$(scontrol show job "$SLURM_JOB_ID" | sed -n '/^ *Command=/{s///;s|/*render\.sh.*||p;q}')" && pwd)}
# shellcheck source=slurm/common.sh
. "$here/common.sh" || exit 1

run readings "$RC_PYTHON" -m rc_hpc.read --resume --progress plain "$@"
finish
