#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# recipes.sh SOURCE BUILD vcpkg|conda: builds the vcpkg port, with CJ_VCPKG=DIR, a checkout of vcpkg; or the conda recipe, with CJ_CONDA=1, by
# rattler-build from PyPI. Both build the library again and take minutes; without the variable the test is skipped.
set -euo pipefail

source=$1 build=$2 recipe=$3
case $recipe in
vcpkg)
    [ -n "${CJ_VCPKG:-}" ] || { echo "skipped: CJ_VCPKG names no checkout of vcpkg"; exit 77; }
    "$source/packaging/vcpkg/try" "$CJ_VCPKG" "$build/vcpkg-try"
    ;;
conda)
    [ "${CJ_CONDA:-0}" = 1 ] || { echo "skipped: CJ_CONDA is not 1"; exit 77; }
    "$source/packaging/conda/try" "$build/conda-try"
    ;;
esac
