# SPDX-License-Identifier: Apache-2.0
# The arguments of exec: tensor maps and structures by value, and values that do not fit.
source "$(dirname "$0")/../cli.bash"

# A block copies the map's box at (x, y), 8 x 4 words of f32, to shared memory and from there to `out`.
cat >"$dir/box.ptx" <<'END'
.version 8.0
.target sm_90
.address_size 64
.visible .entry box(.param .u64 out, .param .align 64 .b8 map[128], .param .align 4 .b8 at[8])
    .reqntid 32
{
    .shared .align 128 .b8 tile[128];
    .shared .align 8 .b64 bar;
    .reg .b32 %r<8>;
    .reg .b64 %l<4>;
    .reg .pred %p<3>;
    ld.param.u64   %l0, [out];
    mov.b64        %l1, map;
    cvta.param.u64 %l1, %l1;
    ld.param.u32   %r1, [at];
    ld.param.u32   %r2, [at + 4];
    mov.u32        %r0, %tid.x;
    setp.eq.u32    %p0, %r0, 0;
    @%p0 mbarrier.init.shared::cta.b64 [bar], 1;
    fence.mbarrier_init.release.cluster;
    bar.sync       0;
    @!%p0 bra      wait;
    mbarrier.arrive.expect_tx.shared::cta.b64 %l2, [bar], 128;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [tile], [%l1, {%r1, %r2}], [bar];
wait:
    mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;
    @!%p1 bra      wait;
    mov.u32        %r3, tile;
    mad.lo.u32     %r3, %r0, 4, %r3;
    ld.shared.u32  %r4, [%r3];
    mad.wide.u32   %l3, %r0, 4, %l0;
    st.global.u32  [%l3], %r4;
    ret;
}
END

# box TENSOR AT [OPTION...]: runs it on a buffer of 0, 1, 2, … and prints what was copied; AT: x and y in hexadecimal.
box() {
    local tensor=$1 at=$2
    shift 2
    printf '%s\n' exec "$dir/box.ptx" --block 32 --arg 'f32[32]=zeros' --arg "$tensor" --arg "bytes:8=$at" --print 0 --hazards on "$@"
}
copies() {
    local want=$1
    shift
    mapfile -t words < <(box "$@")
    gives "$want" "${words[@]}"
    [[ ! -s $dir/err ]] || failed "${words[*]}" "it has something to say"
}
refuses_tensor() {
    mapfile -t words < <(box "$2" 0000000000000000)
    refuses 64 "$1" "${words[@]}"
}

origin=0000000000000000
copies '0.0 1.0 2.0 3.0 4.0 5.0 6.0 7.0 16.0 17.0 18.0 19.0 20.0 21.0 22.0 23.0 32.0 ' 'tensor:f32[16x8]=iota,box=8x4' $origin
copies '4.0 5.0 6.0 7.0 8.0 9.0 10.0 11.0 20.0 ' 'tensor:f32[16x8]=iota,box=8x4' 0400000000000000
copies '112.0 113.0 114.0 115.0 116.0 117.0 118.0 119.0 0.0 ' 'tensor:f32[16x8]=iota,box=8x4' 0000000007000000
copies '112.0 113.0 114.0 115.0 116.0 117.0 118.0 119.0 nan ' 'tensor:f32[16x8]=iota,box=8x4,fill=nan' 0000000007000000
copies '0.0 1.0 2.0 3.0 4.0 5.0 6.0 7.0 32.0 33.0 ' 'tensor:f32[16x4]=iota,box=8x4,stride=128' $origin
copies '0.0 1.0 2.0 3.0 4.0 5.0 6.0 7.0 32.0 33.0 ' 'tensor:f32[16x8]=iota,box=8x7,estride=1x2' $origin
copies '0.0 1.0 2.0 3.0 4.0 5.0 6.0 7.0 16.0 17.0 ' 'tensor:f32[16x8]=iota,box=8x4,swizzle=32,l2=128' $origin
copies '4.0 5.0 ' 'tensor:f32[16x8]=iota,box=8x4,interleave=none,swizzle=none' 0400000000000000
copies '8.0 9.0 10.0 11.0 12.0 13.0 14.0 15.0 24.0 ' 'tensor:f32[8x8]=iota,box=8x4,stride=64,offset=32' $origin

