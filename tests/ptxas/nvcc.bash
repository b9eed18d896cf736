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

# need_checkout VARIABLE PROJECT FILE: skips the test unless the variable names a checkout of the project, which has the file.
need_checkout() {
    [ -n "${!1:-}" ] || { echo "skipped: $1 does not say where $2 is"; exit 77; }
    [ -e "${!1}/$3" ] || { echo "$1=${!1}: no $3 in it"; exit 1; }
}

# Skips the test in a build with sanitizers ($CJ_CFLAGS has their options).
need_no_sanitizer() {
    [ -z "${CJ_CFLAGS:-}" ] || { echo "skipped: nvcc's programs are not linked with sanitizers"; exit 77; }
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
