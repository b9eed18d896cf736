# SPDX-License-Identifier: Apache-2.0
# contract: what would launch, what would not and why, and which mistakes on the command line are refused.
source "$(dirname "$0")/../cli.bash"

# judged CODE TEXT ARGUMENT...: exits with CODE, and TEXT is within what it prints.
judged() {
    local want=$1 text=$2
    shift 2
    run contract "$@"
    [[ $code == "$want" ]] || failed "contract $*" "exit code $code, not $want"
    [[ $(<"$dir/out") == *"$text"* ]] || failed "contract $*" "no '$text' in its output"
    [[ ! -s $dir/err ]] || failed "contract $*" "it has something to say on standard error"
}

# rules RULE...: the last verdict named these and no others, in this order.
rules() {
    local named
    named=$(sed -n 's/^\(error\|warning\): .* \[\(.*\)\]$/\2/p' "$dir/out" | tr '\n' ' ')
    [[ $named == "${*/%/ }" || $named == "$* " ]] || failed contract "it names '$named', not '$*'"
}

cat >"$dir/k.ptx" <<'PTX'
.version 8.0
.target sm_90
.address_size 64
.visible .entry pair()
.reqntid 128
.explicitcluster
.reqnctapercluster 2
{
    ret;
}
.visible .entry plain()
.minnctapersm 2
{
    ret;
}
PTX

# --- what launches
judged 0 'NVIDIA H200 (built in) would make this launch: 0 of ' --grid 64 --block 256 --cluster 4 --target h200
[[ $(<"$dir/out") == *'cluster  4 x 1 x 1 = 4 blocks, portable to 8, at most 16'* ]] || failed contract 'no line on the cluster'
judged 0 '2 x 1 x 1 = 2 blocks, as the kernel says' "$dir/k.ptx" --entry pair --grid 4 --block 128 --target sm_90
judged 0 '48 KiB' --help
judged 0 'would make' --grid 16 --block 32 --cluster 16 --nonportable --target h100
judged 0 'would make' --grid 1 --block 1024 --smem 232448 --smem-opt-in yes --target h200
judged 0 'would make' --grid 1 --block 1

cat >"$dir/clusters.ptx" <<'PTX'
.version 9.0
.target sm_90
.address_size 64
.visible .entry clusters(.param .u64 out)
.reqntid 32
.blocksareclusters
.reqnctapercluster 1, 2
{
    .reg .b64 %out;
    .reg .b32 %n;
    ld.param.u64 %out, [out];
    mov.u32 %n, %nctaid.y;
    st.relaxed.gpu.global.u32 [%out], %n;
    red.gpu.global.add.u32 [%out + 4], 1;
    ret;
}
PTX
judged 0 'grid     3 x 5 x 1 clusters = 3 x 10 x 1 blocks' "$dir/clusters.ptx" --grid 3,5 --block 1 --target h200
[[ $(<"$dir/out") == *'block    32 x 1 x 1 = 32 threads, as the kernel says'* ]] || failed contract 'the block is not the required one'
judged 0 '"runs"' "$dir/clusters.ptx" --grid 3,5 --block 32 --target h200 --json
[[ $(tr -d ' \n' <"$dir/out") == *'"runs":{"grid":[3,10,1],"block":[32,1,1],"cluster":[1,2,1]}'* ]] || failed 'contract --json' 'what runs is not told'
judged 1 'counts clusters' "$dir/clusters.ptx" --grid 1,32768 --block 32 --target h200
rules grid-axis
run exec "$dir/clusters.ptx" --grid 3,5 --block 32 --arg 'u32[2]=zeros' --print 0
[[ $code == 0 && $(<"$dir/out") == *'10 960'* ]] || failed exec "a grid of 3 x 5 clusters of 2 blocks: $(<"$dir/out")"
run occupancy "$dir/clusters.ptx" --target h200
[[ $code == 0 && $(<"$dir/out") == *' 2 '*'<- chosen'* ]] || failed occupancy "the cluster of 1 x 2 blocks is not counted"
sed 's/cluster 1, 2/cluster 1, 3/' "$dir/clusters.ptx" >"$dir/three.ptx"
run occupancy "$dir/three.ptx" --target h200
[[ $code == 0 && $(<"$dir/out") == *$'\n      3 '*'<- chosen'* ]] || failed occupancy "the cluster of 1 x 3 blocks is not counted"

