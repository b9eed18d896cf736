# SPDX-License-Identifier: Apache-2.0
# Every form that cuda::ptx offers, as nvcc makes it of the files in cuda_ptx/: read, found without fault, and printed
# to a text of which ptxas makes the identical cubin.
set -u
ptxgen=${CJ_PTXGEN:?the path of ptxgen}
sources=$(dirname "$0")/cuda_ptx
forms=0
. "$(dirname "$0")/nvcc.bash"
need nvcc ptxas
. "$(dirname "$0")/failures.bash"

# cubin TEXT ARCH: TEXT.ptx assembled to TEXT.cubin, in the directory.
cubin() {
    ptxas -arch="$2" "$dir/$1.ptx" -o "$dir/$1.cubin" >"$dir/log" 2>&1
}

# file NAME: all of the above.
file() {
    local name=$1 arch=sm_90a ptx
    [[ $name == blackwell || $name == tcgen05* ]] && arch=sm_100a
    ptx=$(nvcc_ptx "$sources/$name.cu" -std=c++17 -arch=$arch 2>"$dir/log") || { failed "$name" "nvcc fails"; return; }
    cp "$ptx" "$dir/made.ptx"
    "$ptxgen" check "$dir/made.ptx" >"$dir/log" 2>&1 && ! [ -s "$dir/log" ] || failed "$name" "the checker finds faults"
    "$ptxgen" fmt "$dir/made.ptx" -o "$dir/printed.ptx" 2>"$dir/log" || failed "$name" "it cannot be printed"
    cubin made $arch || failed "$name" "ptxas refuses what nvcc made"
    cubin printed $arch || failed "$name" "ptxas refuses what was printed"
    cmp "$dir/made.cubin" "$dir/printed.cubin" >"$dir/log" 2>&1 || failed "$name" "ptxas makes another cubin of it"
    forms=$((forms + $(grep -c '^    form<' "$sources/$name.cu")))
}

for source in "$sources"/*.cu; do file "$(basename "$source" .cu)"; done

end "$forms forms"
