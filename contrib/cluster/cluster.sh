#!/bin/sh
# Trains on a cluster by files: one task after another of an array job, on machines that share a file system.
#
#   cluster.sh count LIST TASKS OUT [OPTION of tamis train]...
#   cluster.sh merge LEVEL TASKS OUT
#   cluster.sh model TASKS OUT
#   cluster.sh levels TASKS
#
# LIST has a source of `tamis train` a line (LABEL=PATH, FILE.csv.gz, ...). Task I of TASKS counts lines I, I + TASKS, ...
# into OUT/0/I.partial. A task of level L merges eight partials of level L - 1 into OUT/L/I.partial, and `model` merges the
# last eight or fewer into OUT/model.tamis, with the bytes of one `tamis train --repeat --no-names` over all of LIST. `levels`
# prints the number of tasks of levels 1, 2, ...; it prints nothing up to eight tasks, which `model` merges at once.
#
# The number I of a task is what Slurm or Kubernetes calls it. A task that is run twice replaces its own file and counts once;
# one that dies leaves no partial, and what needs it fails and names it. Give each run an OUT of its own.
set -eu

index=${SLURM_ARRAY_TASK_ID:-${JOB_COMPLETION_INDEX:-}}

fail() {
    echo "cluster.sh: $*" >&2
    exit 1
}

# width LEVEL TASKS: how many tasks a level has
width() {
    n=$2 level=$1
    while [ "$level" -gt 0 ]; do
        n=$(((n + 7) / 8)) level=$((level - 1))
    done
    echo "$n"
}

# merge FIRST LAST FOLDER ARGUMENT...: runs `tamis merge` with these arguments and the partials FIRST to LAST of a folder
merge() {
    i=$1 last=$2 folder=$3
    shift 3
    while [ "$i" -le "$last" ]; do
        set -- "$@" "$folder/$i.partial"
        i=$((i + 1))
    done
    tamis merge "$@"
}

command=${1:-nothing}
[ $# -eq 0 ] || shift
case $command in
count)
    list=$1 tasks=$2 out=$3
    shift 3
    lines=$(awk 'END { print NR }' "$list")
    [ "$lines" -ge "$tasks" ] || fail "$list: expected a line or more for each of $tasks tasks, got $lines lines"
    [ "${index:-$tasks}" -lt "$tasks" ] || fail "expected the number of a task below $tasks, got ${index:-none}"
    mkdir -p "$out/0"
    # one thread a task: more tasks are better than more threads
    awk -v n="$tasks" -v i="$index" '(NR - 1) % n == i' "$list" |
        tamis train --partial -m "$out/0/$index.partial" --threads 1 --files-from - "$@"
    ;;
merge)
    level=$1 tasks=$2 out=$3
    below=$(width $((level - 1)) "$tasks")
    first=$((8 * ${index:?expected the number of a task})) last=$((8 * index + 7))
    [ "$first" -lt "$below" ] || fail "expected the number of a task below $(width "$level" "$tasks"), got $index"
    [ "$last" -lt "$below" ] || last=$((below - 1))
    mkdir -p "$out/$level"
    merge "$first" "$last" "$out/$((level - 1))" --partial -m "$out/$level/$index.partial"
    ;;
model)
    tasks=$1 out=$2 top=0
    while [ "$(width "$top" "$tasks")" -gt 8 ]; do top=$((top + 1)); done
    merge 0 $(($(width "$top" "$tasks") - 1)) "$out/$top" --replace -m "$out/model.tamis"
    ;;
levels)
    tasks=$1
    while [ "$tasks" -gt 8 ]; do
        tasks=$(width 1 "$tasks")
        echo "$tasks"
    done
    ;;
*)
    fail "expected count, merge, model or levels, got $command"
    ;;
esac
