# SPDX-License-Identifier: Apache-2.0
# ptxgen explain: every rule has an entry, whose example is found by that rule and whose cure is silent; docs/rules.md holds the same
# texts (CJ_UPDATE_GOLDEN=1 writes it); findings name the command once.
source "$(dirname "$0")/../cli.bash"
root=$(cd "$(dirname "$0")/../../.." && pwd)

gives 'Two threads of a block access the same shared memory' explain race-block
[[ $(<"$dir/out") == *$'\n    +     bar.sync 0;\n'*$'\nCure: '* ]] || failed 'explain race-block' 'no example with a cure'
gives 'such instruction' explain '[mnemonic]' misaligned
[[ $(grep -c '^Cure: ' "$dir/out") == 2 ]] || failed 'explain [mnemonic] misaligned' 'not two rules'
gives '  cluster-grid-multiple ' explain
for group in PTX Launches Runs; do grep -qx "$group" "$dir/out" || failed explain "no group $group"; done
COLUMNS=80 gives '' explain
[[ $(wc -L <"$dir/out") -le 80 ]] || failed explain 'lines longer than 80 columns'
refuses 64 "did you mean 'race-block'?" explain rac-block
refuses 64 "'ptxgen explain' lists the rules" explain zzz
refuses 64 "'ptxgen explain race-block' explains it" rules race-block
gives '' explain race-grid --json
json 'o["rules"][0]["id"] == "race-grid" and o["rules"][0]["of"] == "Runs" and "Cure: " in o["rules"][0]["text"]'
gives '' explain --json
json 'len(o["rules"]) > 120'

run explain --markdown
if [[ ${CJ_UPDATE_GOLDEN:-0} == 1 && $code == 0 ]]; then cp "$dir/out" "$root/docs/rules.md"; fi
cmp "$dir/out" "$root/docs/rules.md" || failed 'explain --markdown' 'docs/rules.md differs: CJ_UPDATE_GOLDEN=1 writes it'

# --- findings name the command: once, also where there are several
printf '.version 8.0\n.target sm_90\n.entry k() { .reg .u31 %%r; .reg .u31 %%s; bra dnoe; ret; }\n' >"$dir/wrong.ptx"
run check "$dir/wrong.ptx"
[[ $(grep -c explain "$dir/err") == 1 && $(<"$dir/err") == *"hint: 'ptxgen explain type label-undefined' says more"* ]] ||
    failed "check wrong.ptx" "not one hint of both rules"
run check "$dir/wrong.ptx" --json
[[ ! -s $dir/err ]] || failed "check wrong.ptx --json" "it has something to say"
run contract --grid 15 --block 32 --cluster 4 --target h200
[[ $(tail -1 "$dir/out") == "hint: 'ptxgen explain cluster-grid-multiple' says more" ]] || failed contract "no hint"

# --- the examples
command -v python3 >"$dir/which" || { echo "not tried: the examples: there is no python3"; finish; exit 77; }
python3 "$(dirname "$0")/explain.py" "$ptxgen" "$root" ptx c >"$dir/out" 2>"$dir/err" || failed explain.py "examples, or their completeness"
cat "$dir/out"
finish
