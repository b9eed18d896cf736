#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# packages.sh SOURCE BUILD CC: makes the Debian packages of a build, unpacks them into a folder, and builds and runs a program
# and the command from there. Nothing is installed on this machine; but in CI, where the user is root (CI=true), packaging/deb/try
# then installs the packages by apt-get, uses them and removes them.
set -euo pipefail

source=$1 build=$2 cc=$3
for tool in cpack dpkg-deb dpkg-shlibdeps; do
    command -v "$tool" >/dev/null || { echo "skipped: no $tool (Debian's dpkg-dev)"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "FAIL: $*"; exit 1; }

cpack --config "$build/CPackConfig.cmake" -G DEB -B "$work" >"$work/log" 2>&1 || { cat "$work/log"; fail cpack; }
version=$(sed -n 's/^set(CPACK_PACKAGE_VERSION "\(.*\)")$/\1/p' "$build/CPackConfig.cmake")
library=libclusterjit${version%.*}
for file in vcpkg/clusterjit/vcpkg.json conda/recipe.yaml; do
    grep -qE "version(-semver\")?: \"?$version\b" "$source/packaging/$file" || fail "packaging/$file has another version than $version"
done
for package in "$library" libclusterjit-dev ptxgen; do
    file=$(echo "$work/${package}_$version"_*.deb)
    [ -f "$file" ] || fail "no package $package $version"
    dpkg-deb -x "$file" "$work/root"
    depends=$(dpkg-deb -f "$file" Depends)
    case $package in
        "$library") [[ $depends == *libc6* ]] || fail "$package depends on: $depends" ;;
        *) [[ $depends == *"$library (= $version)"* ]] || fail "$package depends on: $depends" ;;
    esac
    [[ $depends != *cuda* ]] || fail "$package needs CUDA: $depends"
    echo "$package $version: $depends"
done

pc=$(find "$work/root" -name clusterjit.pc)
[ -n "$pc" ] || fail "no clusterjit.pc"
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
read -ra flags < <(pkg-config --cflags --libs clusterjit)
"$cc" -o "$work/user" "$source/tests/install/user.c" "${flags[@]}"
LD_LIBRARY_PATH=$(pkg-config --variable=libdir clusterjit) "$work/user"
[[ $("$work/root/usr/bin/ptxgen" --version) == *"$version"* ]] || fail "ptxgen --version"

if [ "${CI:-}" = true ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    "$source/packaging/deb/try" "$work" "$cc"
fi
