#!/bin/bash
# A benchmark as job arrays:  sbatch slurm/benchmark_array.sh [SOURCE ...] -o DIR [options of rc_hpc.benchmark build]
# This job packs the source, unless it is packed, then submits an array (RC_SHARDS tasks, each of as many ranks as this
# job has) for all that may be displayed, a merge, an array for the pictures, and the end, each waiting for the one before.
# RC_ARRAY: more sbatch options for the arrays, such as "--time=1:00:00".
# What was stopped goes back into the queue and goes on; submitted again, all of it goes on.
#SBATCH --job-name=rc-benchmark-array
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
    cd "$(scontrol show job "$SLURM_JOB_ID" | sed -n '/^ *Command=/{s///;s|/*benchmark_array\.sh.*||p;q}')" && pwd)}
# shellcheck source=slurm/common.sh
. "$here/common.sh" || exit 1

# The jobs it submits run this script too, told by the first argument.
case ${1:-} in
    @scenes=*)
        n=${1#*=}
        shift
        run scenes "$RC_PYTHON" -m rc_hpc.benchmark scenes --resume --progress plain \
            --shard "$SLURM_ARRAY_TASK_ID/$n" "$@"
        finish ;;
    @merge)
        if [ -f "$2" ] && [ ! -d "$2.parts" ]; then echo "$2: finished already"; exit 0; fi
        plain merge "$RC_PYTHON" -m rc_hpc.benchmark merge "$2"
        finish ;;
    @pictures=*)
        n=${1#*=}
        shift
        run pictures "$RC_PYTHON" -m rc_hpc.benchmark build --resume --progress plain \
            --shard "$SLURM_ARRAY_TASK_ID/$n" "$@"
        finish ;;
    @end)
        shift
        run build "$RC_PYTHON" -m rc_hpc.benchmark build --resume --progress plain "$@"
        finish ;;
esac

# What is read comes first; what packing and displaying must know is sorted out of the options.
sources=() pack=() scenes=() build=() output=benchmark
while [ $# -gt 0 ] && [ "${1#-}" = "$1" ]; do sources+=("$1"); shift; done
[ ${#sources[@]} -gt 0 ] || sources=(catalogue)
while [ $# -gt 0 ]; do
    case $1 in
        -o|--output) output=${2:?$1 needs a folder}; shift ;;
        --output=*) output=${1#*=} ;;
        --ids|--format|--seed) pack+=("$1" "${2:?$1 needs a value}"); shift ;;
        --ids=*|--format=*|--seed=*) pack+=("$1") ;;
        --tau|--angle-tolerance|--max-atoms)
            pack+=("$1" "${2:?$1 needs a value}"); scenes+=("$1" "$2"); shift ;;
        --tau=*|--angle-tolerance=*|--max-atoms=*) pack+=("$1"); scenes+=("$1") ;;
        --draw-seed|--max-displayed|--supercells|--stretch|--tilt|--random-views|--view-angle|--radii|--bond-factor|\
        --electronegativity|--size|--strip|--margin|--fog|--least-fill|--quarantine)
            scenes+=("$1" "${2:?$1 needs a value}"); shift ;;
        --draw-seed=*|--max-displayed=*|--supercells=*|--stretch=*|--tilt=*|--random-views=*|--view-angle=*|--radii=*|\
        --bond-factor=*|--electronegativity=*|--size=*|--strip=*|--margin=*|--fog=*|--least-fill=*|--quarantine=*)
            scenes+=("$1") ;;
        --shard|--shard=*|--packed|--packed=*|--config|--config=*)
            echo "$1: this script sets it or needs to know what is in it; give the options themselves" >&2; exit 2 ;;
        *) build+=("$1") ;;
    esac
    shift
done

displays=$output.displays.h5
packed=${sources[0]}
case $packed in
    *.h5|*.hdf5) ;;
    *)
        packed=$output.packed.h5
        run pack "$RC_PYTHON" -m rc_hpc.pack --resume --progress plain "${sources[@]}" "${pack[@]}" -o "$packed"
        [ "$word" = 'done' ] || finish ;;
esac

: "${RC_SHARDS:=8}"
read -ra more <<< "${RC_ARRAY:-}"
# Job, after which it waits: an array of shards, or one job.
shards() {
    submit --array="0-$((RC_SHARDS - 1))" --output=%x-%A_%a.out --ntasks="$SLURM_NTASKS" \
        --cpus-per-task="$SRUN_CPUS_PER_TASK" "${more[@]}" "$@"
}
me=$here/benchmark_array.sh
first=$(shards "$me" "@scenes=$RC_SHARDS" "$packed" -o "$displays" "${scenes[@]}") || exit 1
# After any end: where a shard failed, the merge says what is missing. A federated cluster adds its name to the number.
merge=$(submit --dependency="afterany:${first%%;*}" --ntasks=1 "$me" @merge "$displays") || exit 1
second=$(shards --dependency="afterok:${merge%%;*}" "$me" "@pictures=$RC_SHARDS" "$displays" -o "$output" "${build[@]}") || exit 1
end=$(submit --dependency="afterany:${second%%;*}" --ntasks=1 "$me" @end "$displays" -o "$output" "${build[@]}") || exit 1
echo "submitted: arrays ${first%%;*} and ${second%%;*} of $RC_SHARDS shards, then ${end%%;*} into $output"
