#!/bin/bash
# Training of ResNet-50:  sbatch slurm/train_resnet.sh [PIXELS] [--split DIR] [options of jobs/train_pixels.py]
# PIXELS from `python -m rc_hpc.pixels renders.h5`; without it and --split: RC_PIXELS and RC_SPLIT of site.env.
# One task for each GPU; four on a node: sbatch --gres=gpu:4 --ntasks-per-node=4; none: sbatch --gres=none ... --device cpu
# Stopped before its time limit, or preempted, it saves, goes back into the queue and goes on.
#SBATCH --job-name=rc-train-resnet
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --gres=gpu:1
#SBATCH --mem=32G
#SBATCH --time=04:00:00
#SBATCH --signal=B:USR1@180
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.out

# SLURM runs a copy of this script: where it came from is asked of SLURM.
here=$(dirname "$0")
[ -f "$here/common.sh" ] || here=${RC_HPC_SLURM:-$(cd "$SLURM_SUBMIT_DIR" &&
    cd "$(scontrol show job "$SLURM_JOB_ID" | sed -n '/^ *Command=/{s///;s|/*train_resnet\.sh.*||p;q}')" && pwd)}
# shellcheck source=slurm/common.sh
. "$here/common.sh" || exit 1

train resnet50 "$@"
finish
