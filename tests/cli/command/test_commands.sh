# SPDX-License-Identifier: Apache-2.0
# The command as its user sees it: what it prints, what it refuses, and with which exit code.
source "$(dirname "$0")/../cli.bash"

# --- FEATURES: the sum of 0..1023 by four blocks of 256, to the letter
gives 'SIZE: 1024 TPB: 256 CLUSTER_SIZE: 4
Expected sum: 523776.0
Cluster reduction result: 523776.0
Parts of the blocks: 32640.0 98176.0 163712.0 229248.0
Error: 0.0
Error bound: ' run reduce --device cpu --cluster 4
[[ $(sed -n 7p "$dir/out") == "Device: "* ]] || failed "run reduce" "line 7 does not name the device"
[[ $(sed -n 8p "$dir/out") == "Time: "*" ms "* ]] || failed "run reduce" "line 8 does not give the time"
[[ ! -s $dir/err ]] || failed "run reduce" "it has something to say"

# --- without a cluster it is not called one's
gives 'SIZE: 1024 TPB: 256 CLUSTER_SIZE: 0 BLOCKS: 1
Expected sum: 523776.0
Reduction result: 523776.0
Error: ' run reduce --device cpu

# --- sums of blocks
gives 'Cluster reduction result: 1150.0
Parts of the blocks: 114.0 231.2 345.6 459.2' run reduce --device cpu --cluster 4 --weight block --fill mod:10:0.1
gives 'Parts of the blocks: 1.0 2.0 3.0 4.0 5.0 6.0 7.0' run reduce --device cpu --n 8 --grid 7
gives '"parts": [
    1,
    3' run reduce --device cpu --n 4 --grid 2 --dtype i32 --op max --json
gives 'Block sums: 114.0 231.2 345.6 459.2' \
    run reduce --device cpu --fill mod:10:0.1 --weight block --result block
gives 'Block sums: 122.8 247.04 372.72 499.84' \
    run reduce --device cpu --fill mod:50:0.02 --weight block --result block

# --- types, operations, sizes, shapes: the command checks each against its own reference
for dtype in f32 f64 i32 u32 i64 u64 f16 bf16 i8 u8 i16 u16; do
    for op in sum min max product argmin argmax mean meanvar; do
        gives "result: " run reduce --device cpu --dtype $dtype --op $op --n 1000 --fill rand:7
    done
done
for n in 1 2 31 257 1025; do gives "SIZE: $n " run reduce --device cpu --n $n; done
for cluster in 0 1 2 8 16; do gives "CLUSTER_SIZE: $cluster" run reduce --device cpu --n 5000 --cluster $cluster; done
gives 'Block mins: 0.0 1.0 2.0 nan' run reduce --device cpu --n 3 --grid 4 --op min --result block
for dtype in f32 f64 i32 u64; do
    gives "result: " run reduce --device cpu --dtype $dtype --n 5000 --grid 12 --weight block --fill rand:7
done
gives 'Expected sum: 4294967295' run reduce --device cpu --dtype u32 --n 1 --fill const:4294967295
gives 'Expected sum: -5' run reduce --device cpu --dtype i64 --n 1 --fill const:-5
gives 'Expected sum: 18446744073709551615' run reduce --device cpu --dtype u64 --n 1 --fill const:18446744073709551615
gives 'Expected sum: nan' run reduce --device cpu --fill const:nan
gives 'Expected max: nan' run reduce --device cpu --op max --fill const:nan
gives 'Expected sum: inf' run reduce --device cpu --fill const:inf
gives 'median of 3 launches' run reduce --device cpu --repeat 3

# --- JSON: every line of it from jansson; here what a reader of it relies on
gives '"result": 523776.0' run reduce --device cpu --json
gives '"result": null' run reduce --device cpu --fill const:nan --json
gives '"result": "18446744073709551615"' \
    run reduce --device cpu --dtype u64 --n 1 --fill const:18446744073709551615 --json
gives '"result": -9007199254740993' run reduce --device cpu --dtype i64 --n 1 --fill const:-9007199254740993 --json
gives '"name": "reduce"' list --json
gives '"compute_capability": ' info --device cpu --json
if command -v python3 >"$dir/out"; then
    for arguments in 'list' 'info' 'info --device cpu' 'run reduce --device cpu' \
        'run reduce --device cpu --fill const:nan --result block'; do
        # shellcheck disable=SC2086
        run $arguments --json
        python3 -m json.tool "$dir/out" >"$dir/json" 2>&1 || failed "$arguments --json" "$(<"$dir/json")"
    done
fi

# --- list, info, help, version
gives 'cluster ' list
[[ $(wc -L <"$dir/out") -le 120 ]] || failed list "lines longer than 120 columns"
gives 'works here' info --device cpu
gives 'Usage: ptxgen' --help
gives 'Usage: ptxgen run reduce' help run reduce
gives '--cluster=NUMBER' emit reduce --help
gives 'Usage: ptxgen emit' help emit
gives 'ptxgen 0.' --version
run
[[ $code == 64 && ! -s $dir/out ]] || failed "" "without arguments: exit code $code"

