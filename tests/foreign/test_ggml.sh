#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_ggml.sh: the CUDA backend of ggml (llama.cpp's) as it is, on the CPU device with hazards on: ggml's own test holds its operators
# against its CPU backend. Skipped unless CJ_GGML is a checkout of ggml (git clone --depth 1 https://github.com/ggml-org/ggml; tried with
# 0.21). Without flash attention, whose kernels take nvcc an hour; products of floats go through cuBLAS, which does not run here.
# CJ_GGML_OPS='ADD ROPE' runs these operators alone. Two faults of ggml's are known: GET_ROWS of i32 reads rows that its test has not written,
# and mm_ids_helper (MUL_MAT_ID) lacks a __syncwarp.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../ptxas/nvcc.bash"
need nvcc
need_checkout CJ_GGML ggml src/ggml-cuda/ggml-cuda.cu
need_no_sanitizer
programs=${CJ_PROGRAMS:?the directory of libcudart.so.13}
ptxgen=${CJ_PTXGEN:?the path of ptxgen}

build=${nvcc_kept:?}/ggml  # some 15 minutes on two cores, once
mkdir -p "$build"
cmake -S "$CJ_GGML" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CUDA_ARCHITECTURES=90-virtual -DGGML_CUDA=ON -DGGML_CUDA_FA=OFF \
    -DGGML_CUDA_GRAPHS=OFF -DGGML_CUDA_NCCL=OFF -DGGML_NATIVE=OFF -DGGML_BUILD_TESTS=ON -DGGML_BUILD_EXAMPLES=OFF \
    "-DCMAKE_EXE_LINKER_FLAGS=-Wl,-rpath-link,$programs" >"$build/log" 2>&1 &&
    cmake --build "$build" --target test-backend-ops >>"$build/log" 2>&1 || { tail -n 20 "$build/log"; exit 1; }

. "$here/../ptxas/failures.bash"

# operator NAME [PARAMETERS]: all of its tests, or those whose parameters match, are right, and nothing is reported.
operator() {
    local name=$1 status=0
    "$ptxgen" run-program --hazards=on "$build/bin/test-backend-ops" test -b CUDA0 -o "$name" ${2:+-p "$2"} >"$dir/log" 2>&1 || status=$?
    [ $status -eq 0 ] || { failed "$name ${2-}" "exit code $status"; return; }
    grep -qE '[1-9][0-9]* launch.* no hazards' "$dir/log" || failed "$name ${2-}" "no kernel ran, or something is reported"
}

count=0
for name in ${CJ_GGML_OPS:-NORM RMS_NORM GROUP_NORM L2_NORM SOFT_MAX ARGMAX CUMSUM SUM SUM_ROWS MEAN COUNT_EQUAL CROSS_ENTROPY_LOSS SET_ROWS CPY
    CONCAT POOL_2D TRI RWKV_WKV7 GATED_LINEAR_ATTN GATED_DELTA_NET SSM_CONV CONV_TRANSPOSE_1D}; do
    operator "$name"
    count=$((count + 1))
done
[ -n "${CJ_GGML_OPS:-}" ] || operator MUL_MAT 'type_a=iq4_xs,type_b=f32,m=16,n=(1|9|16),'
end "$count operators"
