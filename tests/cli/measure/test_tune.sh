# SPDX-License-Identifier: Apache-2.0
# ptxgen tune: what it refuses, what a dry run shows, and, with times that are made up, what it keeps and how later
# commands take it.
source "$(dirname "$0")/../cli.bash"

export CLUSTERJIT_CACHE_DIR=$dir/cache
real=$ptxgen made_up=${CJ_PTXGEN_MADE_UP_TIMES:?the path of ptxgen with made-up times}
problem=(gemm --device cpu --m 100 --n 72 --k 40 --split 1 --parts 1)

# Times of the CPU device mean nothing: it is refused before anything is made.
refuses 4 'say nothing about a GPU' tune gemm --device cpu --m 2^20 --n 2^20 --k 2^20
refuses 64 'nothing is left to tune' tune topk --device cpu --cluster 1 --block 128 --form sift --parts 1
refuses 4 'no parameters that tuning may choose' tune exchange --device cpu
refuses 64 'which kernel family?' tune
refuses 64 'which kernel family?' tune --json
refuses 64 'which kernel family?' tune --dry-run
refuses 64 "'topk' stands after the options" tune --list topk
refuses 64 'exclude each other' tune --list --forget
refuses 64 'exclude each other' tune topk --list --dry-run
gives 'Usage: ptxgen tune' help tune
gives '--dry-run' help tune
gives '--dry-run' help tune gemm

# A dry run checks every candidate.
gives 'all with right results; nothing was measured or kept' tune topk --device cpu --dry-run --rows 3 --columns 200 --k 5
gives 'block=128: not launched: another candidate is this kernel' tune topk --device cpu --dry-run --rows 3 --columns 200 --k 5 --verbose
gives 'stages=6: not launched: ' tune "${problem[@]}" --tile 128x256 --cluster-n 1 --dry-run --verbose
gives '"kept": null' tune "${problem[@]}" --tile 128x256 --cluster 1 --cluster-n 1 --dry-run --json
json 'len(o["candidates"]) > 1 and o["candidates"][0]["choice"] == "the plan'"'"'s choice"'
json 'len({c["choice"] for c in o["candidates"]}) == len(o["candidates"]) and "time_ms" not in o["candidates"][0]'
json 'any("stages=6" == r["choice"] and "do not fit" in r["reason"] for r in o["refused"])'
gives 'Nothing is kept' tune --list
[[ ! -e $dir/cache ]] || failed 'tune --dry-run' 'it made the cache directory'

# The fastest is kept, and what runs later has it.
ptxgen=$made_up
export CJ_MADE_UP_FAST='stages=3 tile=64x128'
gives 'Kept: tile=64x128 stages=3, 1.235 times as fast' tune "${problem[@]}" --cluster 1 --cluster-n 1
[[ $(<"$dir/out") == *'the fastest'* && $(<"$dir/out") == *"the plan's"* ]] || failed tune 'the table does not say which is which'
gives '"kept": "tile=64x128 stages=3"' tune "${problem[@]}" --json --cluster 1 --cluster-n 1
json 'o["candidates"][0]["time_ms"] == min(c["time_ms"] for c in o["candidates"])'
json 'abs(o["candidates"][0]["ratio"] - 1 / 0.81) < 1e-6 and o["time_source"] == "made up"'
ptxgen=$real
gives 'm=100 n=72 k=40 cluster=1 cluster-n=1 split=1 parts=1' tune --list
gives '"choice": "tile=64x128 stages=3"' tune --list --json
json 'len(o["plans"]) == 1 and o["plans"][0]["untuned_ms"] == 1 and "CPU device, sm_" in o["plans"][0]["device"]'
gives '"note": "tuned for this device: tile=64x128 stages=3"' run "${problem[@]}" --cluster 1 --cluster-n 1 --json
json 'o["ok"] and o["plan"]["entry"].endswith("64x128")'
gives 'tile=64x128' bench "${problem[@]}" --cluster 1 --cluster-n 1 --rounds 1
CLUSTERJIT_TUNING=off gives '"note": ""' run "${problem[@]}" --cluster 1 --cluster-n 1 --json
gives '"note": ""' run "${problem[@]}" --cluster 1 --json
gives '"note": ""' run "${problem[@]}" --cluster 1 --cluster-n 1 --stages 3 --json

