# SPDX-License-Identifier: Apache-2.0
# tools/bench/sweep: a seed says what is drawn; jobs of other processes are done in time, or given up; ours is right on the CPU device;
# what is wrong is found. The last two want NumPy: that of python3 or, where it has none, of the environment of the Python package's tests.
source "$(dirname "$0")/../cli.bash"
: >"$dir/err"
here=$(cd "$(dirname "$0")" && pwd)
sweep=$here/../../../tools/bench/sweep
export PYTHONDONTWRITEBYTECODE=1
command -v python3 >"$dir/which" || { echo "skipped: there is no python3"; exit 77; }

# --- the draw
draws=0
for seed in 7 7 8; do
    PYTHONHASHSEED=$RANDOM python3 "$sweep" --list --seed "$seed" --shapes 20 >"$dir/out" 2>"$dir/err" || failed sweep "no draw"
    cp "$dir/out" "$dir/draw$((++draws))"
done
cmp -s "$dir/draw1" "$dir/draw2" || failed sweep 'a seed draws different shapes'
cmp -s "$dir/draw1" "$dir/draw3" && failed sweep 'two seeds draw the same shapes'
echo '{"seed": 7, "rows": [{"label": "of the CPU device"}]}' >"$dir/cpu.json"
for words in '--only scans' '--no-compile products' '--shapes 0' '--device cpu --ours' "--before $dir/which" "--before $dir/cpu.json"; do
    # shellcheck disable=SC2086
    python3 "$sweep" $words >"$dir/out" 2>"$dir/err"
    [[ $? == 2 ]] || failed "sweep $words" 'it is no usage error'
done
while IFS='|' read -r words says; do
    # shellcheck disable=SC2086
    python3 "$sweep" --device cpu $words >"$dir/out" 2>"$dir/err"
    [[ $? == 2 && $(<"$dir/err") == *"$says"* ]] || failed "sweep $words" "it does not say: $says"
done <<'END_OF_WORDS'
--bytes 0|--bytes: 0 is 0 bytes; it is 1K to 16G
--bytes -5|--bytes: -5 is -5 bytes; it is 1K to 16G
--bytes 1.5M|--bytes: 1.5M is not a whole number, or one with K, M or G after it
--budget -1|--budget: -1 is not a number of seconds above 0
--budget nan|--budget: nan is not a number of seconds above 0
--shapes 0|--shapes: 0 is outside 1 to 1000000
--rounds many|--rounds: many is not a whole number
END_OF_WORDS
python3 "$sweep" --device cpu --library "$dir/none.so" >"$dir/out" 2>"$dir/err"
[[ $? == 77 && $(<"$dir/err") == *"--library: there is no $dir/none.so"* ]] ||
    failed sweep 'without a library it does not say that there is nothing to measure'
python3 "$sweep" --device cpu --library "$CJ_LIBRARY" --peers "$dir/none.so" >"$dir/out" 2>"$dir/err"
[[ $? == 77 && $(<"$dir/err") == *"--peers: there is no $dir/none.so"* ]] || failed sweep 'a library of peers that is not there is not refused'
python3 "$sweep" --list --no-compile --only scan --shapes 1 >"$dir/out" 2>"$dir/err" || failed sweep '--no-compile needs a family'

# --- ours now over ours before
python3 - "$here/../../../tools/bench" >"$dir/out" 2>"$dir/err" <<'END_OF_CHECK' || failed sweep '--before fails'
import sys
sys.path.insert(0, sys.argv[1])
from shared import judge

def rows(**times):
    return [{"label": label, "plan": "form=direct", "sides": {"ours": {"turns": us, "alone": us + 1}}} for label, us in times.items()]

