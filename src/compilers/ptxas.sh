#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Stands for ptxas in programs of `ptxgen run-program` that start it themselves, such as Triton (TRITON_PTXAS_PATH): the PTX itself
# is the "machine code" that the program then loads. Its version differs from every ptxas: caches that have it in their keys keep the
# two apart.
input='' output=elf.o
while [ $# -gt 0 ]; do
    case $1 in
    --version | -V)
        echo 'ptxas of clusterjit: hands on PTX'
        echo 'Cuda compilation tools, release 13.0, V13.0.0'
        exit 0
        ;;
    -o | --output-file)
        output=$2
        shift
        ;;
    -o=* | --output-file=*) output=${1#*=} ;;
    -*) ;;
    *.ptx) input=$1 ;;
    esac
    shift
done
[ -n "$input" ] || {
    echo "ptxas of clusterjit: which file? Its name ends with .ptx" >&2
    exit 1
}
cat -- "$input" >"$output"