# --- emit
gives '.reqnctapercluster 4, 1, 1' emit reduce --cluster 4
gives '' emit reduce --cluster 4 -o "$dir/kernel.ptx"
[[ ! -s $dir/out ]] || failed "emit -o" "it wrote standard output too"
"$ptxgen" emit reduce --cluster 4 | cmp - "$dir/kernel.ptx" || failed "emit -o" "file and output differ"
gives '' emit reduce --cluster 2 -o "$dir/kernel.ptx"
grep -q 'reqnctapercluster 2' "$dir/kernel.ptx" || failed "emit -o" "it did not replace the file"
ln -s kernel.ptx "$dir/link.ptx"
gives '' emit reduce -o "$dir/link.ptx"
[[ -L $dir/link.ptx ]] || failed "emit -o" "it replaced a link"
gives '' emit reduce -o /dev/null
[[ -c /dev/null ]] || failed "emit -o" "it replaced /dev/null"
gives '.target sm_80' emit reduce --arch sm_80 --cluster 4
[[ $(<"$dir/err") == "ptxgen: note: "*cluster* ]] || failed "emit --arch sm_80" "no note on the fallback"
! grep -q cluster.arrive "$dir/out" || failed "emit --arch sm_80" "a cluster barrier before sm_90"
gives 'Error: 0.0' run reduce --device cpu --arch sm_80

# --- parameters out of range
refuses 64 'n: 0' run reduce --n 0
refuses 64 'n: 0' emit reduce --n 0
refuses 64 'block: 1025' run reduce --block 1025
refuses 64 'block: 33' run reduce --block 33
refuses 64 'cluster: 17' run reduce --cluster 17
refuses 64 'sum' run reduce --op sun
refuses 64 'f32' run reduce --dtype f23
refuses 1 'grid 4' run reduce --device cpu --cluster 3 --grid 4
refuses 1 'grid 4' emit reduce --cluster 3 --grid 4
refuses 64 'weight: block' emit reduce --op min --weight block
refuses 64 'reduce' run redcue
refuses 64 'sm_90' emit reduce --arch sm_9o

# --- usage
refuses 64 "unknown command 'frobnicate'" frobnicate
refuses 64 'kernel family' run
refuses 64 'kernel family' run --device cpu reduce
refuses 64 "unknown option '--blok'" run reduce --blok=3
refuses 64 "unknown option '-x'" run reduce -x
refuses 64 "option '--n' needs a value" run reduce --n
refuses 64 "option '--json' takes no value" run reduce --json=1
refuses 64 "unexpected argument 'twice'" run reduce twice
refuses 64 '--repeat' run reduce --repeat 0
refuses 64 'device' run reduce --device tpu
refuses 64 'exclude' run reduce --fill zeros --input x.f32
for fill in iot const: const:x mod:10 mod:0:1 mod:x:1 rand: rand:-1 zeros:1; do
    refuses 64 "--fill '$fill'" run reduce --device cpu --fill "$fill"
done
refuses 64 '--fill' run reduce --device cpu --dtype i32 --fill const:2147483648
refuses 64 '--fill' run reduce --device cpu --dtype u32 --fill const:-1
refuses 64 '--fill' run reduce --device cpu --dtype i32 --fill const:0.5

# --- places that cannot be written
refuses 2 "/nowhere/kernel.ptx': No such file" emit reduce -o /nowhere/kernel.ptx
refuses 2 'directory' emit reduce -o "$dir"
refuses 2 'No space left' emit reduce -o /dev/full
mkdir "$dir/closed"
chmod 500 "$dir/closed"
if [[ ! -w $dir/closed ]]; then refuses 2 'Permission denied' emit reduce -o "$dir/closed/kernel.ptx"; fi
[[ -z $(ls -A "$dir/closed") ]] || failed "emit -o" "it left something in a directory that cannot be written"
for arguments in 'emit reduce' 'run reduce --device cpu' 'list --json' '--help' 'run --help' 'exec --help' 'list' 'rules' 'isa'; do
    # shellcheck disable=SC2086
    "$ptxgen" $arguments >/dev/full 2>"$dir/err"
    code=$?
    [[ $code == 2 && $(<"$dir/err") == *"standard output: No space left"* ]] ||
        failed "$arguments >/dev/full" "not refused: exit code $code"
done

# --- a reader that has gone away
{
    sleep 0.2
    "$ptxgen" list 2>"$dir/err"
    echo $? >"$dir/pipe"
} | true
[[ $(<"$dir/pipe") == 141 && ! -s $dir/err ]] || failed "list | true" "exit code $(<"$dir/pipe"), not that of SIGPIPE"

# --- messages: no colour where there is no terminal, and hints on a line of their own
run frobnicate
[[ $(<"$dir/err") != *$'\033'* ]] || failed frobnicate "colour in a file"
[[ $(sed -n 2p "$dir/err") == "hint: "* ]] || failed frobnicate "no hint"

finish
