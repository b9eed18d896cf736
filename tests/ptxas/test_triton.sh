# SPDX-License-Identifier: Apache-2.0
# What Triton makes of kernels with device descriptors: tensor maps that the kernel builds of zeros, tensor copies, wgmma in a
# pipeline, stores of tiles. On the CPU device with hazards on they are right and silent; without one fence or wait they are
# found. Skipped where python3 (or CJ_PYTHON) has no triton: `pip install triton`; no GPU is needed.
set -u
ptxgen=${CJ_PTXGEN:?the path of ptxgen}
python=${CJ_PYTHON:-python3}
here=$(cd "$(dirname "$0")" && pwd)
"$python" -c 'from triton.backends.compiler import GPUTarget' 2>/dev/null || { echo "skipped: $python has no triton"; exit 77; }
runs=0
. "$here/failures.bash"

TRITON_CACHE_DIR=$dir/cache "$python" "$here/triton/kernels.py" "$dir" >"$dir/made" 2>"$dir/log" || { failed triton "it fails"; exit 1; }
for file in "$dir"/*.ptx; do sed -i 's/^\.version 9\.[1-9].*/.version 9.0/' "$file"; done  # newer than ptxas 13.0, and nothing of it used

scratch=(--arg 'u8[1536]=zeros' --arg 'u8[16]=zeros')
declare -A how=(
    [double]="--grid 3,2 --arg f32[2400]=iota --arg f32[2400]=zeros --arg u32=40 --arg u32=60 --print 1"
    [product]="--grid 2,2 --arg f16[12800]=const:1 --arg f16[12288]=const:0.5 --arg f16[9600]=zeros --arg u32=100 --arg u32=96 --arg u32=128 --print 2"
)
declare -A want=([double]=$(seq -s ' ' 0 2 4798 | sed 's/\([0-9]\+\)/\1.0/g') [product]=$(yes 64.0 | head -9600 | paste -sd ' '))

# execute NAME FILE SCHEDULE: its results in $dir/got, what it says in $dir/log.
execute() {
    local shared options
    shared=$(awk -v name="$1" '$1 == name { print $2 }' "$dir/made")
    read -ra options <<<"${how[$1]}"
    runs=$((runs + 1))
    "$ptxgen" exec "$2" --hazards on --limit 100 --schedule "$3" --block 128 --smem "$shared" "${options[@]}" "${scratch[@]}" \
        >"$dir/got" 2>"$dir/log"
}

for name in double product; do
    for schedule in fixed seed:1 seed:2 seed:3; do
        execute "$name" "$dir/$name.ptx" $schedule || failed "$name, $schedule" "it is reported"
        [ "$(cat "$dir/got")" = "${want[$name]}" ] || failed "$name, $schedule" "wrong results: $(head -c 200 "$dir/got")"
        [ -s "$dir/log" ] && failed "$name, $schedule" "it is not silent"
    done
done

# twin NAME RULE SED: the kernel changed by a sed script is found by the rule (or one of RULE|RULE) under some of the schedules.
twin() {
    local schedule
    sed -E "$3" "$dir/$1.ptx" >"$dir/twin.ptx"
    cmp -s "$dir/$1.ptx" "$dir/twin.ptx" && { failed "$1" "'$3' changes nothing"; return; }
    for schedule in fixed seed:1 seed:2 seed:3; do
        execute "$1" "$dir/twin.ptx" $schedule
        grep -qE "\[($2)\]" "$dir/log" && return
    done
    failed "$1 without '$3'" "no [$2]"
}
twin double proxy-fence '/fence\.proxy\.async/d'
twin double race-block '/bar\.sync/d'
# … at the lines of the Python source.
grep -qE 'kernels\.py:[0-9]+:[0-9]+: error: kernels\.py:[0-9]+ \(PTX line [0-9]+\), ' "$dir/log" || failed double "no line of kernels.py"
grep -qxE ' +v = a\.load\(at\)' "$dir/log" || failed double "no text of a line of kernels.py"
twin double tensor-map '/tensormap\.replace.*box_dim/d'
twin product 'race-block|wgmma-registers' 's/wgmma\.wait_group\.sync\.aligned/& 7; \/\//'
twin product tensor-map '/tensormap\.replace.*element_stride/d'

end "$runs runs"
