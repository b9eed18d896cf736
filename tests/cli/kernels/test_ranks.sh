#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --gpus env: what a process says that no launcher has started, on a device whose memory other processes do not reach, or of which
# times are asked.
set -uo pipefail

run=("$CJ_PTXGEN" run allreduce --gpus env)
fail() { echo "FAIL: $*"; exit 1; }
says() { # STATUS TEXT COMMAND...
    local status=$1 text=$2 said found
    shift 2
    said=$("$@" 2>&1)
    found=$?
    [ "$found" = "$status" ] || fail "exit $found, not $status: $*: $said"
    case $said in *"$text"*) ;; *) fail "'$text' is not in: $said" ;; esac
}

clean=(env -u RANK -u WORLD_SIZE -u OMPI_COMM_WORLD_RANK -u PMI_RANK -u SLURM_PROCID)
says 64 "no launcher has started this process" "${clean[@]}" "${run[@]}"
says 64 "RANK=2 is not below WORLD_SIZE=2" "${clean[@]}" RANK=2 WORLD_SIZE=2 "${run[@]}"
says 64 "times are measured with all GPUs in one process" "${clean[@]}" RANK=0 WORLD_SIZE=2 \
    "$CJ_PTXGEN" bench allreduce --gpus env --device cpu
says 64 "is of kind cpu, whose memory other processes do not reach" "${clean[@]}" RANK=0 WORLD_SIZE=2 "${run[@]}" --device cpu
says 64 "gpus" "${clean[@]}" RANK=0 WORLD_SIZE=9 "${run[@]}" --device cpu
exit 0