# --- what does not, with every rule
judged 1 'would refuse this launch: 3 of ' "$dir/k.ptx" --entry pair --grid 3 --block 64 --smem 50000 --target h200
rules block-required cluster-grid-multiple shared-optin
judged 1 'hint: use at most 8 blocks a cluster, or opt into non-portable sizes' --grid 16 --block 32 --cluster 16 --target h200
rules cluster-portable
judged 1 '' --grid 65536,65536,65536 --block 65536,65536,65536 --cluster 65536,65536,65536 --target sm_120
rules block-axis block-threads grid-axis cluster-size
judged 1 '= 281474976710656 threads exceeds the limit of 1024' --grid 1 --block 65536,65536,65536 --target h200
judged 1 '' --grid 0 --block 32 --target a100 --cluster 2
rules grid-zero cluster-target
judged 1 'exceeds the 264 that' --grid 265 --block 1024 --cooperative --target h200
rules cooperative-size
judged 1 'registers' --grid 1 --block 1024 --registers 128 --target b200
rules block-registers
judged 1 'does not run on NVIDIA A100' "$dir/k.ptx" --entry pair --grid 2 --block 128 --target a100
judged 1 '' --grid 4 --block 32 --cluster 2 --preferred 3 --target b200
rules preferred-multiple preferred-grid-multiple

# --- warnings do not refuse
judged 0 ', 1 warning' "$dir/k.ptx" --entry plain --grid 1 --block 32 --target h200
rules directive-ignored

# --- JSON
judged 1 '"launches": false' --grid 3 --block 32 --cluster 2 --target h200 --json
[[ $(<"$dir/out") == *'"rule": "cluster-grid-multiple"'* ]] || failed 'contract --json' 'the rule is not named'
judged 0 '"violations": []' --grid 2 --block 32 --cluster 2 --target h200 --json

# --- standard input, and files that cannot be judged
run contract - --entry plain --grid 1 --block 32 --target h200 <"$dir/k.ptx"
[[ $code == 0 ]] || failed 'contract -' "exit code $code"
printf '.version 8.0\n.target sm_90\n.entry k( {\n' >"$dir/broken.ptx"
run contract "$dir/broken.ptx" --grid 1 --block 1 --target h200
[[ $code == 1 && $(<"$dir/err") == *"broken.ptx:3:"* ]] || failed 'contract broken.ptx' 'the place is not named'
printf '.version 8.0\n.target sm_90\n.address_size 64\n.entry k()\n{\n    wgmma.fence.sync.aligned;\n    ret;\n}\n' >"$dir/arch.ptx"
run contract "$dir/arch.ptx" --grid 1 --block 128 --target h200
[[ $code == 1 && $(<"$dir/err") == *"arch.ptx:6:"*"[target-arch]"* ]] || failed 'contract arch.ptx' 'sm_90a is not asked for'
refuses 2 'none.ptx' contract "$dir/none.ptx" --grid 1 --block 1
refuses 64 'several entries' contract "$dir/k.ptx" --grid 1 --block 1 --target h200
refuses 64 "no entry 'triple'" contract "$dir/k.ptx" --entry triple --grid 1 --block 1 --target h200

# --- mistakes
refuses 64 '--grid and --block' contract --grid 1
refuses 64 'one to three whole numbers' contract --grid 1,2,3,4 --block 1
refuses 64 'one to three whole numbers' contract --grid 1 --block 4294967296
refuses 64 'yes or no' contract --grid 1 --block 1 --smem-opt-in maybe
refuses 64 "did you mean h200?" contract --grid 1 --block 1 --target hh200
refuses 64 "not a known target" contract --grid 1 --block 1 --target h20
refuses 64 "unknown option '--frob'" contract --grid 1 --block 1 --frob
refuses 64 'from 1 to 255' contract --grid 1 --block 1 --registers 256
refuses 64 'one file too many' contract a b --grid 1 --block 1
refuses 64 'none is given' contract --entry k --grid 1 --block 1
finish