# --- a view of another argument's buffer
mapfile -t words < <(box 'tensor:f32[16x8]@3,box=8x4' $origin)
run "${words[@]}" --arg 'f32[128]=iota'
[[ $code == 64 && $(<"$dir/err") == *'the entry takes 3 arguments, 4 are given'* ]] || failed view "exit code $code"
[[ $(<"$dir/err") == *"out: --arg 'u64[1048576]=zeros', map: --arg 'tensor:TYPE[DIMS]@I,…', at: --arg 'bytes:N=HEX'"* ]] || failed view 'the hint'
sed 's/\.b8 at\[8\])/.b8 at[8], .param .u64 in)/' "$dir/box.ptx" >"$dir/view.ptx"
words=("${words[@]/box.ptx/view.ptx}")
gives '0.0 1.0 2.0 3.0 4.0 5.0 6.0 7.0 16.0 ' "${words[@]}" --arg 'f32[128]=iota'
refuses 64 'reaches to byte 512 of argument 3, which has 508' "${words[@]}" --arg 'f32[127]=iota'
refuses 64 'argument 3 is no buffer' "${words[@]}" --arg u64=1
mapfile -t words < <(box 'tensor:f32[16x8]@7,box=8x4' $origin)
refuses 64 'argument 7 is not given' "${words[@]}"

# --- what a tensor map refuses, by the field
refuses_tensor "its type is 'f31'; it is u8, " 'tensor:f31[16x8]=iota,box=8x4'
refuses_tensor "its shape is '16xx8'; it is 1 to 5 whole numbers" 'tensor:f32[16xx8]=iota,box=8x4'
refuses_tensor "its shape is '1x2x3x4x5x6'" 'tensor:f32[1x2x3x4x5x6]=iota,box=8x4'
refuses_tensor 'tensor:TYPE[DIMS]@I' 'tensor:f32=iota,box=8x4'
refuses_tensor "its buffer is 'x'; it is the number" 'tensor:f32[16x8]@x,box=8x4'
refuses_tensor 'there is no box' 'tensor:f32[16x8]=iota'
refuses_tensor "box is ''" 'tensor:f32[16x8]=iota,box='
refuses_tensor 'box has 1 of the 2 numbers' 'tensor:f32[16x8]=iota,box=8'
refuses_tensor 'stride has 2 of the 1 numbers' 'tensor:f32[16x8]=iota,box=8x4,stride=64x64'
refuses_tensor 'estride has 1 of the 2 numbers' 'tensor:f32[16x8]=iota,box=8x4,estride=1'
refuses_tensor "swizzle is '77'; it is none|32|64|128" 'tensor:f32[16x8]=iota,box=8x4,swizzle=77'
refuses_tensor "fill is 'inf'; it is zeros|nan" 'tensor:f32[16x8]=iota,box=8x4,fill=inf'
refuses_tensor "l2 is '1'; it is none|64|128|256" 'tensor:f32[16x8]=iota,box=8x4,l2=1'
refuses_tensor "interleave is '8'; it is none|16|32" 'tensor:f32[16x8]=iota,box=8x4,interleave=8'
refuses_tensor "offset is '-1'; it is a whole number" 'tensor:f32[16x8]=iota,box=8x4,offset=-1'
refuses_tensor "an option is 'boks'; it is box, " 'tensor:f32[16x8]=iota,boks=8x4'
refuses_tensor 'box[1] is 257; it must be 1 to 256' 'tensor:f32[16x8]=iota,box=8x257'
refuses_tensor 'strides[0] is 12; it must be a multiple of 16' 'tensor:f32[3x8]=iota,box=4x4'
refuses_tensor 'element_strides[1] is 9; it must be 1 to 8' 'tensor:f32[16x8]=iota,box=8x4,estride=1x9'
refuses_tensor "more than the swizzle's 32" 'tensor:f32[16x8]=iota,box=16x4,swizzle=32'
refuses_tensor 'fill is NaN' 'tensor:u32[16x8]=iota,box=8x4,fill=nan'
refuses_tensor 'dims[0] is 0' 'tensor:f32[0x8]=iota,box=8x4,stride=16'
refuses_tensor "there is no such fill" 'tensor:f32[16x8]=what,box=8x4'

