# SPDX-License-Identifier: Apache-2.0
# --map, --op-expr and --identity: CUDA C on the command line becomes part of the kernel.
source "$(dirname "$0")/../cli.bash"
export CLUSTERJIT_CACHE_DIR=$dir/cache

CLUSTERJIT_NVRTC=/nowhere/libnvrtc.so refuses 4 'looked for /nowhere/libnvrtc.so' run reduce --device cpu --map 'x*x'
[[ $(<"$dir/err") == *'set CLUSTERJIT_NVRTC'* ]] || failed 'without NVRTC' 'it does not say what to do'
run emit reduce --map x
[[ $code != 4 ]] || { echo "skipped: $(<"$dir/err")"; exit 77; }

# --- the line of the README
gives 'Reduction result: 1046529.0
Error: 0.0
Error bound: unknown' run reduce --device cpu --map 'x*x' --op-expr 'a > b ? a : b' --identity '-INFINITY'
gives 'Expected sum: 357389824.0' run reduce --device cpu --map 'x*x'
gives 'Reference: map one element after the other, on the CPU device' run reduce --device cpu --map 'x*x'
gives '"map": "x*x"' run reduce --device cpu --map 'x*x' --json

# --- every type and cluster; integers are compared exactly
for dtype in f32 f64 i32 u32 i64 u64; do
    gives "result: 1025" run reduce --device cpu --dtype $dtype --n 1025 --map 'x + 1' --op-expr 'a < b ? b : a' --identity 0
    gives "Error: 0" run reduce --device cpu --dtype $dtype --n 300 --fill rand:7 --map 'x / 2' --op max
done
for cluster in 0 1 2 8 16; do
    gives 'Error bound: 0' run reduce --device cpu --n 5000 --cluster $cluster --dtype i32 --op-expr 'a ^ b' --identity 0
done
gives 'Block results: 9.0 49.0 121.0 225.0' \
    run reduce --device cpu --n 16 --grid 4 --result block --map 'x * x' --op-expr 'fmaxf(a, b)' --identity 0
gives 'Expected sum: 1049600' run reduce --device cpu --n 1024 --dtype i64 --map 'x * 2 + 2'
gives 'Expected sum: 0.5' run reduce --device cpu --n 1 --fill const:0.25 --map 'sqrtf(x)'

# --- nothing is wrong with what is emitted: on paper, and watched while it runs
run emit reduce --n 5000 --map 'x > 0 ? sqrtf(x) : expf(x)' --op-expr 'a > b ? a : b' --identity '-INFINITY'
mv "$dir/out" "$dir/kernel.ptx"
gives '' check "$dir/kernel.ptx"
gives 'result: ' run reduce --device cpu --hazards on --n 5000 --map 'x > 3 ? sqrtf(x) : expf(x)' --op max

# --- what is emitted says what it is made of
gives '//   op-expr: a > b ? a : b' emit reduce --op-expr 'a > b ? a : b' --identity '-INFINITY'
gives '// map: x*x' emit reduce --map 'x*x'
gives 'map' list
gives '"type": "function"' list --json

