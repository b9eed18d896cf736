# SPDX-License-Identifier: Apache-2.0
# Matrix products from the command line: every run is checked against sums in f64 of some elements.
source "$(dirname "$0")/../cli.bash"

problem=(gemm --device cpu --m 20 --n 24 --k 64)

# --- types, epilogues, batches, and blocks that share a tile's K
gives 'Error bound: ' run "${problem[@]}" --bias n --activation gelu --hazards on
gives 'Error bound: ' run "${problem[@]}" --dtype tf32 --b column --batch 3 --shared b --bias m
gives 'Error bound: ' run "${problem[@]}" --dtype e4m3 --dtype-b e5m2 --b column --out f32 --c yes
gives 'split_2x3' run "${problem[@]}" --k 2000 --split 2 --parts 3
gives '"checked": 404' run "${problem[@]}" --activation silu --json
json 'o["ok"] and o["result"]["kernel"].startswith("gemm_bf16_")'

# --- what no number of D's type is: infinity, in 8 bits the largest number
gives $'\nLast element: inf (expected inf)' run "${problem[@]}" --dtype f16 --fill const:200
gives $'\nLast element: 448 (expected 448)' run "${problem[@]}" --dtype e4m3 --b column --out e4m3 --fill const:448
gives $'\nLast element: 57344 (expected 57344)' run "${problem[@]}" --dtype e5m2 --b column --out e5m2 --fill const:400
gives $'\nLast element: nan (expected nan)' run "${problem[@]}" --dtype e5m2 --b column --out e5m2 --fill const:nan

# --- integers: sums as they are, and what becomes of them
gives 'Error bound: 0' run "${problem[@]}" --dtype i8 --dtype-b u8 --b column --hazards on
gives $'\nLast element: 4129024 (expected 4129024)' run "${problem[@]}" --k 256 --dtype i8 --b column --fill const:-127
gives $'\nLast element: 127 (expected 127)' run "${problem[@]}" --dtype u8 --b column --out i8 --fill const:200
gives 'Error bound: ' run "${problem[@]}" --dtype u8 --dtype-b i8 --b column --out i8 --c yes --bias n --activation gelu --form mma
gives 'Error bound: ' run "${problem[@]}" --dtype i8 --b column --out bf16 --form skinny --m 3
gives 'sums in s32' emit gemm --dtype i8 --b column
refuses 64 'out: i32 is the sums of i8 and u8; those of bf16 are f32' run "${problem[@]}" --out i32
refuses 64 'k: 131072 products of i8 and i8 may leave the range of their sums' emit gemm --dtype i8 --b column --k 131072
refuses 64 'dtype-b: i8 elements of B, but those of A are e5m2' emit gemm --dtype e5m2 --dtype-b i8 --b column

# --- f64: sums in f64, factors of f64, the form mma on every target
gives 'kernel: gemm_mma_f64' run "${problem[@]}" --dtype f64 --hazards on
gives 'Error bound: ' run "${problem[@]}" --m 21 --n 33 --k 65 --dtype f64 --a column --b column --d column --c yes --bias n --activation relu --align 8
gives $'\nLast element: 0.375 (expected 0.375)' run "${problem[@]}" --k 24 --dtype f64 --fill const:0.125
gives 'sums in f64' emit gemm --dtype f64 --arch sm_90a
gives 'mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64' emit gemm --dtype f64 --arch sm_80
gives 'Work: ' bench "${problem[@]}" --rounds 1 --dtype f64
refuses 64 'out: f64, but the sums of bf16 are f32' run "${problem[@]}" --out f64
refuses 64 'out: f32, but the sums of f64 are f64' run "${problem[@]}" --dtype f64 --out f32
refuses 64 'activation: gelu takes' run "${problem[@]}" --dtype f64 --activation gelu
refuses 64 'dtype: f64, but form=wgmma does not multiply it' emit gemm --dtype f64 --form wgmma
refuses 64 'tile: 256x128 leaves no registers for sums of f64' emit gemm --dtype f64 --tile 256x128

