#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pipes.sh SOURCE: no script that sets pipefail pipes into a reader that leaves before its input ends (grep -q, head): a writer that
# still writes then ends by SIGPIPE, and the pipe fails on some machines and some days. `sed -n 1p`, or [[ $(writer) == … ]], reads all.
set -euo pipefail

cd "$1"
mapfile -t scripts < <(grep -rlIE '^set -[a-z]*o pipefail' .ci tests tools packaging docs --exclude='*.md' --exclude='*.html' | sort)
((${#scripts[@]} > 20)) || { echo "FAIL: only ${#scripts[@]} scripts that set pipefail were found in $1"; exit 1; }
found=$(grep -nE '\| *(head\b|grep( -[^ ]+)* -[a-zA-Z]*[qm])' "${scripts[@]}" | grep -vE '^[^:]*:[0-9]+: *#' || true)
[ -z "$found" ] || { echo "$found"; echo "FAIL: the reader leaves early: see the head of tests/inspect/pipes.sh"; exit 1; }
