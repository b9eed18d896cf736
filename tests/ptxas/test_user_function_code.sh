# SPDX-License-Identifier: Apache-2.0
# A user's function costs what it would cost if it stood in the kernel: ptxas makes the same machine code, bit for bit.
source "$(dirname "$0")/../cli/cli.bash"
source "$(dirname "$0")/nvcc.bash"
need ptxas

run emit reduce --map x
[[ $code != 4 ]] || { echo "skipped: $(<"$dir/err")"; exit 77; }

# kernel FILE ARGUMENT...: a cubin of the kernel, under one name whatever its operation is.
kernel() {
    local file=$1
    shift
    run emit reduce "$@"
    [[ $code == 0 ]] || failed "$*" "exit code $code, not 0"
    sed 's/reduce_[a-z]*_/reduce_any_/' "$dir/out" >"$dir/$file.ptx"
    ptxas -arch=sm_90 -o "$dir/$file" "$dir/$file.ptx" || failed "$*" "ptxas refuses it"
}

# same WHAT: the cubins a and b are alike.
same() { cmp "$dir/a" "$dir/b" || failed "$1" "its machine code differs"; }

kernel a && kernel b --op-expr 'a + b' --identity 0 && same 'op-expr a + b'
kernel a --dtype f64 --op max && kernel b --dtype f64 --op-expr 'fmax(a, b)' --identity NAN && same 'op-expr fmax(a, b)'
kernel a --dtype u64 --op min && kernel b --dtype u64 --op-expr 'a < b ? a : b' --identity ULLONG_MAX && same 'op-expr min'

# The map by hand: its braces give way to one instruction.
kernel a --map 'x * x'
awk '/{ *\/\/ map: / { inside = 1 }
     inside && /mov.b32 .*%f1, / { sub(/;/, "", $3); reg = $3 }
     inside { if (/^ *}/) { inside = 0; print "mul.f32 " reg ", " reg ", " reg ";" } next }
     { print }' "$dir/a.ptx" >"$dir/b.ptx"
[[ $(grep -c '^mul.f32' "$dir/b.ptx") == 30 ]] || failed 'map x * x' "the hand-written kernel is not as expected"
ptxas -arch=sm_90 -o "$dir/b" "$dir/b.ptx" && same 'map x * x'
finish
