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
finish
