#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_cutlass.sh SCHEDULE, Cooperative or Pingpong: a GEMM of CUTLASS's collective builder for sm_90a (cutlass/gemm.cu), with
# clusters of two blocks and a TMA-store epilogue, as a whole program on the CPU device with hazards on. It is right against a
# sum in f64, and silent; each fault that is planted into its PTX is found. Skipped unless CJ_CUTLASS is a checkout of CUTLASS
# (git clone --depth 1 https://github.com/NVIDIA/cutlass; tried with 4.7). CJ_SEED repeats a run.
set -u
here=$(cd "$(dirname "$0")" && pwd)
schedule=$1
. "$here/../ptxas/nvcc.bash"
need nvcc
need_checkout CJ_CUTLASS CUTLASS include/cutlass/cutlass.h
need_no_sanitizer
programs=${CJ_PROGRAMS:?the directory of libcudart.so.13}
seed=${CJ_SEED:-$RANDOM}
echo "CJ_SEED=$seed"
runs=0

# ---- the program, compiled for minutes; kept with its PTX until the source is newer

kept=${nvcc_kept:?}/cutlass_$schedule
object=$kept/gemm.o ptx=$kept/gemm.ptx program=$kept/gemm
declare -A epilogue=([Cooperative]=TmaWarpSpecializedCooperative [Pingpong]=TmaWarpSpecialized)
options=(-std=c++17 -O1 -w -arch=compute_90a -code=compute_90a -cudart shared --expt-relaxed-constexpr
    -I "$CJ_CUTLASS/include" -I "$CJ_CUTLASS/tools/util/include"
    "-DSCHEDULE=KernelTmaWarpSpecialized$schedule" "-DEPILOGUE=${epilogue[$schedule]}")
version=$CJ_CUTLASS/include/cutlass/version.h
if ! [ "$object" -nt "$here/cutlass/gemm.cu" ] || ! [ "$object" -nt "$version" ] || ! [ "$object" -nt "$(type -P nvcc)" ]; then
    mkdir -p "$kept"
    nvcc "${options[@]}" --keep --keep-dir "$kept" -c "$here/cutlass/gemm.cu" -o "$object" || exit 1
fi
nvcc "${options[@]}" "$object" -o "$program" || exit 1

. "$here/../ptxas/failures.bash"

# execute ORDER ARGUMENT...: the program with hazards on; ORDER is fixed, or the seed of a random schedule.
execute() {
    local order=$1
    shift
    runs=$((runs + 1))
    [ "$order" = fixed ] || order=seed:$order
    CLUSTERJIT_SCHEDULE=$order CLUSTERJIT_HAZARDS=on CLUSTERJIT_THREADS=${CLUSTERJIT_THREADS:-2} \
        LD_LIBRARY_PATH=$programs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$program" "$@" >"$dir/log" 2>&1
}

# ---- right and silent: M N K SMS BETA. More K than the stages hold, several tiles a block; C is read; tails along each.
while read -r m n k sms beta; do
    for order in fixed "$seed" $((seed + 1)); do
        execute "$order" "$m" "$n" "$k" "$sms" "$beta" "$seed" || failed "${m}x${n}x$k, schedule $order" "it is wrong or reported"
        [ "$(cat "$dir/log")" = "right: ${m}x${n}x$k" ] || failed "${m}x${n}x$k, schedule $order" "it is not silent"
    done
done <<'SHAPES'
256 256 704 2 0
512 128 448 2 1
300 200 136 4 1
136 72 8 132 2
SHAPES

# ---- faulty twins

# search NAME RULES: the changed PTX, under some schedule, is reported by one of the rules (separated by |).
search() {
    local order
    cmp -s "$ptx" "$dir/twin.ptx" && { failed "$1" "nothing is changed"; return; }
    for order in fixed "$seed" $((seed + 1)); do
        CLUSTERJIT_PTX=$dir/twin.ptx execute "$order" 256 256 704 2 0 "$seed"
        grep -qE "\[($2)\]" "$dir/log" && return
    done
    failed "$1" "no [$2]"
}

twin() {
    sed -E "$3" "$ptx" >"$dir/twin.ptx"
    search "$1" "$2"
}

# The wait for the product before goes to where its stage has been freed.
free_before_wait() {
    awk '/wgmma\.wait_group\.sync\.aligned 1;/ { wait = $0; next }
         { print }
         wait && /mbarrier\.arrive\.shared::cluster/ { freed = 1 }
         freed && /^\$L__/ { print wait; wait = freed = "" }' "$ptx" >"$dir/twin.ptx"
    search "a stage is freed before its product is waited for" 'race-(block|cluster)'
}

free_before_wait
twin "no wait for the product before" 'race-(block|cluster)' '/wgmma\.wait_group\.sync\.aligned 1;/d'
twin "accumulators without a wait" wgmma-registers '/wgmma\.wait_group\.sync\.aligned 0;/d'
twin "no proxy fence before the TMA store" proxy-fence '/fence\.proxy\.async\.shared::cta/d'
twin "no barrier before the TMA store" race-block '/fence\.proxy\.async\.shared::cta/,/bar\.sync/{/bar\.sync/d}'
twin "shared memory reused while the TMA store reads it" race-block '/cp\.async\.bulk\.wait_group\.read 1;/d'
twin "no wait for the last TMA store" 'exit-in-flight|race-block' '/cp\.async\.bulk\.wait_group\.read 0;/d'
twin "mbarriers not published to the cluster" 'relaxed-arrive|race-(block|cluster)|no-mbarrier' '/fence\.mbarrier_init/d'

end "$runs runs"
