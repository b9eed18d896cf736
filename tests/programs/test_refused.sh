#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Programs that end in another way than well, and those that the CPU device cannot run: each is told what it was, by its name.
source "$(dirname "$0")/programs.bash"
need nvcc
source=$here/refused/add.cu
ptx=(-arch=compute_90 -code=compute_90)

# build PROGRAM OPTION...
build() {
    local program=$1
    shift
    compile "$program.o" "$source" "${ptx[@]}" -c && nvcc "${ptx[@]}" "$program.o" -o "$program" "$@" || exit 1
}
add=$kept/add
build "$add" -cudart shared

# tells CODE TEXT OPTION... PROGRAM...: exits with CODE, and TEXT is within the report.
tells() {
    local want=$1 text=$2
    shift 2
    run_program "$@"
    [[ $code == "$want" ]] || failed "$*" "exit code $code, not $want"
    [[ $(<"$dir/err") == *"$text"* ]] || failed "$*" "the report does not say '$text'"
}

# names CODE WORD OPTION... PROGRAM...: exits with CODE, and names the line that says "found here: WORD".
names() {
    local want=$1 word=$2
    shift 2
    tells "$want" "add.cu:$(grep -n "found here: $word" "$source" | cut -d: -f1)" "$@"
}

# --- what kernels do
is_right 'add: passed' "$add"
names 1 race "$add" race
names 1 assert "$add" assert
tells 1 'x[i] < 60' "$add" assert
names 1 trap "$add" trap
names 1 livelock --limit 1 "$add" livelock
is_right 'thread 63 has 64' "$add" printf

# --- how processes end
tells 134 "died by signal 6 (Aborted)" "$add" abort
tells 0 '1 refused call' "$add" fork
run_program --json "$add" fork
grep -q '"message": ".*fork' "$dir/out" || failed 'add fork' "the report does not say 'fork'"
tells 0 'LaunchKernel: block 2000' "$add" unchecked
tells 3 '1 refused call' "$add" tables
! grep -q 'private tables' "$dir/err" || failed 'add tables' 'a program that launched is told to link its runtime'
tells 0 'no hazards' "$add" leak
tells 1 '256 bytes' --leaks on "$add" leak

# --- what is linked in another way
build "$kept/add_static" -cudart static
tells 2 "link it with 'nvcc -cudart shared'" "$kept/add_static"
strip "$kept/add_static" -o "$dir/stripped"
tells 2 "link it with 'nvcc -cudart shared'" "$dir/stripped"
# A library of NVIDIA's that has the runtime in it is told by its name, and not to be linked in another way.
printf '#include <cuda.h>\nint product(void) { const void *t; CUuuid u = {{1}}; return (int)cuGetExportTable(&t, &u); }\n' >"$dir/product.c"
printf '#include <cuda.h>\nint product(void);\nint main(void) { return cuInit(0) || !product(); }\n' >"$dir/main.c"
cc -shared -fPIC -I"$cuda/include" "$dir/product.c" -o "$dir/libcublas.so.13" -L"$cuda/lib64/stubs" -lcuda || exit 1
cc -I"$cuda/include" "$dir/main.c" -o "$dir/multiplies" "$dir/libcublas.so.13" -Wl,-rpath,"$dir" -L"$cuda/lib64/stubs" -lcuda || exit 1
tells 0 'libcublas.so.13 asks for private tables' "$dir/multiplies"
[[ $(<"$dir/err") == *'have the program do without it'* && $(<"$dir/err") != *'-cudart shared'* ]] || failed multiplies 'another hint'
build "$kept/add_rpath" -cudart shared -Xlinker -rpath="$cuda/lib64" -Xlinker --disable-new-dtags
is_right 'add: passed' "$kept/add_rpath"
[[ $(<"$dir/err") == *"its RPATH names $cuda/lib64/"* ]] || failed add_rpath 'no note on the RPATH'
ptx=(-gencode "arch=compute_90,code=sm_90")
build "$kept/add_machine" -cudart shared
tells 0 'machine code' "$kept/add_machine"
tells 0 'code=compute_90' "$kept/add_machine"
finish
