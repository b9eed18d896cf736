#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Several GPUs with one process each, as a launcher starts them: right results; one process for all of them; a rank that never comes,
# which the others name. tests/python/test_gpu.py kills one while the others work.
set -uo pipefail

fail() { echo "FAIL: $*"; exit 1; }

count=0
while [ $count -lt 8 ] && "$CJ_PTXGEN" info --device gpu:$count >/dev/null 2>&1; do count=$((count + 1)); done
if [ $count -lt 2 ]; then
    echo "SKIP: there are fewer than two GPUs"
    exit 77
fi
dir=$(mktemp -d)
trap 'kill -9 $(jobs -p) 2>/dev/null; rm -rf "$dir"' EXIT
unset OMPI_COMM_WORLD_RANK PMI_RANK SLURM_PROCID
port=$((20000 + $$ % 20000))

# start RANK SIZE ARGUMENTS...: one rank's process; its output goes to a file of its own.
start() {
    local rank=$1 size=$2
    shift 2
    RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=$size MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
        timeout -k 5 150 "$CJ_PTXGEN" run "$@" --gpus env --device gpu:"$rank" >"$dir/$rank" 2>&1 &
    pid[rank]=$!
}

# All ranks of a command are right.
all_right() {
    local rank
    port=$((port + 2))
    for ((rank = 0; rank < count; rank++)); do start $rank $count "$@"; done
    for ((rank = 0; rank < count; rank++)); do
        wait "${pid[rank]}" || fail "rank $rank of $count, $*: exit $?: $(tail -n 3 "$dir"/[0-9]*)"
    done
}

for family in allreduce reducescatter allgather alltoall broadcast; do
    "$CJ_PTXGEN" run $family --gpus $count --device gpu --count 100000 >"$dir/all" 2>&1 || fail "$family in one process: $(cat "$dir/all")"
    all_right $family --count 100000
done
all_right allreducenorm --rows 33 --columns 8192 --dtype bf16
all_right shardedtopk --rows 16 --columns 32064 --dtype bf16 --k 50
all_right shardedcrossentropy --rows 33 --columns 8192 --dtype bf16
all_right reduce --n 100000
all_right histogram --n 100000

# The last rank never comes: rank 0 names it when its time is over (60 s), and tells the others.
port=$((port + 2))
last=$((count - 1))
for ((rank = 0; rank < last; rank++)); do start $rank $count allreduce; done
for ((rank = 0; rank < last; rank++)); do
    wait "${pid[rank]}" && fail "rank $rank ended well without rank $last"
    grep -q "rank $last" "$dir/$rank" || fail "rank $rank does not name rank $last: $(cat "$dir/$rank")"
done

echo "$count ranks"
