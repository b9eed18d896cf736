#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# headers.sh INCLUDE COMPILER [FLAGS...]: every public header compiles alone, without a warning.
set -euo pipefail

include=$1 compiler=$2
shift 2
if ! command -v "$compiler" >/dev/null; then
    echo "SKIP: no compiler for $*"
    exit 77
fi

status=0
headers=("$include"/clusterjit/*.h)
[[ " $* " != *" c++ "* ]] || headers+=("$include"/clusterjit/*.hpp "$include"/clusterjit/cxx/*.hpp)
for header in "${headers[@]}"; do
    "$compiler" "$@" -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I "$include" - \
        <<<"#include <${header#"$include"/}>" || { echo "FAIL: ${header#"$include"/}"; status=1; }
done
exit $status