# --- a part is its target that has wgmma; all other targets from sm_80 on multiply by mma.sync, in all commands
for arch in h200 sm_90a sm_80 sm_90; do
    target=$arch
    [ $arch = h200 ] && target=sm_90a
    gives ".target $target" emit gemm --arch $arch
    gives 'Error bound: ' run "${problem[@]}" --arch $arch
    gives 'Error bound: ' run "${problem[@]}" --target $arch
    gives 'candidate' tune "${problem[@]}" --dry-run --arch $arch
    gives 'Work: ' bench "${problem[@]}" --rounds 1 --arch $arch
    gives 'No verdict' compare "${problem[@]}" --rounds 1 --target $arch
done
gives 'gemm_mma_bf16' run "${problem[@]}" --form mma --parts 2
gives 'gemm_mma_bf16_16x128' run "${problem[@]}" --form mma --tile 16x128
gives 'Work: ' bench "${problem[@]}" --rounds 1 --form mma
gives 'candidate' tune "${problem[@]}" --dry-run --form mma
gives 'gemm_skinny_bf16_16x16' run gemm --m 7 --n 40 --k 64 --b column --form skinny
none=$'which only sm_90a has; the target is sm_90\nhint: name sm_90a, or no target'
refuses 4 "$none" emit gemm --arch sm_90 --form wgmma
none='wgmma (sm_90a), or mma.sync with cp.async (from sm_80 on); the target is sm_75'
refuses 4 "$none" emit gemm --arch sm_75
refuses 4 "$none" run "${problem[@]}" --arch sm_75
refuses 4 "$none" tune "${problem[@]}" --dry-run --arch sm_75
refuses 4 "$none" bench "${problem[@]}" --rounds 1 --arch sm_75
refuses 4 "$none" compare "${problem[@]}" --rounds 1 --arch sm_75

# --- addresses and lines that are no multiples of 16 bytes
odd=(gemm --device cpu --m 33 --n 35 --k 199 --hazards on)
for align in 8 4 2; do
    gives 'kernel: gemm_mma_bf16' run "${odd[@]}" --align $align --c yes
done
gives 'kernel: gemm_mma_e4m3' run "${odd[@]}" --align 1 --dtype e4m3 --b column
gives 'kernel: gemm_mma_bf16' run "${odd[@]}" --align-b 2 --ldb 41 --ldd 40 --bias n
gives 'Work: ' bench "${odd[@]}" --rounds 1 --align 2 --lda 211
gives 'No verdict' compare "${odd[@]}" --rounds 1 --align 2
gives 'candidate' tune "${odd[@]}" --dry-run --align 2
gives '  A comes by elements, through registers' emit gemm --align-a 2
gives '  B comes by copies of 4 bytes' emit gemm --align-b 4
refuses 64 'lda: 199 elements of 2 bytes are not a multiple of 16 bytes' run "${odd[@]}" --lda 199
refuses 64 'lda: 198 elements are less than the 199' run "${odd[@]}" --align 2 --lda 198
refuses 64 'align: 2 bytes, but form=wgmma takes' run "${odd[@]}" --align 2 --form wgmma
refuses 64 'align-a: 2 bytes are less than an element of tf32, 4' run "${odd[@]}" --dtype tf32 --b column --align-a 2

# --- what makes no sense
refuses 64 'only where those of K follow each other' run "${problem[@]}" --dtype tf32
refuses 64 'dtype-b: e5m2 has no effect with dtype=' run "${problem[@]}" --dtype-b e5m2
refuses 64 'nobody to share with' run "${problem[@]}" --shared a
refuses 64 'names C' run "${problem[@]}" --batch 2 --shared c
refuses 64 'more than the 16 of a cluster' run "${problem[@]}" --split 16 --cluster 2
refuses 64 'cluster: 2, but form=mma has no clusters' run "${problem[@]}" --form mma --cluster 2
refuses 1 'do not fit the shared memory' run "${problem[@]}" --stages 16 --tile 128x256
refuses 64 'larger than any memory' run gemm --device cpu --m 2^24 --n 1 --k 2^30 --batch 2^14

finish
