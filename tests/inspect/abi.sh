#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# abi.sh LIBRARY HEADERS RECORDED: the library's binary interface against that of the last release. New functions pass; a change
# that breaks compiled programs (a function gone, a structure of another layout) fails, until it is recorded with CJ_UPDATE_ABI=1
# together with a new minor version and a line in CHANGELOG.md.
set -euo pipefail

library=$1 headers=$2 recorded=$3
for tool in abidw abidiff; do
    command -v "$tool" >/dev/null || { echo "skipped: no $tool (Debian's abigail-tools)"; exit 77; }
done
now=$(mktemp --suffix .abi)
trap 'rm -f "$now"' EXIT

abidw --headers-dir "$headers" --drop-private-types --drop-undefined-syms --no-show-locs --no-corpus-path \
    --no-comp-dir-path --type-id-style hash --out-file "$now" "$library"
if [ -n "${CJ_UPDATE_ABI:-}" ]; then
    cp "$now" "$recorded"
    echo "recorded: $recorded"
fi
if ! abidiff --no-added-syms --drop-private-types "$recorded" "$now"; then
    echo "FAIL: the ABI differs from $recorded. If it must: raise the minor version, then CJ_UPDATE_ABI=1 tools/test -R inspect.abi"
    exit 1
fi
