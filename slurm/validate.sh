#!/bin/bash
# Does this site's launch work?  sbatch slurm/validate.sh  (or bash slurm/validate.sh, which waits and shows the answer)
# Ranks, binding, MPI library, shared counters, writable folders, and what runs rest on in the folder of the results
# (rename, fsync, lock, link, one file of all ranks); prints PASSED or what to change. With a command of rc_hpc behind it, such as
#   bash slurm/validate.sh census big.jsonl -o /scratch/mine.h5
# it looks at that command's folder, and whether there is the room that its --dry-run predicts.
#SBATCH --job-name=rc-validate
#SBATCH --ntasks=2
#SBATCH --cpus-per-task=1
#SBATCH --mem-per-cpu=2G
#SBATCH --time=00:05:00
#SBATCH --output=%x-%j.out

if [ -z "${SLURM_JOB_ID:-}" ]; then  # not in a job: be one, and show its answer
    here=$(dirname "$0")
    site=${RC_SITE:-$here/site.env}
    # shellcheck source=slurm/site.env.example
    if [ -f "$site" ]; then . "$site" || exit 1; fi
    job=$(sbatch --parsable --wait "$0" "$@")
    code=$?
    cat "rc-validate-${job%%;*}.out"
    exit "$code"
fi

# SLURM runs a copy of this script: where it came from is asked of SLURM.
here=$(dirname "$0")
[ -f "$here/common.sh" ] || here=${RC_HPC_SLURM:-$(cd "$SLURM_SUBMIT_DIR" &&
    cd "$(scontrol show job "$SLURM_JOB_ID" | sed -n '/^ *Command=/{s///;s|/*validate\.sh.*||p;q}')" && pwd)}
# shellcheck source=slurm/common.sh
. "$here/common.sh" || exit 1

plan=()
if [ $# -gt 0 ]; then
    mkdir -p "$logs" || exit 1
    plan=(--plan "$logs/plan.state.json")
    "$RC_PYTHON" -m rc_hpc "$@" --dry-run --state "${plan[1]}" || exit
fi
run validate "$RC_PYTHON" -m rc_hpc.parallel.check_launch --tasks "${SLURM_NTASKS:-1}" "${plan[@]}"
scontrol show job "$SLURM_JOB_ID" | grep 'Requeue=1' > /dev/null ||
    echo "note: this site does not requeue jobs: submit a stopped one again, it goes on where it was"
[ "$code" = 0 ] || echo "NOT PASSED: what to change is said above; it is set in $site"
finish
