# SPDX-License-Identifier: Apache-2.0
# What nvcc makes of real kernels, run on the CPU device with its hazards watched, under a fixed and several random
# schedules. Each of nvcc and nvcc/faults says how its entries are run, and what comes of it:
#   // run: ENTRY OPTION...   of `ptxgen exec`, blank separated
#   // prints: NUMBERS        the buffer of each --print, in order; numbers with a point to six digits
#   // finds: RULE            or instead: a hazard
#   // refuses: WORDS         or instead: the launch is refused with these words
set -u
ptxgen=${CJ_PTXGEN:?the path of ptxgen}
here=$(dirname "$0")
. "$here/nvcc.bash"
need nvcc
runs=0
. "$here/failures.bash"

# same EXPECTED GOT: the same lines of numbers.
same() {
    awk 'function near(x, y) { return x == y || (x ~ /[.]/ && (x - y) ^ 2 <= (x * 1e-6) ^ 2) }
         NR == FNR { line[NR] = $0; lines = NR; next }
         { count = split(line[FNR], x, " "); if (count != NF) exit bad = 1
           for (i = 1; i <= NF; i++) if (!near(x[i], $i)) exit bad = 1 }
         END { exit bad || FNR != lines }' "$1" "$2"
}

# outcome KIND CODE: whether the last run came to what $dir/expected says.
outcome() {
    case $1 in
    prints) [ "$2" = 0 ] && same "$dir/expected" "$dir/got" ;;
    finds) [ "$2" = 1 ] && grep -qFf "$dir/expected" "$dir/log" ;;
    refuses) [ "$2" != 0 ] && grep -qFf "$dir/expected" "$dir/log" ;;
    *) false ;;
    esac
}

# execute PTX KIND ENTRY OPTION...: KIND is empty before the first run.
execute() {
    local ptx=$1 kind=$2 schedule code
    [ -n "$kind" ] || return
    shift 2
    for schedule in fixed seed:1 seed:2 seed:3; do
        "$ptxgen" exec "$ptx" --hazards on --limit 50 --schedule $schedule --entry "$@" >"$dir/got" 2>"$dir/log"
        code=$?
        cat "$dir/got" >>"$dir/log"
        runs=$((runs + 1))
        outcome "$kind" $code && continue
        failed "$ptx" "$* under $schedule: exit code $code, but it $kind $(cat "$dir/expected")"
        break
    done
}

# kernels SOURCE: everything that it asks for.
kernels() {
    local ptx word rest kind='' run=()
    ptx=$(nvcc_ptx "$1" 2>"$dir/log") || { failed "$1" "nvcc fails"; return; }
    while read -r word rest; do
        if [ "$word" = run ]; then
            execute "$ptx" "$kind" "${run[@]}"
            read -ra run <<<"$rest"
            kind=none
            : >"$dir/expected"
        else
            kind=$word
            echo "$rest" >>"$dir/expected"
        fi
    done < <(sed -nE 's|^// (run\|prints\|finds\|refuses): |\1 |p' "$1")
    execute "$ptx" "$kind" "${run[@]}"
}

for source in "$here"/nvcc/*.cu "$here"/nvcc/faults/*.cu; do kernels "$source"; done

end "$runs runs"
