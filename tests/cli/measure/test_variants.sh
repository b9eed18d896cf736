# SPDX-License-Identifier: Apache-2.0
# tools/bench/variants.py and fit_gemm.py: their formula is the plan's; kernels that are named are made; the fit gives back the constants by
# which times were made up. The last one wants SciPy and is left out where python3 has none.
source "$(dirname "$0")/../cli.bash"
: >"$dir/err"
here=$(cd "$(dirname "$0")" && pwd)
bench=$here/../../../tools/bench
export PYTHONDONTWRITEBYTECODE=1
command -v python3 >"$dir/which" || { echo "skipped: there is no python3"; exit 77; }

# --- the formula
build=$(dirname "$CJ_LIBRARY")
"$build/tests/gemm_costs" "${CJ_SEED:-1}" 400 >"$dir/costs" || failed gemm_costs 'it draws nothing'
python3 "$here/gemm_model_check.py" "$bench" <"$dir/costs" >"$dir/out" 2>"$dir/err" || failed gemm_model 'it predicts what the plan does not'

# --- the draw
for seed in 7 7 8; do
    PYTHONHASHSEED=$RANDOM python3 "$bench/variants.py" --list --seed "$seed" --shapes 4 >>"$dir/draw$seed" 2>"$dir/err" || failed variants 'no draw'
done
half=$(($(wc -l <"$dir/draw7") / 2))
[[ $(head -n "$half" "$dir/draw7") == "$(tail -n "$half" "$dir/draw7")" ]] || failed variants 'a seed draws different kernels'
[[ $(head -n "$half" "$dir/draw7") == "$(<"$dir/draw8")" ]] && failed variants 'two seeds draw the same'
python3 "$bench/variants.py" --shapes 0 >"$dir/out" 2>"$dir/err"
[[ $? == 2 ]] || failed variants 'nothing to draw is no usage error'
python3 "$bench/variants.py" --library "$dir/none.so" >"$dir/out" 2>"$dir/err"
[[ $? == 77 ]] || failed variants 'without a library it does not say that there is nothing to measure'
((failures == 0)) || finish

# --- kernels by name, and times that are made up
[[ $CJ_LIBRARY == *.so* && -z $CJ_CFLAGS ]] || { echo "skipped: python3 cannot load $CJ_LIBRARY (archive, or sanitizer)"; exit 77; }
python3 "$here/variants_planted.py" "$bench" "$CJ_LIBRARY" "$dir/lines" >"$dir/out" 2>"$dir/err" || failed variants 'a kernel or a figure is wrong'
python3 -c 'import numpy, scipy.optimize' 2>"$dir/which" || { finish; exit; }
python3 "$bench/fit_gemm.py" "$dir/lines" >"$dir/out" 2>"$dir/err" || failed fit_gemm 'it fails'
table=$here/../../../templates/gemm/problem/constants.def
grep '^GEMM_CONSTANT' "$dir/out" | cut -d'"' -f1,2 | while read -r line; do grep -qF "$line" "$table" || echo "$line"; done >"$dir/others"
(($(grep -c '^GEMM_CONSTANT' "$dir/out") > 10)) || failed fit_gemm 'it prints no constants'
[[ ! -s $dir/others ]] || failed fit_gemm 'it fits other constants than those by which the times were made up'
finish
