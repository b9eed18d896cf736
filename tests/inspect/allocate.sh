#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# allocate.sh SOURCE: all host memory of the library is from src/base/allocate.c, and so from the program's allocator. What the C
# library allocated is given back to it: the lines that say "the C library's".
set -euo pipefail

cd "$1"
found=$(grep -rnE '(^|[^_>.[:alnum:]])(malloc|calloc|realloc|aligned_alloc|posix_memalign|strn?dup|v?asprintf|free)\(' \
    --include='*.c' --include='*.h' src ptxgen templates |
    grep -vE '^src/(driver|runtime|compilers)/|^src/base/allocate\.c:|^[^:]*:[0-9]+: *//|the C library.s' || true)
[ -z "$found" ] || { echo "$found"; echo "FAIL: call cj__malloc and its kin (src/base/allocate.h)"; exit 1; }
