# shellcheck shell=bash
# What the batch scripts share; they source it. Expects $here, the folder of the scripts.
#
#   run NAME COMMAND...    COMMAND, which knows --state, as one srun step with a log for each rank; a signal to the batch
#                          script goes on to the ranks; afterwards $word says how it ended
#   warm KIND...           fill the kernel cache, once on each node
#   plain NAME COMMAND...  the same for a command that knows no --state
#   finish                 leave: 0 where the work is done, requeued where it was stopped, else with the step's exit code
#   submit OPTION...       sbatch from within a job
#   train MODEL ARGUMENT...   training as such a step

set -uo pipefail

# Before SLURM can send it: the signal before the time limit must not end this shell.
stopping=0 step=''
trap 'stopping=$((stopping + 1)); [ -z "$step" ] || kill -USR1 "$step" 2>/dev/null' USR1

site=${RC_SITE:-$here/site.env}
if [ -f "$site" ]; then
    # shellcheck source=slurm/site.env.example
    . "$site" || { echo "$site: failed (see above)" >&2; exit 1; }
else
    echo "no $site: taking python3 from PATH and --mpi=pmi2; for another site copy $here/site.env.example to it" >&2
fi
: "${RC_PYTHON:=python3}" "${RC_MPI:=pmi2}" "${RC_LOGS:=logs}" "${RC_MAX_RESTARTS:=100}"
[ -n "${RC_SRUN+set}" ] || RC_SRUN=()

# Not yet in a job: submit this very script. sbatch reads partition and account from the SBATCH_ variables of site.env.
[ -n "${SLURM_JOB_ID:-}" ] || exec sbatch "$0" "$@"

# srun has not taken over --cpus-per-task since 22.05; after sbatch --export=NONE it would give the ranks no environment.
export SRUN_CPUS_PER_TASK="${SLURM_CPUS_PER_TASK:-1}" SLURM_EXPORT_ENV=ALL
# Caches on the node's own disk: many nodes filling one folder of a network file system damage it.
# mktemp -u only names a file; its folder is $TMPDIR or the system's.
local_disk=${RC_LOCAL_DISK:-$(dirname "$(mktemp -u)")}/rc_hpc-$UID
export NUMBA_CACHE_DIR="${NUMBA_CACHE_DIR:-$local_disk}" MPLCONFIGDIR="${MPLCONFIGDIR:-$local_disk/matplotlib}"
export PYTHONUNBUFFERED=1

attempt=${SLURM_RESTART_COUNT:-0}
# Not SLURM_JOB_ID, which for one task of an array means the whole array.
job=${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}
logs=$RC_LOGS/${SLURM_JOB_NAME:-job}-$job/attempt-$attempt
echo "job $job, attempt $attempt, on ${SLURM_JOB_NODELIST:-this node}: ${SLURM_NTASKS:-1} task(s) of $SRUN_CPUS_PER_TASK cpu(s)"

run() {
    local name=$1 again
    shift
    mkdir -p "$logs" || exit 1
    code='' word=none state=$logs/$name.state.json
    for again in 1 1 ''; do
        [ "$stopping" = 0 ] || return 0
        step "$name" "$@" --state "$state"
        judge
        # On a busy node MPI itself fails to start now and then: no rank has begun, and none could say why. What was
        # asked for in the wrong way (2) stays wrong.
        if [ "$word" != none ] || [ "$code" = 0 ] || [ "$code" = 2 ] || [ -z "$again" ]; then break; fi
        [ "$stopping" != 0 ] || echo "$name: ended with $code before it began: once more"
    done
}

# The kernels of a kind of result compiled ahead, once on each node; where that fails, the run itself does it.
warm() {
    local RC_SRUN=("${RC_SRUN[@]}" --ntasks-per-node=1 --ntasks="${SLURM_JOB_NUM_NODES:-1}") RC_MPI=none
    plain warm "$RC_PYTHON" -m rc_hpc.warm "$@"
}

# What the program has told of itself, for this job and attempt: done, stopped, failed, killed, lost or none.
judge() {
    word=$(
        trap '' USR1
        PYTHONPATH="${PYTHONPATH:+$PYTHONPATH:}$here/.." \
            "$RC_PYTHON" -m rc_hpc.parallel.state "$state" --job "$job" --attempt "$attempt"
    ) || word=killed
}

plain() {
    local name=$1
    shift
    mkdir -p "$logs" || exit 1
    code='' word=none
    [ "$stopping" = 0 ] || return 0
    step "$name" "$@"
    [ "$code" != 0 ] || word='done'
}

step() {
    local name=$1 signals
    shift
    echo "$name: $* (logs: $logs/$name-RANK.log)"
    # -K: a rank that dies takes the others along, which would wait for it for ever.
    srun -K --mpi="$RC_MPI" --output="$logs/$name-%t.log" "${RC_SRUN[@]}" "$@" &
    step=$!
    [ "$stopping" = 0 ] || kill -USR1 "$step"
    while :; do  # wait returns early when a trapped signal comes; asked again it gives the step's code
        signals=$stopping
        wait "$step"
        code=$?
        [ "$signals" != "$stopping" ] || break
    done
    step=''
    cat "$logs/$name-0.log" 2>/dev/null
}

# Whether the last step left unfinished work in good order; also where the signal came before it could listen.
stopped() {
    case $word in
        stopped) ;;
        none|killed) [ "$stopping" != 0 ] && [ "$code" != 0 ] ;;
        *) false ;;
    esac
}

finish() {
    if ! stopped; then
        case $word in
            done) exit 0 ;;  # failures recorded in the results (3) are results
            none) exit "$code" ;;
            lost) echo "$state: the output that it names is not there, or is not what this job wrote" >&2 ;;
        esac
        [ "$code" != 0 ] || code=1
        exit "$code"
    fi
    # A job that was cancelled must not come back.
    if [ "$(squeue -h -j "$job" -o %T)" != RUNNING ]; then
        echo "stopped; the same sbatch command goes on" >&2
        exit 1
    fi
    if [ "$attempt" -ge "$RC_MAX_RESTARTS" ]; then
        echo "stopped for the ${attempt}th time: not requeued again (RC_MAX_RESTARTS); give it more --time and submit it again" >&2
        exit 1
    fi
    echo "stopped with work left: back into the queue"
    if ! scontrol requeue "$job"; then
        echo "this site does not requeue: the same sbatch command goes on" >&2
        exit 1
    fi
    sleep 60  # SLURM ends this shell
    exit 0
}

# Without this job's own variables, which would shape the new one.
submit() (
    for name in "${!SLURM_@}" "${!SRUN_@}"; do
        [ "$name" = SLURM_CONF ] || unset "$name"
    done
    sbatch --parsable "$@"
)

# Training of a model; its options as they come, with pixel file and split from site.env where they are not among them.
train() {
    local model=$1
    shift
    case ${1:--} in -*) set -- "${RC_PIXELS:-pixels.h5}" "$@" ;; esac
    case " $* " in *" --split"[\ =]*) ;; *) set -- "$@" --split "${RC_SPLIT:-split}" ;; esac
    RC_MPI=none  # torch joins the tasks by itself
    run train "$RC_PYTHON" "$here/../jobs/train_pixels.py" --model "$model" -o "$model.h5" --resume --progress plain "$@"
}
