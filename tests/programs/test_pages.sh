#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_pages.sh: every `ptxgen run-program` that a page of docs/ shows runs as it stands there, with programs of these tests in the place
# of the reader's: right ones, of which the exit code is 0, and the same ones with their faults, of which it is 1.
source "$(dirname "$0")/programs.bash"
need nvcc python3
root=$(cd "$here/../.." && pwd)

# Of the driver API: the image of the kernels lies beside the program.
driver() {
    local program=$1 source=$here/driver/$2
    shift 2
    "${CC:-cc}" -std=c11 -O1 -isystem "$cuda/include" -I"$here/driver" "$@" "$source.c" -o "$program" -L"$cuda/lib64/stubs" -lcuda &&
        compile "$kept/page_$(basename "$source")${1:-}.image" "$source.cu" -ptx -arch=compute_90 "$@" &&
        cp "$kept/page_$(basename "$source")${1:-}.image" "$program.image" || exit 1
}

# build FOLDER OPTION...: what the pages' readers have there.
build() {
    local folder=$1
    shift
    mkdir -p "$folder"
    driver "$folder/vectorAdd" vectoradd "$@"
    driver "$folder/matrixmul" matrixmul "$@"
    compile "$kept/page_devices${1:-}.o" "$here/runtime/devices.cu" -arch=compute_90 -code=compute_90 "$@" -c &&
        nvcc -arch=compute_90 -code=compute_90 -cudart shared "$kept/page_devices${1:-}.o" -o "$folder/allreduce" || exit 1
    for program in train.py thread_block_cluster.py; do
        sed "${1:+/bar.sync 0/d}" "$here/python/ctypes_reverse.py" >"$folder/$program" || exit 1
    done
}
build "$dir/right" && build "$dir/faulty" -DFAULT

# shows CODE FOLDER LINE: a page's line, run in the folder, exits so, and there is a report.
shows() {
    (cd "$dir/$2" && PATH=$(dirname "$ptxgen"):$PATH timeout 120 bash -c "$3") >"$dir/out" 2>"$dir/err"
    code=$?
    [[ $code == "$1" ]] || failed "$2: $3" "exit code $code, not $1"
    [[ $(<"$dir/err") == *' in kernels: '* ]] || failed "$2: $3" 'there is no summary'
}

count=0
while IFS= read -r line; do
    count=$((count + 1))
    shows 0 right "$line"
    shows 1 faulty "$line"
done < <(cat "$root"/docs/*.md | sed -nE 's/^    (ptxgen run-program .*)/\1/p' | sed -E 's/ +# .*$//')
((count >= 6)) || failed 'docs/*.md' "only $count lines with run-program were found"
finish
