# SPDX-License-Identifier: Apache-2.0
# ptxgen bench, on the CPU device: what it measures, checks, prints and refuses.
source "$(dirname "$0")/../cli.bash"

# Lines for people, in this order; nothing on standard error.
gives 'reduce: n=5000 ' bench reduce --device cpu --n 5000
[[ $(cut -d: -f1 "$dir/out" | head -5 | paste -sd ' ') == 'reduce Launch Device Time Rate' ]] || failed 'bench reduce' 'the lines are others'
[[ $(<"$dir/out") == *' rounds of 1 launch, host clock'* ]] || failed 'bench reduce' 'it does not say how it was timed'
[[ $(<"$dir/out") == *'say nothing about a GPU'* ]] || failed 'bench reduce' 'it does not say that these times mean nothing'
[[ ! -s $dir/err ]] || failed 'bench reduce' 'it has something to say'

# The parameters are those that the plan took; what it leaves open is in the launch's line.
gives 'softmax: rows=4 ' bench softmax --device cpu --rows 4 --columns 100 --rounds 1
[[ $(<"$dir/out") == *' form=direct '*$'\nLaunch: grid 1 x 1 x 1, block '* && $(<"$dir/out") != *'=auto'* ]] || failed 'bench softmax' 'not what was taken'
gives '"family": "softmax"' bench softmax --device cpu --rows 4 --columns 100 --rounds 1 --json
json 'o["parameters"]["form"] == "auto" and o["plan"]["parameters"]["form"] == "direct"'

# The same as JSON: one problem, its plan, the median between its quartiles, bytes that must be moved.
gives '"family": "reduce"' bench reduce --device cpu --n 5000 --cluster 8 --rounds 5 --json
json 'o["parameters"]["n"] == 5000 and o["plan"]["cluster"] == [8, 1, 1] and o["cluster"] == 8'
json 'o["device"]["kind"] == "cpu" and o["time_source"] == "host clock" and o["read_ceiling"] is None'
json 'o["rounds"] == 5 and o["launches"] == 1 and o["buffer_sets"] == 1 and o["bytes_read"] == 20000'
json '0 < o["low_ms"] <= o["time_ms"] <= o["high_ms"] and o["bytes_per_second"] > 0 and o["sms"] > 0'
json 'o["stats"]["global_read"] >= 20000 and o["stats"]["cluster_barriers"] > 0'

# Other plans, schedules and types run too, with hazards watched.
gives 'cluster 0;' bench reduce --device cpu --cluster 0
gives 'Time: ' bench reduce --device cpu --n 3000 --dtype i64 --op max --schedule seed:3 --hazards on --rounds 1

# A terminal sees how far it is; nothing of that is left in a pipe.
if [[ -n $(type -P script) ]]; then
    script -qefc "'$ptxgen' bench reduce --device cpu --rounds 4" "$dir/screen" >"$dir/out" 2>"$dir/err" </dev/null
    grep -q 'measuring: round 4 of 4' "$dir/screen" || failed 'bench reduce' 'no progress on a terminal'
fi

# The times of all rounds as a picture, SVG or PNG; with cuBLAS beside it, and the memory's ceiling, on a GPU alone.
if [[ -n $(type -P gnuplot) ]]; then
    gives 'Time: ' bench reduce --device cpu --rounds 5 --plot "$dir/plot.svg"
    [[ $(<"$dir/plot.svg") == *'reduce on CPU device'*'</svg>'* && $(<"$dir/plot.svg") == *'>clusterjit<'* ]] || failed 'bench --plot' 'no SVG'
    [[ $(grep -c '#gpPt6' "$dir/plot.svg") -ge 5 ]] || failed 'bench --plot' 'not five rounds'
    gives '"time_ms"' bench reduce --device cpu --json --plot "$dir/plot.png"
    [[ $(head -c 8 "$dir/plot.png" | od -An -tx1) == ' 89 50 4e 47 0d 0a 1a 0a' ]] || failed 'bench --plot' 'no PNG'
fi

refuses 64 "no kernel family" bench redcue --device cpu
refuses 64 'which kernel family?' bench
refuses 64 '--rounds' bench reduce --device cpu --rounds 0
refuses 64 '--rounds' bench reduce --device cpu --rounds 100000
refuses 64 'several seeds' bench reduce --device cpu --schedule seed:1..2
refuses 64 'exclude each other' bench reduce --device cpu --fill zeros --input x.f32
refuses 64 "a plot is SVG or PNG" bench reduce --device cpu --plot "$dir/plot.pdf"
refuses 2 'No such file or directory' bench reduce --device cpu --plot "$dir/none/plot.svg"
refuses 1 'not a multiple of cluster' bench reduce --device cpu --grid 4 --cluster 8
gives 'Usage: ptxgen bench reduce' help bench reduce

finish
