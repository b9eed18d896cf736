#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --gpus: the collectives, and reduce, histogram and gemm of several GPUs, played by the CPU device with hazards watched.
set -uo pipefail

fail() { echo "FAIL: $*"; exit 1; }
says() { # STATUS TEXT COMMAND...
    local status=$1 text=$2 said found
    shift 2
    said=$("$CJ_PTXGEN" "$@" --device cpu 2>&1)
    found=$?
    [ "$found" = "$status" ] || fail "exit $found, not $status: $*: $said"
    case $said in *"$text"*) ;; *) fail "'$text' is not in: $said" ;; esac
}

watched() { says 0 "$@" --hazards on; }

watched "3 peer access" run allreduce --gpus 4
watched "0 itself" run barrier --gpus 3
for family in allreduce reducescatter allgather alltoall broadcast; do
    watched "straight into registered memory" run $family --gpus 3 --count 1000 --memory registered --dtype bf16
done
for family in allreduce reducescatter; do
    watched "over multicast" run $family --gpus 4 --memory multicast --dtype bf16
done
says 64 "has sums of f32, and no min" run allreduce --gpus 2 --memory multicast --combine min
says 64 "'multicast' is none of: mail registered" run allgather --gpus 2 --memory multicast
watched "two shots" run allreduce --gpus 4 --count 65536
watched "Error: 0" run allreduce --gpus 4 --count 4100 --tags blocks --block 64 --grid 3
watched "Error: 0" run allreduce --gpus 3 --count 1001 --tags blocks --dtype f16 --combine max
watched "GPUs: 4, 700 elements of each" run reduce --gpus 4 --n 700
watched "Expected: 599" run reduce --gpus 3 --n 200 --op max --dtype i32
watched "Error: 0" run histogram --gpus 2 --n 900 --bins 40
watched "the product, then reduce-scatter, 32 x 16 x 24" run gemm --gpus 4 --m 32 --n 16 --k 24 --chunks 4
watched "all-gather, then the product" run gemm --gpus 2 --m 32 --n 16 --k 24 --collective all-gather --b column
watched '"gpus": 2' run reduce --gpus 2 --n 100 --json
says 0 "Rate:" bench reduce --gpus 2 --n 1000 --rounds 1
for family in reduce histogram "gemm --m 32 --n 16 --k 16" "allreduce --count 100"; do
    says 0 "GPUs: 3; bytes and rates are those of each" bench ${family/32/33} --gpus 3 --rounds 1
done
says 0 '"figures_of": "each GPU"' bench gemm --gpus 2 --m 32 --n 16 --k 16 --rounds 1 --json
one=$("$CJ_PTXGEN" bench reduce --n 1000 --rounds 1 --device cpu)
case $one in *GPUs:*) fail "one GPU is told as several: $one" ;; esac
says 0 "GPUs: 2; bytes and rates are those of each" compare histogram --gpus 2 --n 1000 --rounds 1
says 0 '"gpus": 2,' compare reduce --gpus 2 --n 1000 --rounds 1 --json
says 0 "No verdict" compare histogram --gpus 2 --n 1000 --rounds 1

watched "3 rows of 1000, up to 2 in a launch" run allreducenorm --gpus 3 --rows 3 --columns 1000 --dtype f32 --mail 65536
watched "33 rows of 64, up to 17 in a launch" run shardedsoftmax --gpus 3 --rows 33 --columns 64 --mail 1024
watched "GPUs: 3, 21 elements in, 21 out" run alltoall --gpus 3 --count 7 --dtype u8 --align 1
watched "Error: 0.0" run shardedcrossentropy --gpus 2 --rows 2 --columns 64 --dtype f16 --gradient yes --scale -7e4 # beyond f16
says 64 "shots: 1 goes through mail alone" run allreduce --gpus 2 --memory registered --shots 1
says 64 "tags: blocks is for two shots" run allreduce --gpus 2 --shots 1 --tags blocks
says 64 "barrier has no arrays" run barrier --gpus 2 --memory registered
says 64 "softmax runs on one GPU" run softmax --gpus 2
says 64 "softmax runs on one GPU" bench softmax --gpus 2
says 64 "--gpus is '9'" run reduce --gpus 9
says 64 "several GPUs combine one total" run reduce --gpus 2 --op mean
says 64 "results of f64 are f64" run reduce --gpus 2 --dtype f64
says 64 "--counts is u64" run histogram --gpus 2 --counts u64
says 64 "--chunks goes with --gpus" run gemm --chunks 2
says 64 "--collective goes with --gpus" run reduce --collective all-gather
says 64 "--tile is for one GPU" run gemm --gpus 2 --tile 64x64
says 64 "--collective is 'gather'" run gemm --gpus 2 --m 8 --n 8 --k 8 --collective gather
says 64 "m: 7 rows are no multiple of the 2 ranks" run gemm --gpus 2 --m 7 --n 8 --k 8
says 64 "allreduce of several GPUs has no clusters to compare" compare allreduce --gpus 2
says 64 "shardedtopk of several GPUs has no clusters" compare shardedtopk --gpus 2
says 64 "no forms to compare" compare gemm --gpus 2 --m 8 --n 8 --k 8
exit 0
