# SPDX-License-Identifier: Apache-2.0
# How options may be written, and what is said of those that cannot be meant.
source "$(dirname "$0")/../cli.bash"
export CLUSTERJIT_CACHE_DIR=$dir/cache
"$ptxgen" emit reduce >"$dir/kernel.ptx" || exit 1

# same FIRST… -- SECOND…: both command lines succeed and print the same
same() {
    local first=()
    while [[ $1 != :: ]]; do first+=("$1"); shift; done
    shift
    run "${first[@]}"
    [[ $code == 0 ]] || failed "${first[*]}" "exit code $code"
    cp "$dir/out" "$dir/first"
    run "$@"
    [[ $code == 0 ]] || failed "$*" "exit code $code"
    cmp -s "$dir/first" "$dir/out" || failed "$*" "another output than ${first[*]}"
}

# --- one option, written in every way
same emit reduce --cluster=4 :: emit reduce --cluster 4
same emit reduce --cluster=4 :: emit reduce --clu 4
same emit reduce --arch=sm_100a :: emit reduce --targ=sm_100a
same emit reduce -o "$dir/a.ptx" :: emit reduce "-o$dir/b.ptx"
same emit reduce "--output=$dir/a.ptx" :: emit reduce --out "$dir/b.ptx"
cmp "$dir/a.ptx" "$dir/b.ptx" || failed emit "two ways to write --output, two files"
same emit reduce --op=max :: emit reduce --op max # --op-expr begins so, too
same isa mbarrier --json :: isa --json mbarrier
same check "$dir/kernel.ptx" :: check -- "$dir/kernel.ptx"
same list reduce :: list -- reduce
same fmt "$dir/kernel.ptx" :: fmt -- "$dir/kernel.ptx"
same run --help :: run -h
same run --version :: run -V
cp "$dir/kernel.ptx" "$dir/-kernel.ptx"
(cd "$dir" && "$ptxgen" check -- -kernel.ptx) >"$dir/out" 2>"$dir/err" || failed 'check -- -kernel.ptx' 'refused'

# --- a value may look like an option
refuses 64 "device '--json'" info --device --json
refuses 64 "--color is '-x'" info --color -x

# --- mistakes
refuses 64 "'--r' begins several options" bench reduce --r=3 # --result, --rounds
run emit reduce --de=1
[[ $(<"$dir/err") == *"option '--de' "* || $(<"$dir/err") == *'dependent'* ]] || failed 'emit --de' 'it is --dependent'
run occupancy "$dir/kernel.ptx" --re=40
[[ $code != 64 ]] || failed 'occupancy --re' "two names of one option are no choice between options"
refuses 64 "did you mean '--cluster'?" emit reduce --clutser=4
refuses 64 "did you mean '--json'?" list --jsn
refuses 64 "'ptxgen emit reduce --help' lists the options" emit reduce --zzz
refuses 64 "option '-o' needs a value: FILE" emit reduce -o
refuses 64 "unknown option '-xo'" emit reduce -xo
refuses 64 "did you mean '--json'?" list -json
refuses 64 "unknown option '-z'" tune -vz
refuses 64 "unexpected argument '--stats'" run reduce -- --stats
refuses 64 "did you mean 'check'?" chekc

# --- options that belong together stand together, each with what it is about
[[ $("$ptxgen" exec --help) == *$'\nOptions of the launch:\n'*' --grid='*$'\nOptions of the CPU device:\n'*' --hazards='*$'\nOptions of CUDA C++:\n'*' --std='* ]] ||
    failed 'exec --help' 'no groups'
[[ $("$ptxgen" emit gemm --help) == *$'\nParameters of the problem:\n'*' --batch='*$'\nParameters that the plan chooses by default:\n'*' --tile='*$'\nOptions:\n'* ]] ||
    failed 'emit gemm --help' 'no groups'
[[ $("$ptxgen" man exec) == *'.SS "Options of CUDA C++"'* ]] || failed 'man exec' 'no groups'

# --- the help fills the terminal, and no more
for width in 70 80 140; do
    for arguments in 'check --help' 'run gemm --help' 'tune --help'; do
        # shellcheck disable=SC2086
        COLUMNS=$width run $arguments
        # A name with its values may be longer than any line.
        widest=$(grep -v '^  *\(-., \)*--' "$dir/out" | grep -v '^Usage:\|^  or:\|^  ptxgen ' | wc -L)
        ((widest <= width && widest > width - 20)) || failed "$arguments" "lines of $widest columns, not $width"
    done
done
finish
