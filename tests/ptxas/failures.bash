# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
# For test scripts that go on after a failure: a directory of their own, $dir, and the count of failures.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0

# failed NAME REASON: prints both, and the start of the last log.
failed() {
    failures=$((failures + 1))
    printf 'FAILED: %s: %s\n' "$1" "$2"
    head -c 2000 "$dir/log"
}

# end COUNTED: the end of the script; "12 runs".
end() {
    ((failures)) && { echo "$failures failures"; exit 1; }
    echo "all passed: $1"
}
