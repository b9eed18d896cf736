# SPDX-License-Identifier: Apache-2.0
# nvcc for the tests of its PTX; what it makes is kept beside the build's other files, for it takes seconds a file.
PATH=$PATH:/usr/local/cuda/bin
nvcc_kept=$PWD/nvcc  # ctest runs scripts in the build; by hand they leave nothing where they are run
[ -e CTestTestfile.cmake ] || nvcc_kept=$(mktemp -d)

# need TOOL...: skips the test where one is missing.
need() {
    local tool
    for tool; do
        [ -n "$(type -P "$tool")" ] || { echo "skipped: there is no $tool"; exit 77; }
    done
}

# nvcc_ptx SOURCE OPTION...: prints the path of its PTX, for sm_90 unless an option says otherwise.
nvcc_ptx() {
    local source=$1 made
    shift
    made=$nvcc_kept/$(basename "$source" .cu)$(printf '%s' "$@").ptx
    if ! [ "$made" -nt "$source" ] || ! [ "$made" -nt "$(type -P nvcc)" ]; then
        mkdir -p "$nvcc_kept"
        [[ " $* " == *" -arch="* ]] || set -- -arch=sm_90 "$@"
        nvcc -ptx "$@" -o "$made.$$" "$source" || return
        mv "$made.$$" "$made"
    fi
    echo "$made"
}
