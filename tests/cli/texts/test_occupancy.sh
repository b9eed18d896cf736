# SPDX-License-Identifier: Apache-2.0
# ptxgen occupancy: tables by the model, for which no GPU is needed.
source "$(dirname "$0")/../cli.bash"

# One block of 200 KiB an SM: the clusters that an H200's driver counts.
cat >"$dir/large.ptx" <<'PTX'
.version 8.0
.target sm_90
.address_size 64
.extern .shared .align 16 .b8 tile[];
.visible .entry large(.param .u64 out) { ret; }
PTX
gives 'CLUSTER BLOCKS/SM ACTIVE CLUSTERS BLOCKS SMS IN USE STRANDED LIMITED BY' \
    occupancy "$dir/large.ptx" --block 256 --smem 204800 --target h200
counts=$(awk '$1 ~ /^(none|[0-9]+)$/ { print $1 ":" $3 ":" $6 }' "$dir/out" | tr '\n' ' ')
[[ $counts == 'none:132:0 1:132:0 2:66:0 4:30:12 8:15:12 16:7:20 ' ]] || failed "occupancy" "it counts $counts"
[[ $(grep '<- chosen' "$dir/out") == *' 4 '*'shared memory, GPC size  <- chosen'* ]] || failed "occupancy" "4 is not chosen"
grep -q '^Chosen: nothing is known' "$dir/out" || failed "occupancy" "it does not say why"

# The smallest that does the job: a family's plan knows, of a kernel in a file nothing is known.
gives '"chosen": 2' occupancy "$dir/large.ptx" --block 256 --smem 204800 --target h200 --keep 100 --json
gives '"chosen": 4' occupancy "$dir/large.ptx" --block 256 --smem 204800 --target h200 --keep 80 --json
json '"nothing is known" in o["why"]'
for rows in 8192x32768 1024x262144 64x200; do
    problem=(softmax --rows "${rows%x*}" --columns "${rows#*x}")
    "$ptxgen" emit "${problem[@]}" --arch sm_90 >"$dir/emitted.ptx"
    cluster=$(sed -n 's/.*reqnctapercluster \([0-9]*\).*/\1/p' "$dir/emitted.ptx")
    gives "\"chosen\": ${cluster:-0}" occupancy "${problem[@]}" --target h200 --json
    json '"the plan takes" in o["why"]'
done

# What limits: registers, threads.
gives '"limited_by": "registers"' occupancy "$dir/large.ptx" --block 1024 --registers 64 --target h200 --json
gives '"limited_by": "threads"' occupancy "$dir/large.ptx" --block 1024 --registers 32 --target h200 --json
gives 'registers are not counted' occupancy "$dir/large.ptx" --block 1024 --target h200

# A family, on a GPU that has no clusters, and on the device here.
gives 'none ' occupancy reduce --target a100
[[ $(grep -c '<- chosen' "$dir/out") == 1 ]] || failed "occupancy reduce --target a100" "not one row is chosen"
grep -q 'no thread block clusters' "$dir/err" || failed "occupancy reduce --target a100" "it does not say why"
gives 'LIMITED BY' occupancy reduce --device cpu --block 512

# Sizes that the problem cannot have are left out.
gives '"chosen"' occupancy gemm --target h200 --json
json '[r["cluster"] for r in o["clusters"]] == [0, 1, 2, 4]'
gives '"chosen": 4' occupancy collective --target h200 --json
refuses 64 'does not go with dtype=i8' occupancy collective --dtype i8 --target h200

# A kernel that declares its cluster has no other.
gives 'refused: cluster-required' occupancy "$(dirname "$0")/../../cpu/device/cluster_sum.ptx" --target h200
gives '"chosen": 4' occupancy "$(dirname "$0")/../../cpu/device/cluster_sum.ptx" --target h200 --json

refuses 64 'how many threads a block?' occupancy "$dir/large.ptx" --target h200
refuses 64 'which kernel?' occupancy
refuses 64 "no entry 'small'" occupancy "$dir/large.ptx" --entry small --block 32 --target h200
refuses 64 'exclude each other' occupancy reduce --target h200 --device cpu
refuses 2 'cannot read' occupancy "$dir/none.ptx"
run occupancy "$dir/large.ptx" --block 32 --smem 999999 --target h200
[[ $code == 1 && $(<"$dir/out") == *'refused: shared-limit'* ]] || failed "occupancy" "more shared memory than there is"

finish
