# SPDX-License-Identifier: Apache-2.0
# ptxgen bench gemm on a GPU: cuBLAS does the same products in the same run, whatever their order, type and epilogue, and where
# its library is not found this is said.
source "$(dirname "$0")/../cli/cli.bash"
needs_gpu

small=(bench gemm --device gpu --m 192 --n 336 --k 144 --rounds 3)
gives 'cuBLAS' "${small[@]}"
if [[ $(<"$dir/out") == *'is found; its folder'* ]]; then
    echo "libcublasLt is not found: its part is left out"
    finish
    exit
fi

beside() {
    gives '"peer"' "${small[@]}" --json "$@"
    json 'o["peer"]["within_bound"] and o["peer"]["time_ms"] > 0 and o["peer"]["rounds"] == o["rounds"] == 3'
}
for orders in 'row row row' 'row column row' 'column row row' 'column column row' 'row row column' 'row column column' 'column row column'; do
    read -r a b d <<<"$orders"
    beside --a "$a" --b "$b" --d "$d"
done
beside --dtype f16 --bias n --activation gelu
beside --dtype bf16 --out f32 --c yes
beside --dtype bf16 --d column --bias m --activation relu
beside --dtype bf16 --batch 3 --shared b
beside --dtype tf32 --b column
beside --dtype e4m3 --b column
beside --dtype e5m2 --dtype-b e4m3 --b column --bias n

finish
