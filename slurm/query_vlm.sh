#!/bin/bash
# Asking a vision-language model:  sbatch slurm/query_vlm.sh SOURCE --model M [--pictures FILE] [options of jobs/query_vlm.py]
# With RC_SERVE, a command that serves the model on this node, such as "vllm serve M --port 8000" (sbatch --gres=gpu:1 ...),
# it is started first and asked at RC_SERVE_URL; without, name the endpoint with --base-url: the node must reach it, and
# the key comes from the environment that sbatch was called in, never from an option.
# Stopped before its time limit, or preempted, it goes back into the queue and goes on.
#SBATCH --job-name=rc-query
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=2
#SBATCH --mem=4G
#SBATCH --time=04:00:00
#SBATCH --signal=B:USR1@180
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.out

# SLURM runs a copy of this script: where it came from is asked of SLURM.
here=$(dirname "$0")
[ -f "$here/common.sh" ] || here=${RC_HPC_SLURM:-$(cd "$SLURM_SUBMIT_DIR" &&
    cd "$(scontrol show job "$SLURM_JOB_ID" | sed -n '/^ *Command=/{s///;s|/*query_vlm\.sh.*||p;q}')" && pwd)}
# shellcheck source=slurm/common.sh
. "$here/common.sh" || exit 1

# Whether the server answers at $url, an address of this node: HOST:PORT and a path.
answers() (
    at=${url#*://} path=''
    case $at in */*) path=/${at#*/} ;; esac
    at=${at%%/*}
    exec 3<>"/dev/tcp/${at%:*}/${at##*:}" || exit 1
    printf 'GET %s/models HTTP/1.0\r\nHost: %s\r\n\r\n' "${path%/}" "$at" >&3
    read -r -t 5 line <&3 && [[ $line == HTTP/*" 200"* ]]
) 2>/dev/null

if [ -n "${RC_SERVE:-}" ]; then
    url=${RC_SERVE_URL:-http://127.0.0.1:8000/v1}
    mkdir -p "$logs" || exit 1
    echo "server: $RC_SERVE (log: $logs/server.log)"
    # shellcheck disable=SC2086
    $RC_SERVE >"$logs/server.log" 2>&1 &
    server=$!
    trap 'kill "$server" 2>/dev/null' EXIT
    for ((left = ${RC_SERVE_WAIT_S:-1800}; left > 0; left -= 2)); do
        answers && break
        kill -0 "$server" 2>/dev/null || { echo "the server ended: see $logs/server.log" >&2; exit 1; }
        [ "$stopping" = 0 ] || break
        sleep 2
    done
    [ "$left" -gt 0 ] || { echo "the server does not answer at $url after ${RC_SERVE_WAIT_S:-1800} s: see $logs/server.log, or set RC_SERVE_WAIT_S" >&2; exit 1; }
    set -- "$@" --base-url "$url"
fi

run query "$RC_PYTHON" "$here/../jobs/query_vlm.py" "$@" --resume --progress plain
finish
