# SPDX-License-Identifier: Apache-2.0
# Sorts and samples from the command line: every run is checked against a sort, or a draw, of the host.
source "$(dirname "$0")/../cli.bash"

on_cpu() { gives 'Error bound: ' run "$@" --device cpu --hazards on; }

# --- seeds have 64 bits, as in C
on_cpu sample --rows 2 --columns 100 --seed 2^40 --offset 2^63+5
on_cpu sample --rows 2 --columns 100 --seed 18446744073709551615

# --- what the plan chose is printed
gives 'form=block cluster=0 block=64 items=16 ' bench sort --rows 2 --columns 1000 --device cpu --rounds 1
gives 'search=digits parts=1 cluster=0 block=512' bench sample --rows 2 --columns 1000 --top-p 0.9 --device cpu --rounds 1
gives 'search=counts parts=1 cluster=8 block=128' bench sample --rows 1 --columns 32768 --dtype bf16 --top-p 0.9 --device cpu --rounds 1

# --- segments, also by lists
on_cpu sort --rows 9 --columns 700 --segments i32
on_cpu sort --rows 40 --columns 3000 --segments i64 --elements 9000 --form grid --block 256 --items 1
on_cpu sort --rows 40 --columns 3000 --segments i64 --elements 2000 --form grid --block 256 --items 2 --payload b64 --result neither --dtype f64
# more short segments than warps, more medium ones than blocks, more tiles than blocks that count
gives 'Error: 0' run sort --rows 3300 --columns 300 --segments i32 --elements 20000 --form grid --block 256 --items 2 --device cpu
gives 'Error: 0' run sort --rows 1150 --columns 400 --segments i32 --elements 240000 --form grid --block 256 --items 2 --device cpu
gives 'Error: 0' run sort --rows 5 --columns 50000 --segments i32 --form grid --block 256 --items 1 --dtype u8 --device cpu
gives 'form=grid cluster=0 block=256 items=16 ' bench sort --rows 30 --columns 2^18 --segments i32 --elements 10000 --device cpu --rounds 1
# more short segments than warps, more medium ones than blocks, more tiles than blocks that count
gives 'Error: 0' run sort --rows 3300 --columns 300 --segments i32 --elements 20000 --form grid --block 256 --items 2 --device cpu
gives 'Error: 0' run sort --rows 1150 --columns 400 --segments i32 --elements 240000 --form grid --block 256 --items 2 --device cpu
gives 'Error: 0' run sort --rows 5 --columns 50000 --segments i32 --form grid --block 256 --items 1 --dtype u8 --device cpu
gives 'form=grid cluster=0 block=256 items=16 ' bench sort --rows 300 --columns 2^14 --segments i32 --elements 10000 --device cpu --rounds 1
gives 'form=block cluster=0 block=512 items=32 ' bench sort --rows 3 --columns 2^14 --segments i32 --elements 10000 --device cpu --rounds 1
refuses 1 'say with elements how many all segments have together' run sort --rows 2^20 --columns 2^30 --segments i32 --device cpu
refuses 64 'elements: 9 has no effect with segments=none' run sort --rows 4 --columns 300 --elements 9 --device cpu
refuses 64 'elements: 2199023255552 is outside 0 to 1099511627776' run sort --rows 4 --columns 300 --segments i32 --elements 2^41 --device cpu
refuses 1 'do not fit 4 blocks' run sort --rows 4 --columns 300000 --segments i32 --cluster 4 --device cpu

# --- a payload, of every form and width, with and without other results
on_cpu sort --rows 3 --columns 100 --payload b8 --payload-stride 103
on_cpu sort --rows 3 --columns 1000 --payload b64 --result values --dtype bf16
on_cpu sort --rows 3 --columns 1000 --payload b16 --result neither --cluster 2
on_cpu sort --rows 1 --columns 600 --payload b32 --result neither --form grid --block 256 --items 1
on_cpu sort --rows 9 --columns 300 --payload b32 --result indices --segments i64
gives '"payload"' run sort --rows 3 --columns 100 --payload b32 --result neither --device cpu --json
refuses 64 'there is no payload, so nothing would be written' run sort --rows 3 --columns 100 --result neither --device cpu
refuses 64 'payload-stride: 99 is below the 100 columns' run sort --rows 3 --columns 100 --payload b32 --payload-stride 99 --device cpu
refuses 64 'rows, payload-stride' run sort --rows 2^31-1 --columns 1 --payload b64 --payload-stride 2^32-1 --device cpu

# --- values out of their range
refuses 64 "presence: 'inf' is not a finite number" run sample --presence inf --device cpu
refuses 64 'repetition: 0 is not above 0' run sample --repetition 0 --device cpu
refuses 64 'temperature: -1 is not 0 or above' run sample --temperature -1 --device cpu
refuses 64 'top-p: 0 is not above 0 and at most 1' run sample --top-p 0 --device cpu

finish
