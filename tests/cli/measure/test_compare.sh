# SPDX-License-Identifier: Apache-2.0
# ptxgen compare, on the CPU device: every cluster size, what it counts there, plots, and what it refuses.
source "$(dirname "$0")/../cli.bash"

# A row for each size, without clusters first; the CPU device gives counts, and no verdict.
gives 'No verdict: this is the CPU device' compare reduce --device cpu --n 2^14
[[ $(awk '{ print $1 }' "$dir/out" | sed -n 3,8p | paste -sd ' ') == 'none 1 2 4 8 16' ]] || failed 'compare reduce' 'the rows are others'
[[ $(sed -n 2p "$dir/out") == *'DSMEM BYTES'*'ASYNC BYTES'*'CLUSTER BARRIERS'* ]] || failed 'compare reduce' 'it does not count'
[[ ! -s $dir/err ]] || failed 'compare reduce' 'it has something to say'

# Of a histogram each size is there twice: blocks that count their own bins, and blocks that add to each other's counters.
gives 'No verdict' compare histogram --device cpu --n 2^12 --rounds 1
grep -q '^ *4 .* strategy=remote' "$dir/out" || failed 'compare histogram' 'no row with remote counters'
gives '"form": "strategy=remote"' compare histogram --device cpu --n 2^12 --rounds 1 --json
json '[(r["cluster"], r["form"][9:]) for r in o["rows"]] == [(0, "owner"), (1, "owner")] + [(c, f) for c in (2, 4, 8, 16) for f in ("owner", "remote")]'
json 'all((r["stats"]["dsmem_written"] > 0) == ("remote" in r["form"]) for r in o["rows"])'
gives 'No verdict' compare histogram --device cpu --n 2^12 --rounds 1 --strategy owner
! grep -q remote "$dir/out" || failed 'compare --strategy owner' 'it shows the other strategy'
# Without clusters remote counters are refused by name; the other sizes are shown.
gives 'none: not launched: strategy: remote counters are' compare histogram --device cpu --n 2^12 --rounds 1 --strategy remote
gives '"rows"' compare histogram --device cpu --n 2^12 --rounds 1 --strategy remote --json
json '[r["cluster"] for r in o["rows"] if "refused" not in r] == [1, 2, 4, 8, 16]'

# Cluster barriers are where there are clusters.
gives '"verdict": {' compare reduce --device cpu --n 2^14 --rounds 1 --json
json '[r["cluster"] for r in o["rows"]] == [0, 1, 2, 4, 8, 16] and all(r["time_ms"] > 0 and r["rounds"] == 1 for r in o["rows"])'
json '[r["stats"]["cluster_barriers"] > 0 for r in o["rows"]] == [False] * 2 + [True] * 4'
json '[r["plan"]["cluster"][0] for r in o["rows"]] == [0, 1, 2, 4, 8, 16]'
json '"pays" not in o["verdict"] and o["verdict"]["text"].startswith("No verdict") and o["read_ceiling"] is None'

# A kernel of several launches is counted as a whole; a cluster that the problem has no work for is refused by name.
gives '1: not launched: ' compare stencil --device cpu --nx 64 --ny 64 --rounds 1
gives '"verdict": {' compare stencil --device cpu --strategy blocked --form registers --depth 4 --nx 64 --ny 64 --steps 16 --json
json 'o["rows"][0]["stats"]["global_written"] == 16 / 4 * 64 * 64 * 4 and all("refused" in r for r in o["rows"][1:])'

# Where the plan takes no cluster, a form that does is looked for: 1-D stencils have one.
gives '"verdict": {' compare stencil --device cpu --dim 1 --nx 4096 --json
json '[(r["cluster"], r["form"]) for r in o["rows"] if r.get("plans_choice")] == [(0, "strategy=blocked form=shared")]'
json '{r["cluster"]: r["stats"]["cluster_barriers"] > 0 for r in o["rows"] if "refused" not in r} == {0: False, 2: True, 4: True, 8: True, 16: True}'

# Sizes that cannot be launched are shown with the reason, beside those that can.
gives '16: not launched: grid 4 x 1 x 1 is not a multiple of cluster 16' compare reduce --device cpu --grid 4 --n 3000
gives '8: not launched: sm_80 has no thread block clusters' compare reduce --device cpu --arch sm_80
gives '"refused": "grid 4' compare reduce --device cpu --grid 4 --n 3000 --json
gives '2: not launched: cluster: 2 blocks would share a row of 20' compare scan --device cpu --columns 20 --rounds 1

