# SPDX-License-Identifier: Apache-2.0
# ptxgen run collective without clusters: random ones, watched, bit for bit as those of a cluster; and what it refuses.
source "$(dirname "$0")/../cli.bash"

RANDOM=${CJ_SEED:-$(date +%N | sed 's/^0*//')}
seed=$RANDOM
RANDOM=$seed
echo "CJ_SEED=$seed repeats this run"

# pick WORD...: one of them, in $picked.
pick() {
    shift $((RANDOM % $#))
    picked=$1
}

for ((i = 0; i < 40; i++)); do
    size=$((RANDOM % 16 + 1))
    what=(--size "$size" --count $((RANDOM % 3 ? RANDOM % 40 + 1 : 1)) --rounds $((RANDOM % 5 + 1))
        --clusters $((RANDOM % 3 + 1)) --block $((RANDOM % 4 * 32 + 32)))
    pick broadcast reduce allreduce gather allgather scatter reduce-scatter all-to-all scan shift
    op=$picked
    what+=(--op "$op")
    combines=0
    case $op in *reduce* | scan) combines=1 ;; esac
    if ((combines)); then
        pick f32 f64 i32 u32 i64 u64 f16 bf16
        what+=(--dtype "$picked")
        pick sum min max product
        what+=(--combine "$picked")
    else
        pick f32 f64 i32 u32 i64 u64 f16 bf16 i8 u8 i16 u16
        what+=(--dtype "$picked")
    fi
    # what goes with this operation alone is set for it alone
    case $op in
    broadcast | reduce | gather | scatter) what+=(--root $((RANDOM % size))) ;;
    scan)
        pick no yes
        what+=(--exclusive "$picked")
        ;;
    shift)
        pick higher lower
        what+=(--distance $((RANDOM % 20)) --toward "$picked")
        pick no yes
        what+=(--around "$picked")
        ;;
    esac
    gives "groups, without clusters, of $size," run collective --device cpu --cluster 0 "${what[@]}" --hazards on --schedule seed:$i
done

refuses 64 'a collective is of a cluster' run collective --device cpu --cluster 0
refuses 64 'size=8 blocks work together, but a cluster has 4' run collective --device cpu --size 8
refuses 64 'a part of 65536 bytes exceeds the 65520 that each of 16 blocks may have' run collective --device cpu --count 16383 --cluster 4 --cluster-z 4
refuses 64 'root: 5 is no rank' run collective --device cpu --cluster 0 --size 4 --op gather --root 5
gives 'without clusters' emit collective --cluster 0 --size 4 --arch sm_80
[[ $(<"$dir/out") != *cluster_ctarank* && $(<"$dir/out") != *reqnctapercluster* ]] || failed 'emit collective' 'it has a cluster'
finish
