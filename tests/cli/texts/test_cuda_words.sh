# SPDX-License-Identifier: Apache-2.0
# Hazards on CUDA C++ are told in CUDA's words, with PTX's beside them, and variables have the names of the source; on PTX without a
# source, and on other languages, in PTX's words.
source "$(dirname "$0")/../cli.bash"
cd "$dir" || exit 1

# race FILE SYMBOL: the compiler's text for FILE, in which two warps race for SYMBOL.
race() {
    cat <<EOF
.version 8.0
.target sm_90
.address_size 64
.visible .entry k()
{
.reg .u32 %r<4>;
.shared .align 4 .b8 $2[256];
.loc 1 3 5
mov.u32 %r0, %tid.x;
mov.u32 %r1, $2;
st.shared.u32 [%r1], %r0;
ret;
}
.file 1 "$1"
EOF
}

# says TEXT, hides TEXT: the last run's findings have it, or not.
says() { [[ $(<err) == *"$1"* ]] || failed "the last run" "no '$1'"; }
hides() { [[ $(<err) != *"$1"* ]] || failed "the last run" "'$1' in its output"; }

how=(--block 64 --hazards on)
for file in a.cu b.cuh c.cpp d.h dir/e.hpp; do
    race $file _ZZ6kernelIfEvPT_E4tile >race.ptx
    finds 1 '' exec race.ptx "${how[@]}"
    says 'hint: put __syncthreads() (bar.sync) between the two'
    says 'writes kernel::tile + 0'
    hides '_ZZ6kernel'
done
for file in a.py b.rs c.jl d e.ptx; do
    race $file tile >race.ptx
    finds 1 '' exec race.ptx "${how[@]}"
    says 'hint: put bar.sync between the two'
done
race a.cu tile | sed '/\.loc/d' >race.ptx
finds 1 '' exec race.ptx "${how[@]}"
says 'hint: put bar.sync between the two'

# --- JSON has both names
race a.cu _ZZN2ns6kernelEPfE4tile >race.ptx
run exec race.ptx "${how[@]}" --json
json 'o["findings"][0]["variable"] == {"name": "ns::kernel::tile", "symbol": "_ZZN2ns6kernelEPfE4tile"}'

# --- an address past a variable names it, too
sed 's/\[%r1\]/[%r1 + 256]/' race.ptx >past.ptx
finds 1 '' exec past.ptx "${how[@]}"
says 'past the end of ns::kernel::tile'

# --- a note
sed 's/, %r0;$/, 7;/; s/mov.u32 %r0, 7/mov.u32 %r0, %tid.x/' race.ptx >same.ptx
run exec same.ptx "${how[@]}"
says '[same-value]'
finish
