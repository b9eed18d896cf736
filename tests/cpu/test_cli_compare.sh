# SPDX-License-Identifier: Apache-2.0
# ptxgen compare, on the CPU device: every cluster size, what it counts there, plots, and what it refuses.
source "$(dirname "$0")/cli.bash"

# A row for each size, without clusters first; the CPU device gives counts, and no verdict.
gives 'No verdict: this is the CPU device' compare reduce --device cpu --n 2^14
[[ $(awk '{ print $1 }' "$dir/out" | sed -n 3,8p | paste -sd ' ') == 'none 1 2 4 8 16' ]] || failed 'compare reduce' 'the rows are others'
[[ $(sed -n 2p "$dir/out") == *'DSMEM BYTES'*'ASYNC BYTES'*'CLUSTER BARRIERS'* ]] || failed 'compare reduce' 'it does not count'
[[ ! -s $dir/err ]] || failed 'compare reduce' 'it has something to say'

# Cluster barriers are where there are clusters.
gives '"verdict": {' compare reduce --device cpu --n 2^14 --rounds 1 --json
json '[r["cluster"] for r in o["rows"]] == [0, 1, 2, 4, 8, 16] and all(r["time_ms"] > 0 and r["rounds"] == 1 for r in o["rows"])'
json '[r["stats"]["cluster_barriers"] > 0 for r in o["rows"]] == [False] * 2 + [True] * 4'
json '[r["plan"]["cluster"][0] for r in o["rows"]] == [0, 1, 2, 4, 8, 16]'
json '"pays" not in o["verdict"] and o["verdict"]["text"].startswith("No verdict") and o["read_ceiling"] == 0'

# A kernel of several launches is counted as a whole; one that is planned without clusters is shown once.
gives '1: not launched: ' compare stencil --device cpu --nx 64 --ny 64 --rounds 1
gives '"verdict": {' compare stencil --device cpu --strategy blocked --depth 4 --nx 64 --ny 64 --steps 16 --rounds 1 --json
json 'o["rows"][0]["stats"]["global_written"] == 16 / 4 * 64 * 64 * 4 and all("refused" in r for r in o["rows"][1:])'

# Sizes that cannot be launched are shown with the reason, beside those that can.
gives '16: not launched: grid 4 x 1 x 1 is not a multiple of cluster 16' compare reduce --device cpu --grid 4 --n 3000
gives '8: not launched: sm_80 has no thread block clusters' compare reduce --device cpu --arch sm_80
gives '"refused": "grid 4' compare reduce --device cpu --grid 4 --n 3000 --json
gives '2: not launched: planned without clusters' compare scan --device cpu --columns 100 --rounds 1

# Where the blocks of a cluster are the problem, each size has one of its own; what does not go with a size is a row too.
gives 'none: not launched: cluster: a collective is of a cluster' compare collective --device cpu --rounds 1
gives '"refused": "root: 3 is no rank of a cluster of 2"' compare collective --device cpu --op broadcast --root 3 --rounds 1 --json
json '[r["cluster"] for r in o["rows"] if "refused" not in r] == [4, 8, 16] and "bytes_read" not in o'
json '[r["bytes_written"] for r in o["rows"] if "refused" not in r] == [16, 32, 64]'
gives '4: not launched: size=8 blocks trade, but cluster=4' compare exchange --device cpu --size 8 --n 64 --rounds 1
refuses 1 'no cluster size can be launched: op=allreduce does not go with dtype=i8' compare collective --device cpu --dtype i8

# No more sizes than the family has.
gives '"rows": [' compare gemm --device cpu --m 64 --n 64 --k 64 --rounds 1 --json
json '[r["cluster"] for r in o["rows"]] == [0, 1, 2, 4]'

# The plot is an SVG that names what was run; it appears whole, also in place of another.
echo old >"$dir/plot.svg"
gives 'No verdict' compare reduce --device cpu --plot "$dir/plot.svg"
[[ $(<"$dir/plot.svg") == *'reduce on CPU device'*'</svg>'* ]] || failed 'compare --plot' 'no SVG'

refuses 2 'No such file or directory' compare reduce --device cpu --plot "$dir/none/plot.svg"
refuses 64 '--cluster is what compare goes through' compare reduce --device cpu --cluster 4
refuses 64 'which kernel family?' compare
refuses 64 'no kernel family' compare redcue
refuses 64 '--rounds' compare reduce --rounds none
gives 'Usage: ptxgen compare reduce' help compare reduce

# Without gnuplot nothing is measured in vain.
run_without_gnuplot() { PATH=/nowhere "$ptxgen" compare reduce --device cpu --plot "$dir/other.svg" >"$dir/out" 2>"$dir/err"; }
run_without_gnuplot
code=$?
[[ $code == 2 && $(<"$dir/err") == *'gnuplot'*'apt install gnuplot-nox'* && ! -s $dir/out && ! -e $dir/other.svg ]] ||
    failed 'compare --plot' "without gnuplot it ends with $code"

finish
