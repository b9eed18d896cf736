# SPDX-License-Identifier: Apache-2.0
# --stats: matrix instructions with what they multiply and read, and asynchronous bytes by kind, as a table and as JSON.
source "$(dirname "$0")/../cli.bash"

# counts LABEL NUMBER: the table of the last run has this line.
counts() {
    grep -qE "^  $1 +$2\$" "$dir/err" || failed --stats "no '$1 $2' in $(<"$dir/err")"
}

cat >"$dir/matrix.ptx" <<'END'
.version 8.0
.target sm_90a
.address_size 64
.visible .entry matrix() .reqntid 128
{
    .shared .align 1024 .b8 tile[4096];
    .reg .f32  %f<8>;
    .reg .b32  %r<8>;
    .reg .b64  %d;
    .reg .pred %p;
    mov.u32    %r0, tile;
    mov.u32    %r1, %tid.x;
    shl.b32    %r1, %r1, 5;
    add.u32    %r1, %r0, %r1;
    st.shared.v4.b32 [%r1], {0, 0, 0, 0};
    st.shared.v4.b32 [%r1 + 16], {0, 0, 0, 0};
    fence.proxy.async.shared::cta;
    bar.sync   0;
    mov.b32    %r2, 0;
    mov.b32    %f0, 0f00000000;
    mov.b32    %f1, 0f00000000;
    mov.b32    %f2, 0f00000000;
    mov.b32    %f3, 0f00000000;
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r2, %r2, %r2, %r2}, {%r2, %r2},
        {%f0, %f1, %f2, %f3};
    shr.u32    %r3, %r0, 4;
    cvt.u64.u32 %d, %r3;
    or.b64     %d, %d, 0x0000000800080000;
    setp.ne.u32 %p, %r2, 0;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d, %d, %p, 1, 1, 0, 0;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f4, %f5, %f6, %f7}, {%r2, %r2, %r2, %r2}, %d, %p, 1, 1, 0;
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    ret;
}
END
gives '' exec "$dir/matrix.ptx" --block 128 --stats
counts mma 4                          # one a warp
counts wgmma 2                        # one a warp group
counts 'mma, multiply-adds' $((4 * 16 * 8 * 16))
counts 'wgmma, multiply-adds' $((2 * 64 * 8 * 16))
counts 'shared, read by wgmma' $((64 * 16 * 2 + 2 * 8 * 16 * 2)) # A once, the other time it is in registers; B twice

# A cp.async of 32 threads, a bulk copy to all of a cluster of two, a bulk copy back, a tensor copy to one.
cat >"$dir/copies.ptx" <<'END'
.version 8.0
.target sm_90
.address_size 64
.visible .entry copies(.param .u64 in, .param .u64 out, .param .align 64 .b8 map[128]) .reqntid 32 .reqnctapercluster 2, 1, 1
{
    .shared .align 128 .b8 tile[1024];
    .shared .align 8 .b64 bar;
    .reg .b32 %r<8>;
    .reg .b64 %l<8>;
    .reg .b16 %all;
    .reg .pred %one, %first, %both, %done;
    ld.param.u64 %l0, [in];
    ld.param.u64 %l1, [out];
    mov.b64      %l2, map;
    cvta.param.u64 %l2, %l2;
    mov.u32      %r0, %tid.x;
    mov.u32      %r1, %cluster_ctarank;
    mov.u32      %r2, tile;
    mad.lo.u32   %r3, %r0, 4, %r2;
    mad.wide.u32 %l3, %r0, 4, %l0;
    mov.u16      %all, 3;
    setp.eq.u32  %one, %r0, 0;
    setp.eq.u32  %first, %r1, 0;
    and.pred     %both, %one, %first;
    cp.async.ca.shared.global [%r3 + 512], [%l3], 4;
    cp.async.wait_all;
    @%one mbarrier.init.shared::cta.b64 [bar], 1;
    fence.mbarrier_init.release.cluster;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    @%one mbarrier.arrive.expect_tx.shared::cta.b64 %l4, [bar], 384;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    @%both cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [tile], [%l0], 256, [bar], %all;
    @%one cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile + 256], [%l2, {0}], [bar];
wait:
    mbarrier.try_wait.parity.shared::cta.b64 %done, [bar], 0;
    @!%done bra  wait;
    @%both cp.async.bulk.global.shared::cta.bulk_group [%l1], [tile], 64;
    @%both cp.async.bulk.commit_group;
    @%both cp.async.bulk.wait_group 0;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    ret;
}
END
copies=("$dir/copies.ptx" --grid 2 --block 32 --arg 'f32[64]=iota' --arg 'f32[16]=zeros' --arg 'tensor:f32[64]@0,box=32')
gives '' exec "${copies[@]}" --stats --hazards on
counts '  by cp.async' $((2 * 32 * 4))
counts '  by bulk copies' $((2 * 256 + 64))
counts '  by tensor copies' $((2 * 128))
counts '  of these, multicast' $((2 * 256))
counts 'moved asynchronously' $((2 * 32 * 4 + 2 * 256 + 64 + 2 * 128))

# What goes to a peer asynchronously, by st.async or bulk copies, is of distributed shared memory.
gives '' run exchange --device cpu --stats --cluster 4 --n 1024
counts 'distributed shared, written' $((4 * 1024 * 4))
gives '' run exchange --device cpu --stats --cluster 4 --n 16384 --pattern all-to-all --repeat 5
counts 'distributed shared, written' $((5 * 4 * 16384 * 4 * 3 / 4))