# --- refusals
refuses 3 'the expression '"'x +* 2'"' does not compile:
--map(1): error: ' emit reduce --map 'x +* 2'
[[ $(<"$dir/err") == *'
  x +* 2
       ^'* ]] || failed 'x +* 2' 'no caret below the expression'
refuses 3 'identifier "y" is undefined' run reduce --device cpu --map 'x + y'
refuses 64 'identity is missing' emit reduce --op-expr 'a + b'
refuses 64 'identity goes with op-expr only' emit reduce --identity 0
refuses 64 "identity: 'threadIdx.x' is not a constant" emit reduce --op-expr 'a + b' --identity threadIdx.x
refuses 64 'op and op-expr exclude each other' emit reduce --op max --op-expr 'a + b' --identity 0
refuses 64 'weight=block goes with op=sum only' emit reduce --weight block --op-expr 'a + b' --identity 0
refuses 64 '--map is empty' emit reduce --map ''
refuses 64 'identity is missing' run reduce --device cpu --op-expr 'a+b'
refuses 64 'identity is missing' run scan --device cpu --op-expr 'a+b'

# --- what no reduction and no scan can do is found by trying, before anything is called right or wrong
for family in reduce scan; do
    for dtype in f32 f64 i32 u64 f16 i8; do
        [[ $family == reduce || $dtype != i8 ]] || continue
        refuses 64 'op-expr is not associative' run $family --device cpu --dtype $dtype --op-expr 'a-b' --identity 0
        [[ ! -s $dir/out ]] || failed "$family a-b" 'it shows a result'
    done
    refuses 64 'op-expr is not associative' run $family --device cpu --op-expr '0.5f * (a + b)' --identity 0
    refuses 64 'op-expr has another identity' run $family --device cpu --op-expr 'a+b' --identity 1
done
refuses 64 'op-expr is not commutative' \
    run reduce --device cpu --dtype i32 --op-expr 'a == 0 ? b : a' --identity 0
refuses 64 'op-expr is not associative' run reduce --device cpu --cluster 4 --op-expr 'a-b' --identity 0
# what rounds, overflows or is nearly nothing is not mistaken for it
gives 'result: ' run reduce --device cpu --op-expr 'logf(expf(a) + expf(b))' --identity '-INFINITY' --fill rand:3
gives 'result: ' run reduce --device cpu --op-expr 'sqrtf(a * a + b * b)' --identity 0
gives 'result: ' run reduce --device cpu --op-expr 'a * b' --identity 1 --fill const:1.01
gives 'result: ' run reduce --device cpu --op-expr 'a+b' --identity 0 --fill const:nan
gives 'result: ' run reduce --device cpu --op-expr 'a + b' --identity 0 --fill const:3e38

# --- what overflows on 0, 1, 2, … gets other numbers where none are given; on a caller's own it is said, and not called wrong
for n in 40 1024 5000; do
    gives 'esult: ' run reduce --device cpu --op-expr 'a*b' --identity 1 --n $n
    [[ $(<"$dir/out") != *nan* && $(<"$dir/out") == *'rounds in another order'* ]] || failed "a*b, $n" 'it overflows'
    gives 'Error: 0' run reduce --device cpu --op product --n $n
done
gives 'Expected result: 523776.0' run reduce --device cpu --op-expr 'a + b' --identity 0
gives 'op-expr of some of the elements overflows' run reduce --device cpu --op-expr 'a*b' --identity 1 --fill iota
gives 'op-expr of some of the elements overflows' \
    run reduce --device cpu --op-expr 'a*b' --identity 1 --fill iota --n 5000 --grid 4 --result both
gives 'Reduction result: inf
Error: 0.0' run reduce --device cpu --op-expr 'a*b' --identity 1 --fill const:inf
# what is wrong on all of x alone is wrong, in one line and a hint
refuses_result() {
    run "$@"
    [[ $code == 1 && $(<"$dir/err") == *'error: wrong result: '*$'\nhint: is op-expr associative'* ]] || failed "$*" "$code"
}
refuses_result run reduce --device cpu --dtype i32 --op-expr 'a + b > 400000 ? 0 : a + b' --identity 0

# --- scans with an operation of one's own, in the order of the scan, with segments; spaces or none
for expression in a+b 'a + b'; do
    gives 'Reference: op-expr one element after the other, on the CPU device
Rows: 1 of 1024 elements' run scan --device cpu --op-expr "$expression" --identity 0
done
gives 'Result, at the last row'"'"'s end: 523776' run scan --device cpu --op-expr a+b --identity 0 --dtype i64 --fill iota
for way in '' '--reverse yes' '--exclusive yes' '--reverse yes --exclusive yes' '--heads flags' '--heads flags --reverse yes'; do
    # shellcheck disable=SC2086
    gives 'Error bound: 0' run scan --device cpu --op-expr 'a == 0 ? b : a' --identity 0 --dtype i32 --rows 3 \
        --columns 3000 --fill mod:7:1 $way
done
gives 'Error: 0.0' run scan --device cpu --op-expr 'fmaxf(a, b)' --identity '-INFINITY' --dtype bf16 --columns 5000
finish
