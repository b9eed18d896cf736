# SPDX-License-Identifier: Apache-2.0
# ptxgen bench gemm beside cuBLAS: a library that does what it is told (tests/support/fakes/fake_cublas.c) is told the same product as ours,
# in every order, type and epilogue; the fastest way is taken; what is not there is said and is no failure.
source "$(dirname "$0")/../cli.bash"

ptxgen=${CJ_PTXGEN_MADE_UP_TIMES:?the path of ptxgen with made-up times}
export CUDA_HOME=${CJ_FAKE_CUBLAS_HOME:?the folder that has lib64/libcublasLt.so} LD_LIBRARY_PATH=
small=(bench gemm --device cpu --m 40 --n 72 --k 48 --split 1 --parts 1 --rounds 1)

gives 'cuBLAS 13.1.0: ' "${small[@]}"
[[ $(<"$dir/out") == *'(way 2 of 3, the fastest)'*'Ratio: 0.500 '* ]] || failed 'bench gemm' 'not the fastest way, or no ratio'

described() {
    gives '"name": "cuBLAS"' "${small[@]}" --json "$@"
    json 'o["peer"]["within_bound"] and 0 <= o["peer"]["error"] <= o["peer"]["bound"] and o["peer"]["time_ms"] == 0.5'
}
for d in row column; do
    for a in row column; do
        for b in row column; do described --a $a --b $b --d $d; done
    done
    bias=$([[ $d == row ]] && echo n || echo m)
    described --d $d --bias "$bias" --activation gelu
    described --d $d --c yes --activation relu --bias "$bias"
    described --d $d --c yes --batch 3
    described --d $d --batch 2 --shared b
done
for types in f16 'bf16 --out f32' 'tf32 --b column' 'e4m3 --b column' 'e4m3 --dtype-b e5m2 --b column --out f16' 'e5m2 --b column --out e5m2' \
    'i8 --b column' 'i8 --b column --d column' f64 'f64 --a column --b column --c yes' 'f64 --d column --align 8'; do
    # shellcheck disable=SC2086
    described --dtype $types
done

# What it cannot do, or does less exactly.
gives 'cuBLAS: not measured: it has no silu' "${small[@]}" --activation silu
gives 'not measured: of integers it has products of i8 in i32 alone' "${small[@]}" --dtype i8 --b column --out f32
gives 'not measured: of integers it has products of i8 in i32 alone' "${small[@]}" --dtype u8 --b column
gives 'not measured: it adds a bias along the lines of D only' "${small[@]}" --bias m
CJ_FAKE_CUBLAS=none gives 'not measured: it has no algorithm for this problem (status 15)' "${small[@]}"
CJ_FAKE_CUBLAS=none gives '"absent": "it has no algorithm' "${small[@]}" --json
CJ_FAKE_CUBLAS=wrong CJ_MADE_UP_PEER=last gives 'beyond our bound of ' "${small[@]}"
mkdir "$dir/lib64"
"${CC:-cc}" -shared -x c -o "$dir/lib64/libcublasLt.so" /dev/null  # the first that is found, and has nothing
CUDA_HOME=$dir gives 'cuBLAS: not measured: no libcublasLt.so with all that it takes' "${small[@]}"

# Nobody else has one, and times of the CPU device are not held against anything.
gives 'Rate: ' bench reduce --device cpu --n 3000 --rounds 1
[[ $(<"$dir/out") != *cuBLAS* ]] || failed 'bench reduce' 'it is held against cuBLAS'
ptxgen=$CJ_PTXGEN
gives 'say nothing about a GPU' "${small[@]}"
[[ $(<"$dir/out") != *cuBLAS* ]] || failed 'bench gemm' 'times of the CPU device are held against cuBLAS'

finish
