#!/bin/sh
# Trains on Slurm: submits cluster.sh as array jobs, each after the one before it has succeeded.
#
#   slurm.sh LIST TASKS OUT [OPTION of tamis train]...
#
# What else your cluster asks for (account, partition, time) is taken from sbatch's environment, as SBATCH_PARTITION.
# Tasks of killed nodes are queued again. `tamis` has to be in the PATH of the nodes.
set -eu

list=$1 tasks=$2 out=$3
shift 3
script=$(dirname "$0")/cluster.sh

# submit NAME LAST ARGUMENT...: an array of tasks 0 to LAST; prints the number of the job
submit() {
    name=$1 last=$2
    shift 2
    job=$(sbatch --parsable --requeue --job-name="tamis-$name" --array="0-$last" --cpus-per-task=1 "$@")
    echo "${job%%;*}"
}

job=$(submit count $((tasks - 1)) "$script" count "$list" "$tasks" "$out" "$@")
level=0
for width in $("$script" levels "$tasks"); do
    level=$((level + 1))
    job=$(submit "merge-$level" $((width - 1)) --dependency="afterok:$job" "$script" merge "$level" "$tasks" "$out")
done
submit model 0 --dependency="afterok:$job" "$script" model "$tasks" "$out"
