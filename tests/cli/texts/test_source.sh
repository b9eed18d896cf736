# SPDX-License-Identifier: Apache-2.0
# What is found in PTX that a compiler made names the line of its source (.loc), with that line, a caret and where it was inlined;
# where the source is not to be read, the PTX line, and the place alone.
source "$(dirname "$0")/../cli.bash"
cd "$dir" || exit 1

# The compiler's text for NAME: thread i writes s[i] on line 8, reads s[i ^ 32] on line 2, inlined on line 10.
ptx() {
    cat <<EOF
.version 8.0
.target sm_90
.address_size 64
.visible .entry pairs(.param .u64 x)
{
.reg .u32 %r<4>;
.reg .u64 %d<3>;
.shared .align 4 .b8 s[256];
.loc 1 7 5
mov.u32 %r0, %tid.x;
shl.b32 %r1, %r0, 2;
.loc 1 8 5
mov.u32 %r2, s;
add.u32 %r3, %r2, %r1;
st.shared.u32 [%r3], %r0;
${2-bar.sync 0;}
.loc 1 10 12
.loc 1 2 12, function_name \$name, inlined_at 1 10 12
xor.b32 %r1, %r1, 128;
add.u32 %r3, %r2, %r1;
ld.shared.u32 %r1, [%r3];
.loc 1 10 12
ld.param.u64 %d0, [x];
mul.wide.u32 %d1, %r0, 4;
add.u64 %d1, %d0, %d1;
st.global.${3-u32} [%d1], %r1;
ret;
}
.file 1 "$1"
.section .debug_str { \$name: .b8 95,90,57,110,101,105,103,104,98,111,117,114,80,105,105,0 }
EOF
}
cat >pairs.cu <<'EOF'
__device__ int neighbour(int *s, int i) {
    return s[i ^ 32];
}

__global__ void pairs(int *x) {
    __shared__ int s[64];
    int i = threadIdx.x;
    s[i] = i;

    x[i] = neighbour(s, i);
}
EOF
how=(--block 64 --arg 'u32[64]=zeros' --hazards on)

# shows TEXT: the last run said it, on either stream, line breaks included.
shows() { [[ $(<"$dir/out")$'\n'$(<"$dir/err") == *"$1"* ]] || failed "the last run" "no '$1'"; }
hides() { [[ $(<"$dir/out")$'\n'$(<"$dir/err") != *"$1"* ]] || failed "the last run" "there is '$1'"; }

# --- hazards
ptx pairs.cu >right.ptx
ptx pairs.cu '' >race.ptx
gives '' exec right.ptx "${how[@]}"
finds 1 '' exec race.ptx "${how[@]}"
shows 'pairs.cu:2:12: error: pairs.cu:8 (PTX line 15), st.shared.u32: '
shows '; pairs.cu:2 (PTX line 21), ld.shared.u32: thread (32, 0, 0)'
shows '[race-block]
    return s[i ^ 32];
           ^
note: neighbour, inlined at pairs.cu:10:12
    x[i] = neighbour(s, i);
           ^
note: PTX line 21: ld.shared.u32 %r1, [%r3];
note: the other one, st.shared.u32, is at pairs.cu:8:5
    s[i] = i;
    ^
note: PTX line 15: st.shared.u32 [%r3], %r0;
hint: put __syncthreads() (bar.sync) between the two'
finds 1 'pairs.cu:2:12: error: ' check --run race.ptx --block 64
run exec race.ptx "${how[@]}" --json
json '[f for f in o["findings"] if f["source"]["line"] == 2][0]["source"] == {"file": "pairs.cu", "line": 2, "column": 12,
      "function": "neighbour", "inlined_at": {"file": "pairs.cu", "line": 10, "column": 12, "function": None, "inlined_at": None}}'
json '[f for f in o["findings"] if f["source"]["line"] == 2][0]["other"] == {"line": 15, "instruction": "st.shared.u32",
      "source": {"file": "pairs.cu", "line": 8, "column": 5, "function": None, "inlined_at": None}}'

# --- one fault that an unrolled loop has several times is shown once
sed 's/^ld.shared.u32.*/&\n&\n&/' race.ptx >unrolled.ptx
finds 1 '' exec unrolled.ptx "${how[@]}"
[[ $(grep -c 'pairs.cu:2:12: error: pairs.cu:8 .*\[race-block\]' err) == 1 ]] || failed 'exec unrolled.ptx' 'not shown once'
shows 'note: and 2 more at other lines of the PTX that come from the same lines'
finds 1 '' check --run unrolled.ptx --block 64
[[ $(grep -c 'pairs.cu:2:12: error: pairs.cu:8 .*\[race-block\]' out) == 1 ]] || failed 'check unrolled.ptx' 'not shown once'
run exec unrolled.ptx "${how[@]}" --json
json 'len([f for f in o["findings"] if f["source"]["line"] == 2 and f["rule"] == "race-block"]) == 3'
sed '/\.loc/d' unrolled.ptx >plain.ptx
finds 1 '' exec plain.ptx "${how[@]}"
[[ $(grep -c 'error: line 13, .*\[race-block\]' err) == 3 ]] || failed 'exec plain.ptx' 'not all are shown'

# --- rules
ptx pairs.cu 'bar.sync 0;' u64 >wrong.ptx
finds 1 "pairs.cu:10:12: error: operand 2 of 'st.global.u64'" check wrong.ptx
shows 'note: PTX line 26: st.global.u64 [%d1], %r1;'
finds 1 '"source"' check wrong.ptx --json
json 'o["findings"][0]["line"] == 26 and o["findings"][0]["source"]["line"] == 10'
finds 1 'pairs.cu:10:12: error: ' check - <wrong.ptx

# --- names: beneath the working directory, beside the PTX, absolute
mkdir sub && cp pairs.cu sub/other.cu && ptx other.cu 'bar.sync 0;' u64 >sub/wrong.ptx
finds 1 "other.cu:10:12: error: " check sub/wrong.ptx
shows 'x[i] = neighbour'
ptx "$PWD/pairs.cu" 'bar.sync 0;' u64 >absolute.ptx
finds 1 '' check absolute.ptx
[[ $(<out) == pairs.cu:10:12:* ]] || failed 'check absolute.ptx' 'the working directory is shown'

# --- a source that is not to be read, or is another by now: the PTX's line, and the place
for name in gone.cu short.cu /dev/zero /dev/stdin "$dir" fifo; do
    echo >short.cu
    [[ -p fifo ]] || mkfifo fifo
    ptx "$name" 'bar.sync 0;' u64 >wrong.ptx
    finds 1 'wrong.ptx:26:' check wrong.ptx </dev/null
    shows "
note: of ${name#"$dir"/}:10:12
"
done

# --- no .loc, or none of a file that is named: as ever
ptx pairs.cu 'bar.sync 0;' u64 | sed '/\.loc/d' >wrong.ptx
finds 1 'wrong.ptx:21:' check wrong.ptx
hides 'note:'
json_null() { finds 1 '"source": null' check wrong.ptx --json; }
json_null
ptx pairs.cu 'bar.sync 0;' u64 | sed '/\.file/d' >wrong.ptx
finds 1 'wrong.ptx:26:' check wrong.ptx
json_null
finish
