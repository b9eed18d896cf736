#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts.sh SOURCE: shellcheck finds no error and no warning in the scripts, those included that run only in CI.
# SC2034 and SC2154 are left out: a test sets variables for the file that it sources, and uses that file's.
set -euo pipefail

command -v shellcheck >/dev/null || { echo "skipped: no shellcheck (Debian's shellcheck)"; exit 77; }
cd "$1"
mapfile -t scripts < <({
    find .ci cmake docs packaging python src tests tools -name '*.sh' -o -name '*.bash'
    grep -rlIE '^#!.*\b(ba)?sh$' .ci cmake docs packaging python src tests tools
} | sort -u)
((${#scripts[@]} > 100)) || { echo "FAIL: only ${#scripts[@]} scripts were found in $1"; exit 1; }
shellcheck --shell=bash --severity=warning --exclude=SC2034,SC2154 "${scripts[@]}"
