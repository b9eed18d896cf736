#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_sample.sh NAME KERNEL OUTPUT FAULT SHOWN: a sample of NVIDIA's on the driver API, as it is, from the checkout of
# NVIDIA/cuda-samples that $CJ_CUDA_SAMPLES names: its OUTPUT, and silent. Then with its kernels after the sed script FAULT: found at
# the line SHOWN.
CJ_SCHEDULES=2
source "$(dirname "$0")/programs.bash"
name=$1 kernel=$2 output=$3 fault=$4 shown=$5
need nvcc c++
sample=${CJ_CUDA_SAMPLES:-/nowhere}/Samples/0_Introduction/$name
[[ -e $sample ]] || { echo 'skipped: CJ_CUDA_SAMPLES names no checkout of github.com/NVIDIA/cuda-samples'; exit 77; }
common=$CJ_CUDA_SAMPLES/Common

# build FOLDER: the program, and beside it the kernels, as the sample's own build names them.
build() {
    "${CXX:-c++}" -std=c++17 -O1 -w -isystem "$cuda/include" -I"$common" "$1"/*.cpp -o "$1/$name" -L"$cuda/lib64" \
        -L"$cuda/lib64/stubs" -lcuda -lcudart &&
        compile "$1/${kernel}64.fatbin" "$1/$kernel.cu" -fatbin -gencode arch=compute_90,code=compute_90 -I"$common" || exit 1
}

mkdir "$dir/right" "$dir/faulty"
cp "$sample"/*.cpp "$sample"/*.h* "$sample"/*.cu "$dir/right" 2>"$dir/err"
cp "$dir/right"/* "$dir/faulty"
sed -i "$fault" "$dir/faulty/$kernel.cu"
! cmp -s "$dir/right/$kernel.cu" "$dir/faulty/$kernel.cu" || failed sed 'the sample has changed: no fault is planted'
build "$dir/right" && build "$dir/faulty"
cd "$dir/right" || exit 1
is_right "$output" --hazards off "./$name"
is_right "$output" --schedule "$schedules" "./$name"
cd "$dir/faulty" || exit 1
is_shown "$shown" "./$name"
finish
