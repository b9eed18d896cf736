# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
# What tools/run, tools/test and .ci/run share: finding what a build needs, and building. Messages go to standard error.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { echo "clusterjit: $*" >&2; }

die() {
    say "$@"
    exit 1
}

# What is needed: Debian's package, then the shell command that succeeds where it is there.
needs_build='
cmake           command -v cmake
ninja-build     command -v ninja
gcc             command -v cc
libc6-dev       echo "#include <stdio.h>" | cc -E -
pkg-config      command -v pkg-config
libjansson-dev  pkg-config --exists jansson
libxxhash-dev   pkg-config --exists libxxhash
liblz4-dev      pkg-config --exists liblz4
libzstd-dev     pkg-config --exists libzstd
'
needs_tests='
g++             command -v c++
clang           command -v clang++
binutils        command -v nm && command -v readelf
libcmocka-dev   pkg-config --exists cmocka
gnuplot-nox     command -v gnuplot
dpkg-dev        command -v dpkg-shlibdeps
abigail-tools   command -v abidiff
groff-base      command -v groff
mandoc          command -v mandoc
zsh             command -v zsh
shellcheck      command -v shellcheck
python3-venv    python3 -c "import venv, ensurepip"
fish            command -v fish
python3-markdown-it  python3 -c "import markdown_it" || /usr/bin/python3 -c "import markdown_it"
chromium-headless-shell  command -v chromium || command -v chromium-headless-shell || command -v google-chrome
'

# missing NEEDS: the packages of a table above that are not there.
missing() {
    local package check
    while read -r package check; do
        if [ -n "$package" ] && ! bash -c "$check" >/dev/null 2>&1; then echo "$package"; fi
    done <<<"$1"
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "run as root, or install sudo, to do this: $*"
    fi
}

# ensure NEEDS: installs what is missing, with apt.
ensure() {
    local packages
    mapfile -t packages < <(missing "$1")
    if [ ${#packages[@]} -gt 0 ]; then
        if ! command -v apt-get >/dev/null; then
            die "missing (by the names of Debian's packages): ${packages[*]}. Install them and try again."
        fi
        say "installing with apt: ${packages[*]}"
        as_root apt-get update -qq >&2
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >&2
    fi
    local version
    version=$(cmake --version | awk 'NR == 1 { print $3 }')
    if [ "$(printf '%s\n' 3.25 "$version" | sort -V | sed -n 1p)" != 3.25 ]; then
        die "cmake is $version, but 3.25 or later is needed: see cmake.org/download"
    fi
}

# build PRESET: configures once, builds what changed, and says something only when there is something to do.
build() {
    local preset=$1 log
    (
        cd "$root"
        log=$(mktemp)
        trap 'rm -f "$log"' EXIT
        if [ ! -e "build/$preset/build.ninja" ]; then
            say "configuring preset $preset in build/$preset"
            cmake --preset "$preset" >"$log" 2>&1 || { cat "$log" >&2; die "cmake failed"; }
            grep 'gpu device:' "$log" >&2 || true
        fi
        cmake --build --preset "$preset" 2>&1 | tee "$log" |
            awk -v message="clusterjit: building preset $preset" \
                '/^\[.*(Building|Linking)/ && !said++ { print message; fflush() }' >&2 ||
            { cat "$log" >&2; die "the build failed"; }
    )
}

# run_tests PRESET [CTEST ARGUMENTS...]
run_tests() {
    local preset=$1
    shift
    (cd "$root" && ctest --preset "$preset" --parallel "$(nproc)" "$@")
}
