# SPDX-License-Identifier: Apache-2.0
# A race in a kernel of Rust is reported at its lines, with the names of its functions. The text is in the manner of LLVM, which writes
# Rust's PTX; where rustc has the target's core library, rustc's own follows.
source "$(dirname "$0")/../cli.bash"
cd "$dir" || exit 1

cat >lib.rs <<'END'
#![no_std]
#![feature(abi_ptx, stdarch_nvptx, core_intrinsics, asm_experimental_arch)]
use core::arch::nvptx::*;

#[inline(always)]
unsafe fn put(tile: *mut u32, i: u32) {
    *tile.add(i as usize / 2) = i;
}

#[no_mangle]
pub unsafe extern "ptx-kernel" fn pairs(x: *mut u32) {
    put(x, _thread_idx_x() as u32);
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
END
cat >pairs.ptx <<'END'
.version 7.8
.target sm_90
.address_size 64
	// .globl	pairs
.visible .entry pairs(
	.param .u64 .ptr .align 1 pairs_param_0
)
{
	.reg .b32 	%r<3>;
	.reg .b64 	%rd<5>;
	.loc	1 11 0                          // lib.rs:11:0
	ld.param.u64 	%rd1, [pairs_param_0];
	cvta.to.global.u64 	%rd2, %rd1;
	.loc	1 12 12                         // lib.rs:12:12
	mov.u32 	%r1, %tid.x;
	.loc	1 7 5, function_name $L__info_string0, inlined_at 1 12 5 // lib.rs:7:5 @[ lib.rs:12:5 ]
	shr.u32 	%r2, %r1, 1;
	mul.wide.u32 	%rd3, %r2, 4;
	add.s64 	%rd4, %rd2, %rd3;
	st.global.b32 	[%rd4], %r1;
	.loc	1 13 2                          // lib.rs:13:2
	ret;
}
	.file	1 "lib.rs"
	.section	.debug_str
	{
$L__info_string0:
END
# _ZN5pairs3put17h0123456789abcdefE
printf '_ZN5pairs3put17h0123456789abcdefE\0' | od -An -v -tu1 -w1 | sed 's/ */.b8 /' >>pairs.ptx
printf '\t}\n' >>pairs.ptx

# found FILE: the race, where put was inlined.
found() {
    finds 1 '' exec "$1" --block 64 --arg 'u32[64]=zeros' --hazards on
    [[ $(<err) == *'lib.rs:7:'*'error: lib.rs:7 '*'[race-warp]'*'*tile.add(i as usize / 2) = i;'* ]] ||
        failed "exec $1" 'the line of Rust is not named'
    [[ $(<err) == *'put, inlined at lib.rs:12:'*'put(x, _thread_idx_x() as u32);'* ]] ||
        failed "exec $1" 'it is not said where the line was inlined'
}
found pairs.ptx
[[ $(<err) == *'note: pairs::put, inlined at'* ]] || failed 'pairs.ptx' 'the function has another name'
[[ $(<err) == *'put bar.warp.sync between'* ]] || failed 'pairs.ptx' "a hint in another language's words"

if ! rustc --target nvptx64-nvidia-cuda --crate-type cdylib --emit asm -C opt-level=2 -C debuginfo=1 -C target-cpu=sm_90 \
    lib.rs -o rustc.ptx 2>log; then
    ((failures)) || echo "rustc's own PTX is skipped: $(head -1 log)"
else
    found rustc.ptx
fi
finish
