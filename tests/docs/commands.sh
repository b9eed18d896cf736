#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# commands.sh PTXGEN: the commands that the pages of families, of several GPUs and of questions show run on the CPU device, and are right.
# A line that names a file of the reader's (kernel.cu, kernel.ptx) is run with a kernel in its place.
set -euo pipefail

ptxgen=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export CLUSTERJIT_CACHE_DIR=$dir/cache
cp "$root/tests/faults/exit_before_peer_reads.ptx" "$dir/kernel.ptx"
sed -i '/!fault/d; s/^\.visible .*/&\n.reqntid 32\n.reqnctapercluster 2/' "$dir/kernel.ptx"

count=0 failed=0
while IFS=: read -r page line; do
    line=${line%%  #*}
    case $line in
    *kernel.cu*) line=${line/kernel.cu/kernel.ptx} ;;
    *' run '* | *' compare '*) line+=' --device cpu' ;;
    esac
    count=$((count + 1))
    if ! (cd "$dir" && PATH=$(dirname "$ptxgen"):$PATH bash -o pipefail -c "$line") >"$dir/out" 2>&1; then
        echo "FAIL: $page: $line"
        tail -5 "$dir/out"
        failed=1
    fi
done < <(cd "$root/docs" && grep -oE '^    ptxgen .*' families/*.md gpus.md why_*.md what_*.md does_*.md | sed 's/:    /:/')
echo "$count commands"
[ $failed = 0 ] && ((count > 20))
