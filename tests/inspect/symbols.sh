#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# symbols.sh LIBRARY: the library exports public names only and needs neither the driver nor NVRTC to be there.
set -euo pipefail

library=$1
status=0
fail() {
    printf 'FAIL: %s:\n%s\n' "$1" "$2"
    status=1
}

exported=$(nm -D --defined-only "$library" | awk '{ print $NF }')
others=$(grep -v '^cj_[a-z]' <<<"$exported" || true)
[ -n "$exported" ] || fail "nothing is exported" "$library"
[ -z "$others" ] || fail "exported, but not public" "$others"

needed=$(readelf -d "$library" | awk '/NEEDED/ { print $NF }')
cuda=$(grep -E 'lib(cuda|nvrtc|nvJitLink)' <<<"$needed" || true)
[ -z "$cuda" ] || fail "linked, but to be opened at run time" "$cuda"

echo "$(wc -l <<<"$exported") symbols, needs: ${needed//$'\n'/ }"
exit $status
