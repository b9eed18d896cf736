# SPDX-License-Identifier: Apache-2.0
# ptxgen probe says on which device it runs, and measures no emulator.
source "$(dirname "$0")/../cli.bash"

refuses 4 'the times of an emulator mean nothing' probe --device cpu
refuses 4 'the times of an emulator mean nothing' probe --device cpu --json --plot "$dir/plot.svg"
[[ ! -e $dir/plot.svg ]] || failed "probe --device cpu" "it draws a plot"
refuses 64 'unknown option' probe --cluster 4
gives 'FILE.svg' probe --help

finish