# Of a kernel that is launched again and again, the launches of one run count, and not those of other runs.
gives 'Mismatches: 0 of' run stencil --device cpu --stats --strategy blocked --depth 4 --nx 64 --ny 64 --steps 16
counts 'global, written' $((16 / 4 * 64 * 64 * 4))

if command -v python3 >"$dir/which"; then
    gives '"launches"' check --run "${copies[@]}" --json --stats
    python3 - "$dir/out" <<'END' || failed "check --run --json --stats" "it is not as described"
import json, sys
stats = json.load(open(sys.argv[1]))["launches"][0]["stats"]
assert (stats["copy_bytes"], stats["bulk_bytes"], stats["tensor_bytes"], stats["multicast_bytes"]) == (256, 576, 256, 512)
assert stats["wgmma_instructions"] == stats["mma_multiply_adds"] == 0
assert sum(stats["by_class"].values()) == stats["thread_instructions"]
END
    gives '"stats"' run reduce --device cpu --json --stats
    [[ ! -s $dir/err ]] || failed "run --json --stats" "a table beside the JSON"
fi
# --- by lines: of the PTX where nothing tells its source, else of the source; what they say adds up to what all say
lines_add_up() {
    json 'all(sum(l[a] for l in o["stats"]["lines"]) == b for a, b in [("thread_instructions", o["stats"]["thread_instructions"]),
          ("warp_instructions", o["stats"]["warp_instructions"]), ("global_sectors", o["stats"]["global_sectors"]),
          ("bank_conflicts", o["stats"]["bank_conflicts"]), ("async_bytes", o["stats"]["async_bytes"]),
          ("local_bytes", o["stats"]["local_bytes"]),
          ("barrier_waits", o["stats"]["block_barriers"] + o["stats"]["cluster_barriers"] + o["stats"]["mbarrier_waits"])])'
    json '[l["thread_instructions"] for l in o["stats"]["lines"]] == sorted((l["thread_instructions"] for l in o["stats"]["lines"]), reverse=True)'
}
gives '' exec "$dir/matrix.ptx" --block 128 --stats --json
lines_add_up
json 'all(l["ptx"] and l["file"].endswith("matrix.ptx") for l in o["stats"]["lines"])'
json '[l for l in o["stats"]["lines"] if l["line"] == 15][0]["shared_bytes"] == 128 * 16'
json '[l for l in o["stats"]["lines"] if l["line"] == 18][0]["barrier_waits"] == 128'

# Threads load 4 bytes, 64 bytes apart: a sector each, on line 7; store them at shared[32 * thread], one bank, on line 8; line 3, in a
# function that was inlined on line 9, reads 128 neighbouring bytes of global memory: 4 sectors.
cat >"$dir/lines.ptx" <<'END'
.version 8.0
.target sm_90
.address_size 64
.visible .entry lines(.param .u64 x)
{
    .reg .b32 %r<8>;
    .reg .b64 %d<8>;
    .shared .align 4 .b8 tile[4096];
    .loc 1 7 5
    ld.param.u64 %d0, [x];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %d1, %r0, 64;
    add.u64 %d1, %d0, %d1;
    ld.global.u32 %r1, [%d1];
    .loc 1 8 5
    shl.b32 %r2, %r0, 7;
    mov.u32 %r3, tile;
    add.u32 %r2, %r2, %r3;
    st.shared.u32 [%r2], %r1;
    .loc 1 9 5
    bar.sync 0;
    .loc 1 3 5, function_name $name, inlined_at 1 9 5
    mul.wide.u32 %d1, %r0, 4;
    add.u64 %d1, %d0, %d1;
    ld.global.u32 %r1, [%d1];
    .loc 1 7 9
    ret;
}
.file 1 "lines.cu"
END
seq -f 'line %g of the source;' 12 >"$dir/lines.cu"
cd "$dir" || exit 1
how=(exec lines.ptx --block 32 --arg 'u32[512]=zeros' --stats)
gives '' "${how[@]}"
grep -qE '^line +instructions +of warps +global B +sectors +shared B +conflicts +waits$' err || failed --stats 'no head of the lines'
grep -qE '^lines\.cu:7 +192 +6 +128 +32 +0 +0 +0  line 7 of the source;$' err || failed --stats 'no line 7'
grep -qE '^lines\.cu:8 +128 +4 +0 +0 +128 +31 +0  line 8 of the source;$' err || failed --stats 'no line 8'
grep -qE '^lines\.cu:3 +96 +3 +128 +4 +0 +0 +0  line 3 of the source;$' err || failed --stats 'no line 3'
grep -qE '^lines\.cu:9 +32 +1 +0 +0 +0 +0 +32  line 9 of the source;$' err || failed --stats 'no line 9'
[[ $(grep -n '^lines.cu' err | head -1) == *lines.cu:7* ]] || failed --stats 'line 7 is not the first'
gives '' "${how[@]}" --json
lines_add_up
json '[(l["file"], l["line"], l["ptx"]) for l in o["stats"]["lines"]][0] == ("lines.cu", 7, False) and len(o["stats"]["lines"]) == 4'
json 'o["stats"]["global_sectors"] == 36'
rm lines.cu
gives '' "${how[@]}"
grep -qE '^lines\.cu:7 +192 +6 +128 +32 +0 +0 +0 +$' err || failed --stats 'no line 7 without its text'
finds 0 '' check --run lines.ptx --block 32 --stats --json
json 'o["launches"][0]["stats"]["lines"][0]["line"] == 7'
gives '' run reduce --device cpu --stats --json
json '"lines" not in o["stats"]'
finish
