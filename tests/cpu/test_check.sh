# SPDX-License-Identifier: Apache-2.0
# check, fmt, rules and isa: what they show, what they refuse, and with which exit code.
source "$(dirname "$0")/cli.bash"

# kernel LINE...: PTX with these lines in its body, from line 8 on; a register of each kind is declared.
kernel() {
    printf '%s\n' .version\ 8.0 .target\ sm_90 .address_size\ 64 '.visible .entry k(.param .u64 p)' '{' \
        '    .reg .u32 %r<8>;' '    .reg .u64 %x<8>;' "$@" '    ret;' '}'
}

# finds CODE TEXT ARGUMENT...: exits with CODE, and TEXT is within what it finds.
finds() {
    local want=$1 text=$2
    shift 2
    run "$@"
    [[ $code == "$want" ]] || failed "$*" "exit code $code, not $want"
    [[ $(<"$dir/out") == *"$text"* ]] || failed "$*" "no '$text' in its output"
}

# The line of the output below one that contains TEXT: how many blanks it begins with.
indent_below() {
    local line
    line=$(grep -A1 -F -- "$1" "$dir/out" | sed -n 2p)
    echo $((${#line} - $(sed 's/^ *//' <<<"$line" | tr -d '\n' | wc -m)))
}

# json EXPRESSION: it holds of the output, which is `o`. Always true where there is no python3.
json() {
    command -v python3 >"$dir/which" || return 0
    PYTHONIOENCODING=utf-8 python3 -c "import json,sys; o=json.load(open(sys.argv[1],encoding='utf-8')); assert $1, o" \
        "$dir/out" 2>"$dir/json" || failed "$2" "not so: $1: $(tail -3 "$dir/json")"
}

# --- our own kernels are clean, on any target
for arguments in '' '--cluster 8 --dtype f64' '--cluster 1' '--arch sm_80' '--arch sm_100a' '--weight block --op sum'; do
    # shellcheck disable=SC2086
    "$ptxgen" emit reduce $arguments >"$dir/reduce.ptx" 2>"$dir/err"
    gives '' check "$dir/reduce.ptx"
    [[ ! -s $dir/out && ! -s $dir/err ]] || failed "check of emit reduce $arguments" "it has something to say"
done

# --- an error: place, line, caret, hint, summary
bad=$dir/bad.ptx
kernel '    add.u32 %r1, %r2, %r3;' '    frob.u32 %r1, %r2;' >"$bad"
finds 1 "$bad:9:5: error: " check "$bad"
[[ $(sed -n 1p "$dir/out") == *" [mnemonic]" ]] || failed check "no rule behind the message"
[[ $(sed -n 2p "$dir/out") == '    frob.u32 %r1, %r2;' ]] || failed check "the line is not shown"
[[ $(sed -n 3p "$dir/out") == '    ^' ]] || failed check "the caret does not stand below the word"
[[ $(<"$dir/err") == '1 error' ]] || failed check "the summary"
finds 1 '<stdin>:9:5: error: ' check - <"$bad"
finds 1 "$dir/reduce.ptx: error" check "$bad" --arch sm_80 "$dir/reduce.ptx" # our kernel for sm_90, held against sm_80
