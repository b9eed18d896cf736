#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# install.sh SOURCE BUILD CC [CXX]: installs the library, then builds and runs a user of the package (C and C++), of the
# pkg-config file, and of the sources as a subdirectory.
set -euo pipefail

source=$1 build=$2 cc=$3 cxx=${4:-}
users=$source/tests/install
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

quietly() {
    "$@" >"$work/log" 2>&1 || { cat "$work/log"; echo "FAIL: $*"; exit 1; }
}

# build_user DIRECTORY [CMAKE OPTIONS...]
build_user() {
    local directory=$1
    shift
    quietly cmake -G Ninja -S "$users/$directory" -B "$work/$directory" -DCMAKE_C_COMPILER="$cc" "$@"
    quietly cmake --build "$work/$directory" --parallel 2
}

quietly cmake --install "$build" --prefix "$prefix"

if [ -x "$prefix/bin/ptxgen" ]; then
    for file in man/man1/ptxgen.1 man/man1/ptxgen-check.1 man/man3/clusterjit.3 bash-completion/completions/ptxgen \
        zsh/site-functions/_ptxgen fish/vendor_completions.d/ptxgen.fish; do
        [ -s "$prefix/share/$file" ] || { echo "FAIL: share/$file is not installed"; exit 1; }
    done
fi

echo "package:"
with_cxx=()
if command -v "$cxx" >/dev/null; then
    with_cxx=(-DUSER_CXX=ON -DCMAKE_CXX_COMPILER="$cxx")
else
    echo "(no C++ compiler: from C only)"
fi
build_user package -DCMAKE_PREFIX_PATH="$prefix" "${with_cxx[@]}"
for user in "$work"/package/user_c "$work"/package/user_cxx; do
    if [ -x "$user" ]; then "$user"; fi
done

echo "pkg-config:"
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name clusterjit.pc)")
export PKG_CONFIG_PATH
read -ra flags < <(pkg-config --cflags --libs clusterjit)
"$cc" -o "$work/user" "$users/user.c" "${flags[@]}"
LD_LIBRARY_PATH=$(pkg-config --variable=libdir clusterjit) "$work/user"

echo "subdirectory:"
build_user subdirectory -DCLUSTERJIT="$source"
"$work/subdirectory/user_c"
quietly cmake --install "$work/subdirectory" --prefix "$work/parent"
if [ -e "$work/parent" ]; then
    find "$work/parent"
    echo "FAIL: a subdirectory installs into its parent's prefix"
    exit 1
fi
