#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# help.sh SOURCE: what scripts in bash say of themselves by --help, before they build or change anything; another option is refused.
# Not tools/run and tools/test, whose options are those of ptxgen and ctest.
set -euo pipefail

cd "$1"
for script in docs/build tools/cross tools/bench/run packaging/conda/try packaging/deb/try packaging/vcpkg/try; do
    first=$(sed -n 's/^# //;3p' "$script")
    for option in -h --help; do
        said=$(timeout 10 "$script" "$option" </dev/null) || { echo "FAIL: $script $option"; exit 1; }
        [ "${said%%$'\n'*}" = "$first" ] || { echo "FAIL: $script $option begins with '${said%%$'\n'*}', its head with '$first'"; exit 1; }
    done
    [ "$script" = tools/bench/run ] && continue  # others are its program's
    ! timeout 10 "$script" --no-such-option </dev/null >/dev/null 2>&1 || { echo "FAIL: $script takes --no-such-option"; exit 1; }
done
