# SPDX-License-Identifier: Apache-2.0
# What nvcc makes of real kernels: read, checked without an error, and printed to a text that prints to itself and of
# which ptxas makes the same machine code and data as of the original.
set -u
ptxgen=${CJ_PTXGEN:?the path of ptxgen}
sources=$(dirname "$0")/nvcc
. "$(dirname "$0")/nvcc.bash"
need nvcc ptxas readelf
. "$(dirname "$0")/failures.bash"

# sections CUBIN: names and contents of its code, constants, initialised data and kernel descriptions, with relocations.
sections() {
    readelf -W -S "$1" 2>"$dir/warnings" | grep -oE ' (\.rela)?\.(text\.|nv\.(constant|global|info|shared))\S*' |
        while read -r section; do readelf -W -x "$section" "$1" 2>"$dir/warnings"; done
}

# kernel NAME OPTION...: all of the above; the options go to nvcc, and -G and -lineinfo to ptxas also.
kernel() {
    local name=$1 debug='' ptx
    shift
    [[ " $* " == *" -G "* ]] && debug=-g
    [[ " $* " == *" -lineinfo "* ]] && debug=-lineinfo
    ptx=$(nvcc_ptx "$sources/$name.cu" "$@" 2>"$dir/log") || { failed "$name" "nvcc fails"; return; }
    cp "$ptx" "$dir/a.ptx"
    "$ptxgen" check "$dir/a.ptx" >"$dir/log" 2>&1 || failed "$name" "what nvcc made has errors"
    "$ptxgen" fmt "$dir/a.ptx" -o "$dir/b.ptx" 2>"$dir/log" || { failed "$name" "it cannot be printed"; return; }
    "$ptxgen" fmt "$dir/b.ptx" -o "$dir/c.ptx" 2>"$dir/log" || failed "$name" "what was printed cannot be read"
    diff "$dir/b.ptx" "$dir/c.ptx" >"$dir/log" || failed "$name" "printed again, it is another text"
    for text in a b; do
        # shellcheck disable=SC2086
        ptxas $debug -arch=sm_90 "$dir/$text.ptx" -o "$dir/$text.cubin" 2>"$dir/log" || failed "$name" "ptxas fails"
        sections "$dir/$text.cubin" >"$dir/$text.code"
    done
    grep -q "section '.text" "$dir/a.code" || failed "$name" "no code was compared"
    diff "$dir/a.code" "$dir/b.code" >"$dir/log" || failed "$name" "ptxas makes other code of it"
}

count=0
for source in "$sources"/*.cu; do
    kernel "$(basename "$source" .cu)"
    count=$((count + 1))
done
kernel calls -lineinfo
kernel calls -G

end "$count files, and one with line numbers and debug information"
