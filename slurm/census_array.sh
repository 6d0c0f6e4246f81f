#!/bin/bash
# Census as a job array:  sbatch slurm/census_array.sh [SOURCE ...] [-o FILE] [options of rc_hpc.census]
# This job packs the source, unless it is packed, then submits the array (RC_SHARDS tasks, each of as many ranks as this
# job has) and a merge that waits for it. RC_ARRAY: more sbatch options for the array, such as "--time=1:00:00".
# What was stopped goes back into the queue and goes on; submitted again, all of it goes on.
#SBATCH --job-name=rc-census-array
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
    cd "$(scontrol show job "$SLURM_JOB_ID" | sed -n '/^ *Command=/{s///;s|/*census_array\.sh.*||p;q}')" && pwd)}
# shellcheck source=slurm/common.sh
. "$here/common.sh" || exit 1

# The jobs it submits run this script too, told by the first argument.
case ${1:-} in
    @shard-of=*)
        n=${1#*=}
        shift
        warm census
        run census "$RC_PYTHON" -m rc_hpc.census --resume --progress plain --shard "$SLURM_ARRAY_TASK_ID/$n" "$@"
        finish ;;
    @merge)
        if [ -f "$2" ] && [ ! -d "$2.parts" ]; then echo "$2: finished already"; exit 0; fi
        plain merge "$RC_PYTHON" -m rc_hpc.census merge "$2"
        finish ;;
esac

# What is read comes first; what packing must know is sorted out of the options.
sources=() pack=() census=() output=census.h5
while [ $# -gt 0 ] && [ "${1#-}" = "$1" ]; do sources+=("$1"); shift; done
[ ${#sources[@]} -gt 0 ] || sources=(prototypes)
while [ $# -gt 0 ]; do
    case $1 in
        -o|--output) output=${2:?$1 needs a file}; shift ;;
        --output=*) output=${1#*=} ;;
        --ids|--format|--seed) pack+=("$1" "${2:?$1 needs a value}"); shift ;;
        --ids=*|--format=*|--seed=*) pack+=("$1") ;;
        --tau|--angle-tolerance|--max-atoms)
            pack+=("$1" "${2:?$1 needs a value}"); census+=("$1" "$2"); shift ;;
        --tau=*|--angle-tolerance=*|--max-atoms=*) pack+=("$1"); census+=("$1") ;;
        --shard|--shard=*|--packed|--packed=*|--config|--config=*)
            echo "$1: this script sets it or needs to know what is in it; give the options themselves" >&2; exit 2 ;;
        *) census+=("$1") ;;
    esac
    shift
done

packed=${sources[0]}
case $packed in
    *.h5|*.hdf5) ;;
    *)
        packed=${output%.h5}.packed.h5
        run pack "$RC_PYTHON" -m rc_hpc.pack --resume --progress plain "${sources[@]}" "${pack[@]}" -o "$packed"
        [ "$word" = 'done' ] || finish ;;
esac

: "${RC_SHARDS:=8}"
read -ra more <<< "${RC_ARRAY:-}"
array=$(submit --array="0-$((RC_SHARDS - 1))" --output=%x-%A_%a.out --ntasks="$SLURM_NTASKS" \
    --cpus-per-task="$SRUN_CPUS_PER_TASK" "${more[@]}" \
    "$here/census_array.sh" "@shard-of=$RC_SHARDS" "$packed" -o "$output" "${census[@]}") || exit 1
array=${array%%;*}  # a federated cluster adds its name
# After any end: where a shard failed, the merge says what is missing.
merge=$(submit --dependency="afterany:$array" --ntasks=1 "$here/census_array.sh" @merge "$output") || exit 1
echo "submitted: array $array of $RC_SHARDS shards, then merge ${merge%%;*} into $output"
