#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_cudart.sh FOLDER/NAME OUTPUT FAULT SHOWN: a sample of NVIDIA's on the runtime, as it is, built with -cudart shared, from the
# checkout of NVIDIA/cuda-samples that $CJ_CUDA_SAMPLES names: its OUTPUT, and silent. Then with its NAME.cu after the sed script
# FAULT: found at the line SHOWN.
CJ_SCHEDULES=2
source "$(dirname "$0")/programs.bash"
sample=${CJ_CUDA_SAMPLES:-/nowhere}/Samples/$1 name=$(basename "$1") output=$2 fault=$3 shown=$4
need nvcc
[[ -e $sample ]] || { echo 'skipped: CJ_CUDA_SAMPLES names no checkout of github.com/NVIDIA/cuda-samples'; exit 77; }
cp -r "$sample" "$dir/right"
cp -r "$sample" "$dir/faulty"
sed -i "$fault" "$dir/faulty/$name.cu"
! cmp -s "$dir/right/$name.cu" "$dir/faulty/$name.cu" || failed sed 'the sample has changed: no fault is planted'
for folder in "$dir/right" "$dir/faulty"; do
    compile "$folder/$name" "$folder/$name.cu" -w -arch=compute_90 -code=compute_90 -cudart shared -I"$CJ_CUDA_SAMPLES/Common" || exit 1
done
cd "$dir/right" || exit 1
is_right "$output" --hazards off "./$name"
is_right "$output" --schedule "$schedules" "./$name"
cd "$dir/faulty" || exit 1
is_shown "$shown" "./$name"
finish
