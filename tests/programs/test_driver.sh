#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_driver.sh NAME [OPTION...]: a program on the driver API, driver/NAME.c (NAME may begin with a folder) with the kernels of driver/NAME.cu, as it is: right
# and silent, also under random schedules; with its fault: found. The options are run-program's.
source "$(dirname "$0")/programs.bash"
source=$here/driver/$1
name=${1##*/}
shift
need nvcc

arch=90
[[ $name == tma ]] && arch=90a  # to spare ptxas a warning
form=(-ptx "-arch=compute_$arch")
((${#name} % 2)) || form=(-fatbin -gencode "arch=compute_$arch,code=compute_$arch")

# build PROGRAM OPTION...: the program, and beside it the image of its kernels: of every other program PTX, else a fat binary.
build() {
    local program=$1
    shift
    "${CC:-cc}" -std=c11 -O1 -Wall -Wextra -isystem "$cuda/include" -I"$here/driver" "$@" "$source.c" -o "$program" \
        -L"$cuda/lib64/stubs" -lcuda && compile "$program.image" "$source.cu" "${form[@]}" "$@" || exit 1
}

right=$kept/$name faulty=$kept/$name.faulty
build "$right" && build "$faulty" -DFAULT
is_right "$name: passed" --hazards off "$@" "$right"
is_right "$name: passed" --leaks on "$@" "$right"
is_right "$name: passed" --schedule "$schedules" "$@" "$right"
is_found "$source.cu" "$@" "$faulty"
case $name in
vectoradd | vmm | pools | multicast) is_found "$source.cu" --hazards off "$@" "$faulty" ;;  # a wrong address is found always
esac
finish
