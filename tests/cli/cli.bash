# SPDX-License-Identifier: Apache-2.0
# What the tests of the command share. $CJ_PTXGEN is the command, $dir a directory that goes away with the test.
set -u
ptxgen=${CJ_PTXGEN:?the path of ptxgen}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0

# For tests of the command on a GPU: without one the test is skipped, or fails where CJ_REQUIRE_GPU=1.
needs_gpu() {
    "$ptxgen" info --device gpu >"$dir/out" 2>"$dir/err" && return
    [[ ${CJ_REQUIRE_GPU:-0} == 0 ]] || { echo "there is no GPU"; exit 1; }
    echo "skipped: there is no GPU"
    exit 77
}

# Runs ptxgen with the arguments; leaves its exit code in $code, its output in $dir/out and $dir/err.
run() {
    "$ptxgen" "$@" >"$dir/out" 2>"$dir/err"
    code=$?
}

failed() {
    failures=$((failures + 1))
    printf 'FAILED: ptxgen %s\n  %s\n' "$1" "$2"
    sed 's/^/  out: /' "$dir/out" | head -20
    sed 's/^/  err: /' "$dir/err" | head -20
}

# finds CODE TEXT ARGUMENT...: exits with CODE, and TEXT is within the output.
finds() {
    local want=$1 text=$2
    shift 2
    run "$@"
    [[ $code == "$want" ]] || failed "$*" "exit code $code, not $want"
    [[ $(<"$dir/out") == *"$text"* ]] || failed "$*" "no '$text' in its output"
}

# gives TEXT ARGUMENT...: succeeds, and TEXT is within the output.
gives() { finds 0 "$@"; }

# refuses CODE TEXT ARGUMENT...: fails with CODE, TEXT is within its message, and there is no output; with --json there
# is the failure alone.
refuses() {
    local want=$1 text=$2
    shift 2
    run "$@"
    [[ $code == "$want" ]] || failed "$*" "exit code $code, not $want"
    [[ $(<"$dir/err") == "ptxgen: error: "*"$text"* ]] || failed "$*" "no '$text' in its message"
    if [[ " $* " == *' --json '* ]]; then
        json 'list(o) == ["schema", "failure"] and o["failure"]["message"] and len(o["failure"]) >= 4'
    else
        [[ ! -s $dir/out ]] || failed "$*" "it wrote output"
    fi
}

# json EXPRESSION: true of the output, `o`, where there is a python3 to ask.
json() {
    command -v python3 >"$dir/which" || return 0
    python3 -c 'import json, sys
o = json.load(open(sys.argv[1], encoding="utf-8"))
assert eval(sys.argv[2]), sys.argv[2]' "$dir/out" "$1" 2>"$dir/json" || failed --json "not so: $(tail -1 "$dir/json")"
}

# finish: the exit code of the test.
finish() {
    if ((failures)); then
        echo "$failures failures"
        exit 1
    fi
    echo "all passed"
}
