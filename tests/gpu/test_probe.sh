# SPDX-License-Identifier: Apache-2.0
# ptxgen probe on a GPU: every kernel keeps its check, every figure is there and is one, and the plot is drawn.
source "$(dirname "$0")/../cli/cli.bash"
needs_gpu

plot=(--plot "$dir/probe.svg")
[[ -n $(type -P gnuplot) ]] || plot=()
gives '"verdict": ' probe --device gpu --json "${plot[@]}"
grep -qE '"value": (-|0\.0,|"(NaN|Inf))' "$dir/out" && failed "probe" "a figure is none"
figures=$(grep -c '"figure"' "$dir/out")
((figures > 60)) || failed "probe" "there are $figures figures only"
[[ ! ${plot[*]} ]] || grep -q '</svg>' "$dir/probe.svg" || failed "probe" "there is no plot"

finish