judge.show_before(rows(a=2, b=3, new=1) + [{"label": "refused", "sides": {}}], {"rows": rows(a=4, b=3, old=1, refused=1)})
END_OF_CHECK
[[ $(<"$dir/out") == "2 shapes of both runs: times over those before, geometric mean 0.707; 1 shorter by 2 % or more, 0 longer
0.50  a
      4.00, now 2.00 us; form=direct
1.00  b
      3.00, now 3.00 us; form=direct"* ]] || failed sweep "--before shows other ratios"

# --- what other choices take
python3 - "$here/../../../tools/bench" >"$dir/out" 2>"$dir/err" <<'END_OF_CHECK' || failed sweep '--tune shows nothing'
import sys
sys.path.insert(0, sys.argv[1])
from shared import tuned

rows = [{"family": "scan", "label": label, "plan": "form=direct", "choice": choice, "ms": ms, "ratio": ratio} for label, choice, ms, ratio in
        (("a", "the plan's choice", 0.002, 1.0), ("b", "warps=4", 0.001, 1.25), ("c", "the plan's choice", 0.003, 1.0))]
tuned.show(rows + [{"family": "reduce", "label": "d", "refused": "nothing to tune"}])
END_OF_CHECK
[[ $(<"$dir/out") == "3 shapes: the fastest candidate is as fast as the plan's choice times 1.000 (median), 1.250 (90 % quantile), 1.250 (most); 1 by 1.03 or more
1.25  b
      1.00 us with warps=4; the plan: form=direct"* ]] || failed sweep "--tune shows other ratios"
python3 "$sweep" --tune --ours >"$dir/out" 2>"$dir/err"
[[ $? == 2 ]] || failed 'sweep --tune --ours' 'it is no usage error'

# --- what decides is shown
python3 - "$here/../../../tools/bench" >"$dir/out" 2>"$dir/err" <<'END_OF_CHECK' || failed sweep 'the worst cannot be shown'
import sys
sys.path.insert(0, sys.argv[1])
from shared import judge

row = {"family": "scan", "label": "a", "plan": "form=direct", "note": "", "share": 0.5, "bound": "memory",
       "sides": {"ours": {"turns": 4, "alone": 5}, "eager": {"turns": 4.4, "alone": 8}, "compile": {"turns": 6, "alone": 4.5}},
       "turns": {"best": "eager", "ratio": 1.1}, "alone": {"best": "compile", "ratio": 0.9}, "decided": "alone", "ratio": 0.9}
judge.show_worst([row])
judge.show_families([row], ["scan"])
END_OF_CHECK
[[ $(<"$dir/out") == "0.90  a
      alone ours 5.00 us, compile 4.50; in turns ours 4.00 us, eager 4.40; memory, 0.50 of the ceiling; form=direct
family "*" compile 1" ]] || failed sweep "the mode that decides is not shown"

# --- compiling in other processes
python3 "$here/sweep_ahead.py" "$here/../../../tools/bench" >"$dir/out" 2>"$dir/err" || failed sweep 'a job is lost, or done at the wrong time'
((failures == 0)) || finish

# --- ours, and what is planted
[[ $CJ_LIBRARY == *.so* && -z $CJ_CFLAGS ]] || { echo "skipped: python3 cannot load $CJ_LIBRARY (archive, or sanitizer)"; exit 77; }
python3 -c 'import numpy' 2>"$dir/err" || PATH=$(dirname "$CJ_LIBRARY")/python/venv/bin:$PATH
python3 -c 'import numpy' 2>"$dir/err" || { echo "skipped: python3 has no NumPy"; exit 77; }
drawn=$(python3 "$sweep" --list --device cpu --seed 7 --shapes 2 --bytes 32K | grep -c '^[a-z]')
python3 "$sweep" --device cpu --library "$CJ_LIBRARY" --seed 7 --shapes 2 --bytes 32K --json "$dir/json" >"$dir/out" 2>"$dir/err" ||
    failed sweep 'ours is wrong'
[[ $(<"$dir/out") == *"$drawn shapes, 0 wrong, 0 refused"* ]] || failed sweep 'not all shapes ran'
python3 "$sweep" --device cpu --library "$CJ_LIBRARY" --seed 7 --shapes 1 --budget 1e-9 >"$dir/out" 2>"$dir/err"
[[ $? == 77 && $(<"$dir/err") == *"was measured: the budget of 1e-09 s was spent before the first"* ]] || failed sweep 'nothing was measured, and it does not say so'
python3 -m json.tool "$dir/json" >"$dir/out" || failed sweep 'its JSON is none'
python3 "$sweep" --tune --device cpu --library "$CJ_LIBRARY" --seed 7 --shapes 1 --bytes 4K --only histogram,scan,reduce >"$dir/out" 2>"$dir/err" ||
    failed 'sweep --tune' 'a candidate is wrong'
[[ $(<"$dir/out") =~ 3\ shapes,\ [1-9][0-9]*\ candidates,\ 0\ shapes\ with\ a\ wrong\ one,\ 1\ refused,\ 0\ late ]] ||
    failed 'sweep --tune' 'not all was tried, or what cannot be tuned is not told'
[[ $(<"$dir/err") == *'reduce has no parameters that tuning may choose'* ]] || failed 'sweep --tune' 'it does not say why'
python3 "$here/sweep_choices.py" "$here/../../../tools/bench" "$CJ_LIBRARY" >"$dir/out" 2>"$dir/err" || failed 'sweep --tune' 'choices are not made as they should be'
python3 "$here/sweep_planted.py" "$here/../../../tools/bench" "$CJ_LIBRARY" >"$dir/out" 2>"$dir/err" || failed sweep 'something wrong is not found'
finish
