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
for header in "$include"/clusterjit/*.h; do
    "$compiler" "$@" -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I "$include" - \
        <<<"#include <clusterjit/${header##*/}>" || { echo "FAIL: ${header##*/}"; status=1; }
done
exit $status