# Where the blocks of a cluster are the problem, each number of them has one of its own, with a cluster and without; what does
# not go with a size is a row too. What st.async brings to peers counts as DSMEM bytes.
gives '"refused": "root: 3 is no rank of a cluster of 2"' compare collective --device cpu --op broadcast --root 3 --rounds 1 --json
json '[r["cluster"] for r in o["rows"] if r["cluster"] and "refused" not in r] == [4, 8, 16] and "bytes_read" not in o'
json '[r["bytes_written"] for r in o["rows"] if r["cluster"] and "refused" not in r] == [16, 32, 64]'
gives '"rows": [' compare collective --device cpu --op allgather --count 8 --json
json '[(r["blocks"], r["cluster"]) for r in o["rows"]] == [(b, c) for b in (2, 4, 8, 16) for c in (0, b)]'
json 'all((r["stats"]["dsmem_written"] > 0) == (r["cluster"] > 0) for r in o["rows"])'
gives 'through global memory' compare exchange --device cpu --n 64
gives '"rows": [' compare exchange --device cpu --n 64 --json
json '[(r["blocks"], r["cluster"]) for r in o["rows"]] == [(b, c) for b in (2, 4, 8, 16) for c in (0, b)]'
json '[r["stats"]["dsmem_written"] for r in o["rows"]] == [c * 64 * 4 for b in (2, 4, 8, 16) for c in (0, b)]'
json 'all(r["active_clusters"] > 0 and r["waves"] > 0 for r in o["rows"])'
gives '"rows": [' compare exchange --device cpu --size 8 --n 64 --json
json '[(r["blocks"], r["cluster"]) for r in o["rows"]] == [(8, 0), (8, 8)]'
refuses 1 'no cluster size can be launched: op=allreduce does not go with dtype=i8' compare collective --device cpu --dtype i8

# No more sizes than the family has.
gives '"rows": [' compare gemm --device cpu --m 64 --n 64 --k 64 --rounds 1 --json
json '[r["cluster"] for r in o["rows"]] == [0, 1, 2, 4]'

# The plot is an SVG that names what was run; it appears whole, also in place of another.
echo old >"$dir/plot.svg"
gives 'No verdict' compare reduce --device cpu --plot "$dir/plot.svg"
[[ $(<"$dir/plot.svg") == *'reduce on CPU device'*'</svg>'* ]] || failed 'compare --plot' 'no SVG'

# With times that are made up: the best with clusters is held against the best without, in any form, and the plan's own choice
# is marked. A kernel without clusters that is not the plan's is found (few rows of norms: spread took 11.8 us where the only
# form that was shown took 35.8 and the best cluster 14.4), and the row without clusters has none (long rows of bf16).
real=$ptxgen
ptxgen=${CJ_PTXGEN_MADE_UP_TIMES:?the path of ptxgen with made-up times}
problem=(rmsnorm --device cpu --rows 2 --columns 512 --warps 4 --resident no)
CJ_MADE_UP_FAST='form=direct:35.8 form=stream:40 form=spread:11.8 blocks=8:0.4' gives '"pays": "no"' compare "${problem[@]}" --json
json 'abs(o["verdict"]["speedup"] - 11.8 / (0.4 * 35.8)) < 1e-9 and o["verdict"]["cluster"] == 8'
json '[r["form"].split()[0] for r in o["rows"] if r["cluster"] == 0] == ["form=spread", "form=direct"]'
json 'sum(r["plans_choice"] for r in o["rows"]) == 1 and all(r["plan"]["cluster"][0] == r["cluster"] for r in o["rows"])'
CJ_MADE_UP_FAST='form=direct:35.8 form=stream:40 form=spread:20 blocks=8:0.4' gives 'A cluster pays: with 8 blocks' compare "${problem[@]}"
[[ $(<"$dir/out") == *"<- the plan's choice"*"ptxgen tune keeps what is faster"* ]] || failed compare "the plan's choice is not shown"
CJ_MADE_UP_FAST='' gives 'A cluster makes no difference' compare "${problem[@]}"
CJ_MADE_UP_FAST='blocks=4:0.5' gives '"verdicts": [' compare exchange --device cpu --n 64 --json
json '[(v["blocks"], v["pays"]) for v in o["verdicts"]] == [(2, "no difference"), (4, "yes"), (8, "no difference"), (16, "no difference")]'
CJ_MADE_UP_FAST='strategy=resident:0.5 blocks=4:0.5' gives 'A cluster pays: with 4 blocks' compare stencil --device cpu --dim 1 --nx 4096
ptxgen=$real

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