# --- textures and surfaces
cat >"$dir/texture.ptx" <<'EOF'
.version 8.0
.target sm_90
.address_size 64
.visible .entry look(.param .u64 texture, .param .u64 out, .param .u64 viewed)
{
    .reg .b64 %l<4>;
    .reg .b32 %r<4>;
    .reg .f32 %f<4>;
    ld.param.u64 %l0, [texture];
    ld.param.u64 %l1, [out];
    mov.u32 %r0, %tid.x;
    tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%l0, {%r0}];
    mad.wide.u32 %l1, %r0, 4, %l1;
    st.global.f32 [%l1], %f1;
    ret;
}
EOF
# texture TEXTURE VIEWED: argument 2 is what a texture @2 views.
texture() { printf '%s\n' exec "$dir/texture.ptx" --block 3 --arg "$1" --arg 'f32[4]=const:9' --arg "$2" --print 1 --hazards on; }
refuses_texture() {
    mapfile -t words < <(texture "$2" "${3-u64=0}")
    refuses 64 "$1" "${words[@]}"
}
mapfile -t words < <(texture 'texture:f32[3]=iota,channels=2' u64=0)
gives '1.0 3.0 5.0 9.0' "${words[@]}"
mapfile -t words < <(texture 'texture:u8[3]@2,channels=2,read=integer' 'u8[6]=iota')
gives '1.401298e-45 4.203895e-45 7.006492e-45 9.0' "${words[@]}"
refuses_texture 'reaches to byte 6 of argument 2, which has 5' 'texture:u8[3]@2,channels=2' 'u8[5]=iota'
refuses_texture 'argument 2 is no buffer' 'texture:u8[3]@2' u64=1
refuses 64 'nothing says what the 8 bytes of the parameter texture are' check --run --block 1 "$dir/texture.ptx"
refuses_texture "its type is 'u64'; it is u8, " 'texture:u64[3]=iota'
refuses_texture "its shape is '3x3x3x3'; it is 1 to 3 whole numbers" 'texture:u8[3x3x3x3]=iota'
refuses_texture 'texture:TYPE[DIMS]@I' 'texture:u8=iota'
refuses_texture 'surface:TYPE[DIMS]@I' 'surface:u8=iota'
refuses_texture "its buffer is 'x'; it is the number" 'texture:u8[3]@x'
refuses_texture "filter is 'cubic'; it is point|linear" 'texture:u8[3]=iota,filter=cubic'
refuses_texture "channels is 'x'; it is a whole number" 'texture:u8[3]=iota,channels=x'
refuses_texture 'channels is 3; it must be 1, 2 or 4' 'texture:u8[3]=iota,channels=3'
refuses_texture 'layers is 2049' 'texture:u8[3]=iota,layers=2049'
refuses_texture "an option is 'filter'; it is channels or layers" 'surface:u8[3]=iota,filter=linear'
refuses_texture 'the texels are read as integers' 'texture:u32[3]=iota,filter=linear'

# --- structures by value
refuses 64 'has 15 hexadecimal digits; 8 bytes have 16' exec "$dir/box.ptx" --arg bytes:8=000000000000000
refuses 64 'then something else' exec "$dir/box.ptx" --arg bytes:2=00g0
refuses 64 'the number of bytes makes no sense' exec "$dir/box.ptx" --arg bytes:0=
refuses 64 'the number of bytes makes no sense' exec "$dir/box.ptx" --arg bytes:x=00
printf '\0\0\0\0\0\0\0\0' >"$dir/at"
mapfile -t words < <(box 'tensor:f32[16x8]=iota,box=8x4' $origin)
gives '0.0 1.0 2.0 ' "${words[@]/bytes:8=*/bytes:8=@$dir/at}"
printf '\0' >>"$dir/at"
refuses 2 'has more than the 8 bytes' "${words[@]/bytes:8=*/bytes:8=@$dir/at}"

# --- values that do not fit their type
while IFS='|' read -r argument words; do
    refuses 64 "--arg '$argument': $words" exec "$dir/box.ptx" --arg "$argument"
done <<'END'
f16[8]=const:1e9|element 0, 1000000000.0, does not fit f16
f16[80000]=iota|element 65520, 65520.0, does not fit f16
f16=65520|element 0, 65520.0, does not fit f16
bf16=3.4e38|element 0, 3.4e+38, does not fit bf16
f32=1e39|the value does not fit the type
f32[2]=const:-1e39|the value does not fit the type
f64=1e999|the value does not fit the type
f64=-1e999|the value does not fit the type
f32=nanny|the value is no number of this type
f32=0x|the value is no number of this type
f32=|the value is no number of this type
u8=300|element 0, 300, does not fit u8
u8[4]=const:256|element 0, 256, does not fit u8
s8=128|element 0, 128, does not fit s8
s16=-32769|element 0, -32769, does not fit s16
u32=4294967296|element 0, 4294967296, does not fit u32
u64=18446744073709551616|the value does not fit the type
s64=9223372036854775808|the value does not fit the type
u32=-1|the value does not fit the type
f32=1e39x|the value is no number of this type
END
# those that do, and those that are meant
cat >"$dir/nothing.ptx" <<'END'
.version 8.0
.target sm_90
.address_size 64
.visible .entry nothing(.param .u64 p) { ret; }
END
while IFS='|' read -r argument words; do
    gives "$words" exec "$dir/nothing.ptx" --arg "$argument" --print 0
done <<'END'
f16[2]=const:65504|65504.0 65504.0
f16[1]=const:65519|65504.0
f16[1]=const:inf|inf
f16[1]=const:-inf|-inf
f16[1]=const:nan|nan
bf16[1]=const:1e-45|0.0
f32[1]=const:3.4028234e38|3.402823e+38
u8[2]=const:255|255 255
s8[1]=const:-128|-128
u8[300]=iota|0 1 2 3
END

finish