# A damaged file is no obstacle: what is whole is used, and the next tuning mends it.
sed -i 's/stages=3/stages=2/' "$dir/cache/tuning-1.txt"
gives '"note": ""' run "${problem[@]}" --cluster 1 --cluster-n 1 --json
CLUSTERJIT_LOG=info run tune --list
[[ $(<"$dir/err") == *'tuning-1.txt in the cache directory has 1 damaged line;'* ]] || failed 'tune --list' 'it does not say that a line is damaged'
ptxgen=$made_up
gives 'Kept: ' tune "${problem[@]}" --cluster 1 --cluster-n 1
CJ_MADE_UP_FAST='block=128' gives 'Kept: block=128' tune topk --device cpu --rows 3 --columns 200 --k 5 --form sift
[[ $(wc -l <"$dir/cache/tuning-1.txt") == 3 ]] || failed tune 'the damaged line is still there'

# The numbers of a dry run add up: lines of the table and those that are left out are the candidates; --json has all of them.
many=(softmax --device cpu --rows 4 --columns 300 --dry-run)
gives ' more were right; --verbose shows them' tune "${many[@]}"
lines=$(grep -c '^\(direct\|stream\|spread\)' "$dir/out") left=$(sed -n 's/ more were right.*//p' "$dir/out") all=$(sed -n 's/.*: \([0-9]*\) candidates$/\1/p' "$dir/out")
((lines + left == all)) || failed tune "$lines lines and $left more are not $all candidates"
gives '"candidates"' tune "${many[@]}" --json
[[ $(python3 -c 'import json, sys; print(len(json.load(sys.stdin)["candidates"]))' <"$dir/out") == "$all" ]] || failed tune "--json has not all $all candidates"

# Where nothing is faster than the plan any more, what was kept goes; so does what is to be forgotten.
CJ_MADE_UP_FAST='' gives 'nothing is kept' tune topk --device cpu --rows 3 --columns 200 --k 5 --form sift
ptxgen=$real
gives 'Nothing is kept.' tune topk --list
gives 'Forgotten: 0' tune gemm --m 100 --forget
gives 'Forgotten: 1' tune gemm --m 100 --n 72 --k 40 --split 1 --parts 1 --cluster 1 --cluster-n 1 --forget
gives '"forgotten": 0' tune --forget --json

# A candidate with a wrong result is named, and nothing is kept. Of a scan of 300000 elements a sample is 256 pieces of 1024; element
# 7500 is in none of them, so it is found where the candidate is the fastest.
ptxgen=$made_up
long=(scan --device cpu --dtype i32 --rows 1 --columns 300000 --block 256 --form direct --cluster 0 --width 4)
CJ_MADE_UP_WRONG=loads=2:0 refuses 1 'wrong result with loads=2: row 0, column 0 is ' tune "${long[@]}"
CJ_MADE_UP_FAST=loads=2 CJ_MADE_UP_WRONG=loads=2:30000 refuses 1 'wrong result with loads=2: row 0, column 7500 is ' tune "${long[@]}"
CJ_MADE_UP_WRONG=loads=2:30000 refuses 1 'wrong result with loads=2: row 0, column 7500 is ' tune "${long[@]}" --dry-run
gives 'Nothing is kept.' tune scan --list
CJ_MADE_UP_FAST=loads=2 gives 'Kept: loads=2' tune "${long[@]}"
CJ_MADE_UP_WRONG=block=128:4 refuses 1 'wrong result with block=128' tune topk --device cpu --rows 3 --columns 200 --k 5 --form sift
CJ_MADE_UP_WRONG=block=128:1 refuses 1 'wrong result with block=128' tune argmax --device cpu --rows 3 --columns 200
CJ_MADE_UP_WRONG=block=128:1 refuses 1 'wrong result with block=128' tune sort --device cpu --rows 3 --columns 200 --form block
gives 'Forgotten: 1' tune scan --forget

# Without a directory there is nothing to keep it in, and that is said.
ptxgen=$made_up
CLUSTERJIT_CACHE_DIR='' refuses 2 'switched off' tune "${problem[@]}" --cluster 1 --cluster-n 1

finish
