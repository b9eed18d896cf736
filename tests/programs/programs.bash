# SPDX-License-Identifier: Apache-2.0
# What the tests of whole programs share. A program is built twice from the same text: as it is, and with -DFAULT, without a barrier
# or with a bound that is wrong. Lines that the fault may be found at say "found here".
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ptxgen=${CJ_PTXGEN:?the path of ptxgen}
. "$here/../ptxas/nvcc.bash"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0
kept=$nvcc_kept/programs  # of nvcc
mkdir -p "$kept"

# Each run's report and text go to $dir/err and $dir/out; seeds that are drawn anew in every run of the tests.
seed=${CJ_SEED:-$((RANDOM % 10000))}
schedules=seed:$seed..$((seed + ${CJ_SCHEDULES:-4} - 1))

cuda=$(cd "$(dirname "$(type -P nvcc || echo /usr/local/cuda/bin/nvcc)")/.." && pwd)

# compile OUTPUT SOURCE OPTION...: nvcc, with the lines of the source. What it made is kept until a source is newer.
compile() {
    local output=$1 source=$2
    shift 2
    if [ "$output" -nt "$source" ] && [ "$output" -nt "$(dirname "$source")/check.h" ] && [ "$output" -nt "$(type -P nvcc)" ]; then
        return
    fi
    ${CJ_LAUNCHER:-} nvcc -lineinfo -std=c++17 -O1 "$@" "$source" -o "$output.$$.o" && mv "$output.$$.o" "$output"
}

# has MODULE...: skips the test where $python lacks one.
has() {
    local module
    for module; do
        "$python" -c "import $module" >"$dir/out" 2>&1 ||
            { echo "skipped: $python has no $module (CJ_PYTHON names a Python that has it)"; exit 77; }
    done
}

failed() {
    failures=$((failures + 1))
    printf 'FAILED (CJ_SEED=%s): %s\n  %s\n' "$seed" "$1" "$2"
    sed 's/^/  out: /' "$dir/out" | tail -8
    sed 's/^/  err: /' "$dir/err" | cut -c1-400 | head -14
}

# run_program OPTION... PROGRAM...: leaves the exit code in $code.
run_program() {
    timeout 120 "$ptxgen" run-program "$@" >"$dir/out" 2>"$dir/err"
    code=$?
}

# is_right TEXT OPTION... PROGRAM...: exits 0, TEXT is within its output, and the report is its summary alone.
is_right() {
    local text=$1
    shift
    run_program "$@"
    [[ $code == 0 ]] || failed "$*" "exit code $code"
    [[ $(<"$dir/out") == *"$text"* ]] || failed "$*" "no '$text' in its output"
    [[ $(<"$dir/err") == *' in kernels: '* ]] || failed "$*" "there is no summary"
    ! grep -qE 'in kernels: [0-9]|(error|warning): ' "$dir/err" || failed "$*" "something is found in what is right"
}

# is_found SOURCE OPTION... PROGRAM...: exits 1, and an error is at a line of the source that says "found here", or in what was
# inlined there.
is_found() {
    local source=$1 name line
    shift
    name=$(basename "$source")
    run_program "$@"
    [[ $code == 1 ]] || failed "$*" "exit code $code, not 1: the fault is not found"
    for line in $(grep -n 'found here' "$source" | cut -d: -f1); do
        grep -qE "(^|inlined at |/)$name:$line(:[0-9]+)?(: error: |\$)" "$dir/err" && return
    done
    failed "$*" "no error at a line of $name that says 'found here'"
}

# is_shown TEXT OPTION... PROGRAM...: exits 1, and the line under an error has TEXT.
is_shown() {
    local text=$1
    shift
    run_program "$@"
    [[ $code == 1 ]] || failed "$*" "exit code $code, not 1: the fault is not found"
    [[ $(grep -A1 ': error: ' "$dir/err") == *"$text"* ]] || failed "$*" "no error under which '$text' is shown"
}

finish() {
    if ((failures)); then
        echo "$failures failures"
        exit 1
    fi
    echo "all passed (CJ_SEED=$seed)"
}
