#!/bin/bash
# A SLURM of one node on this machine, for tests: no systemd, no cgroups, nothing of the system's configuration touched.
#   slurm_box.sh start FOLDER [PORT]   key, socket, configuration, logs and process ids lie in FOLDER; PORT and the next are taken
#   slurm_box.sh stop FOLDER           cancels what runs and ends exactly the daemons that start began, by their ids
# Clients find it by SLURM_CONF=FOLDER/slurm.conf. Needs slurmctld, slurmd and munge; run as root.
set -u
action=${1:-} box=${2:-} port=${3:-16817}
if [ -z "$box" ]; then sed -n 2,5p "$0" >&2; exit 2; fi
mkdir -p "$box" && box=$(cd "$box" && pwd) || exit 1
PATH=$PATH:/usr/sbin:/sbin
export SLURM_CONF=$box/slurm.conf
daemons="slurmd slurmctld munged"  # in the order in which they are to end: the others need munged until then

# Whether process $2 is daemon $1; the id may belong to another program by now. One that waits to be reaped has no exe.
is() { [ "$(cat "/proc/$2/comm" 2>/dev/null)" = "$1" ] && [ -n "$(readlink "/proc/$2/exe")" ]; }

# Process id of a daemon of ours that is alive.
pid_of() {
    local pid
    pid=$(cat "$box/$1.pid" 2>/dev/null) && [ -n "$pid" ] && is "$1" "$pid" && echo "$pid"
}

configure() {
    local host user
    host=$(hostname -s) user=$(id -un)
    mkdir -p "$box/state" "$box/spool" "$box/tmp"
    [ -s "$box/munge.key" ] || (umask 077; head -c 128 /dev/urandom > "$box/munge.key")
    # config_overrides: claim more than the machine has. linuxproc and task/none: no cgroups.
    # FirstJobId: MPICH names its shared memory after job and step; a killed start leaves it behind, and a job of the
    # same number in a later box would take it for its own ("Message truncated").
    # Timers short enough for tests; a job of partition "urgent" pushes one of "debug" back into the queue.
    cat > "$SLURM_CONF" <<C
ClusterName=box
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$box/munge.socket
CredType=cred/munge
StateSaveLocation=$box/state
SlurmdSpoolDir=$box/spool
TmpFS=$box/tmp
SlurmctldPidFile=$box/slurmctld.pid
SlurmdPidFile=$box/slurmd.pid
SlurmctldLogFile=$box/slurmctld.log
SlurmdLogFile=$box/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
FirstJobId=$((SRANDOM % 60000000 + 1))
MaxJobId=67043328
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=2,bf_interval=2
KillWait=5
MinJobAge=600
CompleteWait=0
InactiveLimit=0
JobRequeue=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=4 RealMemory=64000 State=UNKNOWN
PartitionName=debug Nodes=n1 Default=YES MaxTime=INFINITE DefaultTime=10 State=UP PriorityTier=1 GraceTime=20
PartitionName=urgent Nodes=n1 MaxTime=INFINITE DefaultTime=10 State=UP PriorityTier=9 PreemptMode=OFF
C
}

start() {
    local name
    for name in $daemons; do
        if pid_of "$name" > /dev/null; then echo "slurm_box: $name runs in $box already" >&2; return 1; fi
    done
    configure
    munged --force --key-file="$box/munge.key" --socket="$box/munge.socket" --pid-file="$box/munged.pid" \
        --log-file="$box/munged.log" --seed-file="$box/munged.seed" --num-threads=2 || return 1
    slurmctld -i -f "$SLURM_CONF" || return 1
    slurmd -N n1 -f "$SLURM_CONF" || return 1
    for _ in $(seq 300); do
        [ "$(sinfo -h -p debug -o %T 2>/dev/null)" = idle ] && return 0
        sleep 0.1
    done
    echo "slurm_box: the node does not become idle" >&2
    return 1
}

stop() {
    local name pid
    if pid_of slurmctld > /dev/null; then  # jobs first: their processes would outlive slurmd
        timeout 10 scancel --user="$(id -un)" 2>/dev/null
        for i in $(seq 150); do
            [ -n "$(timeout 10 squeue -h -t running,completing,suspended 2>/dev/null)" ] || break
            [ "$i" != 30 ] || timeout 10 scancel --full --signal=KILL --user="$(id -un)" 2>/dev/null
            sleep 0.1
        done
    fi
    for name in $daemons; do
        pid=$(pid_of "$name") || continue
        kill -TERM "$pid"
        for _ in $(seq 150); do
            is "$name" "$pid" || break
            sleep 0.1
        done
        ! is "$name" "$pid" || kill -KILL "$pid"
    done
}

case $action in
    start)
        start && exit 0
        tail -n 5 "$box"/*.log >&2  # why; and nothing is left running
        stop
        exit 1 ;;
    stop) stop ;;
    *) sed -n 2,5p "$0" >&2; exit 2 ;;
esac
