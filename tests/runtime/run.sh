#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh NAME: compiles NAME.cu as for a GPU (and NAME_part.cu with it, then with -rdc=true), runs it over the CPU device with
# hazards on, and expects the one line "as documented". A line `// flags: …` of the source has more options of nvcc, `// with: …`
# variables of the environment.
set -u
here=$(cd "$(dirname "$0")" && pwd)
name=$1
. "$here/../ptxas/nvcc.bash"
need nvcc
need_no_sanitizer
programs=${CJ_PROGRAMS:?the directory of libcudart.so.13}
source=$here/$name.cu program=$nvcc_kept/runtime_$name
read -ra flags <<<"$(sed -n 's,^// flags: ,,p' "$source")"
read -ra with <<<"$(sed -n 's,^// with: ,,p' "$source")"
sources=("$source")
[ ! -e "$here/${name}_part.cu" ] || { sources+=("$here/${name}_part.cu"); flags+=(-rdc=true); }
options=(-std=c++17 -O1 -arch=compute_90 -code=compute_90 -cudart shared "${flags[@]}")
for file in "${sources[@]}" "$here/check.cuh" "$0" "$(type -P nvcc)"; do
    [ "$program" -nt "$file" ] && continue
    mkdir -p "$nvcc_kept"
    objects=()
    for part in "${sources[@]}"; do
        objects+=("$program.$$.${#objects[@]}.o")
        ${CJ_LAUNCHER:-} nvcc "${options[@]}" -c "$part" -o "${objects[-1]}" || exit 1
    done
    nvcc "${options[@]}" "${objects[@]}" -o "$program.$$" || exit 1
    rm "${objects[@]}"
    mv "$program.$$" "$program"
    break
done
told=$(env CLUSTERJIT_HAZARDS=on CLUSTERJIT_THREADS=2 CLUSTERJIT_REPORT=/dev/null "${with[@]}" \
    LD_LIBRARY_PATH="$programs" timeout 60 "$program" 2>&1)
code=$?
[ $code = 0 ] && [ "$told" = "as documented" ] && exit 0
echo "$told"
echo "$name ends with $code"
exit 1
